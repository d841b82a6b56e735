/* Attributes of kernels, and how many blocks fit a multiprocessor (CUDA Runtime API,
 * Execution Control, Occupancy). */
#include "cudart_context.h"
#include "cudart_device.h"
#include "cudart_module.h"
#include <limits.h>
#include <string.h>

enum {
    DEFAULT_REGISTERS = 32, /* of a kernel whose image has no information */
    REGISTER_UNIT = 256,    /* registers are allocated to warps in multiples of this */
    SHARED_UNIT = 128,
    WARPS_IN_STEP = 4 /* warps are rounded up to a multiple of this */
};

static int round_up(int value, int unit)
{
    return (value + unit - 1) / unit * unit;
}

static int registers_of_warp(int registers)
{
    return round_up(registers * simdev_device_limits()->warp, REGISTER_UNIT);
}

static int most_threads(const struct simdev_kernel_facts *facts)
{
    const struct simdev_limits *limits = simdev_device_limits();
    const int registers = facts->registers > 0 ? facts->registers : DEFAULT_REGISTERS;
    int threads = limits->registers_per_block / registers_of_warp(registers) / WARPS_IN_STEP *
                  WARPS_IN_STEP * limits->warp;
    if (facts->max_threads > 0 && facts->max_threads < threads)
        threads = facts->max_threads;
    return threads < limits->threads_per_block ? threads : limits->threads_per_block;
}

static int at_most(int value, int limit)
{
    return value < limit ? value : limit;
}

/* As the occupancy calculator of CUDA counts: threads, blocks, registers, shared memory. */
cudaError_t simdev_function_occupancy(const struct simdev_function *function, int threads,
                                      size_t shared, int *blocks)
{
    const struct simdev_limits *limits = simdev_device_limits();
    const struct simdev_kernel_facts facts = simdev_function_facts(function);
    const int registers = facts.registers > 0 ? facts.registers : DEFAULT_REGISTERS;
    if (threads < 1 || shared > INT_MAX)
        return cudaErrorInvalidValue;
    const int warps = round_up((threads + limits->warp - 1) / limits->warp, 1);
    const int most_warps = limits->registers_per_multiprocessor / registers_of_warp(registers) /
                           WARPS_IN_STEP * WARPS_IN_STEP;
    const long bytes =
        (long)facts.static_shared + (long)shared + (long)limits->shared_reserved + SHARED_UNIT - 1;
    const long units = bytes / SHARED_UNIT;
    int found = at_most(limits->threads_per_multiprocessor / (warps * limits->warp),
                        limits->blocks_per_multiprocessor);
    found = at_most(found, most_warps / warps);
    if (units > 0) /* GPUs before Ampere reserve none */
        found = at_most(found, (int)(limits->shared_per_multiprocessor / (units * SHARED_UNIT)));
    *blocks = threads > most_threads(&facts) ? 0 : found;
    return cudaSuccess;
}

cudaError_t simdev_function_best_block(const void *key, size_t shared, int limit, int *grid,
                                       int *block)
{
    cudaError_t error = simdev_enter("cudaOccupancyMaxPotentialBlockSize");
    const struct simdev_function *function = simdev_function_find(key);
    if (error == cudaSuccess && !function)
        error = cudaErrorInvalidDeviceFunction;
    if (error != cudaSuccess)
        return simdev_leave(error);
    const struct simdev_kernel_facts facts = simdev_function_facts(function);
    const int warp = simdev_device_limits()->warp;
    const int most = limit > 0 ? at_most(most_threads(&facts), limit) : most_threads(&facts);
    int best = 0;
    for (int threads = most / warp * warp; threads > 0; threads -= warp) {
        int blocks = 0;
        error = simdev_function_occupancy(function, threads, shared, &blocks);
        if (error == cudaSuccess && blocks * threads > best) {
            best = blocks * threads;
            *block = threads;
            *grid = blocks * simdev_device_limits()->multiprocessors;
        }
    }
    return simdev_leave(error);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *key,
                                                                   int threads, size_t shared,
                                                                   unsigned flags)
{
    cudaError_t error = simdev_enter(__func__);
    const struct simdev_function *function = simdev_function_find(key);
    if (error == cudaSuccess && (!blocks || flags > cudaOccupancyDisableCachingOverride))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && !function)
        error = cudaErrorInvalidDeviceFunction;
    if (error == cudaSuccess)
        error = simdev_function_occupancy(function, threads, shared, blocks);
    return simdev_leave(error);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *key, int threads,
                                                          size_t shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, key, threads, shared,
                                                                  cudaOccupancyDefault);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *key, int blocks,
                                                      int threads)
{
    const struct simdev_limits *limits = simdev_device_limits();
    cudaError_t error = simdev_enter(__func__);
    const struct simdev_function *function = simdev_function_find(key);
    if (error == cudaSuccess && (!bytes || blocks < 1 || threads < 1))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && !function)
        error = cudaErrorInvalidDeviceFunction;
    if (error != cudaSuccess)
        return simdev_leave(error);
    const int fixed = simdev_function_facts(function).static_shared + limits->shared_reserved;
    const int each = limits->shared_per_multiprocessor / blocks / SHARED_UNIT * SHARED_UNIT - fixed;
    *bytes = (size_t)(each > 0 ? each : 0);
    return cudaSuccess;
}

