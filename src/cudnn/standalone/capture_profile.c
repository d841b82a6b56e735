/* Reads the profile of the GPU that is present (`doctor --capture-device`). */
#include "cudnn/standalone/standalone.h"

#include "cudnn/bind/real.h"
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* A finalized descriptor of a device named by one attribute. NULL if cuDNN refuses. */
static cudnnBackendDescriptor_t describe(cudnnBackendAttributeName_t name,
                                         cudnnBackendAttributeType_t type, const void *value)
{
    cudnnBackendDescriptor_t device = NULL;
    if (CS_REAL(cudnnBackendCreateDescriptor, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &device) !=
        CUDNN_STATUS_SUCCESS)
        return NULL;
    if (CS_REAL(cudnnBackendSetAttribute, device, name, type, 1, value) == CUDNN_STATUS_SUCCESS &&
        CS_REAL(cudnnBackendFinalize, device) == CUDNN_STATUS_SUCCESS)
        return device;
    CS_REAL(cudnnBackendDestroyDescriptor, device);
    return NULL;
}

/* The text of such a descriptor, or NULL. */
static char *text_of(cudnnBackendDescriptor_t device)
{
    const cudnnBackendAttributeName_t name = CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION;
    int64_t length = 0;
    if (CS_REAL(cudnnBackendGetAttribute, device, name, CUDNN_TYPE_CHAR, 0, &length, NULL) !=
            CUDNN_STATUS_SUCCESS ||
        length <= 0)
        return NULL;
    char *text = calloc((size_t)length + 1, 1);
    if (text && CS_REAL(cudnnBackendGetAttribute, device, name, CUDNN_TYPE_CHAR, length, &length,
                        text) == CUDNN_STATUS_SUCCESS)
        return text;
    free(text);
    return NULL;
}

static char *capture_by_handle(void)
{
    void *library = dlopen(cs_standalone_file(), RTLD_NOW | RTLD_NOLOAD);
    __typeof__(cudnnCreate) *create =
        library ? (__typeof__(cudnnCreate) *)dlsym(library, "cudnnCreate") : NULL;
    cudnnHandle_t handle;
    char *text = NULL;
    if (create && create(&handle) == CUDNN_STATUS_SUCCESS) {
        cudnnBackendDescriptor_t device =
            describe(CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, &handle);
        text = device ? text_of(device) : NULL;
        if (device)
            CS_REAL(cudnnBackendDestroyDescriptor, device);
        CS_REAL(cudnnDestroy, handle);
    }
    if (library)
        dlclose(library);
    return text;
}

static char *capture_by_number(void)
{
    const int32_t first = 0;
    cudnnBackendDescriptor_t device =
        describe(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, &first);
    char *text = device ? text_of(device) : NULL;
    if (device)
        CS_REAL(cudnnBackendDestroyDescriptor, device);
    return text;
}

/* Bits of the memory bus. 0 without a driver or a device. */
static int bus_width(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver)
        return 0;
    __typeof__(cuInit) *init = (__typeof__(cuInit) *)dlsym(driver, "cuInit");
    __typeof__(cuDeviceGet) *get = (__typeof__(cuDeviceGet) *)dlsym(driver, "cuDeviceGet");
    __typeof__(cuDeviceGetAttribute) *ask =
        (__typeof__(cuDeviceGetAttribute) *)dlsym(driver, "cuDeviceGetAttribute");
    CUdevice device;
    int bits = 0;
    if (!init || !get || !ask || init(0) != CUDA_SUCCESS || get(&device, 0) != CUDA_SUCCESS ||
        ask(&bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, device) != CUDA_SUCCESS)
        return 0;
    return bits;
}

bool cs_standalone_capture(char **json_p, int *bus_width_p, char *error, size_t size)
{
    char *text = capture_by_number();
    if (!text)
        text = capture_by_handle();
    if (!text) {
        snprintf(error, size,
                 "%s returned no description of a GPU. Check that a GPU and its driver are "
                 "installed: nvidia-smi",
                 cs_standalone_file());
        return false;
    }
    *bus_width_p = bus_width();
    *json_p = text;
    return true;
}
