/* A plan carried out on the host: convolutions in whole numbers that wrap around, so that sums are
 * the same in every order, and the copies as a device makes them. The tiles and their copies must
 * leave the same bytes in memory as the untiled convolution, gaps included. Further tensors are
 * added: those on the result's side to the result, the others to their operand. */
#ifndef PLAN_RUN_H
#define PLAN_RUN_H

#include "host_copy.h"
#include "plan_terms.h"

enum {
    RUN_BYTES = 40000, /* most that a tensor spans, and most that is staged */
    RUN_TERMS = 30000  /* most products of the whole */
};

struct host {
    char tensor[CS_MAX_TENSORS][RUN_BYTES];
};

static inline uint32_t host_get(const char *at, int64_t size)
{
    uint32_t word = 0;
    memcpy(&word, at, (size_t)size);
    return word;
}

static inline void host_put(char *at, int64_t size, uint32_t value)
{
    memcpy(at, &value, (size_t)size);
}

/* The element of a tensor that goes with one of the tensor that it is broadcast to. */
static inline char *host_at(const struct cs_tensor *tensor, char *base, const int64_t at[CS_DIMS])
{
    int64_t own[CS_DIMS];
    for (int dim = 0; dim < CS_DIMS; dim++)
        own[dim] = tensor->dims[dim] == 1 ? 0 : at[dim];
    return base + byte_of(tensor, own);
}

static inline uint32_t host_addends(const struct cs_problem *problem, char *const base[],
                                    enum cs_operand side, const int64_t at[CS_DIMS])
{
    uint32_t sum = 0;
    for (int i = CS_OPERANDS; i < problem->tensors; i++) {
        const struct cs_tensor *tensor = &problem->tensor[i];
        if (tensor->side == side && !tensor->written && !tensor->is_virtual)
            sum += host_get(host_at(tensor, base[i], at), cs_problem_dtype_size(tensor->dtype));
    }
    return sum;
}

static inline uint32_t host_operand(const struct cs_problem *problem, char *const base[],
                                    enum cs_operand operand, const int64_t at[CS_DIMS])
{
    const struct cs_tensor *tensor = &problem->tensor[operand];
    uint32_t own = tensor->is_virtual ? 0
                                      : host_get(base[operand] + byte_of(tensor, at),
                                                 cs_problem_dtype_size(tensor->dtype));
    return own + host_addends(problem, base, operand, at);
}

/* The sums of the convolution alone, by number of the result's element. */
static inline const uint32_t *host_sums(const struct cs_problem *problem, char *const base[])
{
    static uint32_t sum[2 * RUN_BYTES];
    const enum cs_operand result = cs_result(problem->direction);
    struct cs_tensor filter = one_filter(problem);
    int64_t terms = elements_of(&filter), all = elements_of(&problem->tensor[CS_Y]) * terms;
    memset(sum, 0, (size_t)elements_of(&problem->tensor[result]) * sizeof *sum);
    for (int64_t i = 0; i < all; i++) {
        int64_t at[CS_OPERANDS][CS_DIMS];
        uint32_t product = 1;
        coordinates(&problem->tensor[CS_Y], i / terms, at[CS_Y]);
        coordinates(&filter, i % terms, at[CS_FILTER]);
        at[CS_FILTER][CS_N] = at[CS_Y][CS_C];
        if (!term_of(problem, at[CS_Y], at[CS_FILTER], at[CS_X]))
            continue;
        for (int operand = 0; operand < CS_OPERANDS; operand++)
            if (operand != (int)result)
                product *= host_operand(problem, base, (enum cs_operand)operand, at[operand]);
        sum[number_of(&problem->tensor[result], at[result])] += product;
    }
    return sum;
}

