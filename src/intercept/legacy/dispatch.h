/* Calls of the legacy API: computes the workspace to report to queries, and runs executions as
 * tiles. plan_cache.h keeps the prepared rewritings. */
#ifndef CS_INTERCEPT_LEGACY_DISPATCH_H
#define CS_INTERCEPT_LEGACY_DISPATCH_H

#include "convshim/gpu.h"
#include "convshim/status.h"
#include "cudnn/plan/legacy_call.h"
#include "flow/flow.h"
#include <stdbool.h>

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

/* --- converts legacy descriptors to a problem through cuDNN's own getters --- */

/* Fills `problem` and the addresses of its tensors. Alignments are those of the call's addresses.
 * Queries have no addresses, so they get the alignment of cudaMalloc'ed memory. Returns
 * CS_REASON_NONE, or the reason why the call cannot be described. The caller must check the problem
 * (cs_describe_check) unless it finds an entry for the same one, because the check takes as long as
 * the description. */
enum cs_reason cs_describe_legacy(const struct cs_legacy_call *call, struct cs_problem *problem,
                                  struct cs_addresses *addresses);

/* --- the filter of executions ---
 *
 * Selects the executions of the legacy API that are described: those whose direction, algorithm and
 * tensor x a query, with any handle, found above the threshold. It is a set of hashes, so it may
 * also select other executions, but it misses none. Thread-safe, without locks. Lives as long as
 * the process. */

/* Adds the direction, algorithm and x of a query. */
void cs_query_filter_add(const struct cs_legacy_call *call);

/* True if a call may have been added. Compares the contents of descriptors, not their addresses.
 * Takes one load if the algorithm was never added, else one more getter of cuDNN. */
bool cs_query_filter_has(const struct cs_legacy_call *call);

/* --- the Find queries ---
 *
 * The Find... queries of the legacy API, which run every algorithm to time it. Algorithms that
 * convshim would tile are timed tiled, in the workspace that would be reported. */

/* Runs Find...AlgorithmEx on the caller's tensors and workspace. Algorithms that require more than
 * the provided workspace are tried tiled. Returns the vendor's status. */
int cs_find_algorithm_ex(struct cs *cs, const struct cs_legacy_call *call,
                         const struct cs_legacy_results *results);

/* Runs Find...Algorithm. cuDNN's version allocates the tensors and the largest workspace that any
 * algorithm requires. This one allocates the tensors and the largest workspace that convshim
 * reports. If they cannot be allocated, cuDNN's search runs, and only the memory fields of its
 * results are changed. */
int cs_find_algorithm(struct cs *cs, const struct cs_legacy_call *call,
                      const struct cs_legacy_results *results);

#endif
