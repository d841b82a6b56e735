/* The exported queries of the legacy API: workspace sizes, Get... and Find... algorithms. */
#include "intercept/entry/entry.h"
#include "intercept/legacy/find_algorithm.h"
#include "intercept/legacy/oversized_tensor.h"

/* cuDNN fills in the results, and only their memory is changed. cuDNN's structs for the three
 * directions differ only in the type of the algorithm's enum, so one struct stands for all. */

#define RESULTS(result) ((cs_legacy_result *)(void *)(result))

struct size {
    struct cs_entry_call call;
    struct cs_legacy_call what;
    size_t *bytes;
};

static int size_replay(struct cs_entry_call *call)
{
    struct size *a = CS_ARGS(struct size, call);
    return (int)cs_legacy_call_size(&a->what, a->bytes);
}

static int size_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct size *a = CS_ARGS(struct size, call);
    if (!a->bytes)
        return size_replay(call); /* cuDNN's status for this error */
    /* cuDNN cannot be queried about a tensor that its descriptor does not hold. */
    if (cs_oversized_tensor_in(&a->what) && cs_legacy_report_oversized(cs, &a->what, a->bytes))
        return CUDNN_STATUS_SUCCESS;
    int status = size_replay(call);
    if (status == CUDNN_STATUS_SUCCESS)
        *a->bytes = cs_legacy_report(cs, &a->what, *a->bytes);
    return status;
}

struct query {
    struct cs_entry_call call;
    struct cs_legacy_call what;
    struct cs_legacy_results results;
};

static bool answered_oversized(struct cs *cs, const struct query *a)
{
    return cs_oversized_tensor_in(&a->what) &&
           cs_legacy_answer_oversized(cs, &a->what, &a->results);
}

static int get_replay(struct cs_entry_call *call)
{
    struct query *a = CS_ARGS(struct query, call);
    return (int)cs_legacy_call_get(&a->what, &a->results);
}

static int get_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct query *a = CS_ARGS(struct query, call);
    if (answered_oversized(cs, a))
        return CUDNN_STATUS_SUCCESS;
    int status = get_replay(call);
    if (status == CUDNN_STATUS_SUCCESS)
        cs_legacy_report_results(cs, &a->what, &a->results);
    return status;
}

static int find_replay(struct cs_entry_call *call)
{
    struct query *a = CS_ARGS(struct query, call);
    return (int)cs_legacy_call_find(&a->what, &a->results);
}

static int find_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct query *a = CS_ARGS(struct query, call);
    if (answered_oversized(cs, a))
        return CUDNN_STATUS_SUCCESS;
    return cs_find_algorithm(cs, &a->what, &a->results);
}

static int find_ex_replay(struct cs_entry_call *call)
{
    struct query *a = CS_ARGS(struct query, call);
    return (int)cs_legacy_call_find_ex(&a->what, &a->results);
}

static int find_ex_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct query *a = CS_ARGS(struct query, call);
    if (answered_oversized(cs, a))
        return CUDNN_STATUS_SUCCESS;
    return cs_find_algorithm_ex(cs, &a->what, &a->results);
}

