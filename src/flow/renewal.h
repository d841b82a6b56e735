/* A process that is killed, or ends without libc's exit, writes no summary by itself. So that
 * nothing is lost, the JSON summary is written again every ten seconds, by the call that notices,
 * and both forms when the process is about to end in a way that the library hears of: SIGTERM that
 * nobody catches, kill(2) to itself, _exit. */
#ifndef CS_FLOW_RENEWAL_H
#define CS_FLOW_RENEWAL_H

#include "flow/instance.h"

/* To be called once, when the instance is there: catches SIGTERM where a JSON summary is wanted, or
 * any in what `convshim run` started, if the program leaves the signal to its default. */
void cs_renewal_begin(struct cs *cs);

/* In a forked child. */
void cs_renewal_fork(void);

/* After a call, without a lock. */
void cs_renewal_pass(struct cs *cs);

/* True if this process, or the parent of a vfork, has a summary to write. Reads memory only, as in
 * a sandbox the first system call may be the last. */
bool cs_renewal_due(void);

/* When the process is about to end by a signal, or by _exit: writes what has not been written. May
 * be called at any time, in a signal's handler, in the child of a vfork, without an instance. Opens
 * no file that nobody has asked for at _exit. */
void cs_renewal_killed(void);
void cs_renewal_exit(void);

#endif
