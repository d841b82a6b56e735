/* Modules and libraries, and their kernels and variables (CUDA Driver API, Module Management,
 * Library Management). The simulated runtime implements them. A kernel and its function in a
 * context have the same handle, because images are not loaded per context.
 *
 * cuDNN's planning loads images too, to check that this works. Their kernels can only be looked up.
 */
#include "cuda_driver.h"
#include "cudart_module.h"

/* Most parameters here are for compilers and linkers, which are not simulated. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static CUresult load_image(const void *image, void **out)
{
    if (!image || !out)
        return CUDA_ERROR_INVALID_VALUE;
    const CUresult refused = (CUresult)simdev_capture_refuse_unsafe();
    if (refused != CUDA_SUCCESS)
        return refused;
    *out = simdev_module_load(image);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult load_file(const char *path, void **out)
{
    const void *image = path ? simdev_module_read_file(path) : NULL;
    if (!path || !out)
        return CUDA_ERROR_INVALID_VALUE;
    return image ? load_image(image, out) : CUDA_ERROR_FILE_NOT_FOUND;
}

static CUresult unload_module(struct simdev_module *module)
{
    const CUresult refused = (CUresult)simdev_capture_refuse_unsafe();
    if (refused != CUDA_SUCCESS)
        return refused;
    return simdev_module_unload(module) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult find_kernel(struct simdev_module *module, const char *name, void **out)
{
    if (!name || !out)
        return CUDA_ERROR_INVALID_VALUE;
    if (!simdev_module_known(module))
        return CUDA_ERROR_INVALID_HANDLE;
    *out = simdev_module_function(module, name);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static CUresult find_variable(struct simdev_module *module, const char *name, CUdeviceptr *address,
                              size_t *bytes)
{
    void *found = NULL;
    size_t size = 0;
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    if (!simdev_module_known(module))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!simdev_module_variable(module, name, &found, &size))
        return CUDA_ERROR_NOT_FOUND;
    if (address)
        *address = (CUdeviceptr)(uintptr_t)found;
    if (bytes)
        *bytes = size;
    return CUDA_SUCCESS;
}

/* --- modules --- */

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    return cuda_driver_is_planner(__builtin_return_address(0)) ? CUDA_ERROR_INVALID_CONTEXT
                                                               : load_image(image, (void **)module);
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                            CUjit_option *options, void **values)
{
    return cuda_driver_is_planner(__builtin_return_address(0)) ? CUDA_ERROR_INVALID_CONTEXT
                                                               : load_image(image, (void **)module);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
    return load_image(image, (void **)module);
}

CUresult cuModuleLoad(CUmodule *module, const char *path)
{
    return load_file(path, (void **)module);
}

CUresult cuModuleUnload(CUmodule module)
{
    return unload_module((void *)module);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    return find_kernel((void *)module, name, (void **)function);
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module,
                              const char *name)
{
    return find_variable((void *)module, name, address, bytes);
}

CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule module)
{
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = simdev_module_count((void *)module);
    return simdev_module_known((void *)module) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned most, CUmodule module)
{
    if (!functions)
        return CUDA_ERROR_INVALID_VALUE;
    (void)simdev_module_list((void *)module, (struct simdev_function **)(void *)functions, most);
    return simdev_module_known((void *)module) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Modules are loaded eagerly. */
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
}

/* --- libraries --- */

CUresult cuLibraryLoadData(CUlibrary *library, const void *image, CUjit_option *options,
                           void **values, unsigned count, CUlibraryOption *library_options,
                           void **library_values, unsigned library_count)
{
    return load_image(image, (void **)library);
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *options,
                               void **values, unsigned count, CUlibraryOption *library_options,
                               void **library_values, unsigned library_count)
{
    return cuda_driver_is_planner(__builtin_return_address(0)) ? CUDA_ERROR_NOT_SUPPORTED
                                                               : load_file(path, (void **)library);
}

CUresult cuLibraryUnload(CUlibrary library)
{
    return unload_module((void *)library);
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    return find_kernel((void *)library, name, (void **)kernel);
}

CUresult cuLibraryGetKernelCount(unsigned *count, CUlibrary library)
{
    return cuModuleGetFunctionCount(count, (CUmodule)(void *)library);
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned most, CUlibrary library)
{
    return cuModuleEnumerateFunctions((CUfunction *)(void *)kernels, most,
                                      (CUmodule)(void *)library);
}

CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
    if (!module)
        return CUDA_ERROR_INVALID_VALUE;
    *module = (CUmodule)(void *)library;
    return simdev_module_known((void *)library) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library,
                            const char *name)
{
    return find_variable((void *)library, name, address, bytes);
}

CUresult cuLibraryGetManaged(CUdeviceptr *address, size_t *bytes, CUlibrary library,
                             const char *name)
{
    return find_variable((void *)library, name, address, bytes);
}

/* Images contain no information about functions with one address on host and device. */
CUresult cuLibraryGetUnifiedFunction(void **function, CUlibrary library, const char *name)
{
    return CUDA_ERROR_NOT_FOUND;
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    if (cuda_driver_is_planner(__builtin_return_address(0)))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!function || !simdev_function_find(kernel))
        return function ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    *function = (CUfunction)(void *)kernel;
    return CUDA_SUCCESS;
}
