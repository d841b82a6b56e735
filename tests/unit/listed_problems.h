/* A list of convolutions as networks have them and of odd ones, each in all three directions, for
 * results that are kept in tests/golden. A line that is added here adds lines there. */
#ifndef LISTED_PROBLEMS_H
#define LISTED_PROBLEMS_H

#include "check.h"
#include "random_problem.h"

enum listed_fusion {
    ALONE_STANDING,
    BIAS,     /* and an activation: the convolution's own result is virtual */
    RESIDUAL, /* the same with an addend as large as the result */
    SCALED    /* an operation on the input of each channel before the convolution */
};

struct listed {
    const char *name;
    enum cs_dtype dtype;
    enum random_layout layout;
    int64_t n, c, k, groups; /* 0 groups: 1 */
    int spatial;             /* 0: 2 */
    int64_t in[CS_SPATIAL], kernel[CS_SPATIAL];
    int64_t pre[CS_SPATIAL], post[CS_SPATIAL];
    int64_t stride[CS_SPATIAL], dilation[CS_SPATIAL]; /* 0: 1 */
    double beta;
    enum listed_fusion fusion;
    int64_t alignment; /* 0: 16 */
};

#define IN(d, h, w) .in = {d, h, w}
#define KERNEL(d, h, w) .kernel = {d, h, w}
#define PAD(d, h, w) .pre = {d, h, w}, .post = {d, h, w}
#define STRIDE(d, h, w) .stride = {d, h, w}
#define DILATION(d, h, w) .dilation = {d, h, w}
#define SQUARE3 KERNEL(1, 3, 3), PAD(0, 1, 1)

static const struct listed listed_problem[] = {
    {"vae f16", CS_F16, CHANNELS_FIRST, 1, 512, 512, IN(1, 512, 512), SQUARE3},
    {"vae bf16 nhwc", CS_BF16, CHANNELS_LAST, 1, 256, 256, IN(1, 1024, 1024), SQUARE3},
    {"downsample", CS_F16, CHANNELS_FIRST, 4, 128, 256, IN(1, 256, 256), KERNEL(1, 3, 3),
     .post = {0, 1, 1}, STRIDE(1, 2, 2)},
    {"patches", CS_BF16, CHANNELS_FIRST, 16, 3, 768, IN(1, 1024, 1024), KERNEL(1, 16, 16),
     STRIDE(1, 16, 16)},
    {"12 groups", CS_F16, CHANNELS_FIRST, 8, 96, 96, 12, IN(1, 256, 256), KERNEL(1, 5, 5),
     PAD(0, 2, 2)},
    {"depthwise", CS_F32, CHANNELS_LAST, 8, 384, 384, 384, IN(1, 112, 112), KERNEL(1, 7, 7),
     PAD(0, 3, 3)},
    {"dilated by 4", CS_F16, CHANNELS_FIRST, 2, 256, 256, IN(1, 129, 257), KERNEL(1, 3, 3),
     PAD(0, 4, 4), DILATION(1, 4, 4)},
    {"volume", CS_F16, CHANNELS_FIRST, 1, 64, 64, .spatial = 3, IN(32, 128, 128), KERNEL(3, 3, 3),
     PAD(1, 1, 1)},
    {"video downsample", CS_BF16, CHANNELS_FIRST, 1, 128, 256, .spatial = 3, IN(17, 240, 416),
     KERNEL(3, 3, 3), .pre = {2, 0, 0}, .post = {0, 1, 1}, STRIDE(2, 2, 2)},
    {"audio", CS_F32, CHANNELS_FIRST, 1, 512, 512, .spatial = 1, IN(1, 1, 131072), KERNEL(1, 1, 7),
     PAD(0, 0, 9), DILATION(1, 1, 3)},
    {"primes", CS_F32, GAPS, 3, 37, 41, IN(1, 419, 307), KERNEL(1, 5, 3), .pre = {0, 2, 0},
     .post = {0, 1, 3}, STRIDE(1, 3, 2), .alignment = 4},
    {"beta", CS_F32, CHANNELS_FIRST, 4, 96, 96, IN(1, 200, 200), SQUARE3, .beta = 1},
    {"bias", CS_F16, CHANNELS_LAST, 1, 256, 256, IN(1, 512, 512), SQUARE3, .fusion = BIAS},
    {"residual", CS_BF16, CHANNELS_FIRST, 4, 128, 128, IN(1, 256, 256), SQUARE3,
     .fusion = RESIDUAL},
    {"scaled", CS_F16, CHANNELS_LAST, 2, 256, 128, IN(1, 256, 256), SQUARE3, .fusion = SCALED},
};

