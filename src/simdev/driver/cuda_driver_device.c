/* The driver's device queries (CUDA Driver API, Device Management). The profile and the runtime
 * provide the values. */
#include "cuda_driver.h"
#include <string.h>

/* The version that CUDA 13's header does not declare. */
#undef cuDeviceGetUuid
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device);

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

/* Attributes have the same numbers in the driver and the runtime. */
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

static cudaError_t write_device_uuid(CUuuid *uuid, CUdevice device)
{
    static const char name[] = "simulateddevice";
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && (!uuid || device < 0 || device >= count))
        error = cudaErrorInvalidDevice;
    if (error != cudaSuccess)
        return error;
    memcpy(uuid->bytes, name, sizeof(uuid->bytes));
    uuid->bytes[15] = (char)device;
    return cudaSuccess;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    return CUDA_DRIVER_CALL(write_device_uuid(uuid, device));
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    return CUDA_DRIVER_CALL(write_device_uuid(uuid, device));
}

static cudaError_t read_capability(int *major, int *minor, CUdevice device)
{
    cudaError_t error = cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, device);
    return error != cudaSuccess
               ? error
               : cudaDeviceGetAttribute(minor, cudaDevAttrComputeCapabilityMinor, device);
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    return CUDA_DRIVER_CALL(read_capability(major, minor, device));
}
