/* The driver's memory functions that are not in cuda_driver_stream.c: queries, copies and sets. */
#include "cuda_driver.h"
#include "cudart_vmm.h"
#include <string.h>

static void *pointer_to(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    return CUDA_DRIVER_CALL(cudaMemGetInfo(free_bytes, total));
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

/* --- memory of the host --- */

CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    return CUDA_DRIVER_CALL(cudaHostAlloc(memory, bytes, flags));
}

CUresult cuMemAllocHost_v2(void **memory, size_t bytes)
{
    return CUDA_DRIVER_CALL(cudaMallocHost(memory, bytes));
}

CUresult cuMemFreeHost(void *memory)
{
    return CUDA_DRIVER_CALL(cudaFreeHost(memory));
}

CUresult cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
    return CUDA_DRIVER_CALL(cudaHostRegister(memory, bytes, flags));
}

CUresult cuMemHostUnregister(void *memory)
{
    return CUDA_DRIVER_CALL(cudaHostUnregister(memory));
}

static cudaError_t device_pointer(CUdeviceptr *address, void *memory, unsigned flags)
{
    void *found = NULL;
    cudaError_t error = cudaHostGetDevicePointer(address ? &found : NULL, memory, flags);
    if (error == cudaSuccess && address)
        *address = (CUdeviceptr)(uintptr_t)found;
    return error;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *memory, unsigned flags)
{
    return CUDA_DRIVER_CALL(device_pointer(address, memory, flags));
}

static cudaError_t allocate_managed(CUdeviceptr *address, size_t bytes, unsigned flags)
{
    void *made = NULL;
    cudaError_t error = cudaMallocManaged(address && bytes > 0 ? &made : NULL, bytes, flags);
    if (error == cudaSuccess && address)
        *address = (CUdeviceptr)(uintptr_t)made;
    return error;
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags)
{
    return CUDA_DRIVER_CALL(allocate_managed(address, bytes, flags));
}

/* --- copies --- */

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    return CUDA_DRIVER_CALL(cudaMemcpy(pointer_to(to), from, bytes, cudaMemcpyHostToDevice));
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    return CUDA_DRIVER_CALL(cudaMemcpy(to, pointer_to(from), bytes, cudaMemcpyDeviceToHost));
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return CUDA_DRIVER_CALL(
        cudaMemcpy(pointer_to(to), pointer_to(from), bytes, cudaMemcpyDeviceToDevice));
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return CUDA_DRIVER_CALL(cudaMemcpy(pointer_to(to), pointer_to(from), bytes, cudaMemcpyDefault));
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return CUDA_DRIVER_CALL(
        cudaMemcpyAsync(pointer_to(to), pointer_to(from), bytes, cudaMemcpyDefault, stream));
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return CUDA_DRIVER_CALL(
        cudaMemcpyAsync(pointer_to(to), from, bytes, cudaMemcpyHostToDevice, stream));
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return CUDA_DRIVER_CALL(
        cudaMemcpyAsync(to, pointer_to(from), bytes, cudaMemcpyDeviceToHost, stream));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return CUDA_DRIVER_CALL(
        cudaMemcpyAsync(pointer_to(to), pointer_to(from), bytes, cudaMemcpyDeviceToDevice, stream));
}

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

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t bytes)
{
    return CUDA_DRIVER_CALL(cudaMemset(pointer_to(to), value, bytes));
}

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
