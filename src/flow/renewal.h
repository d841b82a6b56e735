/* A process that is killed, or ends without libc's exit, would write no summary. So the JSON
 * summary is written again every ten seconds, by the next call. Both forms are written when the
 * process is about to end in a way that the library can see: SIGTERM with the default action,
 * kill(2) to itself, raise, _exit. */
#ifndef CS_FLOW_RENEWAL_H
#define CS_FLOW_RENEWAL_H

#include "flow/instance.h"

/* Called once, after the instance is made. Catches SIGTERM if a JSON summary is due, or in any
 * process that `convshim run` started, if the program leaves the signal at its default. */
void cs_renewal_begin(struct cs *cs);

/* In a forked child. */
void cs_renewal_fork(void);

/* Called after a call, without a lock. */
void cs_renewal_pass(struct cs *cs);

/* True if this process, or the parent of a vfork, has a summary to write. Only reads memory,
 * because in a sandbox the first system call may end the process. */
bool cs_renewal_due(void);

/* Called before the process sends itself a signal that ends it, unless it has another action. If
 * the calling thread blocks the signal, whichever thread receives it will write the summary. */
void cs_renewal_killed(int signal, bool blocked);

/* Called when the process is about to end by _exit: writes the pending output. May be called
 * at any time, in a signal handler, in the child of a vfork, without an instance. At _exit it opens
 * only files that the options name. */
void cs_renewal_exit(void);

#endif
