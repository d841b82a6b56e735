/* Loads the real cuDNN and lets it plan for the profile's device. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudnn_internal.h"

/* The real cuDNN's graph library, which plans without a device. It is opened by its absolute path
 * and with RTLD_LOCAL, so its names do not conflict with the simulated ones. */

static bool find_symbol(void *library, const char *name, void *slot)
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

#ifdef __SANITIZE_ADDRESS__
/* From the sanitizer runtime, whose header is not installed everywhere. */
void __lsan_disable(void);
void __lsan_enable(void);

static struct simdev_planner itself;

/* An engine may load a compiler, use it and unload it. The compiler's C++ runtime never frees its
 * memory, so leak checkers report a stack without a library. Descriptors are created outside of
 * this function, so that a lost one is still reported. */
static cudnnStatus_t finalize_unwatched(cudnnBackendDescriptor_t descriptor)
{
    __lsan_disable();
    const cudnnStatus_t status = itself.finalize(descriptor);
    __lsan_enable();
    return status;
}

static cudnnStatus_t get_unwatched(cudnnBackendDescriptor_t descriptor,
                                   cudnnBackendAttributeName_t name,
                                   cudnnBackendAttributeType_t type, int64_t most, int64_t *count,
                                   void *values)
{
    __lsan_disable();
    const cudnnStatus_t status = itself.get(descriptor, name, type, most, count, values);
    __lsan_enable();
    return status;
}

static void skip_race_checks(struct simdev_planner *planner)
{
    itself = *planner;
    planner->finalize = finalize_unwatched;
    planner->get = get_unwatched;
}
#else
static void skip_race_checks(struct simdev_planner *planner)
{
    (void)planner;
}
#endif

static bool make_device(const struct simdev_planner *planner, const char *text,
                        cudnnBackendDescriptor_t *device)
{
    return planner->create(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, device) == CUDNN_STATUS_SUCCESS &&
           planner->set(*device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                        (int64_t)strlen(text) + 1, text) == CUDNN_STATUS_SUCCESS &&
           planner->finalize(*device) == CUDNN_STATUS_SUCCESS;
}

static bool make_devices(struct simdev_planner *planner)
{
    const char *text = simdev_profile_text(0);
    bool made = text;
    for (int i = 0; made && text && i < SIMDEV_MAX_DEVICES; text = simdev_profile_text(++i))
        made = make_device(planner, text, &planner->device[i]);
    return made;
}

void simdev_planner_drop_devices(struct simdev_planner *planner)
{
    for (int i = 0; i < SIMDEV_MAX_DEVICES; i++) {
        if (planner->device[i])
            (void)planner->destroy(planner->device[i]);
        planner->device[i] = NULL;
    }
}

bool simdev_planner_real(struct simdev_planner *planner)
{
    size_t (*version)(void), (*cudart_version)(void);
    void *library = open_library();
    if (!library)
        return false;
    if (!find_symbol(library, "cudnnBackendCreateDescriptor", &planner->create) ||
        !find_symbol(library, "cudnnBackendDestroyDescriptor", &planner->destroy) ||
        !find_symbol(library, "cudnnBackendSetAttribute", &planner->set) ||
        !find_symbol(library, "cudnnBackendGetAttribute", &planner->get) ||
        !find_symbol(library, "cudnnBackendFinalize", &planner->finalize) ||
        !find_symbol(library, "cudnnGetVersion", &version) ||
        !find_symbol(library, "cudnnGetCudartVersion", &cudart_version) || !make_devices(planner)) {
        simdev_planner_drop_devices(planner);
        dlclose(library);
        return false;
    }
    planner->version = version();
    planner->cudart_version = cudart_version();
    skip_race_checks(planner);
    return true;
}
