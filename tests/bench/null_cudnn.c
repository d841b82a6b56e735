/* The few functions of a do-nothing cuDNN that have something to answer. Descriptors are small
 * allocations, as in the real one. Together with null_rest.c it makes a libcudnn.so.9 behind which
 * only the cost of the call chain is left. */
#include <cudnn.h>
#include <cudnn_backend.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    DESCRIPTOR_BYTES = 64,
    WORKSPACE = 256,
    LARGE_WORKSPACE = 1 << 30
};

/* The legacy API is deprecated, which is nothing new to a stand-in for it. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

size_t cudnnGetVersion(void)
{
    return CUDNN_VERSION;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *descriptor)
{
    (void)type;
    *descriptor = malloc(DESCRIPTOR_BYTES);
    return *descriptor ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
    free(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

/* Nothing is known but workspaces: everything else has no elements. */
cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t requested,
                                       int64_t *count, void *elements)
{
    static const int64_t workspace = WORKSPACE;
    int64_t found = type == CUDNN_TYPE_INT64 && requested == 1;
    (void)descriptor;
    if (found)
        memcpy(elements,
               name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE ? &workspace : &(int64_t){0},
               sizeof workspace);
    if (count)
        *count = found;
    return CUDNN_STATUS_SUCCESS;
}

/* One algorithm wants much; the others can be had for little. */
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t y,
    cudnnConvolutionFwdAlgo_t algorithm, size_t *bytes)
{
    (void)handle, (void)x, (void)w, (void)conv, (void)y;
    *bytes = algorithm == CUDNN_CONVOLUTION_FWD_ALGO_FFT ? LARGE_WORKSPACE : WORKSPACE;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t y, const int requested,
    int *returned, cudnnConvolutionFwdAlgoPerf_t *results)
{
    (void)handle, (void)x, (void)w, (void)conv, (void)y, (void)requested, (void)results;
    *returned = 0;
    return CUDNN_STATUS_SUCCESS;
}

/* Every legacy descriptor is of the same convolution: 64 channels of 32 x 32 to as many, 3 x 3. */
cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t descriptor, int requested,
                                         cudnnDataType_t *type, int *dims, int *extents,
                                         int *strides)
{
    static const int extent[] = {1, 64, 32, 32}, stride[] = {65536, 1024, 32, 1};
    (void)descriptor, (void)requested;
    *type = CUDNN_DATA_HALF;
    *dims = 4;
    memcpy(extents, extent, sizeof extent);
    memcpy(strides, stride, sizeof stride);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t descriptor, int requested,
                                         cudnnDataType_t *type, cudnnTensorFormat_t *format,
                                         int *dims, int *extents)
{
    static const int extent[] = {64, 64, 3, 3};
    (void)descriptor, (void)requested;
    *type = CUDNN_DATA_HALF;
    *format = CUDNN_TENSOR_NCHW;
    *dims = 4;
    memcpy(extents, extent, sizeof extent);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionNdDescriptor(const cudnnConvolutionDescriptor_t descriptor,
                                              int requested, int *dims, int *padding, int *strides,
                                              int *dilations, cudnnConvolutionMode_t *mode,
                                              cudnnDataType_t *compute)
{
    static const int ones[] = {1, 1};
    (void)descriptor, (void)requested;
    *dims = 2;
    memcpy(padding, ones, sizeof ones);
    memcpy(strides, ones, sizeof ones);
    memcpy(dilations, ones, sizeof ones);
    *mode = CUDNN_CROSS_CORRELATION;
    *compute = CUDNN_DATA_FLOAT;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionGroupCount(cudnnConvolutionDescriptor_t descriptor, int *groups)
{
    (void)descriptor;
    *groups = 1;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor,
                                          cudnnMathType_t *math)
{
    (void)descriptor;
    *math = CUDNN_DEFAULT_MATH;
    return CUDNN_STATUS_SUCCESS;
}
