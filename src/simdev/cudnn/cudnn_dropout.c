/* Dropout (cuDNN Backend API, Ops library): descriptors, sizes, and calls that are counted.
 *
 * The states of the random numbers grow with the number of threads that the device runs at once.
 * Only cuDNN has the size of one state. The size returned here is an estimate and is counted as
 * such. */
#include "cudnn_internal.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

enum {
    STATE_BYTES = 48 /* generator of one thread, the size of cuRAND's default */
};

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
    if (dropout < 0 || dropout > 1)
        return CUDNN_STATUS_BAD_PARAM;
    *descriptor = (struct cudnnDropoutStruct){dropout, states, seed};
    return CUDNN_STATUS_SUCCESS;
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

SIMDEV_EXPORT cudnnStatus_t cudnnGetDropoutDescriptor(cudnnDropoutDescriptor_t descriptor,
                                                      cudnnHandle_t handle, float *dropout,
                                                      void **states, unsigned long long *seed)
{
    if (!descriptor || !dropout || !states || !seed)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *dropout = descriptor->dropout;
    *states = descriptor->states;
    *seed = descriptor->seed;
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnDropoutForward(cudnnHandle_t handle,
                                                const cudnnDropoutDescriptor_t descriptor,
                                                const cudnnTensorDescriptor_t x_desc, const void *x,
                                                const cudnnTensorDescriptor_t y_desc, void *y,
                                                void *reserve, size_t reserve_bytes)
{
    return simdev_account(handle, __func__);
}

SIMDEV_EXPORT cudnnStatus_t cudnnDropoutBackward(cudnnHandle_t handle,
                                                 const cudnnDropoutDescriptor_t descriptor,
                                                 const cudnnTensorDescriptor_t dy_desc,
                                                 const void *dy,
                                                 const cudnnTensorDescriptor_t dx_desc, void *dx,
                                                 void *reserve, size_t reserve_bytes)
{
    return simdev_account(handle, __func__);
}
