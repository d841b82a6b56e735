/* Keeps the execution plans that a decision builds, so that its rewriting builds none of them
 * twice. */
#include "flow/built_plans.h"

#include "decide/memo.h"
#include <stdlib.h>

enum {
    MAX_KEPT = 48 /* of tens of KB, mostly cuDNN's; beyond these the oldest is destroyed */
};

struct cs_built_plan {
    struct cs_built_plan *next;
    struct cs_built_plans *built;
    void *execution_plan;
    int64_t workspace;
    int64_t
        limit; /* of a fallback plan; -1: the execution plan of a problem, described by the rest */
    struct cs_key key;
};

static void key_of(const struct cs_problem *problem, enum cs_relaxation relaxation,
                   struct cs_key *key)
{
    const struct cs_engine any = {.index = 0}; /* a request has one engine */
    cs_memo_key_make(problem, &any, (int64_t)relaxation, 0, 0, key);
}

static struct cs_built_plan *unlink_plan(struct cs_built_plans *built, struct cs_built_plan **link)
{
    struct cs_built_plan *taken = *link;
    if (taken) {
        *link = taken->next;
        built->count--;
    }
    return taken;
}

static struct cs_built_plan *take_problem(struct cs_built_plans *built, const struct cs_key *key)
{
    struct cs_built_plan **link = &built->first;
    while (*link && ((*link)->limit >= 0 || !cs_memo_key_equal(&(*link)->key, key)))
        link = &(*link)->next;
    return unlink_plan(built, link);
}

/* The first engine within a larger limit is also the first within a smaller one, if it fits that.
 */
static struct cs_built_plan *take_fallback(struct cs_built_plans *built, int64_t limit)
{
    struct cs_built_plan **link = &built->first;
    while (*link && ((*link)->limit < limit || (*link)->workspace > limit))
        link = &(*link)->next;
    return unlink_plan(built, link);
}

static void destroy(struct cs_built_plan *execution_plan)
{
    execution_plan->built->real->destroy(execution_plan->execution_plan);
    free(execution_plan);
}

static void keep(void *execution_plan)
{
    struct cs_built_plan *added = execution_plan;
    if (!added)
        return;
    struct cs_built_plans *built = added->built;
    added->next = built->first;
    built->first = added;
    if (++built->count <= MAX_KEPT)
        return;
    struct cs_built_plan **link = &built->first;
    while ((*link)->next)
        link = &(*link)->next;
    destroy(unlink_plan(built, link));
}

static struct cs_built_plan *start(struct cs_built_plans *built, int64_t limit)
{
    struct cs_built_plan *made = malloc(sizeof *made);
    if (made) {
        made->built = built;
        made->limit = limit;
    }
    return made;
}

static enum cs_status finish(enum cs_status status, struct cs_built_plan *made,
                             void **execution_plan_p, int64_t *workspace_p)
{
    if (status != CS_OK) {
        free(made);
        return status;
    }
    *execution_plan_p = made;
    *workspace_p = made->workspace;
    return CS_OK;
}

static enum cs_status build(void *ctx, const struct cs_problem *problem,
                            enum cs_relaxation relaxation, void **execution_plan_p,
                            int64_t *workspace_p)
{
    struct cs_built_plans *built = ctx;
    struct cs_built_plan *made = start(built, -1);
    if (!made)
        return CS_NOMEM;
    key_of(problem, relaxation, &made->key);
    struct cs_built_plan *found = take_problem(built, &made->key);
    if (found) {
        free(made);
        return finish(CS_OK, found, execution_plan_p, workspace_p);
    }
    enum cs_status status = built->real->build(built->real->ctx, problem, relaxation,
                                               &made->execution_plan, &made->workspace);
    return finish(status, made, execution_plan_p, workspace_p);
}

static enum cs_status fallback(void *ctx, int64_t limit, void **execution_plan_p,
                               int64_t *workspace_p)
{
    struct cs_built_plans *built = ctx;
    struct cs_built_plan *made = take_fallback(built, limit);
    if (made)
        return finish(CS_OK, made, execution_plan_p, workspace_p);
    made = start(built, limit);
    if (!made)
        return CS_NOMEM;
    enum cs_status status =
        built->real->fallback(built->real->ctx, limit, &made->execution_plan, &made->workspace);
    return finish(status, made, execution_plan_p, workspace_p);
}

static const struct cs_profile *profile(void *ctx)
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
                                                .build = build,
                                                .fallback = fallback,
                                                .destroy = keep,
                                                .profile = vendor->profile ? profile : NULL},
                                     .real = vendor};
}

void cs_built_plans_fini(struct cs_built_plans *built)
{
    struct cs_built_plan *execution_plan;
    while ((execution_plan = unlink_plan(built, &built->first)))
        destroy(execution_plan);
}

/* The kept plan without its list entry, which is freed. */
static void unwrap(struct cs_built_plan *found, void **execution_plan_p, int64_t *workspace_p)
{
    *execution_plan_p = found->execution_plan;
    *workspace_p = found->workspace;
    free(found);
}

enum cs_status cs_built_plans_build(struct cs_built_plans *built, const struct cs_problem *problem,
                                    enum cs_relaxation relaxation, void **execution_plan_p,
                                    int64_t *workspace_p)
{
    struct cs_built_plan *found = NULL;
    struct cs_key key;
    if (built->first) {
        key_of(problem, relaxation, &key);
        found = take_problem(built, &key);
    }
    if (!found)
        return built->real->build(built->real->ctx, problem, relaxation, execution_plan_p,
                                  workspace_p);
    unwrap(found, execution_plan_p, workspace_p);
    return CS_OK;
}

bool cs_built_plans_has_fallback(const struct cs_built_plans *built, int64_t limit)
{
    const struct cs_built_plan *plan = built->first;
    while (plan && (plan->limit < limit || plan->workspace > limit))
        plan = plan->next;
    return plan != NULL;
}

enum cs_status cs_built_plans_fallback(struct cs_built_plans *built, int64_t limit,
                                       void **execution_plan_p, int64_t *workspace_p)
{
    struct cs_built_plan *found = take_fallback(built, limit);
    if (!found)
        return built->real->fallback(built->real->ctx, limit, execution_plan_p, workspace_p);
    unwrap(found, execution_plan_p, workspace_p);
    return CS_OK;
}
