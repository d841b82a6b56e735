/* Libraries (CUDA Runtime API, Library Management): images that a program loads by a call. The
 * program finds their kernels by name. */
#include "cudart_context.h"
#include "cudart_module.h"
#include <stdio.h>
#include <stdlib.h>

/* Options are for compilers and linkers, which are not simulated. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static cudaError_t load_library(const void *image, cudaLibrary_t *library)
{
    const cudaError_t error = simdev_capture_refuse_unsafe();
    struct simdev_module *module = error == cudaSuccess ? simdev_module_load(image) : NULL;
    if (!module)
        return error != cudaSuccess ? error : cudaErrorMemoryAllocation;
    *library = (cudaLibrary_t)(void *)module;
    return cudaSuccess;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                enum cudaJitOption *options, void **values, unsigned count,
                                enum cudaLibraryOption *library_options, void **library_values,
                                unsigned library_count)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && (!library || !code))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = load_library(code, library);
    return simdev_leave(error);
}

void *simdev_module_read_file(const char *path)
{
    FILE *file = path ? fopen(path, "re") : NULL;
    char *image = NULL;
    long bytes = -1;
    if (file && fseek(file, 0, SEEK_END) == 0)
        bytes = ftell(file);
    if (bytes > 0 && fseek(file, 0, SEEK_SET) == 0)
        image = calloc(1, (size_t)bytes + 64); /* looked into without a length */
    if (image && fread(image, 1, (size_t)bytes, file) != (size_t)bytes) {
        free(image);
        image = NULL;
    }
    if (file)
        fclose(file);
    return image;
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *path,
                                    enum cudaJitOption *options, void **values, unsigned count,
                                    enum cudaLibraryOption *library_options, void **library_values,
                                    unsigned library_count)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && (!library || !path))
        error = cudaErrorInvalidValue;
    void *image = error == cudaSuccess ? simdev_module_read_file(path) : NULL;
    if (error == cudaSuccess && !image)
        error = cudaErrorFileNotFound;
    if (error == cudaSuccess)
        error = load_library(image, library);
    return simdev_leave(error);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = simdev_capture_refuse_unsafe();
    if (error == cudaSuccess && !simdev_module_unload((void *)library))
        error = cudaErrorInvalidResourceHandle;
    return simdev_leave(error);
}

/* Begins a call about a library. `given`: its arguments are. */
static cudaError_t enter_library(const char *function, cudaLibrary_t library, bool given)
{
    const cudaError_t error = simdev_enter(function);
    if (error != cudaSuccess)
        return error;
    return !given                                  ? cudaErrorInvalidValue
           : !simdev_module_known((void *)library) ? cudaErrorInvalidResourceHandle
                                                   : cudaSuccess;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
    const cudaError_t error = enter_library(__func__, library, kernel && name);
    if (error != cudaSuccess)
        return simdev_leave(error);
    struct simdev_function *function = simdev_module_function((void *)library, name);
    *kernel = (cudaKernel_t)(void *)function;
    return simdev_leave(function ? cudaSuccess : cudaErrorSymbolNotFound);
}

cudaError_t cudaLibraryGetKernelCount(unsigned *count, cudaLibrary_t library)
{
    const cudaError_t error = enter_library(__func__, library, count);
    if (error == cudaSuccess)
        *count = simdev_module_count((void *)library);
    return simdev_leave(error);
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned most, cudaLibrary_t library)
{
    const cudaError_t error = enter_library(__func__, library, kernels);
    if (error == cudaSuccess)
        (void)simdev_module_list((void *)library, (struct simdev_function **)(void *)kernels, most);
    return simdev_leave(error);
}

static cudaError_t find_variable(const char *function, void **address, size_t *bytes,
                                 cudaLibrary_t library, const char *name)
{
    cudaError_t error = enter_library(function, library, address && name);
    if (error == cudaSuccess && !simdev_module_variable((void *)library, name, address, bytes))
        error = cudaErrorSymbolNotFound;
    return simdev_leave(error);
}

cudaError_t cudaLibraryGetGlobal(void **address, size_t *bytes, cudaLibrary_t library,
                                 const char *name)
{
    return find_variable(__func__, address, bytes, library, name);
}

cudaError_t cudaLibraryGetManaged(void **address, size_t *bytes, cudaLibrary_t library,
                                  const char *name)
{
    return find_variable(__func__, address, bytes, library, name);
}

/* Images contain no information about functions with one address on host and device. */
cudaError_t cudaLibraryGetUnifiedFunction(void **function, cudaLibrary_t library, const char *name)
{
    const cudaError_t error = simdev_enter(__func__);
    return simdev_leave(error != cudaSuccess ? error : cudaErrorSymbolNotFound);
}
