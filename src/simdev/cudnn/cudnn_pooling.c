/* Pooling of the legacy API (cuDNN Backend API, Ops library): descriptors, the extents of results,
 * and calls. */
#include <string.h>

#include "cudnn_host.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

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
    pooling->mode = mode;
    pooling->nan = nan;
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

SIMDEV_EXPORT cudnnStatus_t cudnnGetPoolingNdDescriptor(const cudnnPoolingDescriptor_t pooling,
                                                        int requested, cudnnPoolingMode_t *mode,
                                                        cudnnNanPropagation_t *nan, int *spatial,
                                                        int window[], int pad[], int stride[])
{
    if (!pooling)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    const int count = requested < pooling->spatial ? requested : pooling->spatial;
    if (mode)
        *mode = pooling->mode;
    if (nan)
        *nan = pooling->nan;
    if (spatial)
        *spatial = pooling->spatial;
    copy_integers(count, pooling->window, window);
    copy_integers(count, pooling->pad, pad);
    copy_integers(count, pooling->stride, stride);
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetPooling2dDescriptor(const cudnnPoolingDescriptor_t pooling,
                                                        cudnnPoolingMode_t *mode,
                                                        cudnnNanPropagation_t *nan, int *window_h,
                                                        int *window_w, int *pad_h, int *pad_w,
                                                        int *stride_h, int *stride_w)
{
    if (!pooling)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (pooling->spatial != 2)
        return CUDNN_STATUS_BAD_PARAM;
    copy_integers(1, &pooling->window[0], window_h);
    copy_integers(1, &pooling->window[1], window_w);
    copy_integers(1, &pooling->pad[0], pad_h);
    copy_integers(1, &pooling->pad[1], pad_w);
    copy_integers(1, &pooling->stride[0], stride_h);
    copy_integers(1, &pooling->stride[1], stride_w);
    return cudnnGetPoolingNdDescriptor(pooling, 0, mode, nan, NULL, NULL, NULL, NULL);
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

SIMDEV_EXPORT cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle,
                                                const cudnnPoolingDescriptor_t pooling,
                                                const void *alpha,
                                                const cudnnTensorDescriptor_t x_desc, const void *x,
                                                const void *beta,
                                                const cudnnTensorDescriptor_t y_desc, void *y)
{
    if (!pooling || !alpha || !x_desc || !x || !beta || !y_desc || !y)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    struct simdev_host_call call = simdev_host_call(__func__, SIMDEV_LAYER_POOLING);
    const int rank = pooling->spatial + 2;
    if (x_desc->rank != rank || y_desc->rank != rank)
        return CUDNN_STATUS_BAD_PARAM;
    call.pooling = *pooling;
    simdev_host_read(&call, x_desc, x);
    simdev_host_write(&call, y_desc, y, alpha, beta);
    return simdev_host_launch(handle, &call);
}

SIMDEV_EXPORT cudnnStatus_t cudnnPoolingBackward(
    cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling, const void *alpha,
    const cudnnTensorDescriptor_t y_desc, const void *y, const cudnnTensorDescriptor_t dy_desc,
    const void *dy, const cudnnTensorDescriptor_t x_desc, const void *x, const void *beta,
    const cudnnTensorDescriptor_t dx_desc, void *dx)
{
    if (!pooling || !alpha || !y_desc || !y || !dy_desc || !dy || !x_desc || !x || !beta ||
        !dx_desc || !dx)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    struct simdev_host_call call = simdev_host_call(__func__, SIMDEV_LAYER_POOLING_GRADIENT);
    const int rank = pooling->spatial + 2;
    if (x_desc->rank != rank || y_desc->rank != rank || dx_desc->rank != rank)
        return CUDNN_STATUS_BAD_PARAM;
    call.pooling = *pooling;
    simdev_host_read(&call, y_desc, y);
    simdev_host_read(&call, dy_desc, dy);
    simdev_host_read(&call, x_desc, x);
    simdev_host_write(&call, dx_desc, dx, alpha, beta);
    return simdev_host_launch(handle, &call);
}
