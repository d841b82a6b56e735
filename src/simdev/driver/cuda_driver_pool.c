/* Memory in stream order, and its pools (CUDA Driver API, Stream Ordered Memory Allocator). */
#include "cuda_driver.h"

static struct cudaMemLocation location_of(CUmemLocation location)
{
    return (struct cudaMemLocation){.type = (enum cudaMemLocationType)location.type,
                                    .id = location.id};
}

/* --- pools of a device --- */

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
    return CUDA_DRIVER_CALL(cudaDeviceGetDefaultMemPool(pool, device));
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
    return CUDA_DRIVER_CALL(cudaDeviceGetMemPool(pool, device));
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
    return CUDA_DRIVER_CALL(cudaDeviceSetMemPool(device, pool));
}

static cudaError_t default_at(CUmemoryPool *pool, const CUmemLocation *location,
                              CUmemAllocationType type)
{
    struct cudaMemLocation place = {.type = cudaMemLocationTypeInvalid};
    if (location)
        place = location_of(*location);
    return cudaMemGetDefaultMemPool(pool, location ? &place : NULL,
                                    (enum cudaMemAllocationType)type);
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location,
                                CUmemAllocationType type)
{
    return CUDA_DRIVER_CALL(default_at(pool, location, type));
}

static cudaError_t current_at(CUmemoryPool *pool, const CUmemLocation *location,
                              CUmemAllocationType type)
{
    struct cudaMemLocation place = {.type = cudaMemLocationTypeInvalid};
    if (location)
        place = location_of(*location);
    return cudaMemGetMemPool(pool, location ? &place : NULL, (enum cudaMemAllocationType)type);
}

CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
    return CUDA_DRIVER_CALL(current_at(pool, location, type));
}

/* --- one pool --- */

static cudaError_t create_pool(CUmemoryPool *pool, const CUmemPoolProps *props)
{
    if (!props)
        return cudaErrorInvalidValue;
    const struct cudaMemPoolProps own = {.allocType = (enum cudaMemAllocationType)props->allocType,
                                         .location = location_of(props->location),
                                         .maxSize = props->maxSize};
    return cudaMemPoolCreate(pool, &own);
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
    return CUDA_DRIVER_CALL(create_pool(pool, props));
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    return CUDA_DRIVER_CALL(cudaMemPoolDestroy(pool));
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
    return CUDA_DRIVER_CALL(cudaMemPoolTrimTo(pool, keep));
}

/* The attributes of both interfaces have the same numbers. */
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    return CUDA_DRIVER_CALL(cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)attribute, value));
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    return CUDA_DRIVER_CALL(cudaMemPoolSetAttribute(pool, (enum cudaMemPoolAttr)attribute, value));
}

static cudaError_t set_access(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
    cudaError_t error = access ? cudaMemPoolSetAccess(pool, NULL, 0) : cudaErrorInvalidValue;
    for (size_t i = 0; error == cudaSuccess && i < count; i++) {
        const struct cudaMemAccessDesc one = {.location = location_of(access[i].location),
                                              .flags = (enum cudaMemAccessFlags)access[i].flags};
        error = cudaMemPoolSetAccess(pool, &one, 1);
    }
    return error;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
    return CUDA_DRIVER_CALL(set_access(pool, access, count));
}

static cudaError_t get_access(CUmemAccess_flags *flags, CUmemoryPool pool,
                              const CUmemLocation *location)
{
    enum cudaMemAccessFlags own = cudaMemAccessFlagsProtNone;
    struct cudaMemLocation place = {.type = cudaMemLocationTypeInvalid};
    if (location)
        place = location_of(*location);
    const cudaError_t error =
        cudaMemPoolGetAccess(flags ? &own : NULL, pool, location ? &place : NULL);
    if (error == cudaSuccess && flags)
        *flags = (CUmemAccess_flags)own;
    return error;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location)
{
    return CUDA_DRIVER_CALL(get_access(flags, pool, location));
}

/* --- memory --- */

/* `pool` NULL: the current pool of the stream's device. */
static cudaError_t allocate_from_pool(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                                      CUstream stream)
{
    void *made = NULL;
    void **out = address && bytes > 0 ? &made : NULL;
    cudaError_t error = pool ? cudaMallocFromPoolAsync(out, bytes, pool, stream)
                             : cudaMallocAsync(out, bytes, stream);
    if (error == cudaSuccess && address)
        *address = (CUdeviceptr)(uintptr_t)made;
    return error;
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    return CUDA_DRIVER_CALL(allocate_from_pool(address, bytes, NULL, stream));
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                                 CUstream stream)
{
    return CUDA_DRIVER_CALL(pool ? allocate_from_pool(address, bytes, pool, stream)
                                 : cudaErrorInvalidValue);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    return CUDA_DRIVER_CALL(cudaFreeAsync((void *)(uintptr_t)address, stream));
}
