/* Legacy descriptors of tensors, filters, convolutions and activations (cuDNN
 * Backend API, Ops and CNN libraries). */
#include <stdlib.h>
#include <string.h>

#include "cudnn_internal.h"

/* A descriptor type's Create and Destroy. The other arguments are its initial contents. */
#define LIFE(Name, type, ...)                                                                      \
    SIMDEV_EXPORT cudnnStatus_t cudnnCreate##Name##Descriptor(type *out)                           \
    {                                                                                              \
        if (!out)                                                                                  \
            return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;                                            \
        type made = calloc(1, sizeof *made);                                                       \
        if (!made)                                                                                 \
            return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;                             \
        *made = (__typeof__(*made)){__VA_ARGS__};                                                  \
        *out = made;                                                                               \
        return CUDNN_STATUS_SUCCESS;                                                               \
    }                                                                                              \
    SIMDEV_EXPORT cudnnStatus_t cudnnDestroy##Name##Descriptor(type descriptor)                    \
    {                                                                                              \
        free(descriptor);                                                                          \
        return CUDNN_STATUS_SUCCESS;                                                               \
    }

LIFE(Tensor, cudnnTensorDescriptor_t, .rank = 0)
LIFE(Filter, cudnnFilterDescriptor_t, .rank = 0)
LIFE(Convolution, cudnnConvolutionDescriptor_t, .groups = 1)
LIFE(Activation, cudnnActivationDescriptor_t, .swish_beta = 1)
LIFE(OpTensor, cudnnOpTensorDescriptor_t, .op = CUDNN_OP_TENSOR_ADD)
LIFE(Pooling, cudnnPoolingDescriptor_t, .spatial = 0)
LIFE(LRN, cudnnLRNDescriptor_t, .unused = 0)
LIFE(Dropout, cudnnDropoutDescriptor_t, .unused = 0)
LIFE(RNN, cudnnRNNDescriptor_t, .layers = 0)
LIFE(RNNData, cudnnRNNDataDescriptor_t, .length = 0)
LIFE(CTCLoss, cudnnCTCLossDescriptor_t, .longest_label = 0)
LIFE(SpatialTransformer, cudnnSpatialTransformerDescriptor_t, .unused = 0)
LIFE(TensorTransform, cudnnTensorTransformDescriptor_t, .unused = 0)

static bool all_positive(int count, const int *values)
{
    for (int i = 0; i < count; i++)
        if (values[i] < 1)
            return false;
    return true;
}

static bool is_rank(int rank)
{
    return rank >= 3 && rank <= SIMDEV_MAX_RANK;
}

/* Packed strides. False for a format without packed strides. */
static bool pack_strides(cudnnTensorFormat_t format, int rank, const int *dim, int *stride)
{
    int next = 1;
    if (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC)
        return false;
    if (format == CUDNN_TENSOR_NHWC) {
        stride[1] = 1;
        next = dim[1];
    }
    for (int i = rank - 1; i >= 0; i--) {
        if (format == CUDNN_TENSOR_NHWC && i == 1)
            continue;
        stride[i] = next;
        next *= dim[i];
    }
    return true;
}

static void copy_integers(int count, const int *from, int *to)
{
    if (to)
        memcpy(to, from, (size_t)count * sizeof *to);
}

static int smaller_of(int a, int b)
{
    return a < b ? a : b;
}

/* ---- tensors ---- */

static bool is_legacy_type(cudnnDataType_t type)
{
    return type != CUDNN_DATA_INT64 && type != CUDNN_DATA_BOOLEAN;
}

/* cuDNN's legacy descriptors hold fewer than 2^31 elements. SIMDEV_MAX_SPAN replaces this limit. */
static bool is_too_large(int rank, const int *dim)
{
    const char *text = getenv("SIMDEV_MAX_SPAN");
    const int64_t most = text && *text ? strtoll(text, NULL, 10) : INT64_C(0x7fffffff);
    int64_t elements = 1;
    for (int i = 0; i < rank && elements <= most; i++)
        elements *= dim[i];
    return elements > most;
}

