/* How people see that the library is there: lines of the log when it begins, a file of counters
 * while the process runs (account/live.h), and at the end of what `convshim run` started one line
 * in any case. */
#ifndef CS_FLOW_SIGN_OF_LIFE_H
#define CS_FLOW_SIGN_OF_LIFE_H

#include "flow/instance.h"

/* Once, when the instance is there: says so, and which of the vendor's libraries it serves. */
void cs_sign_begin(const struct cs *cs);

/* After a call, without a lock. */
void cs_sign_pass(struct cs *cs);

/* When the process ends: removes the file. */
void cs_sign_end(struct cs *cs);

/* The last that the library does in a process: in the one whose id `convshim run` has handed on, a
 * line that says what came of it, unless the summary has. */
void cs_sign_last(const struct cs_host *host);

/* True if that is still to be said in this process. Reads the environment, and in what `convshim
 * run` started the process id. */
bool cs_sign_due(void);

#endif
