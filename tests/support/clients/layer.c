#include "layer.h"

#include <string.h>

void layer_describe(struct conv_problem *problem)
{
    static const int64_t input[] = {2, 16, 32, 32}, filter[] = {16, 16, 3, 3};
    memset(problem, 0, sizeof *problem);
    problem->spatial = 2;
    problem->groups = 1;
    problem->alpha = 1.0F;
    problem->x.type = problem->w.type = problem->y.type = CUDNN_DATA_HALF;
    problem->x.dims = problem->w.dims = problem->y.dims = 4;
    memcpy(problem->x.size, input, sizeof input);
    memcpy(problem->w.size, filter, sizeof filter);
    memcpy(problem->y.size, input, sizeof input);
    for (int i = 0; i < 2; i++)
        problem->pre[i] = problem->post[i] = problem->stride[i] = problem->dilation[i] = 1;
    tensor_pack(&problem->x, LAYOUT_NCHW);
    tensor_pack(&problem->w, LAYOUT_NCHW);
    tensor_pack(&problem->y, LAYOUT_NCHW);
}
