/* Batch normalisation of the legacy API (cuDNN Backend API, Ops library): sizes, and calls that are
 * counted.
 *
 * Only a cuDNN with a device returns the sizes of workspace and reserve space. For NCHW, cuDNN has
 * returned 0 for both. For NHWC, it keeps partial sums of the channels, and one bit per element for
 * a fused activation. The sizes returned here are estimates and are counted as such. */
#include "cudnn_host.h"

/* Most parameters are data, which account mode does not read. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum {
    PARTIAL_SUMS = 64 /* partial sums per channel, which combine the blocks of a kernel */
};

static bool is_channels_last(cudnnTensorDescriptor_t tensor)
{
    return tensor->rank > 2 && tensor->stride[1] == 1 && tensor->dim[1] > 1;
}

static cudnnStatus_t estimate_workspace(const char *function, cudnnTensorDescriptor_t x,
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
    return estimate_workspace(__func__, x, bytes);
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t y,
    const cudnnTensorDescriptor_t dy, const cudnnTensorDescriptor_t dz,
    const cudnnTensorDescriptor_t dx, const cudnnTensorDescriptor_t parameters,
    const cudnnActivationDescriptor_t activation, size_t *bytes)
{
    return estimate_workspace(__func__, x, bytes);
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

SIMDEV_EXPORT cudnnStatus_t cudnnBatchNormalizationForwardInference(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
    const cudnnTensorDescriptor_t x_desc, const void *x, const cudnnTensorDescriptor_t y_desc,
    void *y, const cudnnTensorDescriptor_t parameters, const void *scale, const void *bias,
    const void *mean, const void *variance, double epsilon)
{
    if (!alpha || !beta || !x_desc || !x || !y_desc || !y || !parameters || !scale || !bias ||
        !mean || !variance)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    struct simdev_host_call call = simdev_host_call(__func__, SIMDEV_LAYER_NORM_INFERENCE);
    call.mode = (int)mode;
    call.epsilon = epsilon;
    simdev_host_read(&call, x_desc, x);
    simdev_host_write(&call, y_desc, y, alpha, beta);
    simdev_host_read(&call, parameters, scale);
    simdev_host_read(&call, parameters, bias);
    simdev_host_read(&call, parameters, mean);
    simdev_host_read(&call, parameters, variance);
    return simdev_host_launch(handle, &call);
}

SIMDEV_EXPORT cudnnStatus_t cudnnBatchNormalizationForwardTraining(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
    const cudnnTensorDescriptor_t x_desc, const void *x, const cudnnTensorDescriptor_t y_desc,
    void *y, const cudnnTensorDescriptor_t parameters, const void *scale, const void *bias,
    double factor, void *running_mean, void *running_variance, double epsilon, void *saved_mean,
    void *saved_variance)
{
    if (!alpha || !beta || !x_desc || !x || !y_desc || !y || !parameters || !scale || !bias)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    struct simdev_host_call call = simdev_host_call(__func__, SIMDEV_LAYER_NORM_TRAINING);
    call.mode = (int)mode;
    call.epsilon = epsilon;
    call.factor = factor;
    simdev_host_read(&call, x_desc, x);
    simdev_host_write(&call, y_desc, y, alpha, beta);
    simdev_host_read(&call, parameters, scale);
    simdev_host_read(&call, parameters, bias);
    simdev_host_read(&call, parameters, running_mean);
    simdev_host_read(&call, parameters, running_variance);
    simdev_host_write(&call, parameters, running_mean, NULL, NULL);
    simdev_host_write(&call, parameters, running_variance, NULL, NULL);
    simdev_host_write(&call, parameters, saved_mean, NULL, NULL);
    simdev_host_write(&call, parameters, saved_variance, NULL, NULL);
    return simdev_host_launch(handle, &call);
}

SIMDEV_EXPORT cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void *alpha,
    const void *beta, const cudnnTensorDescriptor_t x_desc, const void *x,
    const cudnnTensorDescriptor_t z_desc, const void *z, const cudnnTensorDescriptor_t y_desc,
    void *y, const cudnnTensorDescriptor_t parameters, const void *scale, const void *bias,
    double factor, void *running_mean, void *running_variance, double epsilon, void *saved_mean,
    void *saved_variance, cudnnActivationDescriptor_t activation, void *workspace_memory,
    size_t workspace_bytes, void *reserve, size_t reserve_bytes)
{
    if (!simdev_account_mode() && ops == CUDNN_BATCHNORM_OPS_BN)
        return cudnnBatchNormalizationForwardTraining(
            handle, mode, alpha, beta, x_desc, x, y_desc, y, parameters, scale, bias, factor,
            running_mean, running_variance, epsilon, saved_mean, saved_variance);
    return simdev_account(handle, __func__);
}

SIMDEV_EXPORT cudnnStatus_t cudnnBatchNormalizationBackward(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha_data, const void *beta_data,
    const void *alpha_parameters, const void *beta_parameters, const cudnnTensorDescriptor_t x_desc,
    const void *x, const cudnnTensorDescriptor_t dy_desc, const void *dy,
    const cudnnTensorDescriptor_t dx_desc, void *dx, const cudnnTensorDescriptor_t parameters,
    const void *scale, void *scale_gradient, void *bias_gradient, double epsilon,
    const void *saved_mean, const void *saved_variance)
{
    if (!alpha_data || !beta_data || !alpha_parameters || !beta_parameters || !x_desc || !x ||
        !dy_desc || !dy || !dx_desc || !dx || !parameters || !scale || !scale_gradient ||
        !bias_gradient)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    struct simdev_host_call call = simdev_host_call(__func__, SIMDEV_LAYER_NORM_GRADIENT);
    call.mode = (int)mode;
    call.epsilon = epsilon;
    simdev_host_read(&call, x_desc, x);
    simdev_host_read(&call, dy_desc, dy);
    simdev_host_write(&call, dx_desc, dx, alpha_data, beta_data);
    simdev_host_read(&call, parameters, scale);
    simdev_host_write(&call, parameters, scale_gradient, alpha_parameters, beta_parameters);
    simdev_host_write(&call, parameters, bias_gradient, alpha_parameters, beta_parameters);
    simdev_host_read(&call, parameters, saved_mean);
    simdev_host_read(&call, parameters, saved_variance);
    return simdev_host_launch(handle, &call);
}

SIMDEV_EXPORT cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    const void *alpha_data, const void *beta_data, const void *alpha_parameters,
    const void *beta_parameters, const cudnnTensorDescriptor_t x_desc, const void *x,
    const cudnnTensorDescriptor_t y_desc, const void *y, const cudnnTensorDescriptor_t dy_desc,
    const void *dy, const cudnnTensorDescriptor_t dz_desc, void *dz,
    const cudnnTensorDescriptor_t dx_desc, void *dx, const cudnnTensorDescriptor_t parameters,
    const void *scale, const void *bias, void *scale_gradient, void *bias_gradient, double epsilon,
    const void *saved_mean, const void *saved_variance, cudnnActivationDescriptor_t activation,
    void *workspace_memory, size_t workspace_bytes, void *reserve, size_t reserve_bytes)
{
    if (!simdev_account_mode() && ops == CUDNN_BATCHNORM_OPS_BN)
        return cudnnBatchNormalizationBackward(
            handle, mode, alpha_data, beta_data, alpha_parameters, beta_parameters, x_desc, x,
            dy_desc, dy, dx_desc, dx, parameters, scale, scale_gradient, bias_gradient, epsilon,
            saved_mean, saved_variance);
    return simdev_account(handle, __func__);
}
