/* Builds the objects that a call runs: an execution plan for each tile shape, and the fallback
 * plan. */
#include "flow/build.h"

#include <stdlib.h>

static enum cs_status make_ready(const struct cs_vendor *vendor, bool later, void *execution_plan)
{
    return vendor->ready && !later ? vendor->ready(vendor->ctx, execution_plan) : CS_OK;
}

static enum cs_status build_execution_plans(struct cs_rewrite *rewrite,
                                            struct cs_built_plans *built)
{
    struct cs_plan *plan = &rewrite->plan;
    const bool later = built->real->compiles || built->real->many;
    for (int64_t i = 0; i < plan->shapes; i++) {
        struct cs_problem shape;
        cs_plan_problem(plan, i, &shape);
        enum cs_status status =
            cs_built_plans_build(built, &shape, plan->shape[i].relaxation,
                                 &rewrite->execution_plan[i], &plan->shape[i].workspace);
        if (status == CS_OK)
            status = make_ready(built->real, later, rewrite->execution_plan[i]);
        if (status != CS_OK)
            return status;
    }
    cs_plan_settle(plan);
    return CS_OK;
}

static enum cs_status build_fallback(struct cs_rewrite *rewrite, int64_t reported,
                                     struct cs_built_plans *built)
{
    int64_t bytes;
    enum cs_status status = cs_built_plans_fallback(built, reported, &rewrite->fallback, &bytes);
    if (status == CS_OK && bytes > reported)
        return CS_INVALID;
    return status == CS_OK ? make_ready(built->real, built->real->many, rewrite->fallback) : status;
}

/* The same for a problem that was decided already: the plan exists then, and few of these plans
 * run. */
static enum cs_status build_known_fallback(struct cs_rewrite *rewrite, int64_t reported,
                                           struct cs_built_plans *built)
{
    const struct cs_vendor *vendor = built->real;
    if (vendor->many && vendor->fallback_later && !cs_built_plans_has_fallback(built, reported) &&
        vendor->fallback_later(vendor->ctx, reported, &rewrite->fallback) == CS_OK)
        return CS_OK;
    return build_fallback(rewrite, reported, built);
}

static struct cs_rewrite *start(const struct cs_vendor *vendor)
{
    struct cs_rewrite *rewrite = calloc(1, sizeof *rewrite);
    if (rewrite)
        rewrite->destroy = vendor->destroy;
    return rewrite;
}

/* Returns the rewriting if it is complete. */
static enum cs_status finish(enum cs_status status, struct cs_rewrite *rewrite,
                             struct cs_rewrite **rewrite_p)
{
    if (status == CS_OK)
        *rewrite_p = rewrite;
    else
        cs_rewrite_discard(rewrite);
    return status;
}

enum cs_status cs_build_tiles(const struct cs_problem *problem, const struct cs_decision *decision,
                              struct cs_built_plans *built, struct cs_rewrite **rewrite_p)
{
    struct cs_rewrite *rewrite = start(built->real);
    if (!rewrite)
        return CS_NOMEM;
    enum cs_status status = cs_plan_cut(problem, &decision->tiling, &rewrite->plan);
    if (status == CS_OK)
        status = build_execution_plans(rewrite, built);
    if (status == CS_OK)
        status = build_known_fallback(rewrite, decision->reported, built);
    if (status == CS_OK)
        status = cs_plan_validate(&rewrite->plan, decision->scratch);
    return finish(status, rewrite, rewrite_p);
}

enum cs_status cs_build_fallback(int64_t reported, struct cs_built_plans *built,
                                 struct cs_rewrite **rewrite_p)
{
    struct cs_rewrite *rewrite = start(built->real);
    if (!rewrite)
        return CS_NOMEM;
    return finish(build_fallback(rewrite, reported, built), rewrite, rewrite_p);
}

/* Builds the application's own plan as the fallback plan. False if it requires more than `most`. */
static bool build_own(const struct cs_problem *problem, const struct cs_vendor *vendor,
                      int64_t most, struct cs_rewrite *rewrite)
{
    int64_t bytes;
    if (vendor->build(vendor->ctx, problem, CS_SAME_KNOBS, &rewrite->fallback, &bytes) != CS_OK)
        return false;
    if (bytes <= most)
        return true;
    rewrite->destroy(rewrite->fallback);
    rewrite->fallback = NULL;
    return false;
}

enum cs_status cs_build_untiled(const struct cs_problem *problem, const struct cs_vendor *vendor,
                                int64_t most, int64_t reported, struct cs_rewrite **rewrite_p)
{
    struct cs_built_plans nothing;
    struct cs_rewrite *rewrite = start(vendor);
    if (!rewrite)
        return CS_NOMEM;
    cs_built_plans_init(&nothing, vendor);
    enum cs_status status = build_own(problem, vendor, most, rewrite)
                                ? CS_OK
                                : build_fallback(rewrite, reported, &nothing);
    return finish(status, rewrite, rewrite_p);
}
