/* Launches of kernels through the driver, and the properties of a kernel (CUDA Driver API,
 * Execution Control). */
#include "cuda_driver.h"
#include "cudart_module.h"

/* Parameters in a buffer (`extra`) are ignored. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* The driver returns other errors for the same causes. */
static cudaError_t as_driver(cudaError_t error)
{
    if (error == cudaErrorInvalidDeviceFunction)
        return cudaErrorInvalidResourceHandle;
    return error == cudaErrorInvalidConfiguration ? cudaErrorInvalidValue : error;
}

static cudaError_t launch_kernel(const char *name, CUfunction function,
                                 const struct simdev_grid *grid, CUstream stream)
{
    return as_driver(simdev_launch(name, function, grid, stream));
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void **parameters, void **extra)
{
    const struct simdev_grid grid = {.blocks = {grid_x, grid_y, grid_z},
                                     .threads = {block_x, block_y, block_z},
                                     .shared = shared,
                                     .arguments = parameters};
    if (cuda_driver_is_planner(__builtin_return_address(0)))
        return CUDA_ERROR_NO_DEVICE;
    return CUDA_DRIVER_CALL(launch_kernel(__func__, function, &grid, stream));
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared, CUstream stream,
                                   void **parameters)
{
    const struct simdev_grid grid = {.blocks = {grid_x, grid_y, grid_z},
                                     .threads = {block_x, block_y, block_z},
                                     .shared = shared,
                                     .cooperative = true,
                                     .arguments = parameters};
    if (cuda_driver_is_planner(__builtin_return_address(0)))
        return CUDA_ERROR_NO_DEVICE;
    return CUDA_DRIVER_CALL(launch_kernel(__func__, function, &grid, stream));
}

static struct simdev_grid grid_of(const CUlaunchConfig *config)
{
    struct simdev_grid grid = {
        .blocks = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .threads = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .shared = config->sharedMemBytes,
    };
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            grid.cooperative = config->attrs[i].value.cooperative != 0;
    return grid;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                          void **extra)
{
    if (cuda_driver_is_planner(__builtin_return_address(0)))
        return CUDA_ERROR_NO_DEVICE;
    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    struct simdev_grid grid = grid_of(config);
    grid.arguments = parameters;
    return CUDA_DRIVER_CALL(launch_kernel(__func__, function, &grid, config->hStream));
}

/* --- attributes --- */

static cudaError_t get_attribute(int *value, CUfunction_attribute attribute, const void *key)
{
    struct cudaFuncAttributes known;
    cudaError_t error =
        value ? as_driver(cudaFuncGetAttributes(&known, key)) : cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return error;
    switch ((int)attribute) {
#define MEMBER(attribute, member)                                                                  \
    case CU_FUNC_ATTRIBUTE_##attribute:                                                            \
        *value = (int)known.member;                                                                \
        return cudaSuccess;
        MEMBER(MAX_THREADS_PER_BLOCK, maxThreadsPerBlock)
        MEMBER(SHARED_SIZE_BYTES, sharedSizeBytes)
        MEMBER(CONST_SIZE_BYTES, constSizeBytes)
        MEMBER(LOCAL_SIZE_BYTES, localSizeBytes)
        MEMBER(NUM_REGS, numRegs)
        MEMBER(PTX_VERSION, ptxVersion)
        MEMBER(BINARY_VERSION, binaryVersion)
        MEMBER(MAX_DYNAMIC_SHARED_SIZE_BYTES, maxDynamicSharedSizeBytes)
        MEMBER(PREFERRED_SHARED_MEMORY_CARVEOUT, preferredShmemCarveout)
    default:
        *value = 0;
        return attribute < CU_FUNC_ATTRIBUTE_MAX ? cudaSuccess : cudaErrorInvalidValue;
    }
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    return CUDA_DRIVER_CALL(get_attribute(value, attribute, function));
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    return CUDA_DRIVER_CALL(
        as_driver(cudaFuncSetAttribute(function, (enum cudaFuncAttribute)attribute, value)));
}

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
                              CUdevice device)
{
    if (cuda_driver_is_planner(__builtin_return_address(0)))
        return CUDA_ERROR_INVALID_DEVICE;
    return CUDA_DRIVER_CALL(get_attribute(value, attribute, kernel));
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                              CUdevice device)
{
    if (cuda_driver_is_planner(__builtin_return_address(0)))
        return CUDA_ERROR_INVALID_DEVICE;
    return CUDA_DRIVER_CALL(
        as_driver(cudaFuncSetAttribute(kernel, (enum cudaFuncAttribute)attribute, value)));
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
    return CUDA_DRIVER_CALL(as_driver(cudaFuncSetCacheConfig(function, cudaFuncCachePreferNone)));
}

CUresult cuFuncGetName(const char **name, CUfunction function)
{
    return CUDA_DRIVER_CALL(as_driver(cudaFuncGetName(name, function)));
}

CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
    return CUDA_DRIVER_CALL(as_driver(cudaFuncGetName(name, kernel)));
}

CUresult cuFuncGetModule(CUmodule *module, CUfunction function)
{
    const struct simdev_function *found = simdev_function_find(function);
    if (!module || !found)
        return module ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    *module = (CUmodule)(void *)found->module;
    return CUDA_SUCCESS;
}

/* --- occupancy --- */

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function,
                                                              int threads, size_t shared,
                                                              unsigned flags)
{
    return CUDA_DRIVER_CALL(as_driver(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks, function, threads, shared, flags)));
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                     size_t shared)
{
    return CUDA_DRIVER_CALL(as_driver(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared)));
}

CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function,
                                          CUoccupancyB2DSize shared_of, size_t shared, int limit)
{
    return CUDA_DRIVER_CALL(grid && block
                                ? as_driver(simdev_function_best_block(
                                      function, shared_of ? 0 : shared, limit, grid, block))
                                : cudaErrorInvalidValue);
}

/* Clusters are of eight blocks at most, as on every GPU that has them. */
CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction function,
                                            const CUlaunchConfig *config)
{
    if (cuda_driver_is_planner(__builtin_return_address(0)))
        return CUDA_ERROR_NO_DEVICE;
    *size = 8;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction function,
                                      const CUlaunchConfig *config)
{
    int count = 0, blocks = 0;
    if (!clusters || !config)
        return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, function, (int)(config->blockDimX * config->blockDimY * config->blockDimZ),
        config->sharedMemBytes);
    if (result == CUDA_SUCCESS &&
        cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess)
        *clusters = blocks * count / 8;
    return result;
}