static inline void host_convolve(const struct cs_problem *problem, char *const base[])
{
    const enum cs_operand result = cs_result(problem->direction);
    const uint32_t *sum = host_sums(problem, base);
    for (int64_t i = 0; i < elements_of(&problem->tensor[result]); i++) {
        int64_t at[CS_DIMS];
        coordinates(&problem->tensor[result], i, at);
        uint32_t further = host_addends(problem, base, result, at);
        for (int t = 0; t < problem->tensors; t++) {
            const struct cs_tensor *tensor = &problem->tensor[t];
            if (!tensor->written)
                continue;
            char *place = base[t] + byte_of(tensor, at);
            int64_t size = cs_problem_dtype_size(tensor->dtype);
            uint32_t old = t == (int)result && problem->beta != 0 ? host_get(place, size) : 0;
            host_put(place, size, sum[i] + old + (t == (int)result ? 0 : further));
        }
    }
}

static inline void host_tile(const struct cs_plan *plan, int64_t index, struct host *host)
{
    static struct cs_problem shape;
    static char staged[RUN_BYTES];
    struct cs_stage stage[CS_MAX_TENSORS];
    struct cs_tile tile;
    char *base[CS_MAX_TENSORS], *view[CS_MAX_TENSORS];
    cs_plan_tile(plan, index, &tile);
    cs_plan_problem(plan, tile.shape, &shape);
    CHECK_INT(cs_problem_check(&shape), CS_OK);
    memset(staged, 0xa5, sizeof staged); /* stale bytes, on which no tile may rely */
    for (int i = 0; i < shape.tensors; i++)
        base[i] = view[i] = host->tensor[i] + tile.offset[i];
    int stages = cs_plan_stages(plan, tile.shape, stage);
    for (int i = 0; i < stages; i++) {
        int t = stage[i].tensor;
        base[t] = staged + plan->staged_at[t];
        CHECK(plan->staged_at[t] + (int64_t)wide_span(&shape.tensor[t]) <= plan->staged);
        if (stage[i].in)
            host_copy(&stage[i].copy, view[t], base[t] + stage[i].skipped, true);
    }
    host_convolve(&shape, base);
    for (int i = 0; i < stages; i++)
        if (stage[i].out)
            host_copy(&stage[i].copy, view[stage[i].tensor],
                      base[stage[i].tensor] + stage[i].skipped, false);
}

/* False if the problem is too large to run here. */
static inline bool host_fits(const struct cs_problem *problem)
{
    struct cs_tensor filter = one_filter(problem);
    for (int i = 0; i < problem->tensors; i++)
        if (wide_span(&problem->tensor[i]) > RUN_BYTES)
            return false;
    return (wide)elements_of(&problem->tensor[CS_Y]) * elements_of(&filter) <= RUN_TERMS;
}

/* Number of bytes that differ between the tiled and the untiled result; < 0: too large to run. */
static inline int64_t host_differs(const struct cs_plan *plan)
{
    static struct host before, whole, tiled;
    const struct cs_problem *problem = &plan->problem;
    char *base[CS_MAX_TENSORS];
    int64_t differ = 0;
    if (!host_fits(problem) || plan->staged > RUN_BYTES)
        return -1;
    for (int t = 0; t < problem->tensors; t++) {
        size_t span = (size_t)wide_span(&problem->tensor[t]);
        for (size_t i = 0; i < span; i++)
            before.tensor[t][i] = (char)((i + 1 + 977 * (size_t)t) * 0x9e3779b97f4a7c15u >> 56);
        memcpy(whole.tensor[t], before.tensor[t], span);
        memcpy(tiled.tensor[t], before.tensor[t], span);
        base[t] = whole.tensor[t];
    }
    host_convolve(problem, base);
    for (int64_t i = 0; i < plan->tiles; i++)
        host_tile(plan, i, &tiled);
    for (int t = 0; t < problem->tensors; t++)
        for (int64_t i = 0; i < (int64_t)wide_span(&problem->tensor[t]); i++)
            differ += whole.tensor[t][i] != tiled.tensor[t][i];
    return differ;
}

#endif
