/* cudaMalloc and similar functions (CUDA Runtime API, Memory Management). */
#include "cudart_context.h"
#include "cudart_record.h"

static cudaError_t allocate_memory(const char *function, enum simdev_place place,
                                   enum simdev_kind kind, void **ptr, size_t bytes)
{
    cudaError_t error = simdev_enter(function);
    if (error == cudaSuccess && !ptr)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simdev_capture_refuse_unsafe();
    if (error == cudaSuccess)
        error = simdev_mem_allocate(place, simdev_owner_current(), bytes, kind, ptr);
    return simdev_leave(error);
}

/* Waits for the work that may use the block. Any context may use memory of a pool. */
static void wait_for_users(const void *ptr)
{
    struct simdev_mem_info info;
    const uint64_t current = simdev_owner_current().context;
    if (simdev_mem_block(ptr, &info) && info.owner.context != 0 && info.owner.context != current)
        simdev_queue_wait_all(info.owner.context);
    simdev_queue_wait_all(current);
}

/* Like the real functions, waits for all work of the context first. */
static cudaError_t release_block(const char *function, enum simdev_place place, void *ptr)
{
    cudaError_t error = simdev_enter(function);
    if (error == cudaSuccess)
        error = simdev_capture_refuse_unsafe();
    if (error == cudaSuccess && ptr) {
        struct simdev_mem_info info = {.bytes = 0};
        wait_for_users(ptr);
        (void)simdev_mem_block(ptr, &info);
        error = simdev_mem_free(function, place, ptr);
        if (error == cudaSuccess)
            simdev_pool_freed(info.begin, &info.owner, info.bytes);
    }
    return simdev_leave(error);
}

cudaError_t cudaMalloc(void **ptr, size_t bytes)
{
    return allocate_memory(__func__, SIMDEV_DEVICE, SIMDEV_KIND_PLAIN, ptr, bytes);
}

cudaError_t cudaFree(void *ptr)
{
    return release_block(__func__, SIMDEV_DEVICE, ptr);
}

cudaError_t cudaMallocHost(void **ptr, size_t bytes)
{
    return allocate_memory(__func__, SIMDEV_PINNED, SIMDEV_KIND_PLAIN, ptr, bytes);
}

cudaError_t cudaHostAlloc(void **ptr, size_t bytes, unsigned flags)
{
    const unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    if (flags & ~known)
        return simdev_leave(cudaErrorInvalidValue);
    return allocate_memory(__func__, SIMDEV_PINNED, SIMDEV_KIND_PLAIN, ptr, bytes);
}

cudaError_t cudaFreeHost(void *ptr)
{
    return release_block(__func__, SIMDEV_PINNED, ptr);
}

/* The memory is on the device from the start. The host reads and writes it there. */
cudaError_t cudaMallocManaged(void **ptr, size_t bytes, unsigned flags)
{
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
        return simdev_leave(cudaErrorInvalidValue);
    return allocate_memory(__func__, SIMDEV_DEVICE, SIMDEV_KIND_MANAGED, ptr, bytes);
}

/* Page-locks memory that the program allocated. */
cudaError_t cudaHostRegister(void *ptr, size_t bytes, unsigned flags)
{
    const unsigned known = cudaHostRegisterPortable | cudaHostRegisterMapped |
                           cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && (!ptr || bytes == 0 || flags & ~known))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simdev_capture_refuse_unsafe();
    if (error == cudaSuccess)
        error = simdev_mem_add(SIMDEV_PINNED, simdev_owner_current(), ptr, bytes,
                               SIMDEV_KIND_REGISTERED);
    return simdev_leave(error);
}

cudaError_t cudaHostUnregister(void *ptr)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = simdev_capture_refuse_unsafe();
    if (error != cudaSuccess)
        return simdev_leave(error);
    wait_for_users(ptr);
    if (!simdev_mem_remove(ptr, 0, SIMDEV_KIND_REGISTERED))
        error = cudaErrorHostMemoryNotRegistered;
    return simdev_leave(error);
}

static cudaError_t find_pinned(const void *ptr, struct simdev_mem_info *info)
{
    return simdev_mem_block(ptr, info) && info->place == SIMDEV_PINNED ? cudaSuccess
                                                                       : cudaErrorInvalidValue;
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    struct simdev_mem_info info;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && (!device || flags != 0))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = find_pinned(host, &info);
    if (error == cudaSuccess)
        *device = host; /* one address space */
    return simdev_leave(error);
}

cudaError_t cudaHostGetFlags(unsigned *flags, void *host)
{
    struct simdev_mem_info info;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !flags)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = find_pinned(host, &info);
    if (error == cudaSuccess)
        *flags = cudaHostAllocMapped;
    return simdev_leave(error);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && (!free_bytes || !total_bytes))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        const int device = simdev_context_device();
        *total_bytes = simdev_device_capacity(device);
        const size_t held = simdev_mem_totals(device).live_bytes + simdev_record_others(device);
        *free_bytes = held < *total_bytes ? *total_bytes - held : 0;
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
        attributes->type = info.kind == SIMDEV_KIND_MANAGED ? cudaMemoryTypeManaged
                           : info.place == SIMDEV_DEVICE    ? cudaMemoryTypeDevice
                                                            : cudaMemoryTypeHost;
        attributes->device = info.owner.device;
        attributes->devicePointer = (void *)(uintptr_t)ptr;
        if (attributes->type == cudaMemoryTypeDevice)
            attributes->hostPointer = NULL;
    }
    return cudaSuccess;
}
