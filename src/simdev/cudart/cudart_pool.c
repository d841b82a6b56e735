/* Memory in stream order, and its pools (CUDA Runtime API, Stream Ordered Memory Allocator).
 *
 * A pool holds memory of the device: `reserved` bytes, of which `used` are allocated. `reserved`
 * grows in chunks, if they fit into the device. Freed memory stays in the pool. The pool gives
 * unused memory back when the program trims it, and at the next wait for a stream, an event or a
 * context if it holds more than its release threshold. */
#include "cudart_context.h"
#include "cudart_graph_memory.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t CHUNK = 32 << 20; /* by which the pools of a GPU grow */

struct CUmemPoolHandle_st {
    struct CUmemPoolHandle_st *next;
    unsigned id; /* never given twice */
    int device;
    bool is_default, destroyed; /* destroyed when its last memory is freed */
    uint64_t threshold, used, used_high, reserved, reserved_high;
    int reuse[3]; /* the three kinds of reuse, on by default; ignored */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all of this */
static struct CUmemPoolHandle_st *pools;
static unsigned next_id = 1;
static cudaMemPool_t current[SIMDEV_MAX_DEVICES]; /* NULL: the default one */

static cudaMemPool_t create_pool(int device, bool is_default)
{
    cudaMemPool_t pool = calloc(1, sizeof(*pool));
    if (!pool)
        return NULL;
    pool->id = next_id++;
    pool->device = device;
    pool->is_default = is_default;
    for (int i = 0; i < 3; i++)
        pool->reuse[i] = 1;
    pool->next = pools;
    pools = pool;
    return pool;
}

static cudaMemPool_t default_pool(int device)
{
    cudaMemPool_t pool = pools;
    while (pool && !(pool->is_default && pool->device == device))
        pool = pool->next;
    return pool ? pool : create_pool(device, true);
}

static bool is_known(cudaMemPool_t wanted)
{
    cudaMemPool_t pool = pools;
    while (pool && pool != wanted)
        pool = pool->next;
    return pool && !pool->destroyed;
}

static cudaMemPool_t of_id(unsigned id)
{
    cudaMemPool_t pool = pools;
    while (pool && pool->id != id)
        pool = pool->next;
    return pool;
}

static uint64_t in_chunks(uint64_t bytes)
{
    return (bytes + CHUNK - 1) / CHUNK * CHUNK;
}

/* Gives unused memory back, but keeps `keep` bytes. */
static void shrink_pool(cudaMemPool_t pool, uint64_t keep)
{
    const uint64_t needed = in_chunks(pool->used);
    const uint64_t least = keep > needed ? keep : needed;
    if (pool->reserved <= least)
        return;
    simdev_mem_give_back(pool->device, pool->reserved - least);
    pool->reserved = least;
}

/* Takes memory from the pool, which grows if necessary. False if it cannot grow. */
static bool take_used(cudaMemPool_t pool, size_t bytes)
{
    uint64_t used;
    if (__builtin_add_overflow(pool->used, bytes, &used) || used > UINT64_MAX - CHUNK)
        return false;
    if (used > pool->reserved) {
        if (!simdev_mem_hold(pool->device, in_chunks(used) - pool->reserved, bytes))
            return false;
        pool->reserved = in_chunks(used);
    }
    pool->used = used;
    if (pool->used > pool->used_high)
        pool->used_high = pool->used;
    if (pool->reserved > pool->reserved_high)
        pool->reserved_high = pool->reserved;
    return true;
}

/* A destroyed pool gives all memory back with its last allocation. */
static void take_bytes(cudaMemPool_t pool, size_t bytes)
{
    pool->used -= bytes < pool->used ? bytes : pool->used;
    if (pool->destroyed && pool->used == 0)
        shrink_pool(pool, 0);
}

void simdev_pool_synchronised(void)
{
    pthread_mutex_lock(&lock);
    for (cudaMemPool_t pool = pools; pool; pool = pool->next)
        shrink_pool(pool, pool->threshold);
    pthread_mutex_unlock(&lock);
}

void simdev_pool_reset(int device)
{
    pthread_mutex_lock(&lock);
    for (cudaMemPool_t pool = pools; pool; pool = pool->next) {
        if (pool->device != device)
            continue;
        pool->used = 0;
        shrink_pool(pool, 0);
    }
    pthread_mutex_unlock(&lock);
}

cudaMemPool_t simdev_pool_handle(unsigned id)
{
    pthread_mutex_lock(&lock);
    cudaMemPool_t pool = id ? of_id(id) : NULL;
    pthread_mutex_unlock(&lock);
    return pool;
}

/* --- memory in stream order --- */

/* The id of the pool to allocate from. 0 for an invalid pool, or if memory is short. */
static unsigned choose_pool(cudaMemPool_t wanted, int *device)
{
    pthread_mutex_lock(&lock);
    cudaMemPool_t pool = wanted;
    if (!wanted)
        pool = current[*device] ? current[*device] : default_pool(*device);
    else if (!is_known(wanted))
        pool = NULL;
    const unsigned id = pool ? pool->id : 0;
    if (pool)
        *device = pool->device;
    pthread_mutex_unlock(&lock);
    return id;
}

static cudaError_t take_from_pool(struct simdev_owner owner, size_t bytes, void **ptr)
{
    pthread_mutex_lock(&lock);
    cudaMemPool_t pool = of_id(owner.pool);
    cudaError_t error = take_used(pool, bytes) ? cudaSuccess : cudaErrorMemoryAllocation;
    if (error == cudaSuccess) {
        error = simdev_mem_allocate(SIMDEV_DEVICE, owner, bytes, SIMDEV_KIND_PLAIN, ptr);
        if (error != cudaSuccess)
            take_bytes(pool, bytes);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

/* Makes the work a node of the stream's capture. */
static cudaError_t capture_work(cudaStream_t stream, const struct simdev_work *work)
{
    const cudaError_t error = simdev_capture_submit(stream, work, NULL);
    if (error != cudaSuccess)
        work->release(work->arg);
    return error;
}

static cudaError_t capture_allocation(cudaStream_t stream, int device, size_t bytes, void **ptr)
{
    struct simdev_work work;
    const cudaError_t error = simdev_graph_memory_allocate(device, bytes, &work, ptr);
    return error == cudaSuccess ? capture_work(stream, &work) : error;
}

static cudaError_t capture_free(cudaStream_t stream, void *ptr)
{
    struct simdev_work work;
    const cudaError_t error = simdev_graph_memory_free(ptr, &work);
    return error == cudaSuccess ? capture_work(stream, &work) : error;
}

/* The memory is available at once. It is used memory of its pool from this call to the call of
 * cudaFreeAsync, so that capacity and peaks do not depend on the speed of the streams. */
static cudaError_t allocate_from_pool(const char *function, cudaMemPool_t pool, cudaStream_t stream,
                                      size_t bytes, void **ptr)
{
    struct simdev_stream_info info = {.id = 0};
    struct simdev_owner owner = {.context = 0};
    cudaError_t error = simdev_enter(function);
    if (error == cudaSuccess && !ptr)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simdev_queue_describe(stream, &info);
    owner.device = info.owner.device;
    if (error == cudaSuccess && !(owner.pool = choose_pool(pool, &owner.device)))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && simdev_is_capturing(stream))
        return simdev_leave(capture_allocation(stream, owner.device, bytes, ptr));
    if (error == cudaSuccess)
        error = simdev_capture_refuse(stream);
    if (error == cudaSuccess)
        error = take_from_pool(owner, bytes, ptr);
    return simdev_leave(error);
}

cudaError_t cudaMallocAsync(void **ptr, size_t bytes, cudaStream_t stream)
{
    return allocate_from_pool(__func__, NULL, stream, bytes, ptr);
}

cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream)
{
    if (!pool)
        return simdev_leave(cudaErrorInvalidValue);
    return allocate_from_pool(__func__, pool, stream, bytes, ptr);
}

static cudaError_t queue_free(void *ptr, cudaStream_t stream)
{
    struct simdev_mem_info info = {.bytes = 0};
    const struct simdev_work work = {.run = simdev_mem_free_queued, .arg = ptr};
    (void)simdev_mem_block(ptr, &info);
    cudaError_t error = simdev_mem_queue_free(ptr);
    if (error != cudaSuccess)
        return error;
    error = simdev_queue_work(stream, &work, NULL);
    if (error != cudaSuccess) {
        simdev_mem_unqueue_free(ptr);
        return error;
    }
    simdev_pool_freed(info.begin, &info.owner, info.bytes);
    return cudaSuccess;
}

cudaError_t cudaFreeAsync(void *ptr, cudaStream_t stream)
{
    cudaError_t error = simdev_enter(__func__);
    if (error != cudaSuccess || !ptr)
        return simdev_leave(error);
    if (simdev_is_capturing(stream))
        return simdev_leave(capture_free(stream, ptr));
    error = simdev_capture_refuse(stream);
    return simdev_leave(error != cudaSuccess ? error : queue_free(ptr, stream));
}

void simdev_pool_freed(const void *begin, const struct simdev_owner *owner, size_t bytes)
{
    if (owner->pool == (unsigned)SIMDEV_GRAPH_POOL)
        simdev_graph_memory_freed(begin);
    pthread_mutex_lock(&lock);
    cudaMemPool_t pool = of_id(owner->pool);
    if (pool)
        take_bytes(pool, bytes);
    pthread_mutex_unlock(&lock);
}

/* --- pools --- */

static cudaError_t pool_of(const char *function, cudaMemPool_t *out, int device, bool is_default)
{
    cudaError_t error = simdev_enter(function);
    if (error == cudaSuccess && !out)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simdev_check_device(device);
    if (error != cudaSuccess)
        return simdev_leave(error);
    pthread_mutex_lock(&lock);
    *out = !is_default && current[device] ? current[device] : default_pool(device);
    pthread_mutex_unlock(&lock);
    return simdev_leave(*out ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    return pool_of(__func__, pool, device, true);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
    return pool_of(__func__, pool, device, false);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = simdev_check_device(device);
    pthread_mutex_lock(&lock);
    if (error == cudaSuccess && (!is_known(pool) || pool->device != device))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        current[device] = pool;
    pthread_mutex_unlock(&lock);
    return simdev_leave(error);
}

/* Only devices have pools here. */
static cudaError_t check_place(const struct cudaMemLocation *location,
                               enum cudaMemAllocationType type)
{
    if (!location || type != cudaMemAllocationTypePinned)
        return cudaErrorInvalidValue;
    return location->type == cudaMemLocationTypeDevice ? cudaSuccess : cudaErrorNotSupported;
}

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location,
                                     enum cudaMemAllocationType type)
{
    const cudaError_t error = check_place(location, type);
    return error != cudaSuccess ? simdev_leave(error) : pool_of(__func__, pool, location->id, true);
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location,
                              enum cudaMemAllocationType type)
{
    const cudaError_t error = check_place(location, type);
    return error != cudaSuccess ? simdev_leave(error)
                                : pool_of(__func__, pool, location->id, false);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *out, const struct cudaMemPoolProps *props)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && (!out || !props || props->allocType != cudaMemAllocationTypePinned))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && props->location.type != cudaMemLocationTypeDevice)
        error = cudaErrorNotSupported; /* pools of the host's memory */
    if (error == cudaSuccess)
        error = simdev_check_device(props->location.id);
    if (error != cudaSuccess)
        return simdev_leave(error);
    pthread_mutex_lock(&lock);
    *out = create_pool(props->location.id, false);
    pthread_mutex_unlock(&lock);
    return simdev_leave(*out ? cudaSuccess : cudaErrorMemoryAllocation);
}

