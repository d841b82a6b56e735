/* Convolutions made by hand, of which every part is known. */
#ifndef SAMPLE_PROBLEM_H
#define SAMPLE_PROBLEM_H

#include "random_problem.h"

/* 2x4x64x12 to 8 channels, 3x3, pad 1: in tiles of rows the kinds first, inner and the rest. The
 * gradient of the filter is f32, all else f16. */
static inline struct cs_problem rows(enum cs_direction direction, int64_t out_pad)
{
    int64_t out = 63 + out_pad;
    struct cs_problem problem = {
        .direction = direction,
        .compute = CS_F32,
        .spatial = 2,
        .groups = 1,
        .pre = {0, 1, 1},
        .post = {0, out_pad, 1},
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1},
        .alpha = 1,
        .tensor = {{.dims = {2, 4, 1, 64, 12}, .strides = {3072, 768, 0, 12, 1}},
                   {.dims = {8, 4, 1, 3, 3}, .strides = {36, 9, 0, 3, 1}},
                   {.dims = {2, 8, 1, out, 12}, .strides = {96 * out, 12 * out, 0, 12, 1}}},
    };
    for (int i = 0; i < CS_OPERANDS; i++) {
        problem.tensor[i].alignment = 16;
        problem.tensor[i].dtype = CS_F16;
    }
    if (direction == CS_BACKWARD_FILTER)
        problem.tensor[CS_FILTER].dtype = CS_F32;
    settle_operands(&problem);
    return problem;
}

/* A problem whose every part exists: stride, dilation, groups, gaps, lopsided padding. */
static inline struct cs_problem awkward(enum cs_direction direction)
{
    struct cs_problem problem = {
        .direction = direction,
        .compute = CS_F32,
        .spatial = 3,
        .groups = 2,
        .pre = {9, 0, 1},
        .post = {7, 2, 1},
        .stride = {2, 3, 1},
        .dilation = {2, 1, 1},
        .alpha = 1,
        .tensor = {{.dims = {1, 4, 10, 20, 6}, .strides = {9000, 2000, 130, 6, 1}, .alignment = 32},
                   {.dims = {6, 2, 3, 2, 3}, .strides = {36, 18, 6, 3, 1}, .alignment = 16},
                   {.dims = {1, 6, 11, 7, 6}, .strides = {2772, 1, 252, 36, 6}, .alignment = 64}},
    };
    settle_operands(&problem);
    return problem;
}

/* 24 x 20 channels of 16 bits, a filter of which slices along C are in pieces. */
static inline struct cs_problem deep_towards(enum cs_direction direction)
{
    struct cs_problem problem = {
        .direction = direction,
        .compute = CS_F32,
        .spatial = 2,
        .groups = 1,
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1},
        .alpha = 1,
        .tensor = {{.dims = {2, 20, 1, 5, 5}, .strides = {500, 25, 0, 5, 1}},
                   {.dims = {24, 20, 1, 3, 3}, .strides = {180, 1, 0, 60, 20}},
                   {.dims = {2, 24, 1, 3, 3}, .strides = {216, 9, 0, 3, 1}}},
    };
    for (int i = 0; i < CS_OPERANDS; i++) {
        problem.tensor[i].alignment = 16;
        problem.tensor[i].dtype = CS_BF16;
    }
    settle_operands(&problem);
    return problem;
}

/* Gradients of that filter. */
static inline struct cs_problem deep(void)
{
    return deep_towards(CS_BACKWARD_FILTER);
}

/* Rows, fused with a bias for each channel and the addition of the old result. */
static inline struct cs_problem fused(void)
{
    struct cs_problem problem = rows(CS_FORWARD, 1);
    problem.steps = 2;
    problem.tensors = 6;
    problem.tensor[CS_Y].is_virtual = true;
    settle_operands(&problem);
    for (int i = 3; i < 6; i++) {
        problem.tensor[i] = problem.tensor[CS_Y];
        problem.tensor[i].is_virtual = false;
    }
    for (int dim = 0; dim < CS_DIMS; dim++)
        problem.tensor[3].dims[dim] = dim == CS_C ? 8 : 1;
    problem.tensor[5].written = true;
    return problem;
}

#endif
