/* Functions and structures in the form of CUDA 12 that CUDA 13 has removed or changed. Compiled for
 * libcudart.so.12, together with all the other files. */
#include "cudart_internal.h"
#include <string.h>

/* As in CUDA 12's driver_types.h; CUDA 13 dropped some and added others. */
struct cuda12_pointer_attributes {
    enum cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};

struct cuda12_device_prop {
    char name[256];
    cudaUUID_t uuid;
    char luid[8];
    unsigned luidDeviceNodeMask;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment, texturePitchAlignment;
    int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated;
    int canMapHostMemory, computeMode;
    int textures[40]; /* largest extents of textures and surfaces, which are not simulated */
    size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver;
    int asyncEngineCount, unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize;
    int persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported;
    int globalL1CacheSupported, localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID;
    int hostNativeAtomicSupported, singleToDoublePrecisionPerfRatio, pageableMemoryAccess;
    int concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem;
    int cooperativeLaunch, cooperativeMultiDeviceLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch;
    int unifiedFunctionPointers, reserved[63];
};
_Static_assert(sizeof(struct cuda12_pointer_attributes) == 24 &&
                   sizeof(struct cuda12_device_prop) == 1032 &&
                   offsetof(struct cuda12_device_prop, surfaceAlignment) == 568 &&
                   offsetof(struct cuda12_device_prop, clusterLaunch) == 772,
               "the sizes of CUDA 12's structures");

cudaError_t simdev_12_PointerGetAttributes(struct cuda12_pointer_attributes *attributes,
                                           const void *ptr) __asm__("cudaPointerGetAttributes");
cudaError_t cudaGetDeviceProperties_v2(struct cuda12_device_prop *prop, int device);

cudaError_t simdev_12_PointerGetAttributes(struct cuda12_pointer_attributes *attributes,
                                           const void *ptr)
{
    struct cudaPointerAttributes newer;
    const cudaError_t error = cudaPointerGetAttributes(attributes ? &newer : NULL, ptr);
    if (error == cudaSuccess && attributes)
        *attributes = (struct cuda12_pointer_attributes){.type = newer.type,
                                                         .device = newer.device,
                                                         .devicePointer = newer.devicePointer,
                                                         .hostPointer = newer.hostPointer};
    return error;
}

static int attribute(enum cudaDeviceAttr name, int device)
{
    int value = 0;
    (void)cudaDeviceGetAttribute(&value, name, device);
    return value;
}

cudaError_t cudaGetDeviceProperties_v2(struct cuda12_device_prop *prop, int device)
{
    struct cudaDeviceProp newer;
    const cudaError_t error = cudaGetDeviceProperties(prop ? &newer : NULL, device);
    if (error != cudaSuccess || !prop)
        return error;
    memset(prop, 0, sizeof(*prop));
    memcpy(prop->name, newer.name, sizeof(prop->name));
    prop->uuid = newer.uuid;
    prop->totalGlobalMem = newer.totalGlobalMem;
    memcpy(prop->maxThreadsDim, newer.maxThreadsDim, sizeof(prop->maxThreadsDim));
    memcpy(prop->maxGridSize, newer.maxGridSize, sizeof(prop->maxGridSize));
    prop->deviceOverlap = 1;
    prop->clockRate = attribute(cudaDevAttrClockRate, device);
    prop->memoryClockRate = attribute(cudaDevAttrMemoryClockRate, device);
    prop->singleToDoublePrecisionPerfRatio =
        attribute(cudaDevAttrSingleToDoublePrecisionPerfRatio, device);
#define PROPERTY(name, member, value) prop->member = newer.member;
#define ATTRIBUTE(name, value)
#include "device_properties.def"
    return cudaSuccess;
}

/* A function of CUDA 12 with the name `exported`, by one of CUDA 13. The header renames some names
 * and declares them as in CUDA 13, so each has another name here. */
#define OLD(function, exported, parameters, call)                                                  \
    cudaError_t function parameters __asm__(exported);                                             \
    cudaError_t function parameters                                                                \
    {                                                                                              \
        return call;                                                                               \
    }

/* --- forms without edge data --- */

OLD(simdev_12_capture_info, "cudaStreamGetCaptureInfo",
    (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id),
    cudaStreamGetCaptureInfo(stream, status, id, NULL, NULL, NULL, NULL))
OLD(simdev_12_capture_info_v2, "cudaStreamGetCaptureInfo_v2",
    (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
     cudaGraph_t *graph, const cudaGraphNode_t **nodes, size_t *count),
    cudaStreamGetCaptureInfo(stream, status, id, graph, nodes, NULL, count))
OLD(simdev_12_update, "cudaStreamUpdateCaptureDependencies",
    (cudaStream_t stream, cudaGraphNode_t *nodes, size_t count, unsigned flags),
    cudaStreamUpdateCaptureDependencies(stream, nodes, NULL, count, flags))
OLD(simdev_12_add_dependencies, "cudaGraphAddDependencies",
    (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t count),
    cudaGraphAddDependencies(graph, from, to, NULL, count))
OLD(simdev_12_add_node, "cudaGraphAddNode",
    (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
     struct cudaGraphNodeParams *params),
    cudaGraphAddNode(node, graph, dependencies, NULL, count, params))
OLD(simdev_12_edges, "cudaGraphGetEdges",
    (cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count),
    cudaGraphGetEdges(graph, from, to, NULL, count))
OLD(simdev_12_dependencies, "cudaGraphNodeGetDependencies",
    (cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count),
    cudaGraphNodeGetDependencies(node, nodes, NULL, count))
OLD(simdev_12_dependents, "cudaGraphNodeGetDependentNodes",
    (cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count),
    cudaGraphNodeGetDependentNodes(node, nodes, NULL, count))
OLD(simdev_12_elapsed, "cudaEventElapsedTime_v2", (float *ms, cudaEvent_t start, cudaEvent_t end),
    cudaEventElapsedTime(ms, start, end))

/* --- forms with a device number --- */

/* The host's number is -1. */
static struct cudaMemLocation location_of(int device)
{
    return (struct cudaMemLocation){.type = device < 0 ? cudaMemLocationTypeHost
                                                       : cudaMemLocationTypeDevice,
                                    .id = device < 0 ? 0 : device};
}

OLD(simdev_12_advise, "cudaMemAdvise",
    (const void *memory, size_t bytes, enum cudaMemoryAdvise advice, int device),
    cudaMemAdvise(memory, bytes, advice, location_of(device)))
OLD(simdev_12_prefetch, "cudaMemPrefetchAsync",
    (const void *memory, size_t bytes, int device, cudaStream_t stream),
    cudaMemPrefetchAsync(memory, bytes, location_of(device), 0, stream))
