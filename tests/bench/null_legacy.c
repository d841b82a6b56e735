/* The legacy API of the do-nothing cuDNN: descriptors that remember, algorithms of two sizes.
 * Memory that Create has not filled is also a descriptor: of a 3 x 3 convolution from 64 to 64
 * channels of 32 x 32. */
#include <cudnn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The legacy API is deprecated; a stand-in for it needs no warning. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum {
    MAX_DIMS = 5,
    WORKSPACE = 256,
    LARGE_WORKSPACE = 1 << 30
};

struct shape {
    int dims; /* 0: memory that was never filled */
    cudnnDataType_t type;
    cudnnTensorFormat_t format;
    int extent[MAX_DIMS], stride[MAX_DIMS];
};

struct convolution {
    int dims, groups;
    int padding[MAX_DIMS], stride[MAX_DIMS], dilation[MAX_DIMS];
    cudnnConvolutionMode_t mode;
    cudnnDataType_t compute;
    cudnnMathType_t math;
};

static const struct shape usual_tensor = {
    .dims = 4, .type = CUDNN_DATA_HALF, .extent = {1, 64, 32, 32}, .stride = {65536, 1024, 32, 1}};
static const struct shape usual_filter = {
    .dims = 4, .type = CUDNN_DATA_HALF, .format = CUDNN_TENSOR_NCHW, .extent = {64, 64, 3, 3}};
static const struct convolution usual_convolution = {.dims = 2,
                                                     .groups = 1,
                                                     .padding = {1, 1},
                                                     .stride = {1, 1},
                                                     .dilation = {1, 1},
                                                     .mode = CUDNN_CROSS_CORRELATION,
                                                     .compute = CUDNN_DATA_FLOAT};

static const struct shape *tensor_of(const void *descriptor)
{
    const struct shape *shape = descriptor;
    return shape->dims > 0 ? shape : &usual_tensor;
}

static const struct shape *filter_of(const void *descriptor)
{
    const struct shape *shape = descriptor;
    return shape->dims > 0 ? shape : &usual_filter;
}

static const struct convolution *convolution_of(const void *descriptor)
{
    const struct convolution *convolution = descriptor;
    return convolution->dims > 0 ? convolution : &usual_convolution;
}

static cudnnStatus_t create(size_t bytes, void **descriptor)
{
    *descriptor = calloc(1, bytes);
    return *descriptor ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;
}