SIMDEV_EXPORT cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor,
                                                       cudnnDataType_t type, int rank,
                                                       const int dim[], const int stride[])
{
    if (!tensor || !dim || !stride)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (!is_rank(rank))
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (!all_positive(rank, dim) || !all_positive(rank, stride) || !is_legacy_type(type))
        return CUDNN_STATUS_BAD_PARAM;
    tensor->type = type;
    tensor->rank = rank;
    copy_integers(rank, dim, tensor->dim);
    copy_integers(rank, stride, tensor->stride);
    /* As in cuDNN: refused, but the descriptor keeps the extents. */
    return is_too_large(rank, dim) ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensor,
                                                         cudnnTensorFormat_t format,
                                                         cudnnDataType_t type, int rank,
                                                         const int dim[])
{
    int stride[SIMDEV_MAX_RANK];
    if (!tensor || !dim)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (!is_rank(rank) || !pack_strides(format, rank, dim, stride))
        return CUDNN_STATUS_NOT_SUPPORTED;
    return cudnnSetTensorNdDescriptor(tensor, type, rank, dim, stride);
}

SIMDEV_EXPORT cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor,
                                                       cudnnTensorFormat_t format,
                                                       cudnnDataType_t type, int n, int c, int h,
                                                       int w)
{
    const int dim[4] = {n, c, h, w};
    return cudnnSetTensorNdDescriptorEx(tensor, format, type, 4, dim);
}

