/* libnvidia-ml.so.1: what frameworks ask of the management library, answered from the simulated
 * device. It comes with the driver, so there is no installed one whose names could be read. */
#include "standin.h"

#include <string.h>

enum {
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    DEVICES = 16
};

struct memory {
    unsigned long long total, free, used;
};

static char device[DEVICES]; /* their addresses are the handles */

STANDIN_EXPORT int nvmlInit_v2(void)
{
    return 0;
}

STANDIN_EXPORT int nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    return 0;
}

STANDIN_EXPORT int nvmlShutdown(void)
{
    return 0;
}

STANDIN_EXPORT const char *nvmlErrorString(int error)
{
    return error == 0 ? "success" : "an error of a stand-in of the simulated device";
}

STANDIN_EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
    int devices;
    if (!count || cudaGetDeviceCount(&devices) != cudaSuccess)
        return INVALID_ARGUMENT;
    *count = (unsigned)devices;
    return 0;
}

STANDIN_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle)
{
    unsigned count;
    if (!handle || nvmlDeviceGetCount_v2(&count) != 0 || index >= count || index >= DEVICES)
        return INVALID_ARGUMENT;
    *handle = &device[index];
    return 0;
}

STANDIN_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **handle)
{
    int found;
    if (!bus || !handle)
        return INVALID_ARGUMENT;
    if (cudaDeviceGetByPCIBusId(&found, bus) != cudaSuccess)
        return NOT_FOUND;
    return nvmlDeviceGetHandleByIndex_v2((unsigned)found, handle);
}

static int ordinal_of(const void *handle)
{
    for (int i = 0; i < DEVICES; i++)
        if (handle == &device[i])
            return i;
    return -1;
}

STANDIN_EXPORT int nvmlDeviceGetName(const void *handle, char *name, unsigned length)
{
    struct cudaDeviceProp properties;
    if (!name || length == 0 ||
        cudaGetDeviceProperties(&properties, ordinal_of(handle)) != cudaSuccess)
        return INVALID_ARGUMENT;
    strncpy(name, properties.name, length - 1);
    name[length - 1] = '\0';
    return 0;
}

/* What processes use is not simulated beyond this one; as for every figure, no context counts. */
STANDIN_EXPORT int nvmlDeviceGetMemoryInfo(const void *handle, struct memory *memory)
{
    size_t free_bytes, total;
    int current;
    const int wanted = ordinal_of(handle);
    if (!memory || wanted < 0 || cudaGetDevice(&current) != cudaSuccess ||
        cudaSetDevice(wanted) != cudaSuccess)
        return INVALID_ARGUMENT;
    const cudaError_t error = cudaMemGetInfo(&free_bytes, &total);
    if (cudaSetDevice(current) != cudaSuccess || error != cudaSuccess)
        return INVALID_ARGUMENT;
    *memory = (struct memory){total, free_bytes, total - free_bytes};
    return 0;
}

STANDIN_EXPORT int nvmlDeviceGetGpuFabricInfoV(const void *handle, void *info)
{
    (void)handle;
    (void)info;
    return NOT_SUPPORTED;
}

/* ---- what is asked in preparation only, and not to be had: links between devices, processes ----
 */

STANDIN_EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    return version && cudaDriverGetVersion(version) == cudaSuccess ? 0 : INVALID_ARGUMENT;
}

STANDIN_EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(const void *handle, unsigned link, int *type)
{
    (void)handle, (void)link, (void)type;
    return NOT_SUPPORTED;
}

STANDIN_EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(const void *handle, unsigned link,
                                                       void *info)
{
    (void)handle, (void)link, (void)info;
    return NOT_SUPPORTED;
}

STANDIN_EXPORT int nvmlDeviceGetComputeRunningProcesses(const void *handle, unsigned *count,
                                                        void *processes)
{
    (void)handle, (void)processes;
    if (!count)
        return INVALID_ARGUMENT;
    *count = 0;
    return 0;
}

STANDIN_EXPORT int nvmlDeviceGetP2PStatus(const void *handle, const void *peer, int index,
                                          int *status)
{
    (void)handle, (void)peer, (void)index, (void)status;
    return NOT_SUPPORTED;
}

STANDIN_EXPORT int nvmlDeviceGetUUID(const void *handle, char *text, unsigned length)
{
    (void)handle, (void)text, (void)length;
    return NOT_SUPPORTED;
}

STANDIN_EXPORT int nvmlDeviceGetHandleByUUID(const char *text, void **handle)
{
    (void)text, (void)handle;
    return NOT_FOUND;
}
