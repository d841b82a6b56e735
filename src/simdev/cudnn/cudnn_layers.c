/* cuDNN's layers other than convolutions and recurrent networks (cuDNN Backend API, Ops and ADV
 * libraries): descriptors, extents of results, and sizes. other_calls.txt lists their calls, which
 * are counted.
 *
 * Only a cuDNN with a device returns the sizes of workspaces, reserve spaces and states. The sizes
 * returned here are estimates and are counted as such. */
#include <string.h>

#include "cudnn_internal.h"

/* Most parameters are data, which account mode does not read. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum {
    PARTIAL_SUMS = 64, /* partial sums per channel, which combine the blocks of a kernel */
    STATE_BYTES = 48   /* random numbers of one thread, the size of cuRAND's default */
};

cudnnStatus_t simdev_account(cudnnHandle_t handle, const char *function)
{
    if (!handle)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (!simdev_account_mode()) {
        (void)simdev_missing(function);
        return simdev_fail(CUDNN_STATUS_NOT_SUPPORTED,
                           "%s is supported only in account mode, which counts it", function);
    }
    if (simdev_should_fail(function))
        return simdev_fail(CUDNN_STATUS_EXECUTION_FAILED, "failure on request");
    if (simdev_account_call(atomic_load(&handle->stream), function, NULL) != cudaSuccess)
        return simdev_fail(CUDNN_STATUS_EXECUTION_FAILED, "%s: refused by the stream", function);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- pooling ---- */

static void copy_integers(int count, const int *from, int *to)
{
    if (to)
        memcpy(to, from, (size_t)count * sizeof *to);
}

SIMDEV_EXPORT cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t pooling,
                                                        const cudnnPoolingMode_t mode,
                                                        const cudnnNanPropagation_t nan,
                                                        int spatial, const int window[],
                                                        const int pad[], const int stride[])
{
    if (!pooling || !window || !pad || !stride)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (spatial < 1 || spatial > SIMDEV_MAX_SPATIAL)
        return CUDNN_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < spatial; i++)
        if (window[i] < 1 || pad[i] < 0 || stride[i] < 1)
            return CUDNN_STATUS_BAD_PARAM;
    pooling->spatial = spatial;
    copy_integers(spatial, window, pooling->window);
    copy_integers(spatial, pad, pooling->pad);
    copy_integers(spatial, stride, pooling->stride);
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t pooling,
                                                        cudnnPoolingMode_t mode,
                                                        cudnnNanPropagation_t nan, int window_h,
                                                        int window_w, int pad_h, int pad_w,
                                                        int stride_h, int stride_w)
{
    const int window[] = {window_h, window_w}, pad[] = {pad_h, pad_w};
    const int stride[] = {stride_h, stride_w};
    return cudnnSetPoolingNdDescriptor(pooling, mode, nan, 2, window, pad, stride);
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetPoolingNdForwardOutputDim(
    const cudnnPoolingDescriptor_t pooling, const cudnnTensorDescriptor_t x, int rank, int dim[])
{
    if (!pooling || !x || !dim)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (x->rank != rank || pooling->spatial != rank - 2)
        return CUDNN_STATUS_BAD_PARAM;
    dim[0] = x->dim[0];
    dim[1] = x->dim[1];
    for (int i = 0; i < pooling->spatial; i++) {
        const int64_t room = (int64_t)x->dim[2 + i] + 2 * (int64_t)pooling->pad[i];
        if (room < pooling->window[i])
            return CUDNN_STATUS_BAD_PARAM;
        dim[2 + i] = (int)((room - pooling->window[i]) / pooling->stride[i]) + 1;
    }
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t
cudnnGetPooling2dForwardOutputDim(const cudnnPoolingDescriptor_t pooling,
                                  const cudnnTensorDescriptor_t x, int *n, int *c, int *h, int *w)
{
    int dim[4];
    int *const out[4] = {n, c, h, w};
    const cudnnStatus_t status = cudnnGetPoolingNdForwardOutputDim(pooling, x, 4, dim);
    for (int i = 0; status == CUDNN_STATUS_SUCCESS && i < 4; i++)
        copy_integers(1, &dim[i], out[i]);
    return status;
}

/* ---- batch normalisation ----
 *
 * For NCHW, cuDNN has returned 0 for workspace and reserve space. For NHWC, it keeps partial sums
 * of the channels, and one bit per element for a fused activation. */

static bool is_channels_last(cudnnTensorDescriptor_t tensor)
{
    return tensor->rank > 2 && tensor->stride[1] == 1 && tensor->dim[1] > 1;
}

static cudnnStatus_t estimate_norm_workspace(const char *function, cudnnTensorDescriptor_t x,
                                             size_t *bytes)
{
    if (!x || !bytes)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *bytes = is_channels_last(x) ? (size_t)x->dim[1] * 2 * sizeof(float) * PARTIAL_SUMS : 0;
    simdev_estimated(function);
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t z,
    const cudnnTensorDescriptor_t y, const cudnnTensorDescriptor_t parameters,
    const cudnnActivationDescriptor_t activation, size_t *bytes)
{
    return estimate_norm_workspace(__func__, x, bytes);
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t y,
    const cudnnTensorDescriptor_t dy, const cudnnTensorDescriptor_t dz,
    const cudnnTensorDescriptor_t dx, const cudnnTensorDescriptor_t parameters,
    const cudnnActivationDescriptor_t activation, size_t *bytes)
{
    return estimate_norm_workspace(__func__, x, bytes);
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t x, size_t *bytes)
{
    if (!x || !bytes)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    const struct simdev_view view = simdev_tensor_view(x, NULL);
    const size_t elements = (size_t)simdev_view_elements(&view);
    *bytes = ops == CUDNN_BATCHNORM_OPS_BN ? 0 : (elements + 7) / 8;
    simdev_estimated(__func__);
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derived,
                                                          const cudnnTensorDescriptor_t x,
                                                          cudnnBatchNormMode_t mode)
{
    int dim[SIMDEV_MAX_RANK];
    if (!derived || !x)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (x->rank < 4 || x->rank > 5)
        return CUDNN_STATUS_BAD_PARAM;
    for (int i = 0; i < x->rank; i++)
        dim[i] = i == 1 || (i > 1 && mode == CUDNN_BATCHNORM_PER_ACTIVATION) ? x->dim[i] : 1;
    const cudnnDataType_t type =
        x->type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    return cudnnSetTensorNdDescriptorEx(derived, CUDNN_TENSOR_NCHW, type, x->rank, dim);
}

/* ---- dropout ----
 *
 * The states of the random numbers grow with the number of threads that the device runs at once. */

SIMDEV_EXPORT cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t *bytes)
{
    int device, processors, threads;
    if (!handle || !bytes)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) !=
            cudaSuccess ||
        cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device) !=
            cudaSuccess)
        return CUDNN_STATUS_INTERNAL_ERROR;
    *bytes = (size_t)processors * (size_t)threads * STATE_BYTES;
    simdev_estimated(__func__);
    return CUDNN_STATUS_SUCCESS;
}

