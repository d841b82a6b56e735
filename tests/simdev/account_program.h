/* A program that registers kernels as nvcc's generated code does. */
#ifndef ACCOUNT_PROGRAM_H
#define ACCOUNT_PROGRAM_H

#include "cudart_nvcc.h"
#include "fat_image.h"
#include "selftest_cudart.h"

/* The program's stubs of its kernels and its variable. Only their addresses matter. */
static char plain_stub, shared_stub;
static int numbers[FAT_NUMBERS];

static struct {
    int magic, version;
    const void *data;
    void *unused;
} wrapper = {0x466243b1, 1, NULL, NULL};

static inline void **register_program(enum fat_packing packing)
{
    wrapper.data = fat_image(90, packing);
    void **handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, &plain_stub, &plain_stub, "plain", -1, NULL, NULL, NULL, NULL,
                           NULL);
    __cudaRegisterFunction(handle, &shared_stub, &shared_stub, "shared", -1, NULL, NULL, NULL, NULL,
                           NULL);
    __cudaRegisterVar(handle, (char *)numbers, (char *)numbers, "numbers", 0, sizeof(numbers), 0,
                      0);
    __cudaRegisterFatBinaryEnd(handle);
    return handle;
}

/* kernel<<<blocks, threads, shared, stream>>>() */
static inline cudaError_t launch(const void *stub, unsigned blocks, unsigned threads, size_t shared,
                                 cudaStream_t stream)
{
    struct dim3 grid = {blocks, 1, 1}, block = {threads, 1, 1};
    cudaKernel_t kernel;
    cudaStream_t popped;
    if (__cudaPushCallConfiguration(grid, block, shared, stream) != 0 ||
        __cudaGetKernel(&kernel, stub) != cudaSuccess ||
        __cudaPopCallConfiguration(&grid, &block, &shared, &popped) != cudaSuccess)
        return cudaErrorUnknown;
    return __cudaLaunchKernel(kernel, grid, block, NULL, shared, popped);
}

#endif