/* Its memory stays valid until it is freed. */
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    cudaError_t error = simdev_enter(__func__);
    pthread_mutex_lock(&lock);
    if (error == cudaSuccess && (!is_known(pool) || pool->is_default))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        pool->destroyed = true;
        take_bytes(pool, 0);
        for (int i = 0; i < SIMDEV_MAX_DEVICES; i++)
            if (current[i] == pool)
                current[i] = NULL;
    }
    pthread_mutex_unlock(&lock);
    return simdev_leave(error);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
    cudaError_t error = simdev_enter(__func__);
    pthread_mutex_lock(&lock);
    if (error == cudaSuccess && !is_known(pool))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        shrink_pool(pool, keep);
    pthread_mutex_unlock(&lock);
    return simdev_leave(error);
}

/* NULL for an attribute that is not a number of the pool. */
static uint64_t *number_of(cudaMemPool_t pool, enum cudaMemPoolAttr attribute)
{
    switch ((int)attribute) {
    case cudaMemPoolAttrReleaseThreshold:
        return &pool->threshold;
    case cudaMemPoolAttrReservedMemCurrent:
        return &pool->reserved;
    case cudaMemPoolAttrReservedMemHigh:
        return &pool->reserved_high;
    case cudaMemPoolAttrUsedMemCurrent:
        return &pool->used;
    case cudaMemPoolAttrUsedMemHigh:
        return &pool->used_high;
    default:
        return NULL;
    }
}