/* One bit per element, in whole words. */
SIMDEV_EXPORT cudnnStatus_t cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t x,
                                                            size_t *bytes)
{
    if (!x || !bytes)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    const struct simdev_view view = simdev_tensor_view(x, NULL);
    *bytes = ((size_t)simdev_view_elements(&view) + 31) / 32 * 4;
    simdev_estimated(__func__);
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t descriptor,
                                                          cudnnHandle_t handle, float dropout,
                                                          void *states, size_t bytes,
                                                          unsigned long long seed)
{
    if (!descriptor)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    return dropout < 0 || dropout > 1 ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
}

/* Unlike Restore, it initialises the states, on the handle's stream. */
SIMDEV_EXPORT cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t descriptor,
                                                      cudnnHandle_t handle, float dropout,
                                                      void *states, size_t bytes,
                                                      unsigned long long seed)
{
    const cudnnStatus_t status =
        cudnnRestoreDropoutDescriptor(descriptor, handle, dropout, states, bytes, seed);
    if (status != CUDNN_STATUS_SUCCESS || !states)
        return status;
    return simdev_account(handle, __func__);
}

/* ---- CTC loss ---- */

SIMDEV_EXPORT cudnnStatus_t cudnnSetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t loss,
                                                         cudnnDataType_t compute,
                                                         cudnnLossNormalizationMode_t mode,
                                                         cudnnCTCGradMode_t gradient, int longest)
{
    if (!loss)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    loss->longest_label = longest;
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnSetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t loss,
                                                         cudnnDataType_t compute,
                                                         cudnnLossNormalizationMode_t mode,
                                                         cudnnNanPropagation_t nan, int longest)
{
    return cudnnSetCTCLossDescriptor_v9(loss, compute, mode, CUDNN_CTC_ZERO_OOB_GRADIENTS, longest);
}

/* Two tables of steps times labels with blanks between them: the forward and backward variables.
 * Only a cuDNN with a device returns the exact size, so this is an estimate. */
static cudnnStatus_t estimate_ctc_workspace(const char *function,
                                            const cudnnTensorDescriptor_t probabilities,
                                            int longest, size_t *bytes)
{
    if (!probabilities || !bytes)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (probabilities->rank != 3)
        return CUDNN_STATUS_BAD_PARAM;
    const size_t steps = (size_t)probabilities->dim[0] * (size_t)probabilities->dim[1];
    *bytes = steps * (2 * (size_t)longest + 1) * 2 * sizeof(float);
    simdev_estimated(function);
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetCTCLossWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t probabilities,
    const cudnnTensorDescriptor_t gradients, const int *labels, const int *label_lengths,
    const int *input_lengths, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t loss, size_t *bytes)
{
    int longest = 0;
    if (!label_lengths)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    for (int i = 0; probabilities && i < probabilities->dim[1]; i++)
        longest = label_lengths[i] > longest ? label_lengths[i] : longest;
    return estimate_ctc_workspace(__func__, probabilities, longest, bytes);
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetCTCLossWorkspaceSize_v8(
    cudnnHandle_t handle, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t loss,
    const cudnnTensorDescriptor_t probabilities, const cudnnTensorDescriptor_t gradients,
    size_t *bytes)
{
    if (!loss)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    return estimate_ctc_workspace(__func__, probabilities, loss->longest_label, bytes);
}

/* Work that runs here leaves no error. */
SIMDEV_EXPORT cudnnStatus_t cudnnQueryRuntimeError(cudnnHandle_t handle, cudnnStatus_t *status,
                                                   cudnnErrQueryMode_t mode, cudnnRuntimeTag_t *tag)
{
    if (!handle || !status)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *status = CUDNN_STATUS_SUCCESS;
    return CUDNN_STATUS_SUCCESS;
}
