/* Stream capture: streams whose work becomes nodes of a graph. Begin, query, end. (CUDA Runtime
 * API, Stream Management; CUDA C++ Programming Guide, CUDA Graphs.) */
#include "cudart_capture.h"
#include <stdlib.h>
#include <string.h>

struct simdev_capture *simdev_captures;
atomic_uint simdev_capture_count;
static unsigned long long next_id = 1; /* under the graph lock */

struct simdev_capture *simdev_capture_find(const struct simdev_stream_info *stream,
                                           struct simdev_member **member)
{
    for (struct simdev_capture *c = simdev_captures; c; c = c->next) {
        for (*member = c->members; *member; *member = (*member)->next) {
            if ((*member)->stream == stream->id)
                return c;
        }
    }
    return NULL;
}

cudaError_t simdev_capture_invalidate(struct simdev_capture *capture, cudaError_t error)
{
    capture->is_invalid = true;
    return error;
}

static bool has_blocking_member(const struct simdev_capture *capture, uint64_t context)
{
    const struct simdev_member *m = capture->members;
    while (m && (!m->is_blocking || m->context != context))
        m = m->next;
    return m != NULL;
}

/* cudaErrorStreamCaptureImplicit for the legacy stream while a blocking stream is captured, because
 * it cannot be used at all then. */
static cudaError_t refuse_legacy_stream(const struct simdev_stream_info *stream, bool invalidates)
{
    cudaError_t error = cudaSuccess;
    for (struct simdev_capture *c = simdev_captures; c && stream->is_legacy; c = c->next) {
        if (!has_blocking_member(c, stream->owner.context))
            continue;
        error = cudaErrorStreamCaptureImplicit;
        c->is_invalid |= invalidates;
    }
    return error;
}

cudaError_t simdev_capture_look_up(cudaStream_t handle, struct simdev_stream_info *stream,
                                   struct simdev_capture **capture, struct simdev_member **member)
{
    cudaError_t error = simdev_queue_describe(handle, stream);
    *capture = NULL;
    if (error == cudaSuccess)
        error = refuse_legacy_stream(stream, true);
    if (error == cudaSuccess)
        *capture = simdev_capture_find(stream, member);
    if (*capture && (*capture)->is_invalid)
        error = cudaErrorStreamCaptureInvalidated;
    return error;
}

static bool contains_node(const cudaGraphNode_t *nodes, size_t count, cudaGraphNode_t node)
{
    for (size_t i = 0; i < count; i++) {
        if (nodes[i] == node)
            return true;
    }
    return false;
}

/* `nodes` may be the member's array, which cudaStreamGetCaptureInfo returns. */
bool simdev_member_add(struct simdev_member *member, const cudaGraphNode_t *nodes, size_t count)
{
    size_t total = member->nodes;
    cudaGraphNode_t *all = malloc((total + count + 1) * sizeof(cudaGraphNode_t));
    if (!all)
        return false;
    if (total > 0)
        memcpy(all, member->node, total * sizeof(cudaGraphNode_t));
    for (size_t i = 0; i < count; i++) {
        if (!contains_node(all, total, nodes[i]))
            all[total++] = nodes[i];
    }
    free(member->node);
    member->node = all;
    member->nodes = total;
    return true;
}

struct simdev_member *simdev_capture_join(struct simdev_capture *capture,
                                          const struct simdev_stream_info *stream)
{
    struct simdev_member *member = calloc(1, sizeof(*member));
    if (member) {
        member->stream = stream->id;
        member->context = stream->owner.context;
        member->is_blocking = !(stream->flags & cudaStreamNonBlocking);
        member->next = capture->members;
        capture->members = member;
    }
    return member;
}

/* Removes all streams from the capture and destroys it. The graph stays. */
static void end_capture(struct simdev_capture *capture)
{
    struct simdev_capture **link = &simdev_captures;
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    atomic_fetch_sub(&simdev_capture_count, 1);
    capture->graph->is_capturing = false;
    while (capture->members) {
        struct simdev_member *member = capture->members;
        capture->members = member->next;
        free(member->node);
        free(member->edge);
        free(member);
    }
    free(capture);
}

static const struct simdev_member *origin_of(const struct simdev_capture *capture)
{
    const struct simdev_member *member = capture->members;
    while (member->next)
        member = member->next;
    return member;
}

