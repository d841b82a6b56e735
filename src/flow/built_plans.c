/* Keeps the execution plans that a decision builds, so that its rewriting builds none of them
 * twice. */
#include "flow/built_plans.h"

#include "decide/memo.h"
#include <stdlib.h>

enum {
    MAX_KEPT = 48 /* plans, tens of KB each; the oldest further one is destroyed */
};

struct cs_built_plan {
    struct cs_built_plan *next;
    struct cs_built_plans *built;
    void *execution_plan;
    int64_t workspace;
    int64_t limit;     /* limit of a fallback plan in bytes; -1: not a fallback plan */
    struct cs_key key; /* problem and relaxation; not set for a fallback plan */
};

static void make_key(const struct cs_problem *problem, enum cs_relaxation relaxation,
                     struct cs_key *key)
{
    const struct cs_engine any = {.index = 0}; /* a request has one engine */
    cs_memo_key_make(problem, &any, (int64_t)relaxation, 0, 0, key);
}

/* The link to the kept plan of a problem, or to NULL at the end of the list. */
static struct cs_built_plan **problem_link(struct cs_built_plans *built, const struct cs_key *key)
{
    struct cs_built_plan **link = &built->first;
    while (*link && ((*link)->limit >= 0 || !cs_memo_key_equal(&(*link)->key, key)))
        link = &(*link)->next;
    return link;
}

/* The link to a kept fallback plan that serves a limit, or to NULL at the end of the list. The
 * first engine within a larger limit is also the first within a smaller one, if it fits that. */
static struct cs_built_plan **fallback_link(struct cs_built_plans *built, int64_t limit)
{
    struct cs_built_plan **link = &built->first;
    while (*link && ((*link)->limit < limit || (*link)->workspace > limit))
        link = &(*link)->next;
    return link;
}

/* Removes the plan at the link from the list, and returns it. NULL: the link is the end. */
static struct cs_built_plan *unlink_plan(struct cs_built_plans *built, struct cs_built_plan **link)
{
    struct cs_built_plan *taken = *link;
    if (taken) {
        *link = taken->next;
        built->count--;
    }
    return taken;
}

static void destroy_plan(struct cs_built_plan *plan)
{
    plan->built->real->destroy(plan->execution_plan);
    free(plan);
}

/* The wrapping vendor's `destroy`: keeps the plan. If too many are kept, destroys the oldest one.
 */
static void keep_plan(void *opaque)
{
    struct cs_built_plan *plan = opaque;
    if (!plan)
        return;
    struct cs_built_plans *built = plan->built;
    plan->next = built->first;
    built->first = plan;
    if (++built->count <= MAX_KEPT)
        return;
    struct cs_built_plan **link = &built->first;
    while ((*link)->next)
        link = &(*link)->next;
    destroy_plan(unlink_plan(built, link));
}

/* Stores a plan in the out-parameters, or frees it if `status` is an error. */
static enum cs_status hand_out(enum cs_status status, struct cs_built_plan *plan, void **plan_p,
                               int64_t *workspace_p)
{
    if (status != CS_OK) {
        free(plan);
        return status;
    }
    *plan_p = plan;
    *workspace_p = plan->workspace;
    return CS_OK;
}

/* The wrapping vendor's `build`: returns the kept plan of the same problem, or builds one. */
static enum cs_status build_plan(void *ctx, const struct cs_problem *problem,
                                 enum cs_relaxation relaxation, void **plan_p, int64_t *workspace_p)
{
    struct cs_built_plans *built = ctx;
    const struct cs_vendor *real = built->real;
    struct cs_key key;
    make_key(problem, relaxation, &key);
    struct cs_built_plan *plan = unlink_plan(built, problem_link(built, &key));
    if (plan)
        return hand_out(CS_OK, plan, plan_p, workspace_p);
    plan = malloc(sizeof *plan);
    if (!plan)
        return CS_NOMEM;
    *plan = (struct cs_built_plan){.built = built, .limit = -1, .key = key};
    const enum cs_status status =
        real->build(real->ctx, problem, relaxation, &plan->execution_plan, &plan->workspace);
    return hand_out(status, plan, plan_p, workspace_p);
}

/* The wrapping vendor's `fallback`: returns a kept plan that serves the limit, or builds one. */
static enum cs_status build_fallback(void *ctx, int64_t limit, void **plan_p, int64_t *workspace_p)
{
    struct cs_built_plans *built = ctx;
    const struct cs_vendor *real = built->real;
    struct cs_built_plan *plan = unlink_plan(built, fallback_link(built, limit));
    if (plan)
        return hand_out(CS_OK, plan, plan_p, workspace_p);
    plan = malloc(sizeof *plan);
    if (!plan)
        return CS_NOMEM;
    plan->built = built;
    plan->limit = limit;
    return hand_out(real->fallback(real->ctx, limit, &plan->execution_plan, &plan->workspace), plan,
                    plan_p, workspace_p);
}

static const struct cs_profile *read_profile(void *ctx)
{
    const struct cs_built_plans *built = ctx;
    return built->real->profile(built->real->ctx);
}

void cs_built_plans_init(struct cs_built_plans *built, const struct cs_vendor *vendor)
{
    *built = (struct cs_built_plans){.vendor = {.ctx = built,
                                                .compiles = vendor->compiles,
                                                .many = vendor->many,
                                                .rigid = vendor->rigid,
                                                .build = build_plan,
                                                .fallback = build_fallback,
                                                .destroy = keep_plan,
                                                .profile = vendor->profile ? read_profile : NULL},
                                     .real = vendor};
}

void cs_built_plans_fini(struct cs_built_plans *built)
{
    struct cs_built_plan *plan;
    while ((plan = unlink_plan(built, &built->first)))
        destroy_plan(plan);
}

void *cs_built_plans_release(void *opaque)
{
    struct cs_built_plan *plan = opaque;
    void *execution_plan = plan->execution_plan;
    free(plan);
    return execution_plan;
}

bool cs_built_plans_has_fallback(struct cs_built_plans *built, int64_t limit)
{
    return *fallback_link(built, limit) != NULL;
}
