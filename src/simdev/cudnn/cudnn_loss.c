/* CTC loss and spatial transformers (cuDNN Backend API, ADV and Ops libraries): descriptors, sizes,
 * and calls that are counted. */
#include "cudnn_internal.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

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

SIMDEV_EXPORT cudnnStatus_t cudnnSetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t loss,
                                                        cudnnDataType_t compute,
                                                        cudnnLossNormalizationMode_t mode,
                                                        cudnnNanPropagation_t nan)
{
    return cudnnSetCTCLossDescriptor_v8(loss, compute, mode, nan, 0);
}

SIMDEV_EXPORT cudnnStatus_t cudnnSetCTCLossDescriptor(cudnnCTCLossDescriptor_t loss,
                                                      cudnnDataType_t compute)
{
    return cudnnSetCTCLossDescriptorEx(loss, compute, CUDNN_LOSS_NORMALIZATION_NONE,
                                       CUDNN_NOT_PROPAGATE_NAN);
}

/* Two tables of steps times labels with blanks between them: the forward and backward variables.
 * Only a cuDNN with a device returns the exact size, so this is an estimate. */
static cudnnStatus_t estimate_workspace(const char *function,
                                        const cudnnTensorDescriptor_t probabilities, int longest,
                                        size_t *bytes)
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
    return estimate_workspace(__func__, probabilities, longest, bytes);
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetCTCLossWorkspaceSize_v8(
    cudnnHandle_t handle, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t loss,
    const cudnnTensorDescriptor_t probabilities, const cudnnTensorDescriptor_t gradients,
    size_t *bytes)
{
    if (!loss)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    return estimate_workspace(__func__, probabilities, loss->longest_label, bytes);
}

SIMDEV_EXPORT cudnnStatus_t cudnnCTCLoss(cudnnHandle_t handle,
                                         const cudnnTensorDescriptor_t probabilities_desc,
                                         const void *probabilities, const int labels[],
                                         const int label_lengths[], const int input_lengths[],
                                         void *costs, const cudnnTensorDescriptor_t gradients_desc,
                                         void *gradients, cudnnCTCLossAlgo_t algo,
                                         cudnnCTCLossDescriptor_t loss, void *workspace_memory,
                                         size_t workspace_bytes)
{
    return simdev_account(handle, __func__);
}

SIMDEV_EXPORT cudnnStatus_t
cudnnCTCLoss_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t loss,
                const cudnnTensorDescriptor_t probabilities_desc, const void *probabilities,
                const int labels[], const int label_lengths[], const int input_lengths[],
                void *costs, const cudnnTensorDescriptor_t gradients_desc, void *gradients,
                size_t workspace_bytes, void *workspace_memory)
{
    return simdev_account(handle, __func__);
}

/* ---- spatial transformers ---- */

SIMDEV_EXPORT cudnnStatus_t cudnnSetSpatialTransformerNdDescriptor(
    cudnnSpatialTransformerDescriptor_t transformer, cudnnSamplerType_t sampler,
    cudnnDataType_t type, const int rank, const int dim[])
{
    if (!transformer || !dim)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    return rank == 4 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

SIMDEV_EXPORT cudnnStatus_t cudnnSpatialTfGridGeneratorForward(
    cudnnHandle_t handle, const cudnnSpatialTransformerDescriptor_t transformer, const void *theta,
    void *grid)
{
    return simdev_account(handle, __func__);
}

SIMDEV_EXPORT cudnnStatus_t cudnnSpatialTfGridGeneratorBackward(
    cudnnHandle_t handle, const cudnnSpatialTransformerDescriptor_t transformer, const void *dgrid,
    void *dtheta)
{
    return simdev_account(handle, __func__);
}

SIMDEV_EXPORT cudnnStatus_t cudnnSpatialTfSamplerForward(
    cudnnHandle_t handle, cudnnSpatialTransformerDescriptor_t transformer, const void *alpha,
    const cudnnTensorDescriptor_t x_desc, const void *x, const void *grid, const void *beta,
    cudnnTensorDescriptor_t y_desc, void *y)
{
    return simdev_account(handle, __func__);
}

SIMDEV_EXPORT cudnnStatus_t cudnnSpatialTfSamplerBackward(
    cudnnHandle_t handle, cudnnSpatialTransformerDescriptor_t transformer, const void *alpha,
    const cudnnTensorDescriptor_t x_desc, const void *x, const void *beta,
    const cudnnTensorDescriptor_t dx_desc, void *dx, const void *alpha_grid,
    const cudnnTensorDescriptor_t dy_desc, const void *dy, const void *grid, const void *beta_grid,
    void *dgrid)
{
    return simdev_account(handle, __func__);
}
