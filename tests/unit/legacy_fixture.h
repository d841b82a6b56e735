/* Legacy descriptors that are structs of the test's own, and sound calls with them. */
#ifndef LEGACY_FIXTURE_H
#define LEGACY_FIXTURE_H

#include "cudnn/plan/legacy_call.h"
#include "vendor_fixture.h"

/* Descriptors are addresses of these. */
static struct tensor {
    cudnnDataType_t type;
    int rank, extent[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX];
} x, y, z, bias;
static struct filter {
    cudnnDataType_t type;
    cudnnTensorFormat_t format;
    int rank, extent[CUDNN_DIM_MAX];
} w;
static struct window {
    int spatial, pad[3], stride[3], dilation[3];
    cudnnConvolutionMode_t mode;
    cudnnDataType_t compute;
    int groups;
} conv;
static cudnnActivationMode_t activation;
static cudnnNanPropagation_t nan_setting = CUDNN_NOT_PROPAGATE_NAN;
static int z_reads;

static inline cudnnStatus_t get_tensor(cudnnTensorDescriptor_t descriptor, int most,
                                       cudnnDataType_t *type, int *rank, int *extent, int *stride)
{
    const struct tensor *tensor = (const struct tensor *)(void *)descriptor;
    if (!tensor)
        return CUDNN_STATUS_BAD_PARAM;
    CHECK(most >= tensor->rank);
    z_reads += tensor == &z;
    *type = tensor->type;
    *rank = tensor->rank;
    memcpy(extent, tensor->extent, sizeof tensor->extent);
    memcpy(stride, tensor->stride, sizeof tensor->stride);
    return CUDNN_STATUS_SUCCESS;
}

static inline cudnnStatus_t get_filter(cudnnFilterDescriptor_t descriptor, int most,
                                       cudnnDataType_t *type, cudnnTensorFormat_t *format,
                                       int *rank, int *extent)
{
    const struct filter *filter = (const struct filter *)(void *)descriptor;
    CHECK(most >= filter->rank);
    *type = filter->type;
    *format = filter->format;
    *rank = filter->rank;
    memcpy(extent, filter->extent, sizeof filter->extent);
    return CUDNN_STATUS_SUCCESS;
}

static inline cudnnStatus_t get_window(cudnnConvolutionDescriptor_t descriptor, int most,
                                       int *spatial, int *pad, int *stride, int *dilation,
                                       cudnnConvolutionMode_t *mode, cudnnDataType_t *compute)
{
    const struct window *window = (const struct window *)(void *)descriptor;
    CHECK(most >= window->spatial);
    *spatial = window->spatial;
    memcpy(pad, window->pad, sizeof window->pad);
    memcpy(stride, window->stride, sizeof window->stride);
    memcpy(dilation, window->dilation, sizeof window->dilation);
    *mode = window->mode;
    *compute = window->compute;
    return CUDNN_STATUS_SUCCESS;
}

static inline cudnnStatus_t get_groups(cudnnConvolutionDescriptor_t descriptor, int *groups)
{
    *groups = ((const struct window *)(void *)descriptor)->groups;
    return CUDNN_STATUS_SUCCESS;
}

static inline cudnnStatus_t get_activation(const cudnnActivationDescriptor_t descriptor,
                                           cudnnActivationMode_t *mode, cudnnNanPropagation_t *nan,
                                           double *coefficient)
{
    CHECK((const void *)descriptor == &activation);
    *mode = activation;
    *nan = nan_setting;
    *coefficient = 0;
    return CUDNN_STATUS_SUCCESS;
}

static inline struct tensor packed(int n, int c, int h, int width)
{
    return (struct tensor){
        CUDNN_DATA_HALF, 4, {n, c, h, width}, {c * h * width, h * width, width, 1}};
}

static _Alignas(64) char memory[512];
static const float one = 1, zero = 0;

/* Two images, 4 to 6 channels, 8 x 8, 3 x 3. */
static inline struct cs_legacy_call sound(enum cs_direction direction)
{
    vendor = (struct cs_real){.cudnnGetTensorNdDescriptor = get_tensor,
                              .cudnnGetFilterNdDescriptor = get_filter,
                              .cudnnGetConvolutionNdDescriptor = get_window,
                              .cudnnGetConvolutionGroupCount = get_groups,
                              .cudnnGetActivationDescriptor = get_activation};
    x = packed(2, 4, 8, 8);
    y = z = packed(2, 6, 8, 8);
    bias = packed(1, 6, 1, 1);
    w = (struct filter){CUDNN_DATA_HALF, CUDNN_TENSOR_NCHW, 4, {6, 4, 3, 3}};
    conv = (struct window){2, {1, 1}, {1, 1}, {1, 1}, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT, 1};
    activation = CUDNN_ACTIVATION_RELU;
    z_reads = 0;
    return (struct cs_legacy_call){.direction = direction,
                                   .x = (cudnnTensorDescriptor_t)(void *)&x,
                                   .y = (cudnnTensorDescriptor_t)(void *)&y,
                                   .w = (cudnnFilterDescriptor_t)(void *)&w,
                                   .conv = (cudnnConvolutionDescriptor_t)(void *)&conv,
                                   .math = CUDNN_DEFAULT_MATH,
                                   .execution.alpha = &one,
                                   .execution.beta = &zero,
                                   .execution.data = {memory, memory + 64, memory + 128},
                                   .execution.workspace = memory + 192,
                                   .execution.provided = 64};
}

static struct cs_legacy_fusion fusion;

static inline struct cs_legacy_call fused(const float *alpha2)
{
    struct cs_legacy_call call = sound(CS_FORWARD);
    fusion = (struct cs_legacy_fusion){
        .alpha2 = alpha2,
        .z = (cudnnTensorDescriptor_t)(void *)&z,
        .bias = (cudnnTensorDescriptor_t)(void *)&bias,
        .z_data = memory + 256,
        .bias_data = memory + 320,
        .activation = (cudnnActivationDescriptor_t)(void *)&activation,
    };
    call.fusion = &fusion;
    return call;
}

#endif