/* Marks in `index` the nodes and all their ancestors. `index` is 0 in the whole graph before. */
static bool mark_ancestors(cudaGraph_t graph, const cudaGraphNode_t *nodes, size_t count)
{
    size_t depth = 0;
    cudaGraphNode_t *stack = malloc((graph->nodes + 1) * sizeof(cudaGraphNode_t));
    if (!stack)
        return false;
    for (size_t i = 0; i < count; i++) {
        nodes[i]->index = 1;
        stack[depth++] = nodes[i];
    }
    while (depth > 0) {
        const cudaGraphNode_t node = stack[--depth];
        for (size_t i = 0; i < node->dependencies; i++) {
            if (node->dependency[i]->index == 0) {
                node->dependency[i]->index = 1;
                stack[depth++] = node->dependency[i];
            }
        }
    }
    free(stack);
    return true;
}

/* True if the stream that began the capture is ordered after the work of all streams that joined.
 */
static cudaError_t check_joined(const struct simdev_capture *capture)
{
    const struct simdev_member *origin = origin_of(capture);
    for (cudaGraphNode_t node = capture->graph->first; node; node = node->next)
        node->index = 0;
    if (!mark_ancestors(capture->graph, origin->node, origin->nodes))
        return cudaErrorMemoryAllocation;
    for (const struct simdev_member *m = capture->members; m != origin; m = m->next) {
        for (size_t i = 0; i < m->nodes; i++) {
            if (m->node[i]->index == 0)
                return cudaErrorStreamCaptureUnjoined;
        }
    }
    return cudaSuccess;
}

bool simdev_capture_has_member(const struct simdev_capture *capture, uint64_t context)
{
    const struct simdev_member *m = capture->members;
    while (m && m->context != context)
        m = m->next;
    return m != NULL;
}

void simdev_capture_reset(uint64_t context)
{
    simdev_graph_lock();
    for (struct simdev_capture *c = simdev_captures, *next; c; c = next) {
        next = c->next;
        if (!simdev_capture_has_member(c, context))
            continue;
        cudaGraph_t lost = c->owns_graph ? c->graph : NULL;
        end_capture(c);
        simdev_graph_destroy(lost);
    }
    simdev_graph_unlock();
}

/* --- the calls --- */

/* `graph` NULL: the capture creates a graph. */
static cudaError_t begin_capture(const struct simdev_stream_info *stream, cudaGraph_t graph,
                                 const cudaGraphNode_t *dependencies, size_t count,
                                 enum cudaStreamCaptureMode mode)
{
    struct simdev_capture *capture = calloc(1, sizeof(*capture));
    if (!capture)
        return cudaErrorMemoryAllocation;
    capture->owns_graph = !graph;
    capture->graph = graph ? graph : simdev_graph_create();
    if (!capture->graph)
        goto release;
    struct simdev_member *member = simdev_capture_join(capture, stream);
    if (!member || !simdev_member_add(member, dependencies, count))
        goto destroy;
    capture->id = next_id++;
    capture->mode = mode;
    capture->thread = pthread_self();
    capture->graph->is_capturing = true;
    capture->next = simdev_captures;
    simdev_captures = capture;
    atomic_fetch_add(&simdev_capture_count, 1);
    return cudaSuccess;

destroy:
    free(capture->members);
    if (capture->owns_graph)
        simdev_graph_destroy(capture->graph);
release:
    free(capture);
    return cudaErrorMemoryAllocation;
}

static cudaError_t check_begin(const struct simdev_stream_info *stream,
                               enum cudaStreamCaptureMode mode)
{
    struct simdev_member *member;
    if (mode > cudaStreamCaptureModeRelaxed)
        return cudaErrorInvalidValue;
    if (stream->is_legacy)
        return cudaErrorStreamCaptureUnsupported;
    return simdev_capture_find(stream, &member) ? cudaErrorIllegalState : cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, enum cudaStreamCaptureMode mode)
{
    struct simdev_stream_info stream;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = simdev_queue_describe(handle, &stream);
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    error = check_begin(&stream, mode);
    if (error == cudaSuccess)
        error = begin_capture(&stream, NULL, NULL, 0, mode);
    simdev_graph_unlock();
    return simdev_leave(error);
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t handle, cudaGraph_t graph,
                                          const cudaGraphNode_t *dependencies,
                                          const cudaGraphEdgeData *edges, size_t count,
                                          enum cudaStreamCaptureMode mode)
{
    struct simdev_stream_info stream;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = simdev_queue_describe(handle, &stream);
    if (error == cudaSuccess && !simdev_graph_plain_edges(edges, count))
        error = cudaErrorNotSupported;
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    error = check_begin(&stream, mode);
    if (error == cudaSuccess && (!simdev_graph_known(graph) || graph->is_capturing ||
                                 !simdev_graph_has(graph, dependencies, count)))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = begin_capture(&stream, graph, dependencies, count, mode);
    simdev_graph_unlock();
    return simdev_leave(error);
}

