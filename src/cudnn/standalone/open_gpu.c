/* Opens the driver and the first GPU for `convshim verify`. */
#include "cudnn/standalone/trial_gpu.h"

#include "cudnn/standalone/standalone.h"
#include <dlfcn.h>
#include <stdlib.h>

void cs_gpu_error(CUresult result, const char *call, char *error, size_t size)
{
    snprintf(error, size, "%s: %s (CUDA error %d)", call,
             result == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "failed", (int)result);
}

static bool bind_driver(struct cs_trial *trial, char *error, size_t size)
{
    struct cs_gpu_calls *calls = &trial->calls;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver) {
        snprintf(error, size, "no NVIDIA driver: %s", dlerror());
        return false;
    }
#define CS_GPU_CALL(name, parameters)                                                              \
    calls->name = (CUresult(*) parameters)dlsym(driver, #name);                                    \
    if (!calls->name) {                                                                            \
        snprintf(error, size, "the NVIDIA driver lacks " #name);                                   \
        return false;                                                                              \
    }
#include "cudnn/standalone/gpu_calls.def"
#undef CS_GPU_CALL
    trial->simulated = dlsym(driver, "simdev_context_get") != NULL;
    return true;
}

/* Opens the first GPU. False, with a line in `error`, on a machine without one. */
static bool find_device(struct cs_trial *trial, char *error, size_t size)
{
    int count = 0;
    CUresult result = trial->calls.cuInit(0);
    if (result != CUDA_SUCCESS || trial->calls.cuDeviceGetCount(&count) != CUDA_SUCCESS ||
        count == 0) {
        snprintf(error, size, "the NVIDIA driver lists no GPU (cuInit: error %d)", (int)result);
        return false;
    }
    result = trial->calls.cuDeviceGet(&trial->device, 0);
    if (result == CUDA_SUCCESS)
        result = trial->calls.cuDevicePrimaryCtxRetain(&trial->context, trial->device);
    if (result == CUDA_SUCCESS)
        result = trial->calls.cuCtxSetCurrent(trial->context);
    if (result != CUDA_SUCCESS)
        cs_gpu_error(result, "the first GPU cannot be used: cuDevicePrimaryCtxRetain", error, size);
    return result == CUDA_SUCCESS;
}

static void describe_gpu(const struct cs_trial *trial, struct cs_trial_gpu *gpu)
{
    size_t available = 0, total = 0;
    *gpu = (struct cs_trial_gpu){.simulated = trial->simulated};
    if (trial->calls.cuDeviceGetName(gpu->name, (int)sizeof gpu->name - 1, trial->device) !=
        CUDA_SUCCESS)
        gpu->name[0] = '\0';
    if (trial->calls.cuDriverGetVersion(&gpu->driver) != CUDA_SUCCESS)
        gpu->driver = 0;
    if (trial->calls.cuMemGetInfo_v2(&available, &total) == CUDA_SUCCESS) {
        gpu->memory = (int64_t)total;
        gpu->free = (int64_t)available;
    }
}

bool cs_trial_find_gpu(struct cs_trial **trial_p, struct cs_trial_gpu *gpu, char *error,
                       size_t size)
{
    struct cs_trial *trial = calloc(1, sizeof *trial);
    if (!trial)
        snprintf(error, size, "out of memory");
    if (!trial || !bind_driver(trial, error, size) || !find_device(trial, error, size)) {
        cs_trial_close(trial);
        return false;
    }
    describe_gpu(trial, gpu);
    *trial_p = trial;
    return true;
}

/* Binds functions of the cuDNN that cs_standalone_open has opened. */
static bool bind_cudnn(struct cs_cudnn_calls *calls)
{
    void *library = dlopen(cs_standalone_file(), RTLD_NOW | RTLD_NOLOAD);
    bool good = library != NULL;
#define CS_CALL(name)                                                                              \
    calls->name = library ? (__typeof__(name) *)dlsym(library, #name) : NULL;                      \
    good = good && calls->name;
#include "cudnn/standalone/cudnn_calls.def"
#undef CS_CALL
    if (library)
        dlclose(library);
    return good;
}

static void explain_create(const struct cs_trial *trial, cudnnStatus_t status, char *error,
                           size_t size)
{
    int driver = 0, needed = (int)trial->cudnn.cudnnGetCudartVersion();
    if (trial->calls.cuDriverGetVersion(&driver) == CUDA_SUCCESS && driver / 1000 < needed / 1000)
        snprintf(error, size,
                 "the NVIDIA driver supports CUDA %d.%d, but this cuDNN %zu needs CUDA %d. Update "
                 "the driver, or name a cuDNN for CUDA %d: --cudnn PATH",
                 driver / 1000, driver % 1000 / 10, cs_standalone_version(), needed / 1000,
                 driver / 1000);
    else
        snprintf(error, size, "cudnnCreate: cuDNN returned status %d", (int)status);
}

bool cs_trial_open(struct cs_trial *trial, char *error, size_t size)
{
    if (!bind_cudnn(&trial->cudnn)) {
        snprintf(error, size, "%s lacks cudnnCreate", cs_standalone_file());
        return false;
    }
    cudnnStatus_t status = trial->cudnn.cudnnCreate(&trial->handle);
    if (status != CUDNN_STATUS_SUCCESS) {
        trial->handle = NULL;
        explain_create(trial, status, error, size);
        return false;
    }
    CUresult result = trial->calls.cuStreamCreate(&trial->stream, CU_STREAM_NON_BLOCKING);
    if (result != CUDA_SUCCESS) {
        trial->stream = NULL;
        cs_gpu_error(result, "cuStreamCreate", error, size);
        return false;
    }
    status = CS_REAL(cudnnSetStream, trial->handle, trial->stream);
    if (status != CUDNN_STATUS_SUCCESS)
        snprintf(error, size, "cudnnSetStream: status %d", (int)status);
    trial->summary = (size_t(*)(char *, size_t))dlsym(RTLD_DEFAULT, "convshim_summary");
    return status == CUDNN_STATUS_SUCCESS;
}

void cs_trial_close(struct cs_trial *trial)
{
    if (!trial)
        return;
    if (trial->handle)
        (void)CS_REAL(cudnnDestroy, trial->handle);
    if (trial->stream)
        (void)trial->calls.cuStreamDestroy_v2(trial->stream);
    if (trial->context)
        (void)trial->calls.cuDevicePrimaryCtxRelease_v2(trial->device);
    free(trial);
}

char *cs_trial_summary(const struct cs_trial *trial)
{
    size_t size = trial->summary ? trial->summary(NULL, 0) : 0;
    char *json = size > 0 ? malloc(size + 1) : NULL;
    if (json && trial->summary(json, size + 1) <= size)
        return json;
    free(json);
    return NULL;
}

/* --- the profile --- */

/* A finalized descriptor of a device named by one attribute. NULL if cuDNN refuses. */
static cudnnBackendDescriptor_t describe_device(cudnnBackendAttributeName_t name,
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

/* The JSON of such a descriptor, or NULL. The caller frees it. */
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

static char *capture_profile(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                             const void *value)
{
    cudnnBackendDescriptor_t device = describe_device(name, type, value);
    char *text = device ? text_of(device) : NULL;
    if (device)
        CS_REAL(cudnnBackendDestroyDescriptor, device);
    return text;
}

bool cs_trial_profile(const struct cs_trial *trial, char **json_p, int *bus_width_p)
{
    const int32_t first = 0;
    char *text = capture_profile(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, &first);
    if (!text)
        text = capture_profile(CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, &trial->handle);
    if (!text)
        return false;
    if (trial->calls.cuDeviceGetAttribute(bus_width_p, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH,
                                          trial->device) != CUDA_SUCCESS)
        *bus_width_p = 0;
    *json_p = text;
    return true;
}
