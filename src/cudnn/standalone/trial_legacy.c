/* Plans of a trial through cuDNN's legacy API: descriptors, and the first algorithm of a query. */
#include "cudnn/standalone/trial_plan.h"

#include <limits.h>

enum {
    ALGORITHMS = 16 /* more than any direction has */
};

/* The last `count` of `all` values as the API's type. False if one does not fit it. */
static bool last_values(const int64_t *values, int all, int count, int *to)
{
    for (int i = 0; i < count; i++) {
        int64_t value = values[all - count + i];
        if (value < 0 || value > INT_MAX)
            return false;
        to[i] = (int)value;
    }
    return true;
}

/* Descriptors have two spatial dimensions at least. */
static int spatial_of(const struct cs_problem *problem)
{
    return problem->spatial > 2 ? problem->spatial : 2;
}

/* N and C, then the spatial dimensions. */
static bool dimensions(const int64_t values[CS_DIMS], int spatial, int to[CS_DIMS])
{
    return last_values(values, 2, 2, to) && last_values(values, CS_DIMS, spatial, to + 2);
}

static cudnnStatus_t describe_tensor(cudnnTensorDescriptor_t descriptor,
                                     const struct cs_tensor *tensor, int spatial)
{
    int dims[CS_DIMS], strides[CS_DIMS];
    struct cs_tensor all = *tensor;
    /* Absent dimensions have no stride, and cuDNN accepts only positive ones. */
    for (int i = 0; i < CS_DIMS; i++)
        if (all.strides[i] == 0)
            all.strides[i] = 1;
    if (!dimensions(all.dims, spatial, dims) || !dimensions(all.strides, spatial, strides))
        return CUDNN_STATUS_NOT_SUPPORTED;
    return CS_REAL(cudnnSetTensorNdDescriptor, descriptor, cs_descriptors_dtype[tensor->dtype],
                   2 + spatial, dims, strides);
}

/* Filters have no strides: they are packed. */
static cudnnStatus_t describe_filter(const struct cs_trial *trial,
                                     cudnnFilterDescriptor_t descriptor,
                                     const struct cs_tensor *tensor, int spatial)
{
    int dims[CS_DIMS];
    bool first = cs_problem_tensor_packed(tensor, false);
    if ((!first && !cs_problem_tensor_packed(tensor, true)) ||
        !dimensions(tensor->dims, spatial, dims))
        return CUDNN_STATUS_NOT_SUPPORTED;
    return trial->cudnn.cudnnSetFilterNdDescriptor(descriptor, cs_descriptors_dtype[tensor->dtype],
                                                   first ? CUDNN_TENSOR_NCHW : CUDNN_TENSOR_NHWC,
                                                   2 + spatial, dims);
}

static cudnnStatus_t describe_convolution(const struct cs_trial *trial,
                                          cudnnConvolutionDescriptor_t descriptor,
                                          const struct cs_problem *problem)
{
    const struct cs_cudnn_calls *cudnn = &trial->cudnn;
    int spatial = spatial_of(problem), pad[CS_SPATIAL], stride[CS_SPATIAL], dilation[CS_SPATIAL];
    for (int i = 0; i < CS_SPATIAL; i++)
        if (problem->pre[i] != problem->post[i])
            return CUDNN_STATUS_NOT_SUPPORTED;
    if (!last_values(problem->pre, CS_SPATIAL, spatial, pad) ||
        !last_values(problem->stride, CS_SPATIAL, spatial, stride) ||
        !last_values(problem->dilation, CS_SPATIAL, spatial, dilation) || problem->groups > INT_MAX)
        return CUDNN_STATUS_NOT_SUPPORTED;
    cudnnStatus_t status = cudnn->cudnnSetConvolutionNdDescriptor(
        descriptor, spatial, pad, stride, dilation,
        problem->flipped ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION,
        cs_descriptors_dtype[problem->compute]);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnn->cudnnSetConvolutionGroupCount(descriptor, (int)problem->groups);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnn->cudnnSetConvolutionMathType(
            descriptor,
            problem->tensor[CS_X].dtype == CS_F32 ? CUDNN_DEFAULT_MATH : CUDNN_TENSOR_OP_MATH);
    return status;
}

static bool describe(const struct cs_trial *trial, const struct cs_problem *problem,
                     struct cs_legacy_call *call)
{
    const struct cs_cudnn_calls *cudnn = &trial->cudnn;
    const struct cs_tensor *tensor = problem->tensor;
    int spatial = spatial_of(problem);
    return cudnn->cudnnCreateTensorDescriptor(&call->x) == CUDNN_STATUS_SUCCESS &&
           cudnn->cudnnCreateTensorDescriptor(&call->y) == CUDNN_STATUS_SUCCESS &&
           cudnn->cudnnCreateFilterDescriptor(&call->w) == CUDNN_STATUS_SUCCESS &&
           cudnn->cudnnCreateConvolutionDescriptor(&call->conv) == CUDNN_STATUS_SUCCESS &&
           describe_tensor(call->x, &tensor[CS_X], spatial) == CUDNN_STATUS_SUCCESS &&
           describe_tensor(call->y, &tensor[CS_Y], spatial) == CUDNN_STATUS_SUCCESS &&
           describe_filter(trial, call->w, &tensor[CS_FILTER], spatial) == CUDNN_STATUS_SUCCESS &&
           describe_convolution(trial, call->conv, problem) == CUDNN_STATUS_SUCCESS;
}

bool cs_trial_legacy_make(const struct cs_trial *trial, const struct cs_problem *problem,
                          int64_t first, struct cs_trial_plan *plan)
{
    struct cs_legacy_call *call = &plan->call;
    cs_legacy_result result[ALGORITHMS];
    int returned = 0;
    const struct cs_legacy_results results = {ALGORITHMS, &returned, result};
    call->direction = problem->direction;
    call->handle = trial->handle;
    if (!describe(trial, problem, call) ||
        cs_legacy_call_get(call, &results) != CUDNN_STATUS_SUCCESS)
        return false;
    for (int i = (int)first; i < returned; i++) {
        if (result[i].status != CUDNN_STATUS_SUCCESS || result[i].memory > INT64_MAX ||
            trial->cudnn.cudnnSetConvolutionMathType(call->conv, result[i].mathType) !=
                CUDNN_STATUS_SUCCESS)
            continue;
        plan->choice = i;
        plan->engine = call->algorithm = (int)result[i].algo;
        plan->required = (int64_t)result[i].memory;
        return true;
    }
    return false;
}

void cs_trial_legacy_drop(const struct cs_trial *trial, struct cs_trial_plan *plan)
{
    const struct cs_legacy_call *call = &plan->call;
    if (call->conv)
        (void)trial->cudnn.cudnnDestroyConvolutionDescriptor(call->conv);
    if (call->w)
        (void)trial->cudnn.cudnnDestroyFilterDescriptor(call->w);
    if (call->y)
        (void)CS_REAL(cudnnDestroyTensorDescriptor, call->y);
    if (call->x)
        (void)CS_REAL(cudnnDestroyTensorDescriptor, call->x);
    plan->call = (struct cs_legacy_call){.handle = NULL};
}
