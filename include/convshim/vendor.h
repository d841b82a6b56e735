/* The vendor as planning sees it: it builds execution plans for problems, with the engine that the
 * application chose.
 *
 * An execution plan is the vendor's plan for one problem, opaque here. Functions may be called from
 * any thread, each vendor value from one at a time. Nothing here but `time` touches the device. */
#ifndef CONVSHIM_VENDOR_H
#define CONVSHIM_VENDOR_H

#include "convshim/plan.h"
#include "convshim/profile.h"

struct cs_vendor {
    void *ctx;
    bool compiles; /* the application's engine is compiled for every plan, which takes up to seconds
                    */
    bool many;  /* the application makes plans of other engines for the same problem, too, of which
                   most are never run: like those that are compiled, they are made ready where
                   they are run */
    bool rigid; /* no relaxation but CS_SAME_KNOBS is understood */

    /* Builds the application's own engine, or as far from it as `relaxation` allows, for `problem`.
     * The caller owns the execution plan. CS_REFUSED if that does not take the problem. */
    enum cs_status (*build)(void *ctx, const struct cs_problem *problem,
                            enum cs_relaxation relaxation, void **execution_plan_p,
                            int64_t *workspace_p);

    /* Makes an execution plan ready to be run: `build` only sees to it that it can be. CS_REFUSED
     * if it cannot after all. Not for engines that are compiled, nor for one of many: those
     * are made ready where they are run. NULL: all are ready. */
    enum cs_status (*ready)(void *ctx, void *execution_plan);

    /* Builds the fallback plan: any engine that runs the application's whole problem in at most
     * `limit` bytes. */
    enum cs_status (*fallback)(void *ctx, int64_t limit, void **execution_plan_p,
                               int64_t *workspace_p);

    /* The same for a problem of which `fallback` is known to build a plan within the limit, which
     * it does when that is first run; CS_REFUSED where it cannot. NULL: never can. */
    enum cs_status (*fallback_later)(void *ctx, int64_t limit, void **execution_plan_p);

    /* Looks at other engines that the vendor's heuristics offer for the application's whole problem
     * and that compute alike, the best first, until `look` returns true; true if it did. A vendor
     * value for the engine is valid during the look. NULL: it knows of none. */
    bool (*others)(void *ctx,
                   bool (*look)(void *to, const struct cs_engine *engine, int64_t required,
                                const struct cs_vendor *vendor),
                   void *to);

    /* Destroys an execution plan of either kind; NULL is allowed. Needs no ctx: execution plans
     * outlive the vendor value. */
    void (*destroy)(void *execution_plan);

    /* The device that plans are for and the engine that the application chose, valid as long as
     * ctx; NULL if they are not known. Asked once for a decision, and not where a policy takes a
     * fixed number of tiles or only reports. NULL: they never are known. */
    const struct cs_profile *(*profile)(void *ctx);

    /* Runs a plan's tile shapes on scratch data, one after the other, and waits for them.
     * *seconds_p: the time of all tiles on one lane. Holds up to `limit` bytes of device memory
     * while it runs. CS_REFUSED if it cannot run: the application's stream is being captured,
     * memory is short, or the plans are for another device. NULL: never available. */
    enum cs_status (*time)(void *ctx, const struct cs_plan *plan, int64_t limit, double *seconds_p);

    /* A number for the model of the device and the version of the vendor's library, the same in
     * every process; 0: not known. NULL: never is. */
    int64_t (*model)(void *ctx);
};

#endif