enum {
    LISTED = sizeof listed_problem / sizeof *listed_problem
};

static inline int64_t or_one(int64_t value)
{
    return value > 0 ? value : 1;
}

static inline void listed_tensor(struct cs_tensor *tensor, const struct listed *listed, int spatial)
{
    struct rng rng = {7};
    tensor->alignment = listed->alignment > 0 ? listed->alignment : 16;
    tensor->dtype = listed->dtype;
    random_strides(&rng, listed->layout, spatial, tensor);
}

/* A tensor more on the side of an operand, of its extents or one number for each channel. */
static inline struct cs_tensor *listed_further(struct cs_problem *problem, enum cs_operand side,
                                               bool channels)
{
    struct rng rng = {7};
    struct cs_tensor *tensor = &problem->tensor[problem->tensors++];
    *tensor = problem->tensor[side];
    tensor->is_virtual = tensor->written = false;
    for (int dim = 0; channels && dim < CS_DIMS; dim++)
        tensor->dims[dim] = dim == CS_C ? tensor->dims[dim] : 1;
    if (channels)
        random_strides(&rng, CHANNELS_FIRST, problem->spatial, tensor);
    return tensor;
}

static inline void listed_fuse(enum listed_fusion fusion, struct cs_problem *problem)
{
    enum cs_operand result = cs_result(problem->direction);
    if (fusion == ALONE_STANDING)
        return;
    problem->steps = fusion == RESIDUAL ? 2 : 1;
    problem->steps_before = fusion == SCALED;
    for (int i = 0; i < problem->steps; i++)
        problem->step[i] = (struct cs_step){.words = 2, .word = {fusion, i}};
    if (fusion == SCALED) {
        listed_further(problem, problem->direction == CS_FORWARD ? CS_X : CS_Y, true);
        return;
    }
    problem->tensor[result].is_virtual = true;
    problem->tensor[result].written = false;
    listed_further(problem, result, true);
    if (fusion == RESIDUAL)
        listed_further(problem, result, false);
    listed_further(problem, result, false)->written = true;
}

/* Number i of the list in one of the directions; false if it does not exist. */
static inline bool listed_make(int i, enum cs_direction direction, struct cs_problem *problem)
{
    const struct listed *listed = &listed_problem[i];
    *problem = (struct cs_problem){.direction = direction,
                                   .compute = CS_F32,
                                   .spatial = listed->spatial > 0 ? listed->spatial : 2,
                                   .groups = or_one(listed->groups),
                                   .alpha = 1,
                                   .beta = listed->beta};
    int64_t *x = problem->tensor[CS_X].dims, *w = problem->tensor[CS_FILTER].dims,
            *y = problem->tensor[CS_Y].dims;
    x[CS_N] = y[CS_N] = listed->n;
    x[CS_C] = listed->c;
    w[CS_C] = listed->c / problem->groups;
    w[CS_N] = y[CS_C] = listed->k;
    for (int s = 0; s < CS_SPATIAL; s++) {
        problem->pre[s] = listed->pre[s];
        problem->post[s] = listed->post[s];
        problem->stride[s] = or_one(listed->stride[s]);
        problem->dilation[s] = or_one(listed->dilation[s]);
        x[CS_D + s] = listed->in[s];
        w[CS_D + s] = listed->kernel[s];
        int64_t reach = (listed->kernel[s] - 1) * problem->dilation[s] + 1;
        y[CS_D + s] =
            (listed->in[s] + listed->pre[s] + listed->post[s] - reach) / problem->stride[s] + 1;
    }
    for (int t = 0; t < CS_OPERANDS; t++)
        listed_tensor(&problem->tensor[t], listed, problem->spatial);
    if (direction == CS_BACKWARD_FILTER && i % 2 == 0)
        problem->tensor[CS_FILTER].dtype = CS_F32; /* so that sums may be split between tiles */
    settle_operands(problem);
    if (direction != CS_BACKWARD_FILTER || listed->fusion == SCALED)
        listed_fuse(listed->fusion, problem);
    bool legal = cs_problem_check(problem) == CS_OK;
    CHECK(legal);
    return legal;
}

#endif
