/* The effect of captures on every other call: which work becomes a node, and which calls are
 * refused (CUDA C++ Programming Guide, CUDA Graphs, Prohibited and Unhandled Operations). */
#include "cudart_capture.h"
#include <stdlib.h>
#include <string.h>

static _Thread_local enum cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && (!mode || *mode > cudaStreamCaptureModeRelaxed))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        enum cudaStreamCaptureMode old = thread_mode;
        thread_mode = *mode;
        *mode = old;
    }
    return simdev_leave(error);
}

static struct simdev_capture *find_id(unsigned long long id)
{
    struct simdev_capture *c = simdev_captures;
    while (c && c->id != id)
        c = c->next;
    return c;
}

static cudaError_t capture_node(struct simdev_capture *capture, struct simdev_member *member,
                                const struct simdev_node_parts *parts)
{
    cudaGraphNode_t node;
    cudaGraphNode_t *only = malloc(sizeof(cudaGraphNode_t));
    if (!only)
        return cudaErrorMemoryAllocation;
    cudaError_t error =
        simdev_graph_add_node(capture->graph, member->node, member->nodes, parts, &node);
    if (error != cudaSuccess) {
        free(only);
        return error;
    }
    free(member->node);
    *only = node;
    member->node = only;
    member->nodes = 1;
    return cudaSuccess;
}

bool simdev_is_capturing(cudaStream_t handle)
{
    struct simdev_stream_info stream;
    struct simdev_member *member;
    if (atomic_load(&simdev_capture_count) == 0)
        return false;
    simdev_graph_lock();
    const bool capturing = simdev_queue_describe(handle, &stream) == cudaSuccess &&
                           simdev_capture_find(&stream, &member);
    simdev_graph_unlock();
    return capturing;
}

static cudaError_t submit_work(cudaStream_t handle, const struct simdev_work *work, bool *captured)
{
    struct simdev_stream_info stream;
    struct simdev_capture *capture;
    struct simdev_member *member;
    struct simdev_node_parts parts = {.type = work->type};
    cudaError_t error = simdev_capture_look_up(handle, &stream, &capture, &member);
    *captured = capture != NULL;
    if (error != cudaSuccess || !capture)
        return error;
    parts.item = simdev_item_create(work);
    if (!parts.item)
        return cudaErrorMemoryAllocation;
    error = capture_node(capture, member, &parts);
    if (error != cudaSuccess)
        simdev_item_abandon(parts.item);
    return error;
}

cudaError_t simdev_capture_submit(cudaStream_t stream, const struct simdev_work *work,
                                  struct simdev_op **op)
{
    bool captured = false;
    cudaError_t error = cudaSuccess;
    if (op)
        *op = NULL;
    if (atomic_load(&simdev_capture_count) > 0) {
        simdev_graph_lock();
        error = submit_work(stream, work, &captured);
        simdev_graph_unlock();
    }
    return error != cudaSuccess || captured ? error : simdev_queue_work(stream, work, op);
}

cudaError_t simdev_capture_refuse(cudaStream_t handle)
{
    struct simdev_stream_info stream;
    struct simdev_capture *capture;
    struct simdev_member *member;
    if (atomic_load(&simdev_capture_count) == 0)
        return cudaSuccess;
    simdev_graph_lock();
    cudaError_t error = simdev_capture_look_up(handle, &stream, &capture, &member);
    if (error == cudaSuccess && capture)
        error = simdev_capture_invalidate(capture, cudaErrorStreamCaptureUnsupported);
    simdev_graph_unlock();
    return error;
}

cudaError_t simdev_capture_refuse_device(uint64_t context)
{
    cudaError_t error = cudaSuccess;
    simdev_graph_lock();
    for (struct simdev_capture *c = simdev_captures; c; c = c->next) {
        if (simdev_capture_has_member(c, context))
            error = simdev_capture_invalidate(c, cudaErrorStreamCaptureUnsupported);
    }
    simdev_graph_unlock();
    return error;
}

/* True if the calling thread must not disturb the capture. */
static bool is_protected(const struct simdev_capture *capture)
{
    if (thread_mode == cudaStreamCaptureModeRelaxed ||
        capture->mode == cudaStreamCaptureModeRelaxed)
        return false;
    return pthread_equal(capture->thread, pthread_self()) ||
           (thread_mode == cudaStreamCaptureModeGlobal &&
            capture->mode == cudaStreamCaptureModeGlobal);
}

