/* cudaStream* (CUDA Runtime API, Stream Management): thin wrappers of the queue. */
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

static cudaError_t create_stream(const char *function, cudaStream_t *stream, unsigned flags,
                                 int priority)
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
    return create_stream(__func__, stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return create_stream(__func__, stream, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    return create_stream(__func__, stream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = simdev_capture_refuse(stream);
    if (error == cudaSuccess)
        error = simdev_queue_destroy(stream);
    return simdev_leave(error);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = simdev_capture_refuse(stream);
    if (error == cudaSuccess)
        error = simdev_queue_wait(stream);
    if (error == cudaSuccess) {
        simdev_pool_synchronised();
        error = simdev_faulted();
    }
    return simdev_leave(error);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = simdev_capture_refuse(stream);
    if (error == cudaSuccess)
        error = simdev_capture_refuse_unsafe();
    if (error == cudaSuccess)
        error = simdev_queue_query(stream);
    return simdev_leave(error);
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
    struct simdev_stream_info info = {.id = 0};
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !flags)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simdev_queue_describe(stream, &info);
    if (error == cudaSuccess)
        *flags = info.flags;
    return simdev_leave(error);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    struct simdev_stream_info info = {.id = 0};
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !priority)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simdev_queue_describe(stream, &info);
    if (error == cudaSuccess)
        *priority = info.priority;
    return simdev_leave(error);
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
    struct simdev_stream_info info = {.id = 0};
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !id)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simdev_queue_describe(stream, &info);
    if (error == cudaSuccess)
        *id = info.id;
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

struct host_call {
    cudaHostFn_t function;
    void *data;
};

static void run_host_call(void *arg)
{
    const struct host_call *call = arg;
    call->function(call->data);
}

static cudaError_t make_host_work(cudaHostFn_t function, void *data, struct simdev_work *work)
{
    if (!function)
        return cudaErrorInvalidValue;
    struct host_call *call = malloc(sizeof(*call));
    if (!call)
        return cudaErrorMemoryAllocation;
    *call = (struct host_call){.function = function, .data = data};
    *work = (struct simdev_work){
        .type = cudaGraphNodeTypeHost, .run = run_host_call, .release = free, .arg = call};
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    struct simdev_work work = {.arg = NULL};
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = make_host_work(function, data, &work);
    if (error == cudaSuccess)
        error = simdev_capture_submit(stream, &work, NULL);
    if (error != cudaSuccess)
        free(work.arg);
    return simdev_leave(error);
}

struct callback {
    cudaStreamCallback_t function;
    cudaStream_t stream;
    void *data;
};

static void run_callback(void *arg)
{
    const struct callback *call = arg;
    call->function(call->stream, simdev_faulted(), call->data);
}

/* The older function, which cannot be captured. */
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void *data,
                                  unsigned flags)
{
    struct callback *call = NULL;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && (!function || flags != 0))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simdev_capture_refuse(stream);
    if (error == cudaSuccess && !(call = malloc(sizeof(*call))))
        error = cudaErrorMemoryAllocation;
    if (error != cudaSuccess)
        return simdev_leave(error);
    *call = (struct callback){.function = function, .stream = stream, .data = data};
    const struct simdev_work work = {
        .type = cudaGraphNodeTypeHost, .run = run_callback, .release = free, .arg = call};
    error = simdev_queue_work(stream, &work, NULL);
    if (error != cudaSuccess)
        free(call);
    return simdev_leave(error);
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                 const cudaGraphNode_t *dependencies, size_t count,
                                 const struct cudaHostNodeParams *params)
{
    struct simdev_work work = {.arg = NULL};
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error =
            params ? make_host_work(params->fn, params->userData, &work) : cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simdev_graph_add_work(node, graph, dependencies, count, &work);
    if (error != cudaSuccess)
        free(work.arg);
    return simdev_leave(error);
}
