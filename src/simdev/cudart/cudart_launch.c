/* Launches of kernels, in every form (CUDA Runtime API, Execution Control): checked as a GPU checks
 * them, queued, and counted. */
#include "cudart_bytes.h"
#include "cudart_context.h"
#include "cudart_device.h"
#include "cudart_module.h"
#include "cudart_nvcc.h"
#include "cudart_values.h"
#include <stdlib.h>
#include <string.h>

enum {
    DEPTH = 16, /* of pushed configurations */
    LEAST_ADDRESS = 4096,
    BYTES_OF_THREAD = 16 /* estimate of the time model: each thread reads or writes one vector */
};

static bool is_within(const dim3 *extent, const int limit[3])
{
    return extent->x >= 1 && extent->y >= 1 && extent->z >= 1 && extent->x <= (unsigned)limit[0] &&
           extent->y <= (unsigned)limit[1] && extent->z <= (unsigned)limit[2];
}

static double count_of(const dim3 *extent)
{
    return (double)extent->x * extent->y * extent->z;
}

/* All blocks of a cooperative grid are on the device at the same time. */
static cudaError_t check_cooperative(const struct simdev_function *function,
                                     const struct simdev_grid *grid)
{
    int blocks = 0;
    const int threads = (int)count_of(&grid->threads);
    cudaError_t error = simdev_function_occupancy(function, threads, grid->shared, &blocks);
    if (error == cudaSuccess &&
        count_of(&grid->blocks) > (double)blocks * simdev_device_limits()->multiprocessors)
        error = cudaErrorCooperativeLaunchTooLarge;
    return error;
}

static cudaError_t check_launch(const struct simdev_function *function,
                                const struct simdev_grid *grid)
{
    const struct simdev_limits *limits = simdev_device_limits();
    if (!is_within(&grid->blocks, limits->grid) || !is_within(&grid->threads, limits->block) ||
        count_of(&grid->threads) > limits->threads_per_block)
        return cudaErrorInvalidConfiguration;
    if (grid->shared > (size_t)limits->shared_per_block_optin)
        return cudaErrorInvalidValue;
    if (grid->shared > 0 && grid->shared > (size_t)simdev_function_dynamic_shared(function))
        return cudaErrorInvalidValue;
    return grid->cooperative ? check_cooperative(function, grid) : cudaSuccess;
}

static struct simdev_tally *tally_of(struct simdev_function *function)
{
    struct simdev_tally *tally = atomic_load(&function->tally);
    if (!tally) {
        tally = simdev_tally(SIMDEV_TALLY_KERNEL, function->name);
        atomic_store(&function->tally, tally);
    }
    return tally;
}

/* Only account mode, in which nothing is computed, may skip a kernel. */
static cudaError_t refuse_kernel(const struct simdev_function *function)
{
    if (simdev_tally_add(simdev_tally(SIMDEV_TALLY_MISSING, function->name)) == 1)
        simdev_violation("kernel %s: kernels are not executed; SIMDEV_MODE=account counts them",
                         function->name);
    return cudaErrorNotSupported;
}

/* The effects of a launch: a count, and the addresses passed to the kernel. */
struct launch {
    struct simdev_tally *tally;
    size_t addresses;
    uintptr_t address[];
};

static void run_launch(void *arg)
{
    const struct launch *launch = arg;
    simdev_tally_add(launch->tally);
    simdev_count(SIMDEV_KERNEL_LAUNCHES);
    simdev_bytes_given(launch->address, launch->addresses);
}

/* Collects values in parameters that may be addresses of device memory, at most `room`. `address`
 * NULL: only counts them. */
static size_t scan_parameters(const struct simdev_parameters *parameters, void **arguments,
                              uintptr_t *address, size_t room)
{
    struct simdev_mem_info info;
    size_t found = 0;
    for (unsigned p = 0; parameters && arguments && p < parameters->count; p++) {
        for (size_t at = 0; at + sizeof(uintptr_t) <= parameters->bytes[p]; at += 8) {
            uintptr_t word;
            memcpy(&word, (const char *)arguments[p] + at, sizeof(word));
            if (word < LEAST_ADDRESS || !simdev_mem_block((void *)word, &info))
                continue;
            if (address && found < room)
                address[found] = word;
            found += found < room;
        }
    }
    return found;
}

