/* The functions of forwards.def: the runtime does the work for the driver. */
#include "cuda_driver.h"

/* Defines versions by their numbers, because the meaning of a plain name depends on the header. */
#undef cuCtxGetDevice
#undef cuDevicePrimaryCtxRelease
#undef cuEventElapsedTime
#undef cuGraphAddDependencies
#undef cuGraphGetEdges
#undef cuGraphNodeGetDependencies
#undef cuGraphNodeGetDependentNodes
#undef cuStreamBeginCapture
#undef cuStreamGetCaptureInfo
#undef cuStreamUpdateCaptureDependencies

#define SAME(driver, runtime) ((int)(driver) == (int)(runtime))
#define SAME_SIZE(driver, runtime) (sizeof(driver) == sizeof(runtime))

_Static_assert(SAME(CU_STREAM_NON_BLOCKING, cudaStreamNonBlocking) &&
                   SAME(CU_EVENT_DISABLE_TIMING, cudaEventDisableTiming) &&
                   SAME(CU_EVENT_BLOCKING_SYNC, cudaEventBlockingSync) &&
                   SAME(CU_STREAM_CAPTURE_MODE_RELAXED, cudaStreamCaptureModeRelaxed) &&
                   SAME(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, cudaStreamCaptureModeThreadLocal) &&
                   SAME(CU_STREAM_CAPTURE_STATUS_ACTIVE, cudaStreamCaptureStatusActive) &&
                   SAME(CU_STREAM_CAPTURE_STATUS_INVALIDATED, cudaStreamCaptureStatusInvalidated) &&
                   SAME(CU_GRAPH_NODE_TYPE_KERNEL, cudaGraphNodeTypeKernel) &&
                   SAME(CU_GRAPH_NODE_TYPE_GRAPH, cudaGraphNodeTypeGraph) &&
                   SAME(CU_GRAPH_NODE_TYPE_EMPTY, cudaGraphNodeTypeEmpty) &&
                   SAME(CU_GRAPH_NODE_TYPE_MEM_FREE, cudaGraphNodeTypeMemFree) &&
                   SAME(CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED,
                        cudaGraphExecUpdateErrorNotSupported) &&
                   SAME(CU_MEMPOOL_ATTR_USED_MEM_HIGH, cudaMemPoolAttrUsedMemHigh) &&
                   SAME(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, cudaMemAccessFlagsProtReadWrite) &&
                   SAME(CU_MEM_LOCATION_TYPE_DEVICE, cudaMemLocationTypeDevice) &&
                   SAME(CUDA_ERROR_INVALID_CONTEXT, cudaErrorDeviceUninitialized) &&
                   SAME(CUDA_ERROR_CONTEXT_IS_DESTROYED, cudaErrorContextIsDestroyed),
               "the runtime's numbers are the driver's");
_Static_assert(SAME_SIZE(CUgraphEdgeData, cudaGraphEdgeData) &&
                   SAME_SIZE(CUgraphExecUpdateResultInfo, cudaGraphExecUpdateResultInfo) &&
                   SAME_SIZE(CUDA_MEM_ALLOC_NODE_PARAMS, struct cudaMemAllocNodeParams) &&
                   SAME_SIZE(CUDA_MEMSET_NODE_PARAMS, struct cudaMemsetParams) &&
                   SAME_SIZE(CUDA_HOST_NODE_PARAMS, struct cudaHostNodeParams) &&
                   SAME_SIZE(CUmemPoolProps, struct cudaMemPoolProps) &&
                   SAME_SIZE(CUmemAccessDesc, struct cudaMemAccessDesc) &&
                   SAME_SIZE(CUmemLocation, struct cudaMemLocation) &&
                   SAME_SIZE(cuuint64_t, unsigned long long),
               "the runtime's layouts are the driver's");

#define AS(type, argument) ((type)(uintptr_t)(argument))
#define FORWARD(function, parameters, call)                                                        \
    CUresult function parameters;                                                                  \
    CUresult function parameters                                                                   \
    {                                                                                              \
        return CUDA_DRIVER_CALL(call);                                                             \
    }
#include "forwards.def"
