/* The exported functions of legacy tensor descriptors, for tensors that are too large for one. */
#include "intercept/entry/entry.h"
#include "intercept/legacy/oversized_tensor.h"
#include <limits.h>

/* cuDNN refuses to set a descriptor of 2^31 elements or more. Its extents are recorded separately
 * (oversized_tensor.h). The getters answer from that record. */

struct set {
    struct cs_entry_call call;
    struct cs_oversized_tensor_set what;
};

/* Sets a descriptor, or records its extents if cuDNN refuses them. If the result is a refusal,
 * cuDNN's function is called again, so that the descriptor has the contents that cuDNN leaves after
 * a refusal. */
static int set_handle(struct cs *cs, struct cs_entry_call *call)
{
    (void)cs;
    int status = cs_oversized_tensor_settle(&CS_ARGS(struct set, call)->what, call->replay(call));
    return status == CUDNN_STATUS_NOT_SUPPORTED ? call->replay(call) : status;
}

static int set_nd_replay(struct cs_entry_call *call)
{
    const struct cs_oversized_tensor_set *a = &CS_ARGS(struct set, call)->what;
    return (int)CS_REAL(cudnnSetTensorNdDescriptor, a->descriptor, a->type, a->rank, a->extent,
                        a->stride);
}

static int set_nd_ex_replay(struct cs_entry_call *call)
{
    const struct cs_oversized_tensor_set *a = &CS_ARGS(struct set, call)->what;
    return (int)CS_REAL(cudnnSetTensorNdDescriptorEx, a->descriptor, a->format, a->type, a->rank,
                        a->extent);
}

static int set_4d_replay(struct cs_entry_call *call)
{
    const struct cs_oversized_tensor_set *a = &CS_ARGS(struct set, call)->what;
    return (int)CS_REAL(cudnnSetTensor4dDescriptor, a->descriptor, a->format, a->type, a->extent[0],
                        a->extent[1], a->extent[2], a->extent[3]);
}

static int set_4d_ex_replay(struct cs_entry_call *call)
{
    const struct cs_oversized_tensor_set *a = &CS_ARGS(struct set, call)->what;
    return (int)CS_REAL(cudnnSetTensor4dDescriptorEx, a->descriptor, a->type, a->extent[0],
                        a->extent[1], a->extent[2], a->extent[3], a->stride[0], a->stride[1],
                        a->stride[2], a->stride[3]);
}

