/* Calls of the legacy API: the workspace to report to queries, and executions as tiles. What was
 * prepared for one is in plan_cache.h. */
#ifndef CS_INTERCEPT_LEGACY_DISPATCH_H
#define CS_INTERCEPT_LEGACY_DISPATCH_H

#include "flow/flow.h"
#include "intercept/legacy/legacy_call.h"

/* The workspace to report for a call whose algorithm requires `required` bytes: with the
 * descriptor's math type, or with the call's own. */
size_t cs_legacy_report(struct cs *cs, struct cs_legacy_call *call, size_t required);
size_t cs_legacy_report_as(struct cs *cs, const struct cs_legacy_call *call, size_t required);

/* The same for the results of an algorithm query: their memory fields become what is reported. */
void cs_legacy_report_results(struct cs *cs, const struct cs_legacy_call *call,
                              const struct cs_legacy_results *results);

/* For calls that bring a tensor with recorded extents (oversized_tensor.h), about which cuDNN
 * cannot be asked: what to report, and the one result of an algorithm query. False if such a call
 * could not be run. */
bool cs_legacy_report_oversized(struct cs *cs, struct cs_legacy_call *call, size_t *bytes_p);
bool cs_legacy_answer_oversized(struct cs *cs, const struct cs_legacy_call *call,
                                const struct cs_legacy_results *results);

/* True if nothing speaks for a look at a call: it is to be passed on, and its status to be
 * settled. That counts it as passed on, or is false: cuDNN has refused the call, which may have
 * had less reported for another shape, and cs_legacy_run is to look at it after all. */
bool cs_legacy_unfiltered(const struct cs *cs, const struct cs_legacy_call *call);
bool cs_legacy_settle(struct cs *cs, int status);

/* Runs a call as tiles in the workspace that it provided. A call that is not tiled is counted as
 * passed on; it runs here only if a query about it was answered with less than cuDNN requires and
 * it provides no more than that: in scratch of our own. False: the caller is to pass it on. */
bool cs_legacy_run(struct cs *cs, struct cs_legacy_call *call, int *status_p);

/* Runs a call once as tiles in what it provided, uncounted: to be timed. False if it is not
 * tiled; then nothing was run. */
bool cs_legacy_try(struct cs *cs, const struct cs_legacy_call *call, int *status_p);

#endif
