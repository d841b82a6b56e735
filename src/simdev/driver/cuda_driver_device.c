/* The driver's questions about a device, answered from the profile as the runtime answers them. */
#include "cuda_driver.h"
#include <string.h>

static cudaError_t device_of_context(CUdevice *device)
{
    CUcontext context = NULL;
    cudaError_t error = simdev_context_get(&context);
    if (error == cudaSuccess && !context)
        return cudaErrorDeviceUninitialized;
    if (error == cudaSuccess)
        *device = simdev_context_device();
    return error;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    return CUDA_DRIVER_CALL(device_of_context(device));
}

/* Attributes have the same numbers in both. */
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    return CUDA_DRIVER_CALL(cudaDeviceGetAttribute(value, (enum cudaDeviceAttr)attribute, device));
}

static cudaError_t name_of(char *name, int size, CUdevice device)
{
    struct cudaDeviceProp prop;
    cudaError_t error = size > 0 ? cudaGetDeviceProperties(&prop, device) : cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return error;
    memset(name, 0, (size_t)size);
    strncpy(name, prop.name, (size_t)size - 1);
    return cudaSuccess;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    return CUDA_DRIVER_CALL(name_of(name, size, device));
}

static cudaError_t memory_of(size_t *bytes, CUdevice device)
{
    struct cudaDeviceProp prop;
    cudaError_t error = cudaGetDeviceProperties(&prop, device);
    if (error == cudaSuccess)
        *bytes = prop.totalGlobalMem;
    return error;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    return CUDA_DRIVER_CALL(memory_of(bytes, device));
}
