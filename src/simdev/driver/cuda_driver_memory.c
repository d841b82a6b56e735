/* The driver's memory functions that the runtime does not have: queries and sets (CUDA Driver API,
 * Memory Management). */
#include "cuda_driver.h"
#include "cudart_vmm.h"
#include <string.h>

static void *pointer_to(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

static cudaError_t find_range(CUdeviceptr *begin, size_t *bytes, CUdeviceptr address)
{
    struct simdev_mem_info info;
    if (!simdev_mem_block(pointer_to(address), &info) || info.place != SIMDEV_DEVICE)
        return cudaErrorSymbolNotFound; /* CUDA_ERROR_NOT_FOUND */
    if (begin)
        *begin = (CUdeviceptr)(uintptr_t)info.begin;
    if (bytes)
        *bytes = info.bytes;
    return cudaSuccess;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *begin, size_t *bytes, CUdeviceptr address)
{
    return CUDA_DRIVER_CALL(find_range(begin, bytes, address));
}

static cudaError_t read_pointer_attribute(void *out, CUpointer_attribute name, CUdeviceptr address)
{
    struct simdev_mem_info info;
    const bool ours = simdev_mem_block(pointer_to(address), &info);
    const CUmemorytype type =
        ours && info.place == SIMDEV_DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    const unsigned managed = ours && info.kind == SIMDEV_KIND_MANAGED;
    if (!out || !ours)
        return cudaErrorInvalidValue;
    switch ((int)name) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        memcpy(out, &type, sizeof(type));
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        memcpy(out, &address, sizeof(address));
        return name == CU_POINTER_ATTRIBUTE_HOST_POINTER && type == CU_MEMORYTYPE_DEVICE && !managed
                   ? cudaErrorInvalidValue
                   : cudaSuccess;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        memcpy(out, &managed, sizeof(managed));
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        memcpy(out, &info.owner.device, sizeof(int));
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        memcpy(out, &info.begin, sizeof(info.begin));
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        memcpy(out, &info.bytes, sizeof(info.bytes));
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(cudaMemPool_t *)out = simdev_pool_handle(info.owner.pool);
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return simdev_context_get((simdev_context *)out);
    default:
        return cudaErrorInvalidValue;
    }
}

CUresult cuPointerGetAttribute(void *out, CUpointer_attribute name, CUdeviceptr address)
{
    return CUDA_DRIVER_CALL(read_pointer_attribute(out, name, address));
}

/* Unknown attributes of an address are 0, without an error. */
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *names, void **out,
                                CUdeviceptr address)
{
    for (unsigned i = 0; i < count; i++)
        if (CUDA_DRIVER_CALL(read_pointer_attribute(out[i], names[i], address)) != CUDA_SUCCESS &&
            out[i])
            memset(out[i], 0, sizeof(int));
    return CUDA_SUCCESS;
}

/* Unlike the runtime, the driver refuses a null address. */
static cudaError_t release_memory(CUdeviceptr memory)
{
    cudaError_t error = cudaFree(pointer_to(memory));
    return error == cudaSuccess && memory == 0 ? cudaErrorInvalidValue : error;
}

CUresult cuMemFree_v2(CUdeviceptr memory)
{
    return CUDA_DRIVER_CALL(release_memory(memory));
}

/* --- copies --- */

/* Contexts share one address space, so their addresses determine the copy. */
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, size_t bytes)
{
    if (!to_context || !from_context)
        return CUDA_ERROR_INVALID_CONTEXT;
    return CUDA_DRIVER_CALL(
        cudaMemcpy(pointer_to(to), pointer_to(from), bytes, cudaMemcpyDeviceToDevice));
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t bytes, CUstream stream)
{
    if (!to_context || !from_context)
        return CUDA_ERROR_INVALID_CONTEXT;
    return CUDA_DRIVER_CALL(
        cudaMemcpyAsync(pointer_to(to), pointer_to(from), bytes, cudaMemcpyDeviceToDevice, stream));
}

/* --- sets --- */

static cudaError_t set_memory(const char *function, CUdeviceptr to, unsigned value,
                              unsigned element, size_t count, CUstream stream)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, element, &bytes))
        return cudaErrorInvalidValue;
    return simdev_memset(function, pointer_to(to), value, element, bytes, stream);
}

CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count)
{
    return CUDA_DRIVER_CALL(set_memory(__func__, to, value, 2, count, CU_STREAM_LEGACY));
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count)
{
    return CUDA_DRIVER_CALL(set_memory(__func__, to, value, 4, count, CU_STREAM_LEGACY));
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
    return CUDA_DRIVER_CALL(set_memory(__func__, to, value, 2, count, stream));
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
    return CUDA_DRIVER_CALL(set_memory(__func__, to, value, 4, count, stream));
}
