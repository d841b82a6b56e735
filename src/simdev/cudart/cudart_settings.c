/* Device settings that are only stored and returned, and the two functions of the profiler. */
#include "cudart_context.h"
#include <pthread.h>

/* As in cuda_profiler_api.h, which is part of a separate package. */
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned flags_of[SIMDEV_MAX_DEVICES];
static size_t limits[cudaLimitPersistingL2CacheSize + 1] = {
    [cudaLimitStackSize] = 1024,
    [cudaLimitPrintfFifoSize] = 7 << 20,
    [cudaLimitMallocHeapSize] = 8 << 20,
    [cudaLimitDevRuntimeSyncDepth] = 2,
    [cudaLimitDevRuntimePendingLaunchCount] = 2048,
};

cudaError_t cudaProfilerStart(void)
{
    return simdev_leave(simdev_enter(__func__));
}

cudaError_t cudaProfilerStop(void)
{
    return simdev_leave(simdev_enter(__func__));
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    cudaError_t error = simdev_begin(__func__);
    if (error == cudaSuccess && flags & ~(unsigned)cudaDeviceMask)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        pthread_mutex_lock(&lock);
        flags_of[simdev_context_device()] = flags;
        pthread_mutex_unlock(&lock);
    }
    return simdev_leave(error);
}

cudaError_t cudaGetDeviceFlags(unsigned *flags)
{
    cudaError_t error = simdev_begin(__func__);
    if (error == cudaSuccess && !flags)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        pthread_mutex_lock(&lock);
        *flags = flags_of[simdev_context_device()] | cudaDeviceMapHost;
        pthread_mutex_unlock(&lock);
    }
    return simdev_leave(error);
}

static bool is_limit(enum cudaLimit limit)
{
    return (unsigned)limit <= cudaLimitPersistingL2CacheSize;
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !value)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && !is_limit(limit))
        error = cudaErrorUnsupportedLimit;
    if (error == cudaSuccess) {
        pthread_mutex_lock(&lock);
        *value = limits[limit];
        pthread_mutex_unlock(&lock);
    }
    return simdev_leave(error);
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !is_limit(limit))
        error = cudaErrorUnsupportedLimit;
    if (error == cudaSuccess) {
        pthread_mutex_lock(&lock);
        limits[limit] = value;
        pthread_mutex_unlock(&lock);
    }
    return simdev_leave(error);
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
    (void)config; /* of the first-level cache, which is not simulated */
    return simdev_leave(simdev_enter(__func__));
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !config)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        *config = cudaFuncCachePreferNone;
    return simdev_leave(error);
}

/* --- preferred locations of managed memory, which has one location here --- */

static cudaError_t check_managed(const char *function, const void *memory, size_t bytes)
{
    struct simdev_mem_info info;
    cudaError_t error = simdev_enter(function);
    if (error == cudaSuccess &&
        (bytes == 0 || !simdev_mem_block(memory, &info) || info.kind != SIMDEV_KIND_MANAGED))
        error = cudaErrorInvalidValue;
    return simdev_leave(error);
}

cudaError_t cudaMemAdvise(const void *memory, size_t bytes, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation location)
{
    (void)advice, (void)location;
    return check_managed(__func__, memory, bytes);
}

cudaError_t cudaMemPrefetchAsync(const void *memory, size_t bytes, struct cudaMemLocation location,
                                 unsigned flags, cudaStream_t stream)
{
    (void)location, (void)stream;
    return flags ? simdev_leave(cudaErrorInvalidValue) : check_managed(__func__, memory, bytes);
}
