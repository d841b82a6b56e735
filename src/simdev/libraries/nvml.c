/* libnvidia-ml.so.1: the management functions that frameworks use, for the simulated device. The
 * real one belongs to the driver, so there is no installed library to read names from. */
#include "standin.h"

#include <stdio.h>
#include <string.h>

enum {
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    DEVICES = 16
};

struct memory {
    unsigned long long total, free, used;
};

/* Of cudart_internal.h. */
void simdev_manage(bool begins);

static bool end_managing(cudaError_t error)
{
    simdev_manage(false);
    return error == cudaSuccess;
}

/* True if the call succeeds. NVML does not initialize CUDA. */
#define MANAGED(call) (simdev_manage(true), end_managing(call))

static char device[DEVICES]; /* their addresses are the handles */

/* A function that only returns a status, and another name of a function. */
#define RETURNS(name, status)                                                                      \
    STANDIN_EXPORT int name(void)                                                                  \
    {                                                                                              \
        return status;                                                                             \
    }
#define ALSO(name, function)                                                                       \
    STANDIN_EXPORT __typeof__(function) name __attribute__((alias(#function)));

RETURNS(nvmlInit_v2, 0)
RETURNS(nvmlInitWithFlags, 0)
RETURNS(nvmlShutdown, 0)

STANDIN_EXPORT const char *nvmlErrorString(int error)
{
    return error == 0 ? "success" : "error of a simulated library";
}

STANDIN_EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
    int devices;
    if (!count || !MANAGED(cudaGetDeviceCount(&devices)))
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
    if (!MANAGED(cudaDeviceGetByPCIBusId(&found, bus)))
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
    if (!name || length == 0 || !MANAGED(cudaGetDeviceProperties(&properties, ordinal_of(handle))))
        return INVALID_ARGUMENT;
    strncpy(name, properties.name, length - 1);
    name[length - 1] = '\0';
    return 0;
}

/* Only the memory of this process is simulated. As in every figure, contexts do not count. */
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

/* ---- versions ---- */

STANDIN_EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    return version && MANAGED(cudaDriverGetVersion(version)) ? 0 : INVALID_ARGUMENT;
}

ALSO(nvmlSystemGetCudaDriverVersion, nvmlSystemGetCudaDriverVersion_v2)

static int write_text(const char *text, char *to, unsigned length)
{
    if (strlen(text) >= length)
        return INSUFFICIENT_SIZE;
    strcpy(to, text);
    return 0;
}

/* The version of the driver branch that was released with the profile's CUDA version. */
STANDIN_EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned length)
{
    static const struct {
        int cuda, driver;
    } known[] = {{13000, 580}, {12090, 575}, {12080, 570}, {12060, 560}, {12050, 555}, {12040, 550},
                 {12030, 545}, {12020, 535}, {12010, 530}, {12000, 525}, {0, 450}};
    char made[32];
    int cuda;
    size_t i = 0;
    if (!text || !MANAGED(cudaDriverGetVersion(&cuda)))
        return INVALID_ARGUMENT;
    while (known[i].cuda > cuda)
        i++;
    snprintf(made, sizeof made, "%d.00", known[i].driver);
    return write_text(made, text, length);
}

/* The CUDA version and the driver's, in NVML's format. */
STANDIN_EXPORT int nvmlSystemGetNVMLVersion(char *text, unsigned length)
{
    char made[64], driver[32];
    int cuda;
    if (!text || !MANAGED(cudaDriverGetVersion(&cuda)) ||
        nvmlSystemGetDriverVersion(driver, sizeof driver) != 0)
        return INVALID_ARGUMENT;
    snprintf(made, sizeof made, "%d.%s", cuda / 1000, driver);
    return write_text(made, text, length);
}

STANDIN_EXPORT int nvmlDeviceGetCudaComputeCapability(const void *handle, int *major, int *minor)
{
    struct cudaDeviceProp properties;
    if (!major || !minor || !MANAGED(cudaGetDeviceProperties(&properties, ordinal_of(handle))))
        return INVALID_ARGUMENT;
    *major = properties.major;
    *minor = properties.minor;
    return 0;
}