SIMDEV_EXPORT cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensor,
                                                         cudnnDataType_t type, int n, int c, int h,
                                                         int w, int n_stride, int c_stride,
                                                         int h_stride, int w_stride)
{
    const int dim[4] = {n, c, h, w}, stride[4] = {n_stride, c_stride, h_stride, w_stride};
    return cudnnSetTensorNdDescriptor(tensor, type, 4, dim, stride);
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensor,
                                                       int requested, cudnnDataType_t *type,
                                                       int *rank, int dim[], int stride[])
{
    if (!tensor)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (type)
        *type = tensor->type;
    if (rank)
        *rank = tensor->rank;
    copy_integers(smaller_of(requested, tensor->rank), tensor->dim, dim);
    copy_integers(smaller_of(requested, tensor->rank), tensor->stride, stride);
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetTensor4dDescriptor(const cudnnTensorDescriptor_t tensor,
                                                       cudnnDataType_t *type, int *n, int *c,
                                                       int *h, int *w, int *n_stride, int *c_stride,
                                                       int *h_stride, int *w_stride)
{
    int *const dim[4] = {n, c, h, w};
    int *const stride[4] = {n_stride, c_stride, h_stride, w_stride};
    if (!tensor)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (tensor->rank != 4)
        return CUDNN_STATUS_BAD_PARAM;
    for (int i = 0; i < 4; i++) {
        copy_integers(1, &tensor->dim[i], dim[i]);
        copy_integers(1, &tensor->stride[i], stride[i]);
    }
    if (type)
        *type = tensor->type;
    return CUDNN_STATUS_SUCCESS;
}

struct simdev_view simdev_tensor_view(cudnnTensorDescriptor_t tensor, const void *data)
{
    struct simdev_view view = {(char *)(uintptr_t)data, tensor->type, tensor->rank, {0}, {0}};
    for (int i = 0; i < tensor->rank; i++) {
        view.dim[i] = tensor->dim[i];
        view.stride[i] = tensor->stride[i];
    }
    return view;
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetTensorSizeInBytes(const cudnnTensorDescriptor_t tensor,
                                                      size_t *size)
{
    if (!tensor || !size)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    const struct simdev_view view = simdev_tensor_view(tensor, NULL);
    *size = tensor->rank ? simdev_view_span(&view) : 0;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- filters ---- */

SIMDEV_EXPORT cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter,
                                                       cudnnDataType_t type,
                                                       cudnnTensorFormat_t format, int rank,
                                                       const int dim[])
{
    int stride[SIMDEV_MAX_RANK];
    if (!filter || !dim)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (!is_rank(rank) || !pack_strides(format, rank, dim, stride))
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (!all_positive(rank, dim))
        return CUDNN_STATUS_BAD_PARAM;
    filter->type = type;
    filter->format = format;
    filter->rank = rank;
    copy_integers(rank, dim, filter->dim);
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter,
                                                       cudnnDataType_t type,
                                                       cudnnTensorFormat_t format, int k, int c,
                                                       int h, int w)
{
    const int dim[4] = {k, c, h, w};
    return cudnnSetFilterNdDescriptor(filter, type, format, 4, dim);
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t filter,
                                                       int requested, cudnnDataType_t *type,
                                                       cudnnTensorFormat_t *format, int *rank,
                                                       int dim[])
{
    if (!filter)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (type)
        *type = filter->type;
    if (format)
        *format = filter->format;
    if (rank)
        *rank = filter->rank;
    copy_integers(smaller_of(requested, filter->rank), filter->dim, dim);
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetFilter4dDescriptor(const cudnnFilterDescriptor_t filter,
                                                       cudnnDataType_t *type,
                                                       cudnnTensorFormat_t *format, int *k, int *c,
                                                       int *h, int *w)
{
    int *const dim[4] = {k, c, h, w};
    if (!filter)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (filter->rank != 4)
        return CUDNN_STATUS_BAD_PARAM;
    for (int i = 0; i < 4; i++)
        copy_integers(1, &filter->dim[i], dim[i]);
    return cudnnGetFilterNdDescriptor(filter, 0, type, format, NULL, NULL);
}

struct simdev_view simdev_filter_view(cudnnFilterDescriptor_t filter, const void *data)
{
    int stride[SIMDEV_MAX_RANK] = {0};
    struct simdev_view view = {(char *)(uintptr_t)data, filter->type, filter->rank, {0}, {0}};
    pack_strides(filter->format, filter->rank, filter->dim, stride);
    for (int i = 0; i < filter->rank; i++) {
        view.dim[i] = filter->dim[i];
        view.stride[i] = stride[i];
    }
    return view;
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetFilterSizeInBytes(const cudnnFilterDescriptor_t filter,
                                                      size_t *size)
{
    if (!filter || !size)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    const struct simdev_view view = simdev_filter_view(filter, NULL);
    *size = filter->rank ? simdev_view_span(&view) : 0;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- convolutions ---- */

SIMDEV_EXPORT cudnnStatus_t cudnnSetConvolutionNdDescriptor(
    cudnnConvolutionDescriptor_t conv, int spatial, const int pad[], const int stride[],
    const int dilation[], cudnnConvolutionMode_t mode, cudnnDataType_t compute)
{
    if (!conv || !pad || !stride || !dilation)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (spatial < 1 || spatial > SIMDEV_MAX_SPATIAL)
        return CUDNN_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < spatial; i++)
        if (pad[i] < 0)
            return CUDNN_STATUS_BAD_PARAM;
    if (!all_positive(spatial, stride) || !all_positive(spatial, dilation))
        return CUDNN_STATUS_BAD_PARAM;
    conv->spatial = spatial;
    copy_integers(spatial, pad, conv->pad);
    copy_integers(spatial, stride, conv->stride);
    copy_integers(spatial, dilation, conv->dilation);
    conv->mode = mode;
    conv->compute = compute;
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t conv,
                                                            int pad_h, int pad_w, int u, int v,
                                                            int dilation_h, int dilation_w,
                                                            cudnnConvolutionMode_t mode,
                                                            cudnnDataType_t compute)
{
    const int pad[2] = {pad_h, pad_w}, stride[2] = {u, v}, dilation[2] = {dilation_h, dilation_w};
    return cudnnSetConvolutionNdDescriptor(conv, 2, pad, stride, dilation, mode, compute);
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetConvolutionNdDescriptor(const cudnnConvolutionDescriptor_t conv,
                                                            int requested, int *spatial, int pad[],
                                                            int stride[], int dilation[],
                                                            cudnnConvolutionMode_t *mode,
                                                            cudnnDataType_t *compute)
{
    if (!conv)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (spatial)
        *spatial = conv->spatial;
    copy_integers(smaller_of(requested, conv->spatial), conv->pad, pad);
    copy_integers(smaller_of(requested, conv->spatial), conv->stride, stride);
    copy_integers(smaller_of(requested, conv->spatial), conv->dilation, dilation);
    if (mode)
        *mode = conv->mode;
    if (compute)
        *compute = conv->compute;
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetConvolution2dDescriptor(const cudnnConvolutionDescriptor_t conv,
                                                            int *pad_h, int *pad_w, int *u, int *v,
                                                            int *dilation_h, int *dilation_w,
                                                            cudnnConvolutionMode_t *mode,
                                                            cudnnDataType_t *compute)
{
    if (!conv)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (conv->spatial != 2)
        return CUDNN_STATUS_BAD_PARAM;
    copy_integers(1, &conv->pad[0], pad_h);
    copy_integers(1, &conv->pad[1], pad_w);
    copy_integers(1, &conv->stride[0], u);
    copy_integers(1, &conv->stride[1], v);
    copy_integers(1, &conv->dilation[0], dilation_h);
    copy_integers(1, &conv->dilation[1], dilation_w);
    return cudnnGetConvolutionNdDescriptor(conv, 0, NULL, NULL, NULL, NULL, mode, compute);
}

/* A property of the convolution descriptor with Set and Get. */
#define PROPERTY(Name, type, field)                                                                \
    SIMDEV_EXPORT cudnnStatus_t cudnnSetConvolution##Name(cudnnConvolutionDescriptor_t conv,       \
                                                          type value)                              \
    {                                                                                              \
        if (!conv)                                                                                 \
            return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;                                            \
        conv->field = value;                                                                       \
        return CUDNN_STATUS_SUCCESS;                                                               \
    }                                                                                              \
    SIMDEV_EXPORT cudnnStatus_t cudnnGetConvolution##Name(cudnnConvolutionDescriptor_t conv,       \
                                                          type *value)                             \
    {                                                                                              \
        if (!conv || !value)                                                                       \
            return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;                                            \
        *value = conv->field;                                                                      \
        return CUDNN_STATUS_SUCCESS;                                                               \
    }

PROPERTY(MathType, cudnnMathType_t, math)
PROPERTY(GroupCount, int, groups)
PROPERTY(ReorderType, cudnnReorderType_t, reorder)

SIMDEV_EXPORT cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t x,
    const cudnnFilterDescriptor_t w, int rank, int dim[])
{
    if (!conv || !x || !w || !dim)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (x->rank != rank || w->rank != rank || conv->spatial != rank - 2 ||
        x->dim[1] != w->dim[1] * conv->groups)
        return CUDNN_STATUS_BAD_PARAM;
    dim[0] = x->dim[0];
    dim[1] = w->dim[0];
    for (int i = 0; i < conv->spatial; i++) {
        const int room = x->dim[2 + i] + 2 * conv->pad[i];
        const int reach = (w->dim[2 + i] - 1) * conv->dilation[i] + 1;
        if (room < reach)
            return CUDNN_STATUS_BAD_PARAM;
        dim[2 + i] = (room - reach) / conv->stride[i] + 1;
    }
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t x,
    const cudnnFilterDescriptor_t filter, int *n, int *c, int *h, int *w)
{
    int dim[4];
    int *const out[4] = {n, c, h, w};
    const cudnnStatus_t status = cudnnGetConvolutionNdForwardOutputDim(conv, x, filter, 4, dim);
    for (int i = 0; status == CUDNN_STATUS_SUCCESS && i < 4; i++)
        copy_integers(1, &dim[i], out[i]);
    return status;
}

/* ---- activations and tensor operations ---- */

SIMDEV_EXPORT cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activation,
                                                         cudnnActivationMode_t mode,
                                                         cudnnNanPropagation_t nan, double coef)
{
    if (!activation)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *activation = (struct cudnnActivationStruct){mode, nan, coef, 1.0};
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t
cudnnGetActivationDescriptor(const cudnnActivationDescriptor_t activation,
                             cudnnActivationMode_t *mode, cudnnNanPropagation_t *nan, double *coef)
{
    if (!activation || !mode || !nan || !coef)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *mode = activation->mode;
    *nan = activation->nan;
    *coef = activation->coefficient;
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t
cudnnSetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t activation, double beta)
{
    if (!activation)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    activation->swish_beta = beta;
    return CUDNN_STATUS_SUCCESS;
}

bool simdev_activation_op(cudnnActivationDescriptor_t activation, struct simdev_pointwise *op)
{
    static const struct {
        cudnnActivationMode_t mode;
        cudnnPointwiseMode_t op;
    } known[] = {
        {CUDNN_ACTIVATION_SIGMOID, CUDNN_POINTWISE_SIGMOID_FWD},
        {CUDNN_ACTIVATION_RELU, CUDNN_POINTWISE_RELU_FWD},
        {CUDNN_ACTIVATION_TANH, CUDNN_POINTWISE_TANH_FWD},
        {CUDNN_ACTIVATION_CLIPPED_RELU, CUDNN_POINTWISE_RELU_FWD},
        {CUDNN_ACTIVATION_ELU, CUDNN_POINTWISE_ELU_FWD},
        {CUDNN_ACTIVATION_IDENTITY, CUDNN_POINTWISE_IDENTITY},
        {CUDNN_ACTIVATION_SWISH, CUDNN_POINTWISE_SWISH_FWD},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].mode != activation->mode)
            continue;
        *op = simdev_pointwise_of(known[i].op);
        if (activation->mode == CUDNN_ACTIVATION_CLIPPED_RELU)
            op->upper_clip = (float)activation->coefficient;
        op->elu_alpha = (float)activation->coefficient;
        op->swish_beta = (float)activation->swish_beta;
        return true;
    }
    return false;
}

SIMDEV_EXPORT cudnnStatus_t cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t descriptor,
                                                       cudnnOpTensorOp_t op,
                                                       cudnnDataType_t compute,
                                                       cudnnNanPropagation_t nan)
{
    (void)compute, (void)nan;
    if (!descriptor)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    descriptor->op = op;
    return CUDNN_STATUS_SUCCESS;
}
