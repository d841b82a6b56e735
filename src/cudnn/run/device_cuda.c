/* Streams, events, memory and stream capture through the CUDA driver API. Implements struct
 * cs_device. */
#include "cudnn/run/launcher.h"

#include "cudnn/bind/driver.h"
#include "cudnn/bind/real.h"
#include <stdlib.h>

/* Converts an error of the driver to a status of cuDNN, which applications expect. */
static int status_of(CUresult result)
{
    switch (result) {
    case CUDA_SUCCESS:
        return CUDNN_STATUS_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY:
        return CUDNN_STATUS_ALLOC_FAILED;
    default:
        return CUDNN_STATUS_EXECUTION_FAILED;
    }
}

/* The number of an id of the driver. Numbers begin at 1, because 0 means that there is no context
 * or capture. */
static uint64_t number_of(unsigned long long id)
{
    return id == UINT64_MAX ? 0 : id + 1;
}

/* The number of the current context. 0 without a context, or if the driver does not number
 * contexts. A driver that does has all the other functions. */
static uint64_t context(void *ctx)
{
    CUcontext current = NULL;
    unsigned long long id = UINT64_MAX;
    (void)ctx;
    if (CS_CU(cuCtxGetCurrent, &current) != CUDA_SUCCESS || !current)
        return 0;
    return CS_CU(cuCtxGetId, current, &id) == CUDA_SUCCESS ? number_of(id) : 0;
}

static void *handle(void *ctx)
{
    CUcontext current = NULL;
    (void)ctx;
    (void)CS_CU(cuCtxGetCurrent, &current);
    return current;
}

/* True if the context of a handle still has that number. After a reset the handle of a primary
 * context has another number. Other errors of the driver, such as a kernel's fault, do not mean
 * that the context has ended. */
