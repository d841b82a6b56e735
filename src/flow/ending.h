/* Reports of a process: a line at its start, a summary for `convshim status` while it runs
 * (account/session_files.h), and the summary, which is written once, however the process ends.
 *
 * A process that is killed, or ends without libc's exit, would write no summary. So the JSON
 * summary is written by the first call, and again every ten seconds by the next call. The whole
 * summary is written when the process is about to end in a way that the library can see: exit,
 * SIGTERM with the default action, kill(2) to itself, raise, _exit. */
#ifndef CS_FLOW_ENDING_H
#define CS_FLOW_ENDING_H

#include "flow/instance.h"

/* The moments at which a summary is written. */
enum cs_moment {
    CS_MOMENT_RUNNING, /* the process goes on: only JSON, to files that can be replaced */
    CS_MOMENT_LEFT,    /* the process ends by _exit */
    CS_MOMENT_KILLED,  /* the process ends by a signal */
    CS_MOMENT_EXIT     /* the process ends by libc's exit */
};

/* Called once, after the instance is made. Logs the start, and the vendor's library in use. Catches
 * SIGTERM if a JSON summary is due, or in any process that `convshim run` started, if the program
 * leaves the signal at its default. Registers the report with libc's exit. */
void cs_ending_begin(struct cs *cs);

/* Called in a forked child, whose reports are separate from its parent's. */
void cs_ending_fork(struct cs *cs);

/* Writes the JSON summaries if the last ones are ten seconds old. Called after each call, without a
 * lock. */
void cs_ending_pass(struct cs *cs);

/* True if this process, or the parent of a vfork, has a summary to write. Only reads memory,
 * because in a sandbox the first system call may end the process. */
bool cs_ending_due(void);

/* Writes the summary, with a line that names its file, if it is due.
 * Removes the file of `convshim status`, except at _exit, which must not fail for a file that could
 * not be opened, for example in a sandbox that kills the process for the attempt. The next reader
 * removes it then. Only at libc's exit are the loader and the heap used, so only that text lists
 * objects that bypass the library, and only there a summary that could not be written is logged. */
void cs_ending_write(struct cs *cs, enum cs_moment moment);

/* Called before the process sends itself a signal that ends it, unless it has another action. If
 * the calling thread blocks the signal, the thread that receives it will write the summary. */
void cs_ending_killed(int signal, bool blocked);

/* Called when the process is about to end by _exit. May be called at any time, in a signal handler,
 * in the child of a vfork, without an instance. */
void cs_ending_left(void);

/* Writes the current JSON summary to `at`, like snprintf, also without convolutions. Calls the
 * loader. */
size_t cs_ending_text(struct cs *cs, char *at, size_t size);

/* True if the last line is still due: in the process whose id `convshim run` passed on. Reads the
 * environment and, under `convshim run`, the process id. */
bool cs_ending_line_due(void);

/* The last action of the library in a process: logs the outcome in one line if that is due, unless
 * the summary was printed. */
void cs_ending_line(const struct cs_host *host);

/* Called after cs_ending_line, in the same process. If the status is not 0, and `convshim run` set
 * expandable segments, logs the errors that they can cause. */
void cs_ending_failed(const struct cs_host *host, int status);

#endif
