#include "exec/exec.h"

/* Which tensors share memory. */
enum sharing {
    APART,    /* what is written is nothing else's */
    IN_PLACE, /* an addend is overwritten by its own sum */
    MIXED
};

static bool has_address(const struct cs_problem *problem, const struct cs_addresses *base, int i)
{
    const struct cs_tensor *tensor = &problem->tensor[i];
    return !tensor->is_virtual && !tensor->by_value && base->tensor[i];
}

static bool overlap(const char *a, int64_t a_bytes, const char *b, int64_t b_bytes)
{
    return (uintptr_t)a < (uintptr_t)b + (uintptr_t)b_bytes &&
           (uintptr_t)b < (uintptr_t)a + (uintptr_t)a_bytes;
}

static bool same_elements(const struct cs_tensor *a, const struct cs_tensor *b)
{
    for (int dim = 0; dim < CS_DIMS; dim++)
        if (a->dims[dim] != b->dims[dim] || a->strides[dim] != b->strides[dim])
            return false;
    return a->side == b->side && a->dtype == b->dtype;
}

/* Of what the convolution itself reads, a tile needs what its neighbour may have overwritten, in
 * the halo for one. What is only added needs the very elements that it ends up in. */
static enum sharing sharing_of(const struct cs_problem *problem, const struct cs_addresses *base,
                               int written, int other)
{
    const struct cs_tensor *a = &problem->tensor[written], *b = &problem->tensor[other];
    int64_t a_bytes, b_bytes;
    if (cs_tensor_span(a, &a_bytes) != CS_OK || cs_tensor_span(b, &b_bytes) != CS_OK)
        return MIXED;
    if (!overlap(base->tensor[written], a_bytes, base->tensor[other], b_bytes))
        return APART;
    bool addend =
        !b->written && same_elements(a, b) && base->tensor[written] == base->tensor[other];
    return addend ? IN_PLACE : MIXED;
}

static enum sharing sharing(const struct cs_problem *problem, const struct cs_addresses *base)
{
    enum sharing most = APART;
    for (int i = 0; i < problem->tensors; i++) {
        if (!problem->tensor[i].written || !has_address(problem, base, i))
            continue;
        for (int j = 0; j < problem->tensors; j++) {
            if (i == j || !has_address(problem, base, j))
                continue;
            enum sharing here = sharing_of(problem, base, i, j);
            most = here > most ? here : most;
        }
    }
    return most;
}

/* The copy of a filter lies in front of what the kernels get. */
static bool lay_out_scratch(const struct cs_plan *plan, const struct cs_addresses *base,
                            struct cs_addresses *out)
{
    out->staged = NULL;
    out->workspace = base->workspace;
    if (plan->staged == 0)
        return true;
    if (!base->workspace || (uintptr_t)base->workspace % CS_STAGED_ALIGNMENT != 0)
        return false;
    out->staged = base->workspace;
    out->workspace = (char *)base->workspace + plan->staged;
    return true;
}

static void shift(const struct cs_problem *problem, const struct cs_addresses *base,
                  const struct cs_tile *tile, struct cs_addresses *out)
{
    for (int i = 0; i < problem->tensors; i++) {
        out->tensor[i] = base->tensor[i];
        if (has_address(problem, base, i))
            out->tensor[i] = (char *)base->tensor[i] + tile->offset[i];
    }
}

struct bound {
    void *launch;
    int kind;
};

static void release_all(const struct cs_gpu *gpu, const struct bound *bound, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        gpu->release(gpu->ctx, bound[i].launch);
}

/* On success all tiles of the plan are bound, otherwise none. */
static int bind_all(const struct cs_plan *plan, const struct cs_gpu *gpu,
                    const struct cs_addresses *base, struct cs_addresses *addresses,
                    struct bound *bound)
{
    for (int64_t i = 0; i < plan->tiles; i++) {
        struct cs_tile tile;
        cs_plan_tile(plan, i, &tile);
        shift(&plan->problem, base, &tile, addresses);
        bound[i].kind = tile.kind;
        int vendor = gpu->bind(gpu->ctx, tile.kind, addresses, &bound[i].launch);
        if (vendor != 0) {
            release_all(gpu, bound, i);
            return vendor;
        }
    }
    return 0;
}

static int launch_all(const struct cs_plan *plan, const struct cs_gpu *gpu,
                      const struct bound *bound, int64_t *launches_p)
{
    for (int64_t i = 0; i < plan->tiles; i++) {
        int vendor = gpu->launch(gpu->ctx, bound[i].kind, bound[i].launch);
        if (vendor != 0)
            return vendor;
        *launches_p += 1;
    }
    return 0;
}

struct cs_outcome cs_exec_lifeboat(const struct cs_gpu *gpu)
{
    int vendor = gpu->lifeboat(gpu->ctx);
    return (struct cs_outcome){vendor == 0 ? CS_RAN_LIFEBOAT : CS_RAN_NOTHING, vendor, 0};
}

struct cs_outcome cs_exec_run(const struct cs_plan *plan, const struct cs_gpu *gpu,
                              const struct cs_addresses *base)
{
    struct bound bound[CS_MAX_TILES];
    struct cs_addresses addresses = {0};
    enum sharing shared = sharing(&plan->problem, base);
    if (plan->tiles == 0 || shared == MIXED || !lay_out_scratch(plan, base, &addresses) ||
        bind_all(plan, gpu, base, &addresses, bound) != 0)
        return cs_exec_lifeboat(gpu);

    struct cs_outcome outcome = {CS_RAN_TILES, 0, 0};
    outcome.vendor = launch_all(plan, gpu, bound, &outcome.launches);
    release_all(gpu, bound, plan->tiles);
    if (outcome.vendor == 0)
        return outcome;
    if (plan->problem.beta == 0 && shared == APART) {
        struct cs_outcome repaired = cs_exec_lifeboat(gpu);
        if (repaired.vendor == 0) {
            repaired.launches = outcome.launches;
            return repaired;
        }
    }
    outcome.ran = CS_RAN_NOTHING;
    return outcome;
}
