/* The order of the steps, from a described convolution to a rewriting that can be run, and from
 * there to its execution. The steps themselves are elsewhere: decide, plan, exec, account. */
#ifndef CS_FLOW_FLOW_H
#define CS_FLOW_FLOW_H

#include "account/account.h"
#include "convshim/vendor.h"
#include "exec/exec.h"
#include "exec/rewrite.h"
#include "flow/instance.h"
#include "flow/request.h"

/* The answer to a request. */
struct cs_verdict {
    enum cs_reason reason;   /* CS_REASON_NONE: tiled */
    int64_t reported;        /* workspace bytes to report to the application */
    int64_t reportable;      /* the same as if a decision that is only reported were applied */
    struct cs_site_ref site; /* where its calls are counted; zeros: nowhere */
    uint64_t layer;          /* a number for its problem; 0: its calls are not noted */
    int64_t footprint;       /* bytes that a call takes while it runs, as far as is known */
    bool refused; /* no tiling does with the limit, and the application is to take another plan; or
                     less was reported than the application's plan requires, and nothing runs in
                     that: the plan must not run either */
    struct cs_rewrite *rewrite; /* owned by the caller; NULL if not tiled */
};

/* True if calls that require that little are not tiled, by the options and by every rule, without
 * a look at the problem. */
bool cs_flow_small(const struct cs *cs, int64_t required);

/* Decides only: the bytes that cs_flow_prepare would report, without building or counting. */
int64_t cs_flow_reported(struct cs *cs, const struct cs_request *request,
                         const struct cs_vendor *vendor);

/* Decides and builds. The same request gets the same answer every time, as long as the vendor
 * builds what it built before. */
struct cs_verdict cs_flow_prepare(struct cs *cs, const struct cs_request *request,
                                  const struct cs_vendor *vendor);

/* The same for a call that cannot be passed on unchanged: what is not tiled runs whole on the
 * request's own engine. No rewriting only if nothing could be built. */
struct cs_verdict cs_flow_runs_ours(struct cs *cs, const struct cs_request *request,
                                    const struct cs_vendor *vendor);

/* True if a call that provided so much may run in scratch of the library's own. */
bool cs_flow_lends_scratch(const struct cs *cs, int64_t provided);

/* Runs and counts a tiled call; returns the vendor's status. `call` NULL: operands not
 * understood, fallback plan. */
int cs_flow_run(struct cs *cs, const struct cs_verdict *verdict, const struct cs_gpu *gpu,
                const struct cs_call *call);

/* The same uncounted. */
struct cs_outcome cs_flow_try(struct cs *cs, const struct cs_verdict *verdict,
                              const struct cs_gpu *gpu, const struct cs_call *call);

/* A call that is about to be made, tiled or not, with its operands, which show what the program
 * holds.
 */
void cs_flow_watch(struct cs *cs, const struct cs_verdict *verdict,
                   const struct cs_problem *problem, const struct cs_addresses *addresses);

/* A call that is about to be passed on unchanged. `verdict` NULL: nothing was asked about it. */
void cs_flow_pass(struct cs *cs, const struct cs_verdict *verdict, enum cs_reason reason);

#endif
