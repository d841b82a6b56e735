/* Signs that the library is active: log lines at the start, a summary for `convshim status` while
 * the process runs (account/session_files.h), and one line at the end of every program that
 * `convshim run` started. */
#ifndef CS_FLOW_SIGN_OF_LIFE_H
#define CS_FLOW_SIGN_OF_LIFE_H

#include "flow/instance.h"

/* Called once, after the instance is made: logs the start, and the vendor's library in use. */
void cs_sign_begin(const struct cs *cs);

/* Called after a call, without a lock. */
void cs_sign_pass(struct cs *cs);

/* Called when the process ends: removes the file. */
void cs_sign_end(struct cs *cs);

/* The last action of the library in a process. In the process whose id `convshim run` passed on,
 * logs the outcome in one line, unless the summary was printed. */
void cs_sign_last(const struct cs_host *host);

/* After that, in the same process: if the status is not 0, and `convshim run` set expandable
 * segments, logs the errors that they can cause. */
void cs_sign_failed(const struct cs_host *host, int status);

/* True if that line is still due in this process. Reads the environment and, under `convshim run`,
 * the process id. */
bool cs_sign_due(void);

#endif
