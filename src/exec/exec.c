#include "exec/exec.h"

static bool overlap(const char *a, int64_t a_bytes, const char *b, int64_t b_bytes)
{
    return (uintptr_t)a < (uintptr_t)b + (uintptr_t)b_bytes &&
           (uintptr_t)b < (uintptr_t)a + (uintptr_t)a_bytes;
}

static bool output_alone(const struct cs_problem *problem, const struct cs_addresses *base)
{
    int64_t span[CS_OPERANDS];
    for (int i = 0; i < CS_OPERANDS; i++)
        if (cs_tensor_span(&problem->tensor[i], &span[i]) != CS_OK)
            return false;
    for (int i = 0; i < CS_OPERANDS; i++)
        if (i != CS_Y && overlap(base->operand[CS_Y], span[CS_Y], base->operand[i], span[i]))
            return false;
    return true;
}

static void shift(const struct cs_addresses *base, const struct cs_tile *tile,
                  struct cs_addresses *out)
{
    for (int i = 0; i < CS_OPERANDS; i++)
        out->operand[i] = (char *)base->operand[i] + tile->offset[i];
    out->workspace = base->workspace;
}

static void release_all(const struct cs_gpu *gpu, void **launch, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        gpu->release(gpu->ctx, launch[i]);
}

/* On success all tiles of the plan are bound, otherwise none. */
static int bind_all(const struct cs_plan *plan, const struct cs_gpu *gpu,
                    const struct cs_addresses *base, void **launch)
{
    for (int64_t i = 0; i < plan->tiles; i++) {
        struct cs_tile tile;
        struct cs_addresses addresses;
        cs_plan_tile(plan, i, &tile);
        shift(base, &tile, &addresses);
        int vendor = gpu->bind(gpu->ctx, tile.kind, &addresses, &launch[i]);
        if (vendor != 0) {
            release_all(gpu, launch, i);
            return vendor;
        }
    }
    return 0;
}

static int launch_all(const struct cs_plan *plan, const struct cs_gpu *gpu, void *const *launch,
                      int64_t *launches_p)
{
    for (int64_t i = 0; i < plan->tiles; i++) {
        int vendor = gpu->launch(gpu->ctx, plan->kind_of[i], launch[i]);
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
    void *launch[CS_MAX_TILES];
    /* In place, a tile would read what its neighbour has overwritten in the halo. */
    bool alone = output_alone(&plan->problem, base);
    if (!alone || bind_all(plan, gpu, base, launch) != 0)
        return cs_exec_lifeboat(gpu);

    struct cs_outcome outcome = {CS_RAN_TILES, 0, 0};
    outcome.vendor = launch_all(plan, gpu, launch, &outcome.launches);
    release_all(gpu, launch, plan->tiles);
    if (outcome.vendor == 0)
        return outcome;
    if (plan->problem.beta == 0) {
        struct cs_outcome repaired = cs_exec_lifeboat(gpu);
        if (repaired.vendor == 0) {
            repaired.launches = outcome.launches;
            return repaired;
        }
    }
    outcome.ran = CS_RAN_NOTHING;
    return outcome;
}
