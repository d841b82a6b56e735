#include "cudnn/entry.h"
#include "cudnn/legacy.h"
#include "cudnn/maker.h"

struct forward {
    struct cs_call call;
    struct cs_legacy_call what;
    struct cs_addresses addresses;
    size_t brought;
};

static int forward_replay(struct cs_call *call)
{
    struct forward *a = CS_ARGS(struct forward, call);
    return (int)CS_REAL(cudnnConvolutionForward, a->what.handle, a->what.alpha, a->what.x,
                        a->addresses.operand[CS_X], a->what.w, a->addresses.operand[CS_FILTER],
                        a->what.conv, a->what.algorithm, a->addresses.workspace, a->brought,
                        a->what.beta, a->what.y, a->addresses.operand[CS_Y]);
}

static int forward_handle(struct cs *cs, struct cs_call *call)
{
    struct forward *a = CS_ARGS(struct forward, call);
    int status;
    if (cs_legacy_run(cs, &a->what, &a->addresses, (int64_t)a->brought, &status))
        return status;
    return forward_replay(call);
}

CS_EXPORT cudnnStatus_t cudnnConvolutionForward(
    cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x_descriptor,
    const void *x, const cudnnFilterDescriptor_t w_descriptor, const void *w,
    const cudnnConvolutionDescriptor_t conv, cudnnConvolutionFwdAlgo_t algorithm, void *workspace,
    size_t brought, const void *beta, const cudnnTensorDescriptor_t y_descriptor, void *y)
{
    /* Addresses are held without const, as variant packs hold them; nothing writes through x or w.
     */
    struct forward a = {{forward_replay, forward_handle},
                        {handle, x_descriptor, y_descriptor, w_descriptor, conv, algorithm,
                         CUDNN_DEFAULT_MATH, alpha, beta},
                        {{(void *)(uintptr_t)x, (void *)(uintptr_t)w, y}, workspace},
                        brought};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

struct size {
    struct cs_call call;
    struct cs_legacy_call what;
    size_t *bytes;
};

static int size_replay(struct cs_call *call)
{
    struct size *a = CS_ARGS(struct size, call);
    return (int)CS_REAL(cudnnGetConvolutionForwardWorkspaceSize, a->what.handle, a->what.x,
                        a->what.w, a->what.conv, a->what.y, a->what.algorithm, a->bytes);
}

static int size_handle(struct cs *cs, struct cs_call *call)
{
    struct size *a = CS_ARGS(struct size, call);
    int status = size_replay(call);
    if (status == CUDNN_STATUS_SUCCESS)
        *a->bytes = cs_legacy_tell(cs, &a->what, *a->bytes);
    return status;
}

CS_EXPORT cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t y,
    cudnnConvolutionFwdAlgo_t algorithm, size_t *bytes)
{
    struct size a = {{size_replay, size_handle},
                     {handle, x, y, w, conv, algorithm, CUDNN_DEFAULT_MATH, NULL, NULL},
                     bytes};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

struct algorithm {
    struct cs_call call;
    struct cs_legacy_call what;
    int requested;
    int *returned;
    cudnnConvolutionFwdAlgoPerf_t *result;
};

static int algorithm_replay(struct cs_call *call)
{
    struct algorithm *a = CS_ARGS(struct algorithm, call);
    return (int)CS_REAL(cudnnGetConvolutionForwardAlgorithm_v7, a->what.handle, a->what.x,
                        a->what.w, a->what.conv, a->what.y, a->requested, a->returned, a->result);
}

static int algorithm_handle(struct cs *cs, struct cs_call *call)
{
    struct algorithm *a = CS_ARGS(struct algorithm, call);
    int status = algorithm_replay(call);
    for (int i = 0; status == CUDNN_STATUS_SUCCESS && i < *a->returned; i++)
        cs_legacy_tell_result(cs, &a->what, &a->result[i]);
    return status;
}

CS_EXPORT cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t y, const int requested,
    int *returned, cudnnConvolutionFwdAlgoPerf_t *result)
{
    struct algorithm a = {
        {algorithm_replay, algorithm_handle},
        {handle, x, y, w, conv, CUDNN_CONVOLUTION_FWD_ALGO_COUNT, CUDNN_DEFAULT_MATH, NULL, NULL},
        requested,
        returned,
        result};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

struct destroy {
    struct cs_call call;
    cudnnHandle_t handle;
};

static int destroy_replay(struct cs_call *call)
{
    return (int)CS_REAL(cudnnDestroy, CS_ARGS(struct destroy, call)->handle);
}

static int destroy_handle(struct cs *cs, struct cs_call *call)
{
    (void)cs;
    cs_legacy_forget(CS_ARGS(struct destroy, call)->handle);
    cs_maker_retire();
    return destroy_replay(call);
}

CS_EXPORT cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    struct destroy a = {{destroy_replay, destroy_handle}, handle};
    return (cudnnStatus_t)cs_intercept(&a.call);
}