cudaError_t simdev_capture_refuse_unsafe(void)
{
    cudaError_t error = cudaSuccess;
    if (atomic_load(&simdev_capture_count) == 0)
        return cudaSuccess;
    simdev_graph_lock();
    for (struct simdev_capture *c = simdev_captures; c; c = c->next) {
        if (is_protected(c))
            error = simdev_capture_invalidate(c, cudaErrorStreamCaptureUnsupported);
    }
    simdev_graph_unlock();
    return error;
}

static cudaError_t mark_place(const struct simdev_capture *capture,
                              const struct simdev_member *member, struct simdev_mark *mark)
{
    cudaGraphNode_t *nodes = malloc((member->nodes + 1) * sizeof(cudaGraphNode_t));
    if (!nodes)
        return cudaErrorMemoryAllocation;
    if (member->nodes > 0)
        memcpy(nodes, member->node, member->nodes * sizeof(cudaGraphNode_t));
    *mark = (struct simdev_mark){.capture = capture->id, .node = nodes, .nodes = member->nodes};
    return cudaSuccess;
}

cudaError_t simdev_capture_mark(cudaStream_t handle, struct simdev_mark *mark)
{
    struct simdev_stream_info stream;
    struct simdev_capture *capture;
    struct simdev_member *member;
    *mark = (struct simdev_mark){.capture = 0};
    if (atomic_load(&simdev_capture_count) == 0)
        return cudaSuccess;
    simdev_graph_lock();
    cudaError_t error = simdev_capture_look_up(handle, &stream, &capture, &member);
    if (error == cudaSuccess && capture)
        error = mark_place(capture, member, mark);
    simdev_graph_unlock();
    return error;
}

/* The event was recorded in a capture. */
static cudaError_t wait_for_mark(const struct simdev_stream_info *stream,
                                 struct simdev_capture *mine, struct simdev_member *member,
                                 const struct simdev_mark *mark)
{
    struct simdev_capture *theirs = find_id(mark->capture);
    if (!theirs)
        return mine ? simdev_capture_invalidate(mine, cudaErrorStreamCaptureIsolation)
                    : cudaErrorCapturedEvent;
    if (theirs->is_invalid)
        return cudaErrorStreamCaptureInvalidated;
    if (mine && mine != theirs) {
        theirs->is_invalid = true;
        return simdev_capture_invalidate(mine, cudaErrorStreamCaptureMerge);
    }
    if (stream->is_legacy)
        return simdev_capture_invalidate(theirs, cudaErrorStreamCaptureImplicit);
    if (!mine && !(member = simdev_capture_join(theirs, stream)))
        return cudaErrorMemoryAllocation;
    return simdev_member_add(member, mark->node, mark->nodes) ? cudaSuccess
                                                              : cudaErrorMemoryAllocation;
}

/* An event that was never recorded blocks nothing, also in a capture. */
cudaError_t simdev_capture_wait(cudaStream_t handle, const struct simdev_mark *mark, bool recorded,
                                bool *captured)
{
    struct simdev_stream_info stream;
    struct simdev_capture *capture;
    struct simdev_member *member = NULL;
    *captured = false;
    if (atomic_load(&simdev_capture_count) == 0 && !mark->capture)
        return cudaSuccess;
    simdev_graph_lock();
    cudaError_t error = simdev_capture_look_up(handle, &stream, &capture, &member);
    *captured = capture || mark->capture;
    if (error == cudaSuccess && mark->capture)
        error = wait_for_mark(&stream, capture, member, mark);
    else if (error == cudaSuccess && capture && recorded)
        error = simdev_capture_invalidate(capture, cudaErrorStreamCaptureIsolation);
    simdev_graph_unlock();
    return error;
}

cudaError_t simdev_capture_refuse_mark(const struct simdev_mark *mark)
{
    if (!mark->capture)
        return cudaSuccess;
    simdev_graph_lock();
    struct simdev_capture *capture = find_id(mark->capture);
    if (capture)
        capture->is_invalid = true;
    simdev_graph_unlock();
    return cudaErrorCapturedEvent;
}