static void copy(int *to, const int *from, int count)
{
    memcpy(to, from, (size_t)count * sizeof *to);
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *descriptor)
{
    return create(sizeof(struct shape), (void **)descriptor);
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *descriptor)
{
    return create(sizeof(struct shape), (void **)descriptor);
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *descriptor)
{
    return create(sizeof(struct convolution), (void **)descriptor);
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor)
{
    free(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t descriptor)
{
    free(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t descriptor)
{
    free(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type,
                                         int dims, const int *extents, const int *strides)
{
    struct shape *shape = (struct shape *)(void *)descriptor;
    shape->dims = dims;
    shape->type = type;
    copy(shape->extent, extents, dims);
    copy(shape->stride, strides, dims);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int dims, const int *extents)
{
    struct shape *shape = (struct shape *)(void *)descriptor;
    shape->dims = dims;
    shape->type = type;
    shape->format = format;
    copy(shape->extent, extents, dims);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t descriptor, int dims,
                                              const int *padding, const int *strides,
                                              const int *dilations, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute)
{
    struct convolution *to = (struct convolution *)(void *)descriptor;
    to->dims = dims;
    to->groups = 1;
    copy(to->padding, padding, dims);
    copy(to->stride, strides, dims);
    copy(to->dilation, dilations, dims);
    to->mode = mode;
    to->compute = compute;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t descriptor, int groups)
{
    ((struct convolution *)(void *)descriptor)->groups = groups;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor,
                                          cudnnMathType_t math)
{
    ((struct convolution *)(void *)descriptor)->math = math;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t descriptor, int requested,
                                         cudnnDataType_t *type, int *dims, int *extents,
                                         int *strides)
{
    const struct shape *shape = tensor_of(descriptor);
    int count = requested < shape->dims ? requested : shape->dims;
    *type = shape->type;
    *dims = shape->dims;
    copy(extents, shape->extent, count);
    copy(strides, shape->stride, count);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t descriptor, int requested,
                                         cudnnDataType_t *type, cudnnTensorFormat_t *format,
                                         int *dims, int *extents)
{
    const struct shape *shape = filter_of(descriptor);
    *type = shape->type;
    *format = shape->format;
    *dims = shape->dims;
    copy(extents, shape->extent, requested < shape->dims ? requested : shape->dims);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionNdDescriptor(const cudnnConvolutionDescriptor_t descriptor,
                                              int requested, int *dims, int *padding, int *strides,
                                              int *dilations, cudnnConvolutionMode_t *mode,
                                              cudnnDataType_t *compute)
{
    const struct convolution *from = convolution_of(descriptor);
    int count = requested < from->dims ? requested : from->dims;
    *dims = from->dims;
    copy(padding, from->padding, count);
    copy(strides, from->stride, count);
    copy(dilations, from->dilation, count);
    *mode = from->mode;
    *compute = from->compute;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionGroupCount(cudnnConvolutionDescriptor_t descriptor, int *groups)
{
    *groups = convolution_of(descriptor)->groups;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor,
                                          cudnnMathType_t *math)
{
    *math = convolution_of(descriptor)->math;
    return CUDNN_STATUS_SUCCESS;
}

/* For described convolutions the larger tensor of f32 elements. Otherwise one algorithm requires
 * much, and the others little. */
static size_t workspace(const void *a, const void *b, int algorithm)
{
    const void *descriptor[] = {a, b};
    size_t most = 0;
    for (int i = 0; i < 2; i++) {
        const struct shape *shape = descriptor[i];
        size_t bytes = sizeof(float);
        for (int dim = 0; dim < shape->dims; dim++)
            bytes *= (size_t)shape->extent[dim];
        most = shape->dims > 0 && bytes > most ? bytes : most;
    }
    if (most > 0)
        return most;
    return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_FFT ? LARGE_WORKSPACE : WORKSPACE;
}

/* The three kinds of results have the same fields. For undescribed convolutions no algorithm is
 * recommended. */
#define RECOMMEND(algorithm, x, y)                                                                 \
    do {                                                                                           \
        (void)handle, (void)conv;                                                                  \
        *returned = requested > 0 && ((const struct shape *)(const void *)(x))->dims > 0;          \
        if (*returned > 0) {                                                                       \
            memset(results, 0, sizeof *results);                                                   \
            results->algo = algorithm;                                                             \
            results->memory = workspace(x, y, (int)(algorithm));                                   \
        }                                                                                          \
        return CUDNN_STATUS_SUCCESS;                                                               \
    } while (0)

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t y,
    cudnnConvolutionFwdAlgo_t algorithm, size_t *bytes)
{
    (void)handle, (void)w, (void)conv;
    *bytes = workspace(x, y, (int)algorithm);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t y, const int requested,
    int *returned, cudnnConvolutionFwdAlgoPerf_t *results)
{
    (void)w;
    RECOMMEND(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, x, y);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t dx,
    cudnnConvolutionBwdDataAlgo_t algorithm, size_t *bytes)
{
    (void)handle, (void)w, (void)conv;
    *bytes = workspace(dx, dy, (int)algorithm);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t dx, const int requested,
    int *returned, cudnnConvolutionBwdDataAlgoPerf_t *results)
{
    (void)w;
    RECOMMEND(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, dx, dy);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t conv, const cudnnFilterDescriptor_t dw,
    cudnnConvolutionBwdFilterAlgo_t algorithm, size_t *bytes)
{
    (void)handle, (void)dw, (void)conv;
    *bytes = workspace(x, dy, (int)algorithm);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t conv, const cudnnFilterDescriptor_t dw, const int requested,
    int *returned, cudnnConvolutionBwdFilterAlgoPerf_t *results)
{
    (void)dw;
    RECOMMEND(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, x, dy);
}