static bool lives(void *ctx, void *opaque, uint64_t context)
{
    unsigned long long id = UINT64_MAX;
    (void)ctx;
    CUresult result = CS_CU(cuCtxGetId, opaque, &id);
    if (result == CUDA_SUCCESS)
        return number_of(id) == context;
    return result != CUDA_ERROR_INVALID_CONTEXT && result != CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static uint64_t stream_id(void *ctx, void *stream)
{
    unsigned long long id;
    (void)ctx;
    return CS_CU(cuStreamGetId, stream, &id) == CUDA_SUCCESS ? number_of(id) : 0;
}

static int capture(void *ctx, void *stream, struct cs_capture *found)
{
    CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    CUgraph graph = NULL;
    (void)ctx;
    *found = (struct cs_capture){0, NULL};
    /* A driver without this function does not number contexts either, so calls get no side streams
     * and no scratch of the library, and captures do not matter. */
    if (!cs_driver()->cuStreamGetCaptureInfo_v2)
        return CUDNN_STATUS_SUCCESS;
    CUresult result = CS_CU(cuStreamGetCaptureInfo_v2, stream, &state, &id, &graph, NULL, NULL);
    if (result != CUDA_SUCCESS)
        return status_of(result);
    if (state == CU_STREAM_CAPTURE_STATUS_ACTIVE)
        *found = (struct cs_capture){number_of(id), graph};
    return state == CU_STREAM_CAPTURE_STATUS_INVALIDATED ? CUDNN_STATUS_EXECUTION_FAILED
                                                         : CUDNN_STATUS_SUCCESS;
}

/* Sets the capture mode of this thread and returns the previous one. In relaxed mode this thread
 * may make calls that strict captures forbid, in this thread or another one. These calls do not
 * become part of a graph. */
static CUstreamCaptureMode swap_mode(CUstreamCaptureMode mode)
{
    (void)CS_CU(cuThreadExchangeStreamCaptureMode, &mode);
    return mode;
}

static bool confined(void *ctx, void *stream)
{
    void *green = NULL;
    (void)ctx;
    return CS_CU(cuStreamGetGreenCtx, stream, &green) == CUDA_SUCCESS && green;
}

static int stream_create(void *ctx, void *like, void **stream_p)
{
    CUstream stream = NULL;
    int priority = 0;
    (void)ctx;
    CUstreamCaptureMode before = swap_mode(CU_STREAM_CAPTURE_MODE_RELAXED);
    if (CS_CU(cuStreamGetPriority, like, &priority) != CUDA_SUCCESS)
        priority = 0;
    CUresult result = CS_CU(cuStreamCreateWithPriority, &stream, CU_STREAM_NON_BLOCKING, priority);
    (void)swap_mode(before);
    if (result == CUDA_SUCCESS)
        *stream_p = stream;
    return status_of(result);
}

static void stream_destroy(void *ctx, void *stream)
{
    (void)ctx;
    (void)CS_CU(cuStreamDestroy_v2, stream);
}

static int event_create(void *ctx, void **event_p)
{
    CUevent event = NULL;
    (void)ctx;
    CUstreamCaptureMode before = swap_mode(CU_STREAM_CAPTURE_MODE_RELAXED);
    CUresult result = CS_CU(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
    (void)swap_mode(before);
    if (result == CUDA_SUCCESS)
        *event_p = event;
    return status_of(result);
}

static void event_destroy(void *ctx, void *event)
{
    (void)ctx;
    (void)CS_CU(cuEventDestroy_v2, event);
}

static int record(void *ctx, void *event, void *stream)
{
    (void)ctx;
    return status_of(CS_CU(cuEventRecord, event, stream));
}

static int wait(void *ctx, void *stream, void *event)
{
    (void)ctx;
    return status_of(CS_CU(cuStreamWaitEvent, stream, event, 0));
}

static bool done(void *ctx, void *event)
{
    (void)ctx;
    CUstreamCaptureMode before = swap_mode(CU_STREAM_CAPTURE_MODE_RELAXED);
    CUresult result = CS_CU(cuEventQuery, event);
    (void)swap_mode(before);
    return result == CUDA_SUCCESS;
}

static int allocate(void *ctx, int64_t bytes, void **memory_p)
{
    CUdeviceptr memory = 0;
    (void)ctx;
    CUstreamCaptureMode before = swap_mode(CU_STREAM_CAPTURE_MODE_RELAXED);
    CUresult result = CS_CU(cuMemAlloc_v2, &memory, (size_t)bytes);
    (void)swap_mode(before);
    if (result == CUDA_SUCCESS)
        *memory_p = (void *)(uintptr_t)memory;
    return status_of(result);
}

static void release(void *ctx, void *memory)
{
    (void)ctx;
    CUstreamCaptureMode before = swap_mode(CU_STREAM_CAPTURE_MODE_RELAXED);
    (void)CS_CU(cuMemFree_v2, (CUdeviceptr)(uintptr_t)memory);
    (void)swap_mode(before);
}

/* A callback for the end of a graph, owned by the graph. */
struct keepsake {
    void (*gone)(void *arg); /* NULL: no callback */
    void *arg;
};

static void CUDA_CB report_gone(void *opaque)
{
    struct keepsake *keepsake = opaque;
    if (keepsake->gone)
        keepsake->gone(keepsake->arg);
    free(keepsake);
}

/* Makes the graph own a callback, which the driver calls when the graph ends. If that fails, the
 * callback is never called. */
static int keep(void *ctx, void *graph, void (*gone)(void *arg), void *arg)
{
    CUuserObject object;
    struct keepsake *keepsake = malloc(sizeof *keepsake);
    (void)ctx;
    if (!keepsake)
        return CUDNN_STATUS_ALLOC_FAILED;
    *keepsake = (struct keepsake){gone, arg};
    CUresult result = CS_CU(cuUserObjectCreate, &object, keepsake, report_gone, 1,
                            CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (result != CUDA_SUCCESS) {
        free(keepsake);
        return status_of(result);
    }
    result = CS_CU(cuGraphRetainUserObject, graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (result != CUDA_SUCCESS) {
        keepsake->gone = NULL;
        (void)CS_CU(cuUserObjectRelease, object, 1);
    }
    return status_of(result);
}

const struct cs_device cs_device_cuda = {
    .context = context,
    .handle = handle,
    .lives = lives,
    .stream_id = stream_id,
    .capture = capture,
    .confined = confined,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .record = record,
    .wait = wait,
    .done = done,
    .allocate = allocate,
    .free = release,
    .keep = keep,
};
