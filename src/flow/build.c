/* Builds the objects that a call runs: an execution plan for each tile shape, and the fallback
 * plan. */
#include "flow/build.h"

#include <stdlib.h>

static enum cs_status make_ready(const struct cs_vendor *vendor, bool later, void *execution_plan)
{
    return vendor->ready && !later ? vendor->ready(vendor->ctx, execution_plan) : CS_OK;
}

/* Builds the execution plan of each tile shape, and sets the shapes' workspaces. Plans are made
 * ready at once, unless the vendor compiles them or builds many. */
static enum cs_status build_execution_plans(struct cs_rewrite *rewrite,
                                            struct cs_built_plans *built)
{
    struct cs_plan *plan = &rewrite->plan;
    const struct cs_vendor *vendor = &built->vendor;
    const bool later = vendor->compiles || vendor->many;
    for (int64_t i = 0; i < plan->shapes; i++) {
        struct cs_problem shape;
        cs_plan_problem(plan, i, &shape);
        void *made;
        enum cs_status status = vendor->build(vendor->ctx, &shape, plan->shape[i].relaxation, &made,
                                              &plan->shape[i].workspace);
        if (status != CS_OK)
            return status;
        rewrite->execution_plan[i] = cs_built_plans_release(made);
        status = make_ready(built->real, later, rewrite->execution_plan[i]);
        if (status != CS_OK)
            return status;
    }
    cs_plan_settle(plan);
    return CS_OK;
}

/* Builds the fallback plan. CS_INVALID if it needs more than `reported` bytes. */
static enum cs_status build_fallback(struct cs_rewrite *rewrite, int64_t reported,
                                     struct cs_built_plans *built)
{
    const struct cs_vendor *vendor = &built->vendor;
    int64_t bytes;
    void *made;
    enum cs_status status = vendor->fallback(vendor->ctx, reported, &made, &bytes);
    if (status != CS_OK)
        return status;
    rewrite->fallback = cs_built_plans_release(made);
    return bytes > reported ? CS_INVALID : make_ready(built->real, vendor->many, rewrite->fallback);
}

/* Builds the fallback plan of a problem that was decided already. If the application makes many
 * plans and the vendor allows it, the fallback plan is built when it first runs: the decision has
 * shown that it exists, and few of these plans run. */
static enum cs_status build_known_fallback(struct cs_rewrite *rewrite, int64_t reported,
                                           struct cs_built_plans *built)
{
    const struct cs_vendor *vendor = built->real;
    if (vendor->many && vendor->fallback_later && !cs_built_plans_has_fallback(built, reported) &&
        vendor->fallback_later(vendor->ctx, reported, &rewrite->fallback) == CS_OK)
        return CS_OK;
    return build_fallback(rewrite, reported, built);
}

static struct cs_rewrite *new_rewrite(const struct cs_vendor *vendor)
{
    struct cs_rewrite *rewrite = calloc(1, sizeof *rewrite);
    if (rewrite)
        rewrite->destroy = vendor->destroy;
    return rewrite;
}

/* Stores the rewriting if it is complete, else discards it. */
static enum cs_status finish_rewrite(enum cs_status status, struct cs_rewrite *rewrite,
                                     struct cs_rewrite **rewrite_p)
{
    if (status == CS_OK)
        *rewrite_p = rewrite;
    else
        cs_rewrite_discard(rewrite);
    return status;
}

/* Builds the tiles of a decision, with a fallback plan if `with_fallback`. */
static enum cs_status build_decided(const struct cs_problem *problem,
                                    const struct cs_decision *decision, bool with_fallback,
                                    struct cs_built_plans *built, struct cs_rewrite **rewrite_p)
{
    struct cs_rewrite *rewrite = new_rewrite(built->real);
    if (!rewrite)
        return CS_NOMEM;
    enum cs_status status = cs_plan_cut(problem, &decision->tiling, &rewrite->plan);
    if (status == CS_OK)
        status = build_execution_plans(rewrite, built);
    if (status == CS_OK && with_fallback)
        status = build_known_fallback(rewrite, decision->reported, built);
    if (status == CS_OK)
        status = cs_plan_validate(&rewrite->plan, decision->scratch);
    return finish_rewrite(status, rewrite, rewrite_p);
}

enum cs_status cs_build_tiles(const struct cs_problem *problem, const struct cs_decision *decision,
                              struct cs_built_plans *built, struct cs_rewrite **rewrite_p)
{
    return build_decided(problem, decision, true, built, rewrite_p);
}

enum cs_status cs_build_only_tiles(const struct cs_problem *problem,
                                   const struct cs_decision *decision, struct cs_built_plans *built,
                                   struct cs_rewrite **rewrite_p)
{
    return build_decided(problem, decision, false, built, rewrite_p);
}

enum cs_status cs_build_fallback(int64_t reported, struct cs_built_plans *built,
                                 struct cs_rewrite **rewrite_p)
{
    struct cs_rewrite *rewrite = new_rewrite(built->real);
    if (!rewrite)
        return CS_NOMEM;
    return finish_rewrite(build_fallback(rewrite, reported, built), rewrite, rewrite_p);
}