static bool make_work(struct simdev_function *function, const struct simdev_grid *grid,
                      struct simdev_work *work)
{
    const struct simdev_parameters *parameters = simdev_function_parameters(function);
    const double threads = count_of(&grid->blocks) * count_of(&grid->threads);
    const size_t most = atomic_load(&simdev_values_told)
                            ? 0
                            : scan_parameters(parameters, grid->arguments, NULL, SIZE_MAX);
    struct launch *launch = malloc(sizeof(*launch) + most * sizeof(*launch->address));
    if (!launch)
        return false;
    launch->tally = tally_of(function);
    launch->addresses =
        most ? scan_parameters(parameters, grid->arguments, launch->address, most) : 0;
    *work = (struct simdev_work){.run = run_launch,
                                 .release = free,
                                 .arg = launch,
                                 .maker = launch->tally,
                                 .cost = {.bytes = threads * (double)BYTES_OF_THREAD}};
    return true;
}

cudaError_t simdev_launch_work(const void *key, const struct simdev_grid *grid,
                               struct simdev_work *work)
{
    struct simdev_function *function = simdev_function_find(key);
    if (!function)
        return cudaErrorInvalidDeviceFunction;
    cudaError_t error = check_launch(function, grid);
    if (error == cudaSuccess && !simdev_account_on())
        error = refuse_kernel(function);
    if (error == cudaSuccess && !make_work(function, grid, work))
        error = cudaErrorMemoryAllocation;
    return error;
}

cudaError_t simdev_launch(const char *name, const void *key, const struct simdev_grid *grid,
                          cudaStream_t stream)
{
    struct simdev_work work = {.arg = NULL};
    cudaError_t error = simdev_enter(name);
    if (error == cudaSuccess)
        error = simdev_launch_work(key, grid, &work);
    if (error == cudaSuccess) {
        error = simdev_enqueue(stream, &work);
        if (error != cudaSuccess)
            free(work.arg);
    }
    return simdev_leave(error);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                             size_t shared, cudaStream_t stream)
{
    const struct simdev_grid launch = {
        .blocks = grid, .threads = block, .shared = shared, .arguments = arguments};
    return simdev_launch(__func__, function, &launch, stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block,
                                        void **arguments, size_t shared, cudaStream_t stream)
{
    const struct simdev_grid launch = {.blocks = grid,
                                       .threads = block,
                                       .shared = shared,
                                       .cooperative = true,
                                       .arguments = arguments};
    return simdev_launch(__func__, function, &launch, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
                                void **arguments)
{
    if (!config)
        return simdev_leave(cudaErrorInvalidValue);
    struct simdev_grid launch = {.blocks = config->gridDim,
                                 .threads = config->blockDim,
                                 .shared = config->dynamicSmemBytes,
                                 .arguments = arguments};
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == cudaLaunchAttributeCooperative)
            launch.cooperative = config->attrs[i].val.cooperative != 0;
    return simdev_launch(__func__, function, &launch, config->stream);
}

/* --- the <<<...>>> of nvcc --- */

static _Thread_local struct {
    struct simdev_grid grid;
    cudaStream_t stream;
} pushed[DEPTH];
static _Thread_local unsigned depth;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                     struct CUstream_st *stream)
{
    if (depth == DEPTH)
        return 1;
    pushed[depth].grid = (struct simdev_grid){.blocks = grid, .threads = block, .shared = shared};
    pushed[depth++].stream = stream;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    if (depth == 0)
        return simdev_leave(cudaErrorMissingConfiguration);
    depth--;
    *grid = pushed[depth].grid.blocks;
    *block = pushed[depth].grid.threads;
    *shared = pushed[depth].grid.shared;
    memcpy(stream, &pushed[depth].stream, sizeof(cudaStream_t));
    return cudaSuccess;
}

/* Also called before main, and for kernels of images for other devices. Not a use of the device. */
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *stub)
{
    struct simdev_function *function = simdev_function_find(stub);
    if (!kernel || !function)
        return cudaErrorInvalidDeviceFunction;
    *kernel = (cudaKernel_t)(void *)function;
    return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared, cudaStream_t stream)
{
    const struct simdev_grid launch = {
        .blocks = grid, .threads = block, .shared = shared, .arguments = arguments};
    return simdev_launch("cudaLaunchKernel", kernel, &launch, stream);
}

/* Uses the thread's default stream. Programs compiled with per-thread default streams call it. */
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                                    size_t shared, cudaStream_t stream)
{
    return __cudaLaunchKernel(kernel, grid, block, arguments, shared,
                              stream ? stream : cudaStreamPerThread);
}
