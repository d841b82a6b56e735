/* The driver's streams, events, memory and captures (CUDA Driver API, Stream Management, Event
 * Management, Memory Management). */
#include "cuda_driver.h"

/* The versions that CUDA 13's header does not declare. */
#undef cuStreamGetCaptureInfo
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end);
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies, size_t *count);

/* Both use the same numbers. */
_Static_assert((int)CU_STREAM_NON_BLOCKING == (int)cudaStreamNonBlocking &&
                   (int)CU_EVENT_DISABLE_TIMING == (int)cudaEventDisableTiming &&
                   (int)CU_EVENT_BLOCKING_SYNC == (int)cudaEventBlockingSync &&
                   (int)CU_STREAM_CAPTURE_MODE_RELAXED == (int)cudaStreamCaptureModeRelaxed &&
                   (int)CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ==
                       (int)cudaStreamCaptureModeThreadLocal &&
                   (int)CUDA_ERROR_INVALID_CONTEXT == (int)cudaErrorDeviceUninitialized &&
                   (int)CUDA_ERROR_CONTEXT_IS_DESTROYED == (int)cudaErrorContextIsDestroyed &&
                   sizeof(CUgraphEdgeData) == sizeof(cudaGraphEdgeData),
               "the runtime's numbers are the driver's");

/* --- streams --- */

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    return CUDA_DRIVER_CALL(cudaStreamCreateWithFlags(stream, flags));
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    return CUDA_DRIVER_CALL(cudaStreamCreateWithPriority(stream, flags, priority));
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    return CUDA_DRIVER_CALL(cudaStreamDestroy(stream));
}

CUresult cuStreamGetPriority(CUstream stream, int *priority)
{
    return CUDA_DRIVER_CALL(cudaStreamGetPriority(stream, priority));
}

CUresult cuStreamGetFlags(CUstream stream, unsigned *flags)
{
    return CUDA_DRIVER_CALL(cudaStreamGetFlags(stream, flags));
}

CUresult cuStreamGetId(CUstream stream, unsigned long long *id)
{
    return CUDA_DRIVER_CALL(cudaStreamGetId(stream, id));
}

CUresult cuStreamQuery(CUstream stream)
{
    return CUDA_DRIVER_CALL(cudaStreamQuery(stream));
}

CUresult cuStreamSynchronize(CUstream stream)
{
    return CUDA_DRIVER_CALL(cudaStreamSynchronize(stream));
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    return CUDA_DRIVER_CALL(cudaStreamWaitEvent(stream, event, flags));
}

/* --- captures --- */

static CUstreamCaptureStatus status_of(enum cudaStreamCaptureStatus status)
{
    switch (status) {
    case cudaStreamCaptureStatusActive:
        return CU_STREAM_CAPTURE_STATUS_ACTIVE;
    case cudaStreamCaptureStatusInvalidated:
        return CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    default:
        return CU_STREAM_CAPTURE_STATUS_NONE;
    }
}

static cudaError_t capture_info(CUstream stream, CUstreamCaptureStatus *out, cuuint64_t *id,
                                CUgraph *graph, const CUgraphNode **dependencies,
                                const CUgraphEdgeData **edges, size_t *count)
{
    unsigned long long found = 0;
    const cudaGraphEdgeData *edge = NULL;
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaError_t error = cudaStreamGetCaptureInfo(stream, out ? &status : NULL, &found, graph,
                                                 dependencies, edges ? &edge : NULL, count);
    if (error != cudaSuccess || !out)
        return error;
    *out = status_of(status);
    if (status == cudaStreamCaptureStatusActive && id)
        *id = found;
    if (status == cudaStreamCaptureStatusActive && edges)
        *edges = (const CUgraphEdgeData *)(const void *)edge;
    return cudaSuccess;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies, size_t *count)
{
    return CUDA_DRIVER_CALL(capture_info(stream, status, id, graph, dependencies, NULL, count));
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies,
                                   const CUgraphEdgeData **edges, size_t *count)
{
    return CUDA_DRIVER_CALL(capture_info(stream, status, id, graph, dependencies, edges, count));
}

static cudaError_t is_capturing(CUstream stream, CUstreamCaptureStatus *out)
{
    enum cudaStreamCaptureStatus status;
    cudaError_t error = cudaStreamIsCapturing(stream, out ? &status : NULL);
    if (error == cudaSuccess && out)
        *out = status_of(status);
    return error;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    return CUDA_DRIVER_CALL(is_capturing(stream, status));
}

static cudaError_t exchange_mode(CUstreamCaptureMode *mode)
{
    enum cudaStreamCaptureMode own = mode ? (enum cudaStreamCaptureMode) * mode : 0;
    cudaError_t error = cudaThreadExchangeStreamCaptureMode(mode ? &own : NULL);
    if (error == cudaSuccess && mode)
        *mode = (CUstreamCaptureMode)own;
    return error;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    return CUDA_DRIVER_CALL(exchange_mode(mode));
}

CUresult cuUserObjectCreate(CUuserObject *object, void *data, CUhostFn destroy, unsigned refs,
                            unsigned flags)
{
    return CUDA_DRIVER_CALL(cudaUserObjectCreate(object, data, destroy, refs, flags));
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned count)
{
    return CUDA_DRIVER_CALL(cudaUserObjectRetain(object, count));
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned count)
{
    return CUDA_DRIVER_CALL(cudaUserObjectRelease(object, count));
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count, unsigned flags)
{
    return CUDA_DRIVER_CALL(cudaGraphRetainUserObject(graph, object, count, flags));
}

/* --- events --- */

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    return CUDA_DRIVER_CALL(cudaEventCreateWithFlags(event, flags));
}

CUresult cuEventDestroy_v2(CUevent event)
{
    return CUDA_DRIVER_CALL(cudaEventDestroy(event));
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    return CUDA_DRIVER_CALL(cudaEventRecord(event, stream));
}

CUresult cuEventQuery(CUevent event)
{
    return CUDA_DRIVER_CALL(cudaEventQuery(event));
}

CUresult cuEventSynchronize(CUevent event)
{
    return CUDA_DRIVER_CALL(cudaEventSynchronize(event));
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    return CUDA_DRIVER_CALL(cudaEventElapsedTime(ms, start, end));
}

CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
    return CUDA_DRIVER_CALL(cudaEventElapsedTime(ms, start, end));
}

/* --- memory: unlike the runtime, the driver refuses 0 bytes and a null address --- */

static cudaError_t allocate_memory(CUdeviceptr *out, size_t bytes)
{
    void *memory = NULL;
    cudaError_t error = cudaMalloc(out && bytes > 0 ? &memory : NULL, bytes);
    if (error == cudaSuccess && out)
        *out = (CUdeviceptr)(uintptr_t)memory;
    return error;
}

CUresult cuMemAlloc_v2(CUdeviceptr *memory, size_t bytes)
{
    return CUDA_DRIVER_CALL(allocate_memory(memory, bytes));
}

static cudaError_t release_memory(CUdeviceptr memory)
{
    cudaError_t error = cudaFree((void *)(uintptr_t)memory);
    return error == cudaSuccess && memory == 0 ? cudaErrorInvalidValue : error;
}

CUresult cuMemFree_v2(CUdeviceptr memory)
{
    return CUDA_DRIVER_CALL(release_memory(memory));
}

CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char value, size_t bytes, CUstream stream)
{
    return CUDA_DRIVER_CALL(cudaMemsetAsync((void *)(uintptr_t)memory, value, bytes, stream));
}
