#include "flow/built_plans.h"

#include "decide/memo.h"
#include <stdlib.h>

enum {
    MAX_KEPT = 48 /* of tens of KB, mostly cuDNN's; then the longest kept goes */
};

struct cs_kept_kernel {
    struct cs_kept_kernel *next;
    struct cs_kept *kept;
    void *kernel;
    int64_t workspace;
    int64_t limit; /* of a lifeboat; -1: the kernel of a problem, of which the rest tells */
    struct cs_key key;
};

static void key_of(const struct cs_problem *problem, enum cs_latitude latitude, struct cs_key *key)
{
    const struct cs_engine any = {.index = 0}; /* a request has one engine */
    cs_key_make(problem, &any, (int64_t)latitude, 0, 0, key);
}

static struct cs_kept_kernel *take(struct cs_kept *kept, struct cs_kept_kernel **link)
{
    struct cs_kept_kernel *taken = *link;
    if (taken) {
        *link = taken->next;
        kept->count--;
    }
    return taken;
}

static struct cs_kept_kernel *take_problem(struct cs_kept *kept, const struct cs_key *key)
{
    struct cs_kept_kernel **link = &kept->first;
    while (*link && ((*link)->limit >= 0 || !cs_key_equal(&(*link)->key, key)))
        link = &(*link)->next;
    return take(kept, link);
}

/* The first engine within a larger limit is the first within a smaller one, if it fits that, too.
 */
static struct cs_kept_kernel *take_lifeboat(struct cs_kept *kept, int64_t limit)
{
    struct cs_kept_kernel **link = &kept->first;
    while (*link && ((*link)->limit < limit || (*link)->workspace > limit))
        link = &(*link)->next;
    return take(kept, link);
}

static void destroy(struct cs_kept_kernel *kernel)
{
    kernel->kept->real->destroy(kernel->kernel);
    free(kernel);
}

static void keep(void *kernel)
{
    struct cs_kept_kernel *added = kernel;
    if (!added)
        return;
    struct cs_kept *kept = added->kept;
    added->next = kept->first;
    kept->first = added;
    if (++kept->count <= MAX_KEPT)
        return;
    struct cs_kept_kernel **link = &kept->first;
    while ((*link)->next)
        link = &(*link)->next;
    destroy(take(kept, link));
}

static struct cs_kept_kernel *start(struct cs_kept *kept, int64_t limit)
{
    struct cs_kept_kernel *made = malloc(sizeof *made);
    if (made) {
        made->kept = kept;
        made->limit = limit;
    }
    return made;
}

static enum cs_status finish(enum cs_status status, struct cs_kept_kernel *made, void **kernel_p,
                             int64_t *workspace_p)
{
    if (status != CS_OK) {
        free(made);
        return status;
    }
    *kernel_p = made;
    *workspace_p = made->workspace;
    return CS_OK;
}

static enum cs_status build(void *ctx, const struct cs_problem *problem, enum cs_latitude latitude,
                            void **kernel_p, int64_t *workspace_p)
{
    struct cs_kept *kept = ctx;
    struct cs_kept_kernel *made = start(kept, -1);
    if (!made)
        return CS_NOMEM;
    key_of(problem, latitude, &made->key);
    struct cs_kept_kernel *found = take_problem(kept, &made->key);
    if (found) {
        free(made);
        return finish(CS_OK, found, kernel_p, workspace_p);
    }
    enum cs_status status =
        kept->real->build(kept->real->ctx, problem, latitude, &made->kernel, &made->workspace);
    return finish(status, made, kernel_p, workspace_p);
}

static enum cs_status lifeboat(void *ctx, int64_t limit, void **kernel_p, int64_t *workspace_p)
{
    struct cs_kept *kept = ctx;
    struct cs_kept_kernel *made = take_lifeboat(kept, limit);
    if (made)
        return finish(CS_OK, made, kernel_p, workspace_p);
    made = start(kept, limit);
    if (!made)
        return CS_NOMEM;
    enum cs_status status =
        kept->real->lifeboat(kept->real->ctx, limit, &made->kernel, &made->workspace);
    return finish(status, made, kernel_p, workspace_p);
}

static const struct cs_profile *profile(void *ctx)
{
    const struct cs_kept *kept = ctx;
    return kept->real->profile(kept->real->ctx);
}

static enum cs_status timed(void *ctx, const struct cs_plan *plan, int64_t limit, double *seconds_p)
{
    const struct cs_kept *kept = ctx;
    return kept->real->time(kept->real->ctx, plan, limit, seconds_p);
}

static int64_t model(void *ctx)
{
    const struct cs_kept *kept = ctx;
    return kept->real->model(kept->real->ctx);
}

void cs_kept_init(struct cs_kept *kept, const struct cs_vendor *vendor)
{
    *kept = (struct cs_kept){.vendor = {.ctx = kept,
                                        .compiles = vendor->compiles,
                                        .rigid = vendor->rigid,
                                        .build = build,
                                        .lifeboat = lifeboat,
                                        .destroy = keep,
                                        .profile = vendor->profile ? profile : NULL,
                                        .time = vendor->time ? timed : NULL,
                                        .model = vendor->model ? model : NULL},
                             .real = vendor};
}

void cs_kept_fini(struct cs_kept *kept)
{
    struct cs_kept_kernel *kernel;
    while ((kernel = take(kept, &kept->first)))
        destroy(kernel);
}

/* What was kept, without what it was kept in. */
static void unwrap(struct cs_kept_kernel *found, void **kernel_p, int64_t *workspace_p)
{
    *kernel_p = found->kernel;
    *workspace_p = found->workspace;
    free(found);
}

enum cs_status cs_kept_build(struct cs_kept *kept, const struct cs_problem *problem,
                             enum cs_latitude latitude, void **kernel_p, int64_t *workspace_p)
{
    struct cs_kept_kernel *found = NULL;
    struct cs_key key;
    if (kept->first) {
        key_of(problem, latitude, &key);
        found = take_problem(kept, &key);
    }
    if (!found)
        return kept->real->build(kept->real->ctx, problem, latitude, kernel_p, workspace_p);
    unwrap(found, kernel_p, workspace_p);
    return CS_OK;
}

enum cs_status cs_kept_lifeboat(struct cs_kept *kept, int64_t limit, void **kernel_p,
                                int64_t *workspace_p)
{
    struct cs_kept_kernel *found = take_lifeboat(kept, limit);
    if (!found)
        return kept->real->lifeboat(kept->real->ctx, limit, kernel_p, workspace_p);
    unwrap(found, kernel_p, workspace_p);
    return CS_OK;
}