CS_EXPORT cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor,
                                                   cudnnDataType_t type, int rank,
                                                   const int extent[], const int stride[])
{
    struct set a = {{set_nd_replay, set_handle},
                    {descriptor, type, CUDNN_TENSOR_NCHW, rank, extent, stride}};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

CS_EXPORT cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t descriptor,
                                                     cudnnTensorFormat_t format,
                                                     cudnnDataType_t type, int rank,
                                                     const int extent[])
{
    struct set a = {{set_nd_ex_replay, set_handle}, {descriptor, type, format, rank, extent, NULL}};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

CS_EXPORT cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t descriptor,
                                                   cudnnTensorFormat_t format, cudnnDataType_t type,
                                                   int n, int c, int h, int w)
{
    const int extent[] = {n, c, h, w};
    struct set a = {{set_4d_replay, set_handle}, {descriptor, type, format, 4, extent, NULL}};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

CS_EXPORT cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t descriptor,
                                                     cudnnDataType_t type, int n, int c, int h,
                                                     int w, int n_stride, int c_stride,
                                                     int h_stride, int w_stride)
{
    const int extent[] = {n, c, h, w}, stride[] = {n_stride, c_stride, h_stride, w_stride};
    struct set a = {{set_4d_ex_replay, set_handle},
                    {descriptor, type, CUDNN_TENSOR_NCHW, 4, extent, stride}};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

struct destroy {
    struct cs_entry_call call;
    cudnnTensorDescriptor_t descriptor;
};

static int destroy_replay(struct cs_entry_call *call)
{
    return (int)CS_REAL(cudnnDestroyTensorDescriptor, CS_ARGS(struct destroy, call)->descriptor);
}

/* Removes the record first, because another thread may get the same address as soon as cuDNN has
 * destroyed the descriptor. */
static int destroy_handle(struct cs *cs, struct cs_entry_call *call)
{
    (void)cs;
    cs_oversized_tensor_drop(CS_ARGS(struct destroy, call)->descriptor);
    return destroy_replay(call);
}

CS_EXPORT cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor)
{
    struct destroy a = {{destroy_replay, destroy_handle}, descriptor};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

struct get {
    struct cs_entry_call call;
    cudnnTensorDescriptor_t descriptor;
    int requested;
    cudnnDataType_t *type;
    int *rank, *extent, *stride;
};

static int get_nd_replay(struct cs_entry_call *call)
{
    struct get *a = CS_ARGS(struct get, call);
    return (int)CS_REAL(cudnnGetTensorNdDescriptor, a->descriptor, a->requested, a->type, a->rank,
                        a->extent, a->stride);
}

/* Answers from the record, if the descriptor has one. CUDNN_STATUS_NOT_SUPPORTED if a stride does
 * not fit into an int. */
static int get_nd_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct get *a = CS_ARGS(struct get, call);
    struct cs_oversized_tensor large;
    (void)cs;
    if (!cs_oversized_tensor_find(a->descriptor, &large))
        return get_nd_replay(call);
    for (int i = 0; i < large.rank && i < a->requested; i++) {
        if (a->stride && large.stride[i] > INT_MAX)
            return CUDNN_STATUS_NOT_SUPPORTED;
        if (a->extent)
            a->extent[i] = large.extent[i];
        if (a->stride)
            a->stride[i] = (int)large.stride[i];
    }
    if (a->type)
        *a->type = large.type;
    if (a->rank)
        *a->rank = large.rank;
    return CUDNN_STATUS_SUCCESS;
}

CS_EXPORT cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t descriptor,
                                                   int requested, cudnnDataType_t *type, int *rank,
                                                   int extent[], int stride[])
{
    struct get a = {
        {get_nd_replay, get_nd_handle}, descriptor, requested, type, rank, extent, stride};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

struct get_4d {
    struct cs_entry_call call;
    cudnnTensorDescriptor_t descriptor;
    cudnnDataType_t *type;
    int *extent[4], *stride[4];
};

static int get_4d_replay(struct cs_entry_call *call)
{
    struct get_4d *a = CS_ARGS(struct get_4d, call);
    return (int)CS_REAL(cudnnGetTensor4dDescriptor, a->descriptor, a->type, a->extent[0],
                        a->extent[1], a->extent[2], a->extent[3], a->stride[0], a->stride[1],
                        a->stride[2], a->stride[3]);
}

/* As get_nd_handle, for four dimensions. */
static int get_4d_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct get_4d *a = CS_ARGS(struct get_4d, call);
    struct cs_oversized_tensor large;
    (void)cs;
    if (!cs_oversized_tensor_find(a->descriptor, &large))
        return get_4d_replay(call);
    if (large.rank != 4)
        return CUDNN_STATUS_BAD_PARAM; /* the same as cuDNN's for a descriptor of another rank */
    for (int i = 0; i < 4; i++) {
        if (a->stride[i] && large.stride[i] > INT_MAX)
            return CUDNN_STATUS_NOT_SUPPORTED;
        if (a->extent[i])
            *a->extent[i] = large.extent[i];
        if (a->stride[i])
            *a->stride[i] = (int)large.stride[i];
    }
    if (a->type)
        *a->type = large.type;
    return CUDNN_STATUS_SUCCESS;
}

