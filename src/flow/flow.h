/* The order of the steps, from a described convolution to a rewriting, and to its execution. The
 * steps are in other parts: decide, plan, exec, account. */
#ifndef CS_FLOW_FLOW_H
#define CS_FLOW_FLOW_H

#include "account/account.h"
#include "convshim/vendor.h"
#include "exec/exec.h"
#include "exec/rewrite.h"
#include "flow/instance.h"
#include "flow/request.h"
#include "flow/ways.h"

/* The answer to a request. */
struct cs_verdict {
    enum cs_reason reason; /* CS_REASON_NONE: tiled */
    int64_t reported;      /* workspace bytes to report to the application */
    int64_t reportable;    /* bytes that would be reported if a decision that is only reported were
                              applied */
    struct cs_site_ref site; /* the site of its calls; zeros: not counted */
    uint64_t layer;          /* a number for its problem; 0: its calls are not watched */
    bool refused; /* the plan must not run: no tiling fits the limit, and the application should
                     take  another plan; or less than the plan requires may have been reported, and
                     no  plan that fits that size can be made */
    struct cs_rewrite *rewrite; /* owned by the caller; NULL if not tiled */
    int64_t most; /* the most bytes of scratch that a call may take at run time (flow/ways.h) */
};

/* True if a call that requires `required` bytes is never tiled under the options and rules, for any
 * problem. */
bool cs_flow_small(const struct cs *cs, int64_t required);

/* The bytes that cs_flow_prepare would report. Decides without building or counting. */
int64_t cs_flow_reported(struct cs *cs, const struct cs_request *request,
                         const struct cs_vendor *vendor);

/* Decides about a request and builds its rewriting. The same request always gets the same answer,
 * if the vendor still builds the same plans. */
struct cs_verdict cs_flow_prepare(struct cs *cs, const struct cs_request *request,
                                  const struct cs_vendor *vendor);

/* True if a call that provided `provided` bytes may use the library's scratch. */
bool cs_flow_lends_scratch(const struct cs *cs, int64_t provided);

/* Runs and counts a tiled call. Returns the vendor's status. `call` NULL: the operands are not
 * understood, so the fallback plan runs. */
int cs_flow_run(struct cs *cs, const struct cs_verdict *verdict, const struct cs_gpu *gpu,
                const struct cs_call *call);

/* Like cs_flow_run, in the fastest way that has room below the program's peak. `call` may be NULL.
 * `maker`: builds and runs the other ways. */
int cs_flow_run_best(struct cs *cs, const struct cs_verdict *verdict, const struct cs_gpu *gpu,
                     const struct cs_call *call, const struct cs_way_maker *maker);

/* Builds tiles within request->limit for a call that has so much room, without a fallback plan. No
 * site is made and no size changes. The caller owns the result. NULL: there are none. */
struct cs_rewrite *cs_flow_fewer_tiles(struct cs *cs, const struct cs_request *request,
                                       const struct cs_vendor *vendor);

/* Like cs_flow_run, but without counting the call. */
struct cs_outcome cs_flow_try(struct cs *cs, const struct cs_verdict *verdict,
                              const struct cs_gpu *gpu, const struct cs_call *call);

/* Adds a call, tiled or not, to the peak of convolutions that the summary shows. `reason`: why the
 * call is not tiled. Tiled calls are added after their launches. */
void cs_flow_watch(struct cs *cs, const struct cs_verdict *verdict, enum cs_reason reason,
                   const struct cs_problem *problem, const struct cs_addresses *addresses);

/* Counts a call that is about to be passed on unchanged. `verdict` NULL: no decision was made. */
void cs_flow_pass(struct cs *cs, const struct cs_verdict *verdict, enum cs_reason reason);

#endif
