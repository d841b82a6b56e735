/* Transforms of tensors and filters, version checks, and the queries for errors of running work. */
#include "cudnn_internal.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

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

SIMDEV_EXPORT cudnnStatus_t cudnnSetTensorTransformDescriptor(
    cudnnTensorTransformDescriptor_t transform, const uint32_t rank,
    const cudnnTensorFormat_t format, const int32_t pad_before[], const int32_t pad_after[],
    const uint32_t fold[], const cudnnFoldingDirection_t direction)
{
    if (!transform)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (rank < 3 || rank > SIMDEV_MAX_RANK)
        return CUDNN_STATUS_BAD_PARAM;
    *transform = (struct cudnnTensorTransformStruct){.rank = (int)rank, .format = format};
    transform->folds = direction == CUDNN_TRANSFORM_FOLD;
    for (int i = 0; i < (int)rank; i++) {
        transform->before[i] = pad_before ? pad_before[i] : 0;
        transform->after[i] = pad_after ? pad_after[i] : 0;
        transform->fold[i] = fold && i < (int)rank - 2 ? (int)fold[i] : 1;
    }
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnInitTransformDest(const cudnnTensorTransformDescriptor_t transform,
                                                   const cudnnTensorDescriptor_t source,
                                                   cudnnTensorDescriptor_t result, size_t *bytes)
{
    int dim[SIMDEV_MAX_RANK];
    if (!transform || !source || !result || !bytes)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (source->rank != transform->rank)
        return CUDNN_STATUS_BAD_PARAM;
    for (int i = 0; i < source->rank; i++)
        dim[i] = source->dim[i] + transform->before[i] + transform->after[i];
    for (int i = 2; i < source->rank; i++) {
        const int fold = transform->fold[i - 2] > 0 ? transform->fold[i - 2] : 1;
        dim[1] = transform->folds ? dim[1] * fold : dim[1] / fold;
        dim[i] = transform->folds ? (dim[i] + fold - 1) / fold : dim[i] * fold;
    }
    const cudnnStatus_t status =
        cudnnSetTensorNdDescriptorEx(result, transform->format, source->type, source->rank, dim);
    return status == CUDNN_STATUS_SUCCESS ? cudnnGetTensorSizeInBytes(result, bytes) : status;
}

SIMDEV_EXPORT cudnnStatus_t cudnnTransformTensorEx(cudnnHandle_t handle,
                                                   const cudnnTensorTransformDescriptor_t transform,
                                                   const void *alpha,
                                                   const cudnnTensorDescriptor_t x_desc,
                                                   const void *x, const void *beta,
                                                   const cudnnTensorDescriptor_t y_desc, void *y)
{
    return simdev_account(handle, __func__);
}

SIMDEV_EXPORT cudnnStatus_t cudnnTransformFilter(cudnnHandle_t handle,
                                                 const cudnnTensorTransformDescriptor_t transform,
                                                 const void *alpha,
                                                 const cudnnFilterDescriptor_t x_desc,
                                                 const void *x, const void *beta,
                                                 const cudnnFilterDescriptor_t y_desc, void *y)
{
    return simdev_account(handle, __func__);
}

SIMDEV_EXPORT cudnnStatus_t cudnnReorderFilterAndBias(cudnnHandle_t handle,
                                                      const cudnnFilterDescriptor_t filter_desc,
                                                      cudnnReorderType_t type, const void *filter,
                                                      void *reordered_filter, int with_bias,
                                                      const void *bias, void *reordered_bias)
{
    return simdev_account(handle, __func__);
}

SIMDEV_EXPORT cudnnStatus_t cudnnIm2Col(cudnnHandle_t handle, const cudnnTensorDescriptor_t x_desc,
                                        const void *x, const cudnnFilterDescriptor_t w_desc,
                                        const cudnnConvolutionDescriptor_t conv, void *columns)
{
    return simdev_account(handle, __func__);
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

SIMDEV_EXPORT cudnnStatus_t cudnnOpsVersionCheck(void)
{
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnCnnVersionCheck(void)
{
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnAdvVersionCheck(void)
{
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnGraphVersionCheck(void)
{
    return CUDNN_STATUS_SUCCESS;
}
