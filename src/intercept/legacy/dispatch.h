/* Calls of the legacy API: computes the workspace to report to queries, and runs executions as
 * tiles. plan_cache.h keeps the prepared rewritings. */
#ifndef CS_INTERCEPT_LEGACY_DISPATCH_H
#define CS_INTERCEPT_LEGACY_DISPATCH_H

#include "cudnn/plan/legacy_call.h"
#include "flow/flow.h"

/* The workspace to report for a call whose algorithm requires `required` bytes. cs_legacy_report
 * sets the call's math type to that of its convolution descriptor, cs_legacy_report_as uses it. */
size_t cs_legacy_report(struct cs *cs, struct cs_legacy_call *call, size_t required);
size_t cs_legacy_report_as(struct cs *cs, const struct cs_legacy_call *call, size_t required);

/* Replaces the memory fields in the results of an algorithm query by the sizes to report. */
void cs_legacy_report_results(struct cs *cs, const struct cs_legacy_call *call,
                              const struct cs_legacy_results *results);

/* True if an execution can be run by cuDNN without being described. The caller then passes cuDNN's
 * status to cs_legacy_settle. */
bool cs_legacy_unfiltered(const struct cs *cs, const struct cs_legacy_call *call);

/* Counts such an execution as passed on. Returns false if cuDNN has refused it, perhaps because a
 * smaller size was reported for it, in this process or another. Then the caller calls
 * cs_legacy_run. */
bool cs_legacy_settle(struct cs *cs, int status);

/* Runs a call as tiles in the workspace that it provides. False if the call is not tiled: it is
 * counted as passed on, the caller passes it on, and then calls cs_legacy_lend. */
bool cs_legacy_run(struct cs *cs, struct cs_legacy_call *call, int *status_p);

/* Runs a call that cuDNN has refused with `status` again in scratch of the library, if the call
 * provides at least the size that is reported for it, but less than cuDNN requires. Returns the
 * status of that run, or `status`. */
int cs_legacy_lend(struct cs *cs, const struct cs_legacy_call *call, int status);

/* Runs a call once as tiles in the provided workspace, to be timed. The call is not counted. False
 * if it is not tiled: then no work was started. */
bool cs_legacy_try(struct cs *cs, const struct cs_legacy_call *call, int *status_p);

#endif