static int *reuse_of(cudaMemPool_t pool, enum cudaMemPoolAttr attribute)
{
    const int index = (int)attribute - (int)cudaMemPoolReuseFollowEventDependencies;
    return index >= 0 && index < 3 ? &pool->reuse[index] : NULL;
}

static cudaError_t get_attribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    const uint64_t *number = number_of(pool, attribute);
    const int *reuse = reuse_of(pool, attribute);
    if (number)
        memcpy(value, number, sizeof(*number));
    else if (reuse)
        memcpy(value, reuse, sizeof(*reuse));
    return number || reuse ? cudaSuccess : cudaErrorInvalidValue;
}

/* High-water marks can only be reset to 0. They then restart at the current value. */
static cudaError_t set_attribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
                                 const void *value)
{
    uint64_t *number = number_of(pool, attribute), wanted = 0;
    int *reuse = reuse_of(pool, attribute);
    if (reuse)
        memcpy(reuse, value, sizeof(*reuse));
    if (!number)
        return reuse ? cudaSuccess : cudaErrorInvalidValue;
    memcpy(&wanted, value, sizeof(wanted));
    if (number == &pool->threshold)
        *number = wanted;
    else if (wanted == 0 && number == &pool->reserved_high)
        *number = pool->reserved;
    else if (wanted == 0 && number == &pool->used_high)
        *number = pool->used;
    else
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    cudaError_t error = simdev_enter(__func__);
    pthread_mutex_lock(&lock);
    if (error == cudaSuccess && (!value || !is_known(pool)))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = get_attribute(pool, attribute, value);
    pthread_mutex_unlock(&lock);
    return simdev_leave(error);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    cudaError_t error = simdev_enter(__func__);
    pthread_mutex_lock(&lock);
    if (error == cudaSuccess && (!value || !is_known(pool)))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = set_attribute(pool, attribute, value);
    pthread_mutex_unlock(&lock);
    return simdev_leave(error);
}

/* Every device can use every pool. Access rights are not simulated. */
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *access,
                                 size_t count)
{
    cudaError_t error = simdev_enter(__func__);
    pthread_mutex_lock(&lock);
    if (error == cudaSuccess && (!is_known(pool) || (count > 0 && !access)))
        error = cudaErrorInvalidValue;
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; error == cudaSuccess && i < count; i++)
        error = access[i].location.type == cudaMemLocationTypeDevice
                    ? simdev_check_device(access[i].location.id)
                    : cudaErrorInvalidValue;
    return simdev_leave(error);
}

cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool,
                                 struct cudaMemLocation *location)
{
    cudaError_t error = simdev_enter(__func__);
    pthread_mutex_lock(&lock);
    if (error == cudaSuccess && (!flags || !location || !is_known(pool)))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        *flags = cudaMemAccessFlagsProtReadWrite;
    pthread_mutex_unlock(&lock);
    return simdev_leave(error);
}
