/* Softmax, the gradients of activations and of biases, and local response normalisation. */
#include "cudnn_host.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

SIMDEV_EXPORT cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo,
                                                cudnnSoftmaxMode_t mode, const void *alpha,
                                                const cudnnTensorDescriptor_t x_desc, const void *x,
                                                const void *beta,
                                                const cudnnTensorDescriptor_t y_desc, void *y)
{
    if (!alpha || !x_desc || !x || !beta || !y_desc || !y)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    struct simdev_host_call call = simdev_host_call(__func__, SIMDEV_LAYER_SOFTMAX);
    call.mode = (int)mode;
    call.algorithm = (int)algo;
    simdev_host_read(&call, x_desc, x);
    simdev_host_write(&call, y_desc, y, alpha, beta);
    return simdev_host_launch(handle, &call);
}

SIMDEV_EXPORT cudnnStatus_t cudnnSoftmaxBackward(
    cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo, cudnnSoftmaxMode_t mode, const void *alpha,
    const cudnnTensorDescriptor_t y_desc, const void *y, const cudnnTensorDescriptor_t dy_desc,
    const void *dy, const void *beta, const cudnnTensorDescriptor_t dx_desc, void *dx)
{
    if (!alpha || !y_desc || !y || !dy_desc || !dy || !beta || !dx_desc || !dx)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    struct simdev_host_call call = simdev_host_call(__func__, SIMDEV_LAYER_SOFTMAX_GRADIENT);
    call.mode = (int)mode;
    call.algorithm = (int)algo;
    simdev_host_read(&call, y_desc, y);
    simdev_host_read(&call, dy_desc, dy);
    simdev_host_write(&call, dx_desc, dx, alpha, beta);
    return simdev_host_launch(handle, &call);
}

SIMDEV_EXPORT cudnnStatus_t cudnnActivationBackward(
    cudnnHandle_t handle, cudnnActivationDescriptor_t activation, const void *alpha,
    const cudnnTensorDescriptor_t y_desc, const void *y, const cudnnTensorDescriptor_t dy_desc,
    const void *dy, const cudnnTensorDescriptor_t x_desc, const void *x, const void *beta,
    const cudnnTensorDescriptor_t dx_desc, void *dx)
{
    if (!activation || !alpha || !y_desc || !y || !dy_desc || !dy || !x_desc || !x || !beta ||
        !dx_desc || !dx)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    struct simdev_host_call call = simdev_host_call(__func__, SIMDEV_LAYER_ACTIVATION_GRADIENT);
    call.activation = *activation;
    simdev_host_read(&call, y_desc, y);
    simdev_host_read(&call, dy_desc, dy);
    simdev_host_read(&call, x_desc, x);
    simdev_host_write(&call, dx_desc, dx, alpha, beta);
    return simdev_host_launch(handle, &call);
}

SIMDEV_EXPORT cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void *alpha,
                                                         const cudnnTensorDescriptor_t dy_desc,
                                                         const void *dy, const void *beta,
                                                         const cudnnTensorDescriptor_t db_desc,
                                                         void *db)
{
    if (!alpha || !dy_desc || !dy || !beta || !db_desc || !db)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    struct simdev_host_call call = simdev_host_call(__func__, SIMDEV_LAYER_BIAS_GRADIENT);
    if (db_desc->rank < 2 || db_desc->dim[1] != dy_desc->dim[1])
        return CUDNN_STATUS_BAD_PARAM;
    simdev_host_read(&call, dy_desc, dy);
    simdev_host_write(&call, db_desc, db, alpha, beta);
    return simdev_host_launch(handle, &call);
}

/* ---- local response normalisation ---- */

SIMDEV_EXPORT cudnnStatus_t cudnnSetLRNDescriptor(cudnnLRNDescriptor_t lrn, unsigned n,
                                                  double alpha, double beta, double k)
{
    if (!lrn)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (n < CUDNN_LRN_MIN_N || n > CUDNN_LRN_MAX_N || k < CUDNN_LRN_MIN_K ||
        beta < CUDNN_LRN_MIN_BETA)
        return CUDNN_STATUS_BAD_PARAM;
    *lrn = (struct cudnnLRNStruct){n, alpha, beta, k};
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetLRNDescriptor(cudnnLRNDescriptor_t lrn, unsigned *n,
                                                  double *alpha, double *beta, double *k)
{
    if (!lrn || !n || !alpha || !beta || !k)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *n = lrn->n;
    *alpha = lrn->alpha;
    *beta = lrn->beta;
    *k = lrn->k;
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t
cudnnLRNCrossChannelForward(cudnnHandle_t handle, cudnnLRNDescriptor_t lrn, cudnnLRNMode_t mode,
                            const void *alpha, const cudnnTensorDescriptor_t x_desc, const void *x,
                            const void *beta, const cudnnTensorDescriptor_t y_desc, void *y)
{
    if (!lrn || !alpha || !x_desc || !x || !beta || !y_desc || !y)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    struct simdev_host_call call = simdev_host_call(__func__, SIMDEV_LAYER_LRN);
    call.lrn = *lrn;
    simdev_host_read(&call, x_desc, x);
    simdev_host_write(&call, y_desc, y, alpha, beta);
    return simdev_host_launch(handle, &call);
}

SIMDEV_EXPORT cudnnStatus_t cudnnLRNCrossChannelBackward(
    cudnnHandle_t handle, cudnnLRNDescriptor_t lrn, cudnnLRNMode_t mode, const void *alpha,
    const cudnnTensorDescriptor_t y_desc, const void *y, const cudnnTensorDescriptor_t dy_desc,
    const void *dy, const cudnnTensorDescriptor_t x_desc, const void *x, const void *beta,
    const cudnnTensorDescriptor_t dx_desc, void *dx)
{
    if (!lrn || !alpha || !y_desc || !y || !dy_desc || !dy || !x_desc || !x || !beta || !dx_desc ||
        !dx)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    struct simdev_host_call call = simdev_host_call(__func__, SIMDEV_LAYER_LRN_GRADIENT);
    call.lrn = *lrn;
    simdev_host_read(&call, y_desc, y);
    simdev_host_read(&call, dy_desc, dy);
    simdev_host_read(&call, x_desc, x);
    simdev_host_write(&call, dx_desc, dx, alpha, beta);
    return simdev_host_launch(handle, &call);
}