CS_EXPORT cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t y,
    cudnnConvolutionFwdAlgo_t algorithm, size_t *bytes)
{
    struct size a = {{size_replay, size_handle},
                     {.direction = CS_FORWARD,
                      .handle = handle,
                      .x = x,
                      .y = y,
                      .w = w,
                      .conv = conv,
                      .algorithm = (int)algorithm},
                     bytes};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

CS_EXPORT cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t y, const int requested,
    int *returned, cudnnConvolutionFwdAlgoPerf_t *result)
{
    struct query a = {
        {get_replay, get_handle},
        {.direction = CS_FORWARD, .handle = handle, .x = x, .y = y, .w = w, .conv = conv},
        {requested, returned, RESULTS(result)}};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

CS_EXPORT cudnnStatus_t cudnnFindConvolutionForwardAlgorithm(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t y, const int requested,
    int *returned, cudnnConvolutionFwdAlgoPerf_t *result)
{
    struct query a = {
        {find_replay, find_handle},
        {.direction = CS_FORWARD, .handle = handle, .x = x, .y = y, .w = w, .conv = conv},
        {requested, returned, RESULTS(result)}};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

CS_EXPORT cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x_descriptor, const void *x,
    const cudnnFilterDescriptor_t w_descriptor, const void *w,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t y_descriptor, void *y,
    const int requested, int *returned, cudnnConvolutionFwdAlgoPerf_t *result, void *workspace,
    size_t provided)
{
    struct query a = {{find_ex_replay, find_ex_handle},
                      {.direction = CS_FORWARD,
                       .handle = handle,
                       .x = x_descriptor,
                       .y = y_descriptor,
                       .w = w_descriptor,
                       .conv = conv,
                       .execution.data = {CS_ADDRESS(x), CS_ADDRESS(w), CS_ADDRESS(y)},
                       .execution.workspace = workspace,
                       .execution.provided = provided},
                      {requested, returned, RESULTS(result)}};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

CS_EXPORT cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t dx,
    cudnnConvolutionBwdDataAlgo_t algorithm, size_t *bytes)
{
    struct size a = {{size_replay, size_handle},
                     {.direction = CS_BACKWARD_DATA,
                      .handle = handle,
                      .x = dx,
                      .y = dy,
                      .w = w,
                      .conv = conv,
                      .algorithm = (int)algorithm},
                     bytes};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

CS_EXPORT cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t dx, const int requested,
    int *returned, cudnnConvolutionBwdDataAlgoPerf_t *result)
{
    struct query a = {
        {get_replay, get_handle},
        {.direction = CS_BACKWARD_DATA, .handle = handle, .x = dx, .y = dy, .w = w, .conv = conv},
        {requested, returned, RESULTS(result)}};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

CS_EXPORT cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithm(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t dx, const int requested,
    int *returned, cudnnConvolutionBwdDataAlgoPerf_t *result)
{
    struct query a = {
        {find_replay, find_handle},
        {.direction = CS_BACKWARD_DATA, .handle = handle, .x = dx, .y = dy, .w = w, .conv = conv},
        {requested, returned, RESULTS(result)}};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

CS_EXPORT cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w_descriptor, const void *w,
    const cudnnTensorDescriptor_t dy_descriptor, const void *dy,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t dx_descriptor, void *dx,
    const int requested, int *returned, cudnnConvolutionBwdDataAlgoPerf_t *result, void *workspace,
    size_t provided)
{
    struct query a = {{find_ex_replay, find_ex_handle},
                      {.direction = CS_BACKWARD_DATA,
                       .handle = handle,
                       .x = dx_descriptor,
                       .y = dy_descriptor,
                       .w = w_descriptor,
                       .conv = conv,
                       .execution.data = {CS_ADDRESS(dx), CS_ADDRESS(w), CS_ADDRESS(dy)},
                       .execution.workspace = workspace,
                       .execution.provided = provided},
                      {requested, returned, RESULTS(result)}};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

CS_EXPORT cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t conv, const cudnnFilterDescriptor_t dw,
    cudnnConvolutionBwdFilterAlgo_t algorithm, size_t *bytes)
{
    struct size a = {{size_replay, size_handle},
                     {.direction = CS_BACKWARD_FILTER,
                      .handle = handle,
                      .x = x,
                      .y = dy,
                      .w = dw,
                      .conv = conv,
                      .algorithm = (int)algorithm},
                     bytes};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

CS_EXPORT cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t conv, const cudnnFilterDescriptor_t dw, const int requested,
    int *returned, cudnnConvolutionBwdFilterAlgoPerf_t *result)
{
    struct query a = {
        {get_replay, get_handle},
        {.direction = CS_BACKWARD_FILTER, .handle = handle, .x = x, .y = dy, .w = dw, .conv = conv},
        {requested, returned, RESULTS(result)}};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

CS_EXPORT cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithm(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t conv, const cudnnFilterDescriptor_t dw, const int requested,
    int *returned, cudnnConvolutionBwdFilterAlgoPerf_t *result)
{
    struct query a = {
        {find_replay, find_handle},
        {.direction = CS_BACKWARD_FILTER, .handle = handle, .x = x, .y = dy, .w = dw, .conv = conv},
        {requested, returned, RESULTS(result)}};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

CS_EXPORT cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x_descriptor, const void *x,
    const cudnnTensorDescriptor_t dy_descriptor, const void *dy,
    const cudnnConvolutionDescriptor_t conv, const cudnnFilterDescriptor_t dw_descriptor, void *dw,
    const int requested, int *returned, cudnnConvolutionBwdFilterAlgoPerf_t *result,
    void *workspace, size_t provided)
{
    struct query a = {{find_ex_replay, find_ex_handle},
                      {.direction = CS_BACKWARD_FILTER,
                       .handle = handle,
                       .x = x_descriptor,
                       .y = dy_descriptor,
                       .w = dw_descriptor,
                       .conv = conv,
                       .execution.data = {CS_ADDRESS(x), CS_ADDRESS(dw), CS_ADDRESS(dy)},
                       .execution.workspace = workspace,
                       .execution.provided = provided},
                      {requested, returned, RESULTS(result)}};
    return (cudnnStatus_t)cs_intercept(&a.call);
}
