/* The vendor as planning sees it: it builds execution plans for problems, with the engine that the
 * application chose.
 *
 * An execution plan is the vendor's plan for one problem, opaque here. Any thread may call these
 * functions, but each vendor value is used by one thread at a time. */
#ifndef CONVSHIM_VENDOR_H
#define CONVSHIM_VENDOR_H

#include "convshim/plan.h"
#include "convshim/profile.h"

struct cs_vendor {
    void *ctx;
    bool compiles; /* the application's engine is compiled for every plan, which takes up to seconds
                    */
    bool many;     /* the application makes plans of other engines for the same problem too, most of
                      which never run. Like plans that must be compiled, they are made ready when they
                      first run */
    bool rigid;    /* `build` accepts no relaxation except CS_SAME_KNOBS */

    /* Builds an execution plan for `problem` with the application's engine, or with another one as
     * far as `relaxation` allows. The caller owns the execution plan. *workspace_p: the bytes that
     * it requires. CS_REFUSED if no such engine accepts the problem. */
    enum cs_status (*build)(void *ctx, const struct cs_problem *problem,
                            enum cs_relaxation relaxation, void **execution_plan_p,
                            int64_t *workspace_p);

    /* Makes an execution plan ready to run. `build` only checks that this is possible. CS_REFUSED
     * if it fails. Not used for compiled engines and if `many`: these plans are made ready when
     * they first run. NULL: all plans are ready. */
    enum cs_status (*ready)(void *ctx, void *execution_plan);

    /* Builds the fallback plan: any engine that runs the application's whole problem in at most
     * `limit` bytes. */
    enum cs_status (*fallback)(void *ctx, int64_t limit, void **execution_plan_p,
                               int64_t *workspace_p);

    /* Like `fallback`, which must be able to build a plan within the limit. This plan is built when
     * it first runs. CS_REFUSED if that is not possible. NULL: never possible. */
    enum cs_status (*fallback_later)(void *ctx, int64_t limit, void **execution_plan_p);

    /* Calls `look` with other engines that the vendor's heuristics offer for the application's
     * whole problem and that compute alike, best first, until it returns true. Returns true if it
     * did. The vendor value for the engine is valid during the call. NULL: no other engines are
     * known. */
    bool (*others)(void *ctx,
                   bool (*look)(void *to, const struct cs_engine *engine, int64_t required,
                                const struct cs_vendor *vendor),
                   void *to);

    /* True if a plan from `build` gives the bits of the untiled plan, if its problem has the same
     * sums: it has the application's engine and knobs, and orders the terms of each sum as the
     * untiled plan does. NULL: always. */
    bool (*keeps_bits)(const void *execution_plan);

    /* Destroys an execution plan of either kind. NULL is allowed. Needs no ctx, because execution
     * plans may outlive the vendor value. */
    void (*destroy)(void *execution_plan);

    /* The device of the plans and the engine that the application chose, valid as long as ctx. NULL
     * if unknown. Called once for a decision, and not if the policy has a fixed number of tiles or
     * only reports. NULL function: always unknown. */
    const struct cs_profile *(*profile)(void *ctx);
};

#endif