/* The beginning of nvmlGpuFabricInfoV_t, alike in all its versions. */
struct fabric {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state; /* 0: no fabric */
};

/* Hopper and later answer; PyTorch warns if they do not. */
STANDIN_EXPORT int nvmlDeviceGetGpuFabricInfoV(const void *handle, struct fabric *fabric)
{
    int major, minor;
    if (!fabric || nvmlDeviceGetCudaComputeCapability(handle, &major, &minor) != 0)
        return INVALID_ARGUMENT;
    if (major < 9)
        return NOT_SUPPORTED;
    *fabric = (struct fabric){.version = fabric->version};
    return 0;
}

/* ---- the PCIe link, which is not in the profile: as on most GPUs of the architecture, generation
 * 3 up to Turing, 4 up to Ada, then 5, and 16 lanes, idle ---- */

STANDIN_EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(const void *handle, unsigned *generation)
{
    int major, minor;
    if (!generation || nvmlDeviceGetCudaComputeCapability(handle, &major, &minor) != 0)
        return INVALID_ARGUMENT;
    *generation = major < 8 ? 3 : major < 9 ? 4 : 5;
    return 0;
}

ALSO(nvmlDeviceGetGpuMaxPcieLinkGeneration, nvmlDeviceGetMaxPcieLinkGeneration)

ALSO(nvmlDeviceGetCurrPcieLinkGeneration, nvmlDeviceGetMaxPcieLinkGeneration)

STANDIN_EXPORT int nvmlDeviceGetMaxPcieLinkWidth(const void *handle, unsigned *lanes)
{
    if (!lanes || ordinal_of(handle) < 0)
        return INVALID_ARGUMENT;
    *lanes = 16;
    return 0;
}

ALSO(nvmlDeviceGetCurrPcieLinkWidth, nvmlDeviceGetMaxPcieLinkWidth)

/* NVML's constants for speeds equal the generation: 1 for 2500 MBit/s and so on. */
ALSO(nvmlDeviceGetPcieLinkMaxSpeed, nvmlDeviceGetMaxPcieLinkGeneration)

/* Of a lane, in MBit/s. */
STANDIN_EXPORT int nvmlDeviceGetPcieSpeed(const void *handle, unsigned *speed)
{
    unsigned generation;
    if (!speed || nvmlDeviceGetMaxPcieLinkGeneration(handle, &generation) != 0)
        return INVALID_ARGUMENT;
    *speed = 1000u << generation;
    return 0;
}

STANDIN_EXPORT int nvmlDeviceGetPcieThroughput(const void *handle, int counter, unsigned *speed)
{
    (void)counter;
    if (!speed || ordinal_of(handle) < 0)
        return INVALID_ARGUMENT;
    *speed = 0;
    return 0;
}

/* ---- links between devices, and processes: queried only during start-up, not simulated ---- */

RETURNS(nvmlDeviceGetNvLinkState, NOT_SUPPORTED)
RETURNS(nvmlDeviceGetNvLinkCapability, NOT_SUPPORTED)
RETURNS(nvmlDeviceGetNvLinkRemoteDeviceType, NOT_SUPPORTED)
RETURNS(nvmlDeviceGetNvLinkRemotePciInfo_v2, NOT_SUPPORTED)
RETURNS(nvmlDeviceGetP2PStatus, NOT_SUPPORTED)
RETURNS(nvmlDeviceGetUUID, NOT_SUPPORTED)
RETURNS(nvmlDeviceGetHandleByUUID, NOT_FOUND)

STANDIN_EXPORT int nvmlDeviceGetComputeRunningProcesses(const void *handle, unsigned *count,
                                                        void *processes)
{
    (void)handle, (void)processes;
    if (!count)
        return INVALID_ARGUMENT;
    *count = 0;
    return 0;
}