/* --- attributes --- */

static void fill_attributes(struct cudaFuncAttributes *out, const struct simdev_function *function)
{
    const struct simdev_kernel_facts facts = simdev_function_facts(function);
    *out = (struct cudaFuncAttributes){
        .sharedSizeBytes = (size_t)facts.static_shared,
        .constSizeBytes = (size_t)facts.constant,
        .localSizeBytes = (size_t)facts.local,
        .maxThreadsPerBlock = most_threads(&facts),
        .numRegs = facts.registers > 0 ? facts.registers : DEFAULT_REGISTERS,
        .ptxVersion = facts.ptx_version,
        .binaryVersion = facts.binary_version,
        .maxDynamicSharedSizeBytes = simdev_function_dynamic_shared(function),
        .preferredShmemCarveout = -1,
    };
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *key)
{
    cudaError_t error = simdev_enter(__func__);
    const struct simdev_function *function = simdev_function_find(key);
    if (error == cudaSuccess && !attributes)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && !function)
        error = cudaErrorInvalidDeviceFunction;
    if (error == cudaSuccess)
        fill_attributes(attributes, function);
    return simdev_leave(error);
}

static cudaError_t set_function(struct simdev_function *function, enum cudaFuncAttribute attribute,
                                int value)
{
    const struct simdev_limits *limits = simdev_device_limits();
    switch ((int)attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
        if (value < 0 ||
            value > limits->shared_per_block_optin - simdev_function_facts(function).static_shared)
            return cudaErrorInvalidValue;
        atomic_store(&function->dynamic_shared, value);
        return cudaSuccess;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
        return value < -1 || value > 100 ? cudaErrorInvalidValue : cudaSuccess;
    case cudaFuncAttributeClusterDimMustBeSet:
    case cudaFuncAttributeRequiredClusterWidth:
    case cudaFuncAttributeRequiredClusterHeight:
    case cudaFuncAttributeRequiredClusterDepth:
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
        return cudaSuccess;
    default:
        return cudaErrorInvalidValue;
    }
}

static cudaError_t set_attribute(const char *name, const void *key,
                                 enum cudaFuncAttribute attribute, int value)
{
    cudaError_t error = simdev_enter(name);
    struct simdev_function *function = simdev_function_find(key);
    if (error == cudaSuccess && !function)
        error = cudaErrorInvalidDeviceFunction;
    if (error == cudaSuccess)
        error = set_function(function, attribute, value);
    return simdev_leave(error);
}

cudaError_t cudaFuncSetAttribute(const void *key, enum cudaFuncAttribute attribute, int value)
{
    return set_attribute(__func__, key, attribute, value);
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attribute,
                                            int value, int device)
{
    if (device < 0 || device >= simdev_device_count())
        return simdev_leave(cudaErrorInvalidDevice);
    return set_attribute(__func__, kernel, attribute, value);
}

/* Hints about the first-level cache, which is not simulated. */
cudaError_t cudaFuncSetCacheConfig(const void *key, enum cudaFuncCache config)
{
    (void)config;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !simdev_function_find(key))
        error = cudaErrorInvalidDeviceFunction;
    return simdev_leave(error);
}

cudaError_t cudaFuncGetName(const char **name, const void *key)
{
    cudaError_t error = simdev_enter(__func__);
    const struct simdev_function *function = simdev_function_find(key);
    if (error == cudaSuccess && !name)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && !function)
        error = cudaErrorInvalidDeviceFunction;
    if (error == cudaSuccess)
        *name = function->name;
    return simdev_leave(error);
}

static cudaError_t handle_of(const char *name, const void *host_function, void **handle)
{
    cudaError_t error = simdev_enter(name);
    struct simdev_function *function = simdev_function_find(host_function);
    if (error == cudaSuccess && !handle)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && !function)
        error = cudaErrorInvalidDeviceFunction;
    if (error == cudaSuccess)
        *handle = function;
    return simdev_leave(error);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *host_function)
{
    return handle_of(__func__, host_function, (void **)function);
}

cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *host_function)
{
    return handle_of(__func__, host_function, (void **)kernel);
}