CS_EXPORT cudnnStatus_t cudnnGetTensor4dDescriptor(const cudnnTensorDescriptor_t descriptor,
                                                   cudnnDataType_t *type, int *n, int *c, int *h,
                                                   int *w, int *n_stride, int *c_stride,
                                                   int *h_stride, int *w_stride)
{
    struct get_4d a = {{get_4d_replay, get_4d_handle},
                       descriptor,
                       type,
                       {n, c, h, w},
                       {n_stride, c_stride, h_stride, w_stride}};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

struct bytes {
    struct cs_entry_call call;
    cudnnTensorDescriptor_t descriptor;
    size_t *bytes;
};

static int bytes_replay(struct cs_entry_call *call)
{
    struct bytes *a = CS_ARGS(struct bytes, call);
    return (int)CS_REAL(cudnnGetTensorSizeInBytes, a->descriptor, a->bytes);
}

static int bytes_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct bytes *a = CS_ARGS(struct bytes, call);
    struct cs_oversized_tensor large;
    (void)cs;
    if (!cs_oversized_tensor_find(a->descriptor, &large))
        return bytes_replay(call);
    return a->bytes && cs_oversized_tensor_bytes(&large, a->bytes) ? CUDNN_STATUS_SUCCESS
                                                                   : CUDNN_STATUS_BAD_PARAM;
}

CS_EXPORT cudnnStatus_t cudnnGetTensorSizeInBytes(const cudnnTensorDescriptor_t descriptor,
                                                  size_t *bytes)
{
    struct bytes a = {{bytes_replay, bytes_handle}, descriptor, bytes};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

struct output {
    struct cs_entry_call call;
    cudnnConvolutionDescriptor_t conv;
    cudnnTensorDescriptor_t x;
    cudnnFilterDescriptor_t w;
    int rank;
    int *extent;      /* `rank` elements, or */
    int *separate[4]; /* one for each */
};

static int output_nd_replay(struct cs_entry_call *call)
{
    struct output *a = CS_ARGS(struct output, call);
    return (int)CS_REAL(cudnnGetConvolutionNdForwardOutputDim, a->conv, a->x, a->w, a->rank,
                        a->extent);
}

static int output_nd_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct output *a = CS_ARGS(struct output, call);
    struct cs_oversized_tensor large;
    (void)cs;
    if (!cs_oversized_tensor_find(a->x, &large))
        return output_nd_replay(call);
    return cs_oversized_tensor_output(&large, a->conv, a->w, a->rank, a->extent);
}

CS_EXPORT cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t x,
    const cudnnFilterDescriptor_t w, int rank, int extent[])
{
    struct output a = {{output_nd_replay, output_nd_handle}, conv, x, w, rank, extent, {NULL}};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

static int output_2d_replay(struct cs_entry_call *call)
{
    struct output *a = CS_ARGS(struct output, call);
    return (int)CS_REAL(cudnnGetConvolution2dForwardOutputDim, a->conv, a->x, a->w, a->separate[0],
                        a->separate[1], a->separate[2], a->separate[3]);
}

/* Computes the output of a recorded tensor, which cuDNN cannot. */
static int output_2d_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct output *a = CS_ARGS(struct output, call);
    struct cs_oversized_tensor large;
    int extent[4];
    (void)cs;
    if (!cs_oversized_tensor_find(a->x, &large))
        return output_2d_replay(call);
    int status = cs_oversized_tensor_output(&large, a->conv, a->w, 4, extent);
    for (int i = 0; i < 4 && status == CUDNN_STATUS_SUCCESS; i++)
        if (a->separate[i])
            *a->separate[i] = extent[i];
    return status;
}

CS_EXPORT cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t x,
    const cudnnFilterDescriptor_t w, int *n, int *c, int *h, int *width)
{
    struct output a = {{output_2d_replay, output_2d_handle}, conv, x, w, 4, NULL, {n, c, h, width}};
    return (cudnnStatus_t)cs_intercept(&a.call);
}
