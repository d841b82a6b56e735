/* Opens the driver, the first GPU and cuDNN for `convshim verify`. */
#include "cudnn/standalone/open_gpu.h"

#include "cudnn/plan/device_profile.h"
#include "cudnn/standalone/standalone.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct cs_trial_session cs_trial_session;

void cs_gpu_error(CUresult result, const char *call, char *error, size_t size)
{
    snprintf(error, size, "%s: %s (CUDA error %d)", call,
             result == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "failed", (int)result);
}

/* Loads the driver and fills the table of its functions. False, with a line in `error`, if one is
 * missing. */
static bool bind_driver(char *error, size_t size)
{
    struct cs_gpu_calls *calls = &cs_trial_session.calls;
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
    cs_trial_session.simulated = dlsym(driver, "simdev_context_get") != NULL;
    return true;
}

/* Makes the first GPU's context current. False, with a line in `error`, if there is no usable GPU.
 */
static bool find_device(char *error, size_t size)
{
    CUdevice *device = &cs_trial_session.device;
    CUcontext context;
    int count = 0;
    CUresult result = CS_GPU(cuInit, 0);
    if (result != CUDA_SUCCESS || CS_GPU(cuDeviceGetCount, &count) != CUDA_SUCCESS || count == 0) {
        snprintf(error, size, "the NVIDIA driver lists no GPU (cuInit: error %d)", (int)result);
        return false;
    }
    result = CS_GPU(cuDeviceGet, device, 0);
    if (result == CUDA_SUCCESS)
        result = CS_GPU(cuDevicePrimaryCtxRetain, &context, *device);
    if (result == CUDA_SUCCESS)
        result = CS_GPU(cuCtxSetCurrent, context);
    if (result != CUDA_SUCCESS)
        cs_gpu_error(result, "the first GPU cannot be used: cuDevicePrimaryCtxRetain", error, size);
    return result == CUDA_SUCCESS;
}

/* Describes the GPU. Values that the driver does not report stay 0 or "". */
static void describe_gpu(struct cs_trial_gpu *gpu)
{
    size_t available = 0, total = 0;
    *gpu = (struct cs_trial_gpu){.simulated = cs_trial_session.simulated};
    (void)CS_GPU(cuDeviceGetName, gpu->name, (int)sizeof gpu->name - 1, cs_trial_session.device);
    (void)CS_GPU(cuDriverGetVersion, &gpu->driver);
    (void)CS_GPU(cuMemGetInfo_v2, &available, &total);
    gpu->memory = (int64_t)total;
    gpu->free = (int64_t)available;
}

bool cs_trial_find_gpu(struct cs_trial_gpu *gpu, char *error, size_t size)
{
    if (!bind_driver(error, size) || !find_device(error, size))
        return false;
    describe_gpu(gpu);
    return true;
}

/* --- cuDNN --- */

/* Finds a function of the cuDNN that cs_standalone_open has opened, or NULL. */
static void *find_call(const char *name)
{
    void *library = dlopen(cs_standalone_file(), RTLD_NOW | RTLD_NOLOAD);
    void *call = library ? dlsym(library, name) : NULL;
    if (library)
        dlclose(library);
    return call;
}

/* Writes why cuDNN could not make a handle: a driver that is too old, or cuDNN's status. */
static void explain_create(cudnnStatus_t status, char *error, size_t size)
{
    __typeof__(cudnnGetCudartVersion) *cudart =
        (__typeof__(cudnnGetCudartVersion) *)find_call("cudnnGetCudartVersion");
    int driver = 0, needed = cudart ? (int)(cudart() / 1000) : 0;
    if (CS_GPU(cuDriverGetVersion, &driver) == CUDA_SUCCESS && driver / 1000 < needed)
        snprintf(error, size,
                 "the NVIDIA driver supports CUDA %d.%d, but this cuDNN %zu needs CUDA %d. Update "
                 "the driver, or name a cuDNN for CUDA %d: --cudnn PATH",
                 driver / 1000, driver % 1000 / 10, cs_standalone_version(), needed, driver / 1000);
    else
        snprintf(error, size, "cudnnCreate: cuDNN returned status %d", (int)status);
}

bool cs_trial_open(char *error, size_t size)
{
    struct cs_trial_session *session = &cs_trial_session;
    __typeof__(cudnnCreate) *create = (__typeof__(cudnnCreate) *)find_call("cudnnCreate");
    cudnnStatus_t status = create ? create(&session->handle) : CUDNN_STATUS_NOT_SUPPORTED;
    if (status != CUDNN_STATUS_SUCCESS) {
        explain_create(status, error, size);
        return false;
    }
    CUresult result = CS_GPU(cuStreamCreate, &session->stream, CU_STREAM_NON_BLOCKING);
    if (result != CUDA_SUCCESS) {
        cs_gpu_error(result, "cuStreamCreate", error, size);
        return false;
    }
    status = CS_REAL(cudnnSetStream, session->handle, session->stream);
    if (status != CUDNN_STATUS_SUCCESS)
        snprintf(error, size, "cudnnSetStream: status %d", (int)status);
    return status == CUDNN_STATUS_SUCCESS;
}

char *cs_trial_summary(void)
{
    size_t (*summary)(char *, size_t) =
        (size_t(*)(char *, size_t))dlsym(RTLD_DEFAULT, "convshim_summary");
    size_t size = summary ? summary(NULL, 0) : 0;
    char *json = size > 0 ? malloc(size + 1) : NULL;
    if (json && summary(json, size + 1) <= size)
        return json;
    free(json);
    return NULL;
}

/* --- the profile --- */

/* Reads cuDNN's JSON of a device that one attribute names. False if cuDNN refuses. */
static bool read_profile(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                         const void *value, char text[CS_DEVICE_JSON])
{
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    cudnnBackendDescriptor_t device =
        cs_descriptor_make(&builder, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    cs_descriptor_set(&builder, device, name, type, 1, value);
    cs_descriptor_finalize(&builder, device);
    bool read = builder.status == CUDNN_STATUS_SUCCESS && cs_device_profile_json(device, text) > 0;
    cs_descriptor_builder_clear(&builder);
    return read;
}

char *cs_trial_profile(int *bus_width_p)
{
    const int32_t first = 0;
    char text[CS_DEVICE_JSON];
    if (CS_GPU(cuDeviceGetAttribute, bus_width_p, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH,
               cs_trial_session.device) != CUDA_SUCCESS)
        *bus_width_p = 0;
    bool read = read_profile(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, &first, text) ||
                read_profile(CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE,
                             &cs_trial_session.handle, text);
    return read ? strdup(text) : NULL;
}
