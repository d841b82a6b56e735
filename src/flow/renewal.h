/* A process that is killed writes no summary. So that not everything is lost, the JSON summary is
 * written again every ten seconds, by the call that notices, and when SIGTERM is about to end the
 * process as it does where nobody catches it. */
#ifndef CS_FLOW_RENEWAL_H
#define CS_FLOW_RENEWAL_H

#include "flow/instance.h"

/* To be called once, when the instance is there: catches SIGTERM where a JSON summary is wanted and
 * the program leaves the signal to its default. */
void cs_renewal_begin(struct cs *cs);

/* In a forked child. */
void cs_renewal_fork(void);

/* After a call, without a lock. */
void cs_renewal_pass(struct cs *cs);

#endif
