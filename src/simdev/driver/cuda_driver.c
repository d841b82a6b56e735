/* Driver functions for cuDNN's planning on a machine without a GPU.
 *
 * cuDNN plans the engines that it compiles at run time only if it can load a driver library, and
 * passes the compiled image to that library. For cuDNN, this driver has no device and no context,
 * and runs nothing. The other files have the functions for programs. */
#include "cuda_driver.h"
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cuDNN looks these up by their plain names, which the header renames. */
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
#undef cuLinkCreate
#undef cuLinkAddData
#undef cuLinkAddFile
CUresult cuCtxPushCurrent(CUcontext context);
CUresult cuCtxPopCurrent(CUcontext *context);
CUresult cuLinkCreate(unsigned count, CUjit_option *options, void **values, CUlinkState *state);
CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t bytes,
                       const char *name, unsigned count, CUjit_option *options, void **values);

/* Most parameters here are for features that do not exist. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Does not take the loader's lock, which cuDNN holds for long while it loads its libraries. */
bool cuda_driver_is_planner(const void *caller)
{
    static const char *const libraries[] = {"libcudnn", "libcublas", "libnvrtc"};
    struct dl_find_object found;
    if (_dl_find_object((void *)(uintptr_t)caller, &found) != 0 || !found.dlfo_link_map)
        return false;
    const char *path = found.dlfo_link_map->l_name, *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
        if (strncmp(name, libraries[i], strlen(libraries[i])) == 0)
            return true;
    }
    return false;
}

bool cuda_driver_begin(const char *function, const void *caller)
{
    if (cuda_driver_is_planner(caller))
        return false;
    simdev_driver_begin(function);
    return true;
}

CUresult cuda_driver_end(cudaError_t error)
{
    simdev_driver_end();
    return (CUresult)error;
}

CUresult cuInit(unsigned flags)
{
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return cuda_driver_is_planner(__builtin_return_address(0)) ? CUDA_ERROR_NO_DEVICE
                                                               : CUDA_SUCCESS;
}

/* Runtimes that are linked into a program or library query unnamed tables, through which they drive
 * a device. This driver has none. NVIDIA's planning libraries contain such a runtime too, and plan
 * without the tables. */
CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const void *caller = __builtin_return_address(0);
    struct dl_find_object found = {.dlfo_link_map = NULL};
    if (table)
        *table = NULL;
    if (cuda_driver_is_planner(caller) || atomic_flag_test_and_set(&told))
        return CUDA_ERROR_NOT_FOUND;
    (void)_dl_find_object((void *)(uintptr_t)caller, &found);
    const char *path = found.dlfo_link_map ? found.dlfo_link_map->l_name : "";
    path = *path ? path : "the program";
    simdev_note_linked_runtime(path);
    fprintf(stderr,
            "simdev: %s contains its own CUDA runtime (nvcc's default) without names of its "
            "functions, or a "
            "function of it that is not simulated. Build it with -cudart shared.\n",
            path);
    return CUDA_ERROR_NOT_FOUND;
}

CUresult cuDriverGetVersion(int *version)
{
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    if (!cuda_driver_is_planner(__builtin_return_address(0)))
        return (CUresult)cudaGetDeviceCount(count);
    *count = 0;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    int count;
    if (cuda_driver_is_planner(__builtin_return_address(0)) ||
        cudaGetDeviceCount(&count) != cudaSuccess || ordinal < 0 || ordinal >= count)
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context)
{
    return CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPopCurrent(CUcontext *context)
{
    return CUDA_ERROR_INVALID_CONTEXT;
}

/* There is no linker: programs that link at run time need another driver. */
CUresult cuLinkCreate_v2(unsigned count, CUjit_option *options, void **values, CUlinkState *state)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t bytes,
                          const char *name, unsigned count, CUjit_option *options, void **values)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuLinkCreate(unsigned count, CUjit_option *options, void **values, CUlinkState *state)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t bytes,
                       const char *name, unsigned count, CUjit_option *options, void **values)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuLinkComplete(CUlinkState state, void **image, size_t *bytes)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuLinkDestroy(CUlinkState state)
{
    return CUDA_SUCCESS;
}
