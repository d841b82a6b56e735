/* Handles, versions and error texts of the simulated cuDNN. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudnn_internal.h"

static _Thread_local char last_error[256];

cudnnStatus_t simdev_fail(cudnnStatus_t status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    return status;
}

SIMDEV_EXPORT cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    if (!handle)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (simdev_should_fail("cudnnCreate"))
        return simdev_fail(CUDNN_STATUS_NOT_INITIALIZED, "failure on request");
    if (!simdev_profile_text(0))
        return simdev_fail(CUDNN_STATUS_NOT_INITIALIZED, "no device: its profile cannot be read");
    if (simdev_planner_refused())
        return simdev_fail(CUDNN_STATUS_NOT_INITIALIZED, "no real cuDNN found for planning");
    const uint64_t context = simdev_use_context();
    if (context == 0)
        return simdev_fail(CUDNN_STATUS_NOT_INITIALIZED, "no context");
    if (simdev_capture_refuse_unsafe() != cudaSuccess)
        return simdev_fail(CUDNN_STATUS_ALLOC_FAILED, "a stream is capturing");
    cudnnHandle_t made = calloc(1, sizeof *made);
    if (!made)
        return CUDNN_STATUS_ALLOC_FAILED;
    made->context = context;
    made->device = simdev_current_device();
    atomic_init(&made->stream, NULL);
    *handle = made;
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    if (!handle)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    (void)simdev_capture_refuse_device(handle->context); /* it waits for the device */
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    if (!handle)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    const uint64_t context = simdev_stream_context(stream);
    if (context != 0 && context != handle->context)
        return simdev_fail(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH,
                           "the stream is not of the handle's context");
    atomic_store(&handle->stream, stream);
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *stream)
{
    if (!handle || !stream)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *stream = atomic_load(&handle->stream);
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT size_t cudnnGetVersion(void)
{
    return simdev_planner()->version;
}

SIMDEV_EXPORT size_t cudnnGetCudartVersion(void)
{
    return simdev_planner()->cudart_version;
}

SIMDEV_EXPORT size_t cudnnGetMaxDeviceVersion(void)
{
    return CUDNN_MAX_SM_MAJOR_NUMBER * 100 + CUDNN_MAX_SM_MINOR_NUMBER * 10;
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int *value)
{
    const int version = (int)simdev_planner()->version;
    if (!value)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    switch (type) {
    case MAJOR_VERSION:
        *value = version / 10000;
        return CUDNN_STATUS_SUCCESS;
    case MINOR_VERSION:
        *value = version / 100 % 100;
        return CUDNN_STATUS_SUCCESS;
    case PATCH_LEVEL:
        *value = version % 100;
        return CUDNN_STATUS_SUCCESS;
    default:
        return CUDNN_STATUS_BAD_PARAM;
    }
}

SIMDEV_EXPORT const char *cudnnGetErrorString(cudnnStatus_t status)
{
#define STATUS(s)                                                                                  \
    case s:                                                                                        \
        return #s
    switch ((int)status) {
        STATUS(CUDNN_STATUS_SUCCESS);
        STATUS(CUDNN_STATUS_NOT_INITIALIZED);
        STATUS(CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH);
        STATUS(CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH);
        STATUS(CUDNN_STATUS_LICENSE_ERROR);
        STATUS(CUDNN_STATUS_RUNTIME_IN_PROGRESS);
        STATUS(CUDNN_STATUS_RUNTIME_FP_OVERFLOW);
        STATUS(CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED);
        STATUS(CUDNN_STATUS_BAD_PARAM);
        STATUS(CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
        STATUS(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
        STATUS(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
        STATUS(CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND);
        STATUS(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
        STATUS(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH);
        STATUS(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
        STATUS(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES);
        STATUS(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
        STATUS(CUDNN_STATUS_BAD_PARAM_CUDA_GRAPH_MISMATCH);
        STATUS(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
        STATUS(CUDNN_STATUS_NOT_SUPPORTED);
        STATUS(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
        STATUS(CUDNN_STATUS_NOT_SUPPORTED_SHAPE);
        STATUS(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE);
        STATUS(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT);
        STATUS(CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER);
        STATUS(CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART);
        STATUS(CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH);
        STATUS(CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING);
        STATUS(CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE);
        STATUS(CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT);
        STATUS(CUDNN_STATUS_NOT_SUPPORTED_PADDING);
        STATUS(CUDNN_STATUS_NOT_SUPPORTED_BAD_LAUNCH_PARAM);
        STATUS(CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API);
    case 3014: /* not in headers before 9.18 */
        return "CUDNN_STATUS_NOT_SUPPORTED_INVALID_DYNAMIC_SHAPE";
        STATUS(CUDNN_STATUS_INTERNAL_ERROR);
        STATUS(CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED);
        STATUS(CUDNN_STATUS_INTERNAL_ERROR_UNEXPECTED_VALUE);
        STATUS(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
        STATUS(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED);
        STATUS(CUDNN_STATUS_INTERNAL_ERROR_BAD_LAUNCH_PARAM);
        STATUS(CUDNN_STATUS_INTERNAL_ERROR_TEXTURE_CREATION_FAILED);
        STATUS(CUDNN_STATUS_EXECUTION_FAILED);
        STATUS(CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER);
        STATUS(CUDNN_STATUS_EXECUTION_FAILED_CUBLAS);
        STATUS(CUDNN_STATUS_EXECUTION_FAILED_CUDART);
        STATUS(CUDNN_STATUS_EXECUTION_FAILED_CURAND);
    default:
        return "CUDNN_STATUS_UNKNOWN";
    }
#undef STATUS
}

SIMDEV_EXPORT void cudnnGetLastErrorString(char *message, size_t max_size)
{
    if (message && max_size > 0)
        snprintf(message, max_size, "%s", last_error);
    last_error[0] = '\0';
}
