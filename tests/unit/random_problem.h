/* Random convolutions from a seed. Each passes cs_problem_check unless its comment states
 * otherwise. */
#ifndef RANDOM_PROBLEM_H
#define RANDOM_PROBLEM_H

#include "account/account.h"
#include "convshim/problem.h"

#include <stdlib.h>

struct rng {
    uint64_t state;
};

/* Names the problem in the next failures (CASE of check.h): that of this turn from this seed. */
#define RANDOM_CASE(seed, turn, problem)                                                           \
    do {                                                                                           \
        char text_[256];                                                                           \
        (void)cs_site_problem_text(problem, text_, sizeof text_);                                  \
        CASE("seed %llu, turn %d: %s", (unsigned long long)(seed), (int)(turn), text_);            \
    } while (0)

/* CONVSHIM_TEST_LOAD percent of the random problems; all if it is not set. */
static inline int random_count(int all)
{
    const char *percent = getenv("CONVSHIM_TEST_LOAD");
    return percent ? (int)((int64_t)all * atoi(percent) / 100) : all;
}

static inline uint64_t rng_next(struct rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* In [low, high], both included. */
static inline int64_t rng_between(struct rng *rng, int64_t low, int64_t high)
{
    return low + (int64_t)(rng_next(rng) % (uint64_t)(high - low + 1));
}

/* In [1, 2^bits], every magnitude as likely. */
static inline int64_t rng_magnitude(struct rng *rng, int bits)
{
    int64_t top = INT64_C(1) << rng_between(rng, 0, bits);
    return rng_between(rng, top / 2 + 1, top);
}

enum random_layout {
    CHANNELS_FIRST,
    CHANNELS_LAST,
    GAPS /* any order of dimensions, with gaps */
};

static inline void random_strides(struct rng *rng, enum random_layout layout, int spatial,
                                  struct cs_tensor *tensor)
{
    int order[CS_DIMS] = {CS_N, CS_C, CS_D, CS_H, CS_W};
    if (layout == CHANNELS_LAST) {
        const int last[CS_DIMS] = {CS_N, CS_D, CS_H, CS_W, CS_C};
        for (int i = 0; i < CS_DIMS; i++)
            order[i] = last[i];
    }
    for (int i = CS_DIMS - 1; layout == GAPS && i > 0; i--) {
        int j = (int)rng_between(rng, 0, i), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    int64_t stride = 1;
    for (int i = CS_DIMS - 1; i >= 0; i--) {
        int dim = order[i];
        bool absent = dim >= CS_D && dim < CS_DIMS - spatial;
        tensor->strides[dim] = absent ? 0 : stride;
        if (!absent)
            stride *= tensor->dims[dim];
        if (layout == GAPS && !absent)
            stride += rng_between(rng, 0, 2) * rng_between(rng, 0, 2);
    }
}

/* Padding of every kind that an application may set: none, even, one-sided, far more than the
 * filter. */
static inline void random_padding(struct rng *rng, int64_t reach, int64_t *pre, int64_t *post)
{
    *pre = *post = 0;
    switch (rng_between(rng, 0, 5)) {
    case 0:
        break;
    case 1:
    case 2:
        *pre = *post = reach / 2;
        break;
    case 3:
        *pre = rng_between(rng, 0, reach);
        break;
    case 4:
        *post = rng_between(rng, 0, reach);
        break;
    default:
        *pre = rng_between(rng, 0, 3 * reach);
        *post = rng_between(rng, 0, 3 * reach);
    }
}

/* One spatial dimension; `extent` of the input, filters of up to `taps`. */
static inline void random_dimension(struct rng *rng, int64_t extent, int64_t taps, int i,
                                    struct cs_problem *problem)
{
    int64_t k = rng_between(rng, 1, taps);
    int64_t dilation = rng_between(rng, 0, 2) ? 1 : rng_between(rng, 1, 3);
    int64_t stride = rng_between(rng, 0, 2) ? rng_between(rng, 1, 2) : rng_between(rng, 1, 7);
    int64_t reach = (k - 1) * dilation + 1;
    random_padding(rng, reach, &problem->pre[i], &problem->post[i]);
    int64_t padded = extent + problem->pre[i] + problem->post[i];
    if (padded < reach) {
        problem->post[i] += reach - padded;
        padded = reach;
    }
    problem->stride[i] = stride;
    problem->dilation[i] = dilation;
    problem->tensor[CS_X].dims[CS_D + i] = extent;
    problem->tensor[CS_FILTER].dims[CS_D + i] = k;
    problem->tensor[CS_Y].dims[CS_D + i] = (padded - reach) / stride + 1;
}

/* Sets the operands' sides and the result of the direction, for problems that leave both open. */
static inline void settle_operands(struct cs_problem *problem)
{
    if (problem->tensors == 0)
        problem->tensors = CS_OPERANDS;
    for (int i = 0; i < CS_OPERANDS; i++) {
        problem->tensor[i].side = (enum cs_operand)i;
        problem->tensor[i].written =
            i == (int)cs_result(problem->direction) && !problem->tensor[i].is_virtual;
    }
}

/* A problem with its extents and layout left to fill: everything that has no size. */
static inline struct cs_problem random_frame(struct rng *rng)
{
    struct cs_problem problem = {
        .direction = (enum cs_direction)rng_between(rng, 0, CS_DIRECTIONS - 1),
        .compute = CS_F32,
        .spatial = (int)rng_between(rng, 1, 3),
        .flipped = rng_between(rng, 0, 9) == 0,
        .groups = rng_between(rng, 0, 2) ? 1 : rng_between(rng, 1, 3),
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1},
        .alpha = 1,
        .beta = (double)rng_between(rng, 0, 1),
    };
    enum cs_dtype dtype = (enum cs_dtype)rng_between(rng, 0, CS_DTYPES - 1);
    for (int i = 0; i < CS_OPERANDS; i++) {
        problem.tensor[i].dtype = dtype;
        problem.tensor[i].alignment = INT64_C(1) << rng_between(rng, 0, 8);
        for (int dim = 0; dim < CS_DIMS; dim++)
            problem.tensor[i].dims[dim] = 1;
    }
    if (problem.direction == CS_BACKWARD_FILTER && rng_between(rng, 0, 1))
        problem.tensor[CS_FILTER].dtype = CS_F32;
    settle_operands(&problem);
    return problem;
}

static inline void random_channels(struct rng *rng, int64_t batch, int64_t most,
                                   struct cs_problem *problem)
{
    int64_t in = rng_between(rng, 1, most), out = rng_between(rng, 1, most) * problem->groups;
    problem->tensor[CS_X].dims[CS_N] = problem->tensor[CS_Y].dims[CS_N] = batch;
    problem->tensor[CS_X].dims[CS_C] = in * problem->groups;
    problem->tensor[CS_FILTER].dims[CS_C] = in;
    problem->tensor[CS_FILTER].dims[CS_N] = problem->tensor[CS_Y].dims[CS_C] = out;
}

/* A tensor with the extents of its side, or 1 in any of them. */
static inline struct cs_tensor random_addend(struct rng *rng, const struct cs_problem *problem,
                                             enum cs_operand side, bool broadcasts,
                                             enum random_layout layout)
{
    struct cs_tensor tensor = problem->tensor[side];
    tensor.alignment = INT64_C(1) << rng_between(rng, 0, 8);
    tensor.dtype = (enum cs_dtype)rng_between(rng, 0, CS_DTYPES - 1);
    tensor.is_virtual = tensor.written = false;
    tensor.by_value = broadcasts && rng_between(rng, 0, 7) == 0;
    for (int dim = 0; dim < CS_DIMS; dim++) {
        if (tensor.by_value || (broadcasts && rng_between(rng, 0, 1)))
            tensor.dims[dim] = 1;
    }
    random_strides(rng, layout, problem->spatial, &tensor);
    return tensor;
}

/* Pointwise operations around a convolution: mostly its own result is seen inside the launch alone,
 * and another tensor on that side is written. */
static inline void random_fusion(struct rng *rng, enum random_layout layout,
                                 struct cs_problem *problem)
{
    enum cs_operand result = cs_result(problem->direction);
    problem->beta = 0;
    problem->steps = (int)rng_between(rng, 1, CS_MAX_STEPS);
    problem->steps_before = (int)rng_between(rng, 0, problem->steps);
    for (int i = 0; i < problem->steps; i++) {
        problem->step[i].words = (int)rng_between(rng, 0, CS_STEP_WORDS);
        for (int j = 0; j < problem->step[i].words; j++)
            problem->step[i].word[j] = rng_between(rng, 0, 9);
    }
    problem->tensor[result].is_virtual = rng_between(rng, 0, 3) != 0;
    settle_operands(problem);
    struct cs_tensor *tensor;
    if (problem->tensor[result].is_virtual || rng_between(rng, 0, 1)) {
        tensor = &problem->tensor[problem->tensors++];
        *tensor = random_addend(rng, problem, result, false, layout);
        tensor->written = true;
    }
    for (int64_t left = rng_between(rng, 0, 5); left > 0; left--) {
        tensor = &problem->tensor[problem->tensors++];
        *tensor = random_addend(rng, problem, (enum cs_operand)rng_between(rng, CS_X, CS_Y),
                                rng_between(rng, 0, 2) != 0, layout);
        tensor->is_virtual = !tensor->by_value && rng_between(rng, 0, 3) == 0;
    }
}

static inline void random_layouts(struct rng *rng, struct cs_problem *problem)
{
    enum random_layout layout = (enum random_layout)rng_between(rng, 0, 2);
    for (int i = 0; i < CS_OPERANDS; i++)
        random_strides(rng, layout, problem->spatial, &problem->tensor[i]);
    if (rng_between(rng, 0, 3) == 0)
        random_fusion(rng, layout, problem);
}

/* Small enough to visit every element; sometimes tiny inputs that lie deep inside their padding,
 * sometimes more channels than are taken at once. */
static inline struct cs_problem random_small(struct rng *rng)
{
    struct cs_problem problem = random_frame(rng);
    const int64_t most[CS_SPATIAL + 1] = {0, 24, 9, 5}, taps[CS_SPATIAL + 1] = {0, 7, 4, 3};
    bool deep = rng_between(rng, 0, 3) == 0;
    if (deep)
        problem.groups = 1;
    random_channels(rng, rng_between(rng, 1, problem.spatial == 1 ? 5 : 3), deep ? 26 : 2,
                    &problem);
    for (int i = CS_SPATIAL - problem.spatial; i < CS_SPATIAL; i++)
        random_dimension(rng, rng_between(rng, 1, deep ? 2 : most[problem.spatial]),
                         deep ? 2 : taps[problem.spatial], i, &problem);
    random_layouts(rng, &problem);
    return problem;
}

/* Up to about 2^40 elements of input or output, large extents in any dimension. */
static inline struct cs_problem random_large(struct rng *rng)
{
    struct cs_problem problem = random_frame(rng);
    int bits = (int)rng_between(rng, 8, 40);
    int64_t batch = rng_magnitude(rng, bits / 4);
    random_channels(rng, batch, rng_magnitude(rng, bits / 4), &problem);
    for (int i = CS_SPATIAL - problem.spatial; i < CS_SPATIAL; i++)
        random_dimension(rng, rng_magnitude(rng, bits / 2 / problem.spatial),
                         rng_between(rng, 0, 9) ? 7 : 61, i, &problem);
    random_layouts(rng, &problem);
    return problem;
}

#endif
