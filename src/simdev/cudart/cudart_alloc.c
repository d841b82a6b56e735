/* cudaMalloc and its kin. */
#include "cudart_context.h"

static cudaError_t allocate(const char *function, enum simdev_place place, void **ptr, size_t bytes)
{
    cudaError_t error = simdev_enter(function);
    if (error == cudaSuccess && !ptr)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simdev_capture_refuse_unsafe();
    if (error == cudaSuccess)
        error = simdev_mem_allocate(place, simdev_owner_current(), bytes, ptr);
    return simdev_leave(error);
}

/* Waits for what could use the block; memory of a pool is any context's. */
static void wait_for_users(const void *ptr)
{
    struct simdev_mem_info info;
    const uint64_t current = simdev_owner_current().context;
    if (simdev_mem_block(ptr, &info) && info.owner.context != 0 && info.owner.context != current)
        simdev_queue_wait_all(info.owner.context);
    simdev_queue_wait_all(current);
}

/* Like the real ones, waits for everything in the context first. */
static cudaError_t release(const char *function, enum simdev_place place, void *ptr)
{
    cudaError_t error = simdev_enter(function);
    if (error != cudaSuccess || !ptr)
        return simdev_leave(error);
    error = simdev_capture_refuse_unsafe();
    if (error == cudaSuccess) {
        wait_for_users(ptr);
        error = simdev_mem_free(function, place, ptr);
    }
    return simdev_leave(error);
}

cudaError_t cudaMalloc(void **ptr, size_t bytes)
{
    return allocate(__func__, SIMDEV_DEVICE, ptr, bytes);
}

cudaError_t cudaFree(void *ptr)
{
    return release(__func__, SIMDEV_DEVICE, ptr);
}

cudaError_t cudaMallocHost(void **ptr, size_t bytes)
{
    return allocate(__func__, SIMDEV_PINNED, ptr, bytes);
}

cudaError_t cudaHostAlloc(void **ptr, size_t bytes, unsigned flags)
{
    const unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    if (flags & ~known)
        return simdev_leave(cudaErrorInvalidValue);
    return allocate(__func__, SIMDEV_PINNED, ptr, bytes);
}

cudaError_t cudaFreeHost(void *ptr)
{
    return release(__func__, SIMDEV_PINNED, ptr);
}

/* Managed memory is not simulated, and cudaDevAttrManagedMemory says so. */
cudaError_t cudaMallocManaged(void **ptr, size_t bytes, unsigned flags)
{
    (void)ptr;
    (void)bytes;
    (void)flags;
    cudaError_t error = simdev_enter(__func__);
    return simdev_leave(error != cudaSuccess ? error : cudaErrorNotSupported);
}

static struct simdev_owner pool_of(const struct simdev_stream_info *stream)
{
    return (struct simdev_owner){.device = stream->owner.device};
}

/* The memory is there at once; capacity and peak count it from this call to the call of
 * cudaFreeAsync, so that they do not depend on how fast the streams run. Memory nodes are not
 * simulated: a capturing stream refuses both. */
cudaError_t cudaMallocAsync(void **ptr, size_t bytes, cudaStream_t stream)
{
    struct simdev_stream_info info;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !ptr)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simdev_queue_describe(stream, &info);
    if (error == cudaSuccess)
        error = simdev_capture_refuse(stream);
    if (error == cudaSuccess)
        error = simdev_mem_allocate(SIMDEV_DEVICE, pool_of(&info), bytes, ptr);
    return simdev_leave(error);
}

cudaError_t cudaFreeAsync(void *ptr, cudaStream_t stream)
{
    cudaError_t error = simdev_enter(__func__);
    if (error != cudaSuccess || !ptr)
        return simdev_leave(error);
    error = simdev_capture_refuse(stream);
    if (error == cudaSuccess)
        error = simdev_mem_queue_free(ptr);
    if (error != cudaSuccess)
        return simdev_leave(error);
    const struct simdev_work work = {.run = simdev_mem_free_queued, .arg = ptr};
    error = simdev_queue_work(stream, &work, NULL);
    if (error != cudaSuccess)
        simdev_mem_unqueue_free(ptr);
    return simdev_leave(error);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && (!free_bytes || !total_bytes))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        *total_bytes = simdev_device_capacity();
        *free_bytes = *total_bytes - simdev_mem_totals(simdev_context_device()).live_bytes;
    }
    return simdev_leave(error);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !attributes)
        error = cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return simdev_leave(error);
    struct simdev_mem_info info;
    const bool ours = simdev_mem_block(ptr, &info);
    *attributes = (struct cudaPointerAttributes){
        .type = cudaMemoryTypeUnregistered, .device = -2, .hostPointer = (void *)(uintptr_t)ptr};
    if (ours) {
        attributes->type = info.place == SIMDEV_DEVICE ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
        attributes->device = info.owner.device;
        attributes->devicePointer = (void *)(uintptr_t)ptr;
        if (info.place == SIMDEV_DEVICE)
            attributes->hostPointer = NULL;
    }
    return cudaSuccess;
}
