#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudnn_internal.h"

/* The real cuDNN's own graph library, which plans without a device. It is opened by its absolute
 * path and privately, so its names never meet ours. */

static bool find(void *library, const char *name, void *slot)
{
    void *address = dlsym(library, name);
    memcpy(slot, &address, sizeof address);
    return address != NULL;
}

static void *open_library(void)
{
    const char *directory = getenv("SIMDEV_CUDNN_DIR");
    char path[PATH_MAX];
    if (!directory || !*directory)
        return NULL;
    const int length = snprintf(path, sizeof path, "%s/libcudnn_graph.so.9", directory);
    if (length < 0 || (size_t)length >= sizeof path)
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static bool make_device(struct simdev_planner *planner)
{
    const char *text = simdev_profile_text();
    return text &&
           planner->create(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &planner->device) ==
               CUDNN_STATUS_SUCCESS &&
           planner->set(planner->device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                        (int64_t)strlen(text) + 1, text) == CUDNN_STATUS_SUCCESS &&
           planner->finalize(planner->device) == CUDNN_STATUS_SUCCESS;
}

bool simdev_planner_real(struct simdev_planner *planner)
{
    size_t (*version)(void), (*cudart_version)(void);
    void *library = open_library();
    if (!library)
        return false;
    if (!find(library, "cudnnBackendCreateDescriptor", &planner->create) ||
        !find(library, "cudnnBackendDestroyDescriptor", &planner->destroy) ||
        !find(library, "cudnnBackendSetAttribute", &planner->set) ||
        !find(library, "cudnnBackendGetAttribute", &planner->get) ||
        !find(library, "cudnnBackendFinalize", &planner->finalize) ||
        !find(library, "cudnnGetVersion", &version) ||
        !find(library, "cudnnGetCudartVersion", &cudart_version) || !make_device(planner)) {
        dlclose(library);
        return false;
    }
    planner->version = version();
    planner->cudart_version = cudart_version();
    return true;
}