/* The reason why the capture yields no graph. An error that does not end the capture has
 * invalidated it. */
static cudaError_t check_end(struct simdev_capture *capture, const struct simdev_member *member,
                             bool *ends)
{
    *ends = false;
    if (member != origin_of(capture))
        return simdev_capture_invalidate(capture, cudaErrorStreamCaptureUnmatched);
    if (capture->mode != cudaStreamCaptureModeRelaxed &&
        !pthread_equal(capture->thread, pthread_self()))
        return simdev_capture_invalidate(capture, cudaErrorStreamCaptureWrongThread);
    *ends = true;
    return capture->is_invalid ? cudaErrorStreamCaptureInvalidated : check_joined(capture);
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *graph)
{
    struct simdev_stream_info stream;
    struct simdev_member *member;
    bool ends = false;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !graph)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simdev_queue_describe(handle, &stream);
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    struct simdev_capture *capture = simdev_capture_find(&stream, &member);
    error = capture ? check_end(capture, member, &ends) : cudaErrorIllegalState;
    *graph = error == cudaSuccess ? capture->graph : NULL;
    if (ends) {
        cudaGraph_t lost = error != cudaSuccess && capture->owns_graph ? capture->graph : NULL;
        end_capture(capture);
        simdev_graph_destroy(lost);
    }
    simdev_graph_unlock();
    return simdev_leave(error);
}

/* A query that does not use the stream may name the legacy stream without invalidating a capture.
 */
static cudaError_t query_capture(cudaStream_t handle, struct simdev_capture **capture,
                                 struct simdev_member **member,
                                 enum cudaStreamCaptureStatus *status)
{
    struct simdev_stream_info stream;
    cudaError_t error = simdev_queue_describe(handle, &stream);
    if (error == cudaSuccess)
        error = refuse_legacy_stream(&stream, false);
    if (error != cudaSuccess)
        return error;
    *capture = simdev_capture_find(&stream, member);
    *status = cudaStreamCaptureStatusNone;
    if (*capture)
        *status = (*capture)->is_invalid ? cudaStreamCaptureStatusInvalidated
                                         : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, enum cudaStreamCaptureStatus *status)
{
    struct simdev_capture *capture;
    struct simdev_member *member;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !status)
        error = cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    error = query_capture(handle, &capture, &member, status);
    simdev_graph_unlock();
    return simdev_leave(error);
}

/* One default edge for each node that the next one depends on. */
static bool make_edges(struct simdev_member *member)
{
    free(member->edge);
    member->edge = calloc(member->nodes + 1, sizeof(cudaGraphEdgeData));
    return member->edge != NULL;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph,
                                     const cudaGraphNode_t **dependencies,
                                     const cudaGraphEdgeData **edges, size_t *count)
{
    struct simdev_capture *capture;
    struct simdev_member *member;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && (!status || (edges && !dependencies)))
        error = cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    error = query_capture(handle, &capture, &member, status);
    const bool told = error == cudaSuccess && *status == cudaStreamCaptureStatusActive;
    if (told && edges && !make_edges(member)) {
        error = cudaErrorMemoryAllocation;
    } else if (told) {
        if (id)
            *id = capture->id;
        if (graph)
            *graph = capture->graph;
        if (dependencies)
            *dependencies = member->node;
        if (edges)
            *edges = member->edge;
        if (count)
            *count = member->nodes;
    }
    simdev_graph_unlock();
    return simdev_leave(error);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t *dependencies,
                                                const cudaGraphEdgeData *edges, size_t count,
                                                unsigned flags)
{
    struct simdev_stream_info stream;
    struct simdev_capture *capture;
    struct simdev_member *member;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && flags > cudaStreamSetCaptureDependencies)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && !simdev_graph_plain_edges(edges, count))
        error = cudaErrorNotSupported;
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    error = simdev_capture_look_up(handle, &stream, &capture, &member);
    if (error == cudaSuccess && !capture)
        error = cudaErrorIllegalState;
    if (error == cudaSuccess && !simdev_graph_has(capture->graph, dependencies, count))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        if (flags == cudaStreamSetCaptureDependencies)
            member->nodes = 0;
        if (!simdev_member_add(member, dependencies, count))
            error = cudaErrorMemoryAllocation;
    }
    simdev_graph_unlock();
    return simdev_leave(error);
}
