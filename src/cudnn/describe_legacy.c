#include "cudnn/describe_legacy.h"

#include "base/checked.h"
#include "cudnn/describe_graph.h"

enum {
    ALIGNMENT = 16 /* what tensor-core engines ask for at most; cudaMalloc gives more */
};

static void spread(const int *values, int count, int64_t out[CS_DIMS])
{
    for (int i = 0; i < count; i++)
        out[i < CS_D ? i : i + CS_DIMS - count] = values[i];
}

static enum cs_reason describe_tensor(cudnnTensorDescriptor_t descriptor, struct cs_tensor *tensor,
                                      int *dims_p)
{
    cudnnDataType_t type;
    int extent[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX];
    if (CS_REAL(cudnnGetTensorNdDescriptor, descriptor, CUDNN_DIM_MAX, &type, dims_p, extent,
                stride) != CUDNN_STATUS_SUCCESS)
        return CS_REASON_UNSEEN;
    if (*dims_p < CS_D + 1 || *dims_p > CS_DIMS)
        return CS_REASON_ATTRIBUTE;
    *tensor = (struct cs_tensor){.dims = {1, 1, 1, 1, 1}};
    spread(extent, *dims_p, tensor->dims);
    spread(stride, *dims_p, tensor->strides);
    return cs_describe_dtype(type, &tensor->dtype) ? CS_REASON_NONE : CS_REASON_DTYPE;
}

/* Filters are always packed; the innermost dimension first in `order`. */
static enum cs_reason pack(struct cs_tensor *tensor, const enum cs_dim order[CS_DIMS], int spatial)
{
    int64_t stride = 1;
    for (int i = 0; i < CS_DIMS; i++) {
        enum cs_dim dim = order[i];
        bool absent = dim >= CS_D && (int)dim < CS_DIMS - spatial;
        tensor->strides[dim] = absent ? 0 : stride;
        if (!cs_mul(stride, tensor->dims[dim], &stride))
            return CS_REASON_OVERFLOW;
    }
    return CS_REASON_NONE;
}

static enum cs_reason describe_filter(cudnnFilterDescriptor_t descriptor, struct cs_tensor *tensor,
                                      int *dims_p)
{
    static const enum cs_dim nchw[CS_DIMS] = {CS_W, CS_H, CS_D, CS_C, CS_N};
    static const enum cs_dim nhwc[CS_DIMS] = {CS_C, CS_W, CS_H, CS_D, CS_N};
    cudnnDataType_t type;
    cudnnTensorFormat_t format;
    int extent[CUDNN_DIM_MAX];
    if (CS_REAL(cudnnGetFilterNdDescriptor, descriptor, CUDNN_DIM_MAX, &type, &format, dims_p,
                extent) != CUDNN_STATUS_SUCCESS)
        return CS_REASON_UNSEEN;
    if (*dims_p < CS_D + 1 || *dims_p > CS_DIMS)
        return CS_REASON_ATTRIBUTE;
    *tensor = (struct cs_tensor){.dims = {1, 1, 1, 1, 1}};
    spread(extent, *dims_p, tensor->dims);
    if (!cs_describe_dtype(type, &tensor->dtype))
        return CS_REASON_DTYPE;
    switch (format) {
    case CUDNN_TENSOR_NCHW:
        return pack(tensor, nchw, *dims_p - 2);
    case CUDNN_TENSOR_NHWC:
        return pack(tensor, nhwc, *dims_p - 2);
    default:
        return CS_REASON_TENSOR;
    }
}

static enum cs_reason describe_window(cudnnConvolutionDescriptor_t descriptor,
                                      struct cs_problem *problem)
{
    int pad[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX], dilation[CUDNN_DIM_MAX], spatial;
    cudnnConvolutionMode_t mode;
    cudnnDataType_t compute;
    if (CS_REAL(cudnnGetConvolutionNdDescriptor, descriptor, CUDNN_DIM_MAX - 2, &spatial, pad,
                stride, dilation, &mode, &compute) != CUDNN_STATUS_SUCCESS)
        return CS_REASON_UNSEEN;
    if (spatial < 1 || spatial > CS_SPATIAL)
        return CS_REASON_ATTRIBUTE;
    problem->spatial = spatial;
    problem->flipped = mode == CUDNN_CONVOLUTION;
    for (int i = 0; i < CS_SPATIAL; i++) {
        int from = i - (CS_SPATIAL - spatial);
        problem->pre[i] = problem->post[i] = from < 0 ? 0 : pad[from];
        problem->stride[i] = from < 0 ? 1 : stride[from];
        problem->dilation[i] = from < 0 ? 1 : dilation[from];
    }
    return cs_describe_dtype(compute, &problem->compute) ? CS_REASON_NONE : CS_REASON_DTYPE;
}

static int64_t alignment_of(const void *address)
{
    uintptr_t bits = (uintptr_t)address;
    uintptr_t lowest = bits & (~bits + 1);
    return lowest != 0 && lowest < ALIGNMENT ? (int64_t)lowest : ALIGNMENT;
}

/* Scales of f32, f16 and bf16 convolutions are floats in host memory. */
static double scale_of(const void *scale, double absent)
{
    return scale ? (double)*(const float *)scale : absent;
}

enum cs_reason cs_describe_legacy(const struct cs_legacy_call *call,
                                  const struct cs_addresses *addresses, struct cs_problem *problem)
{
    int dims[CS_OPERANDS];
    *problem = (struct cs_problem){.direction = CS_FORWARD};
    enum cs_reason reason = describe_tensor(call->x, &problem->tensor[CS_X], &dims[CS_X]);
    if (reason == CS_REASON_NONE)
        reason = describe_tensor(call->y, &problem->tensor[CS_Y], &dims[CS_Y]);
    if (reason == CS_REASON_NONE)
        reason = describe_filter(call->w, &problem->tensor[CS_FILTER], &dims[CS_FILTER]);
    if (reason == CS_REASON_NONE)
        reason = describe_window(call->conv, problem);
    if (reason != CS_REASON_NONE)
        return reason;
    problem->alpha = scale_of(call->alpha, 1);
    problem->beta = scale_of(call->beta, 0);
    for (int i = 0; i < CS_OPERANDS; i++) {
        if (dims[i] != problem->spatial + 2)
            return CS_REASON_ATTRIBUTE;
        problem->tensor[i].alignment = addresses ? alignment_of(addresses->operand[i]) : ALIGNMENT;
    }
    return cs_describe_finish(problem);
}
