/* cudaStream*: thin over the queue. No stream is ever capturing. */
#include "cudart_internal.h"
#include <stdlib.h>

enum {
    LEAST_PRIORITY = 0,
    GREATEST_PRIORITY = -5
};

static int clamp_priority(int priority)
{
    if (priority > LEAST_PRIORITY)
        return LEAST_PRIORITY;
    return priority < GREATEST_PRIORITY ? GREATEST_PRIORITY : priority;
}

static cudaError_t create(const char *function, cudaStream_t *stream, unsigned flags, int priority)
{
    cudaError_t error = simdev_enter(function);
    if (error == cudaSuccess && (!stream || (flags & ~(unsigned)cudaStreamNonBlocking)))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simdev_queue_create(flags, clamp_priority(priority), stream);
    return simdev_leave(error);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return create(__func__, stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return create(__func__, stream, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    return create(__func__, stream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = simdev_queue_destroy(stream);
    return simdev_leave(error);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = simdev_queue_wait(stream);
    if (error == cudaSuccess)
        error = simdev_faulted();
    return simdev_leave(error);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = simdev_queue_query(stream);
    return simdev_leave(error);
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
    int priority;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !flags)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simdev_queue_describe(stream, flags, &priority);
    return simdev_leave(error);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    unsigned flags;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !priority)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simdev_queue_describe(stream, &flags, priority);
    return simdev_leave(error);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && least)
        *least = LEAST_PRIORITY;
    if (error == cudaSuccess && greatest)
        *greatest = GREATEST_PRIORITY;
    return simdev_leave(error);
}

/* Says of a stream that exists that it is not capturing. */
static cudaError_t not_capturing(const char *function, cudaStream_t stream,
                                 enum cudaStreamCaptureStatus *status)
{
    unsigned flags;
    int priority;
    cudaError_t error = simdev_enter(function);
    if (error == cudaSuccess && !status)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simdev_queue_describe(stream, &flags, &priority);
    if (error == cudaSuccess)
        *status = cudaStreamCaptureStatusNone;
    return simdev_leave(error);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    return not_capturing(__func__, stream, status);
}

/* The other results are only set for a stream that is capturing. */
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph,
                                     const cudaGraphNode_t **dependencies,
                                     const cudaGraphEdgeData **edges, size_t *dependency_count)
{
    (void)id;
    (void)graph;
    (void)dependencies;
    (void)edges;
    (void)dependency_count;
    return not_capturing(__func__, stream, status);
}

struct host_call {
    cudaHostFn_t function;
    void *data;
};

static void run_host_call(void *arg)
{
    const struct host_call call = *(struct host_call *)arg;
    free(arg);
    call.function(call.data);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    struct host_call *call = NULL;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !function)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && !(call = malloc(sizeof(*call))))
        error = cudaErrorMemoryAllocation;
    if (error == cudaSuccess) {
        *call = (struct host_call){.function = function, .data = data};
        const struct simdev_task task = {.run = run_host_call, .arg = call, .host_function = true};
        error = simdev_queue_submit(stream, &task, NULL);
    }
    if (error != cudaSuccess)
        free(call);
    return simdev_leave(error);
}
