/* Tests of the simulated libcudart: stream capture. Prints TAP. */
#include "selftest_cudart.h"
#include <pthread.h>
#include <string.h>

enum {
    BYTES = 64
};

static unsigned char *block;               /* BYTES of device memory */
static cudaStream_t stream, side, outside; /* non-blocking ones */

static cudaStream_t new_stream(void)
{
    cudaStream_t made = NULL;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
}

static cudaEvent_t new_event(void)
{
    cudaEvent_t event = NULL;
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    return event;
}

static bool begin_in(cudaStream_t on, enum cudaStreamCaptureMode mode)
{
    return cudaStreamBeginCapture(on, mode) == cudaSuccess;
}

static bool begin_capture(void)
{
    return begin_in(stream, cudaStreamCaptureModeThreadLocal);
}

/* Ends a capture and checks that it succeeded. */
static cudaGraph_t end_capture(void)
{
    cudaGraph_t graph = NULL;
    check(cudaStreamEndCapture(stream, &graph) == cudaSuccess && graph,
          "capture: ends with success");
    return graph;
}

/* True if the end of a capture failed with this error. */
static bool ends_with(cudaError_t wanted)
{
    cudaGraph_t graph = (cudaGraph_t)&graph;
    return fails(cudaStreamEndCapture(stream, &graph), wanted) && !graph;
}

static enum cudaStreamCaptureStatus status_of(cudaStream_t of)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(of, &status);
    return status;
}

static size_t nodes_of(cudaGraph_t graph)
{
    size_t count = 0;
    cudaGraphGetNodes(graph, NULL, &count);
    return count;
}

static unsigned char byte_at(size_t i)
{
    unsigned char byte = 0;
    cudaMemcpy(&byte, block + i, 1, cudaMemcpyDeviceToHost);
    return byte;
}

static void run_graph(cudaGraph_t graph)
{
    cudaGraphExec_t exec = NULL;
    check(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess &&
              cudaGraphLaunch(exec, stream) == cudaSuccess &&
              cudaStreamSynchronize(stream) == cudaSuccess,
          "graph: runs");
    cudaGraphExecDestroy(exec);
}

static void increment(void *byte)
{
    ++*(unsigned char *)byte;
}

/* --- captured work --- */

static void test_work(void)
{
    static const enum cudaGraphNodeType wanted[] = {cudaGraphNodeTypeMemset,
                                                    cudaGraphNodeTypeMemcpy,
                                                    cudaGraphNodeTypeKernel, cudaGraphNodeTypeHost};
    cudaGraphNode_t node[4];
    cudaGraphNode_t from[4], to[4];
    size_t count = 4;
    unsigned char counter = 0;
    cudaMemset(block, 1, BYTES);
    cudaDeviceSynchronize();
    check(begin_capture() && status_of(stream) == cudaStreamCaptureStatusActive, "capture: begins");
    cudaMemsetAsync(block, 7, 4, stream);
    cudaMemcpyAsync(block + 8, block, 4, cudaMemcpyDeviceToDevice, stream);
    enqueue(stream, increment, block + 8);
    cudaLaunchHostFunc(stream, increment, &counter);
    cudaGraph_t graph = end_capture();
    check(status_of(stream) == cudaStreamCaptureStatusNone, "capture: ended");
    check(byte_at(0) == 1 && byte_at(8) == 1 && counter == 0, "capture: captured work has not run");
    bool types = nodes_of(graph) == 4;
    cudaGraphGetNodes(graph, node, &count);
    for (size_t i = 0; types && i < 4; i++) {
        enum cudaGraphNodeType type;
        types = cudaGraphNodeGetType(node[i], &type) == cudaSuccess && type == wanted[i];
    }
    check(types, "capture: one node per operation");
    cudaGraphGetEdges(graph, from, to, NULL, &count);
    check(count == 3 && from[0] == node[0] && to[0] == node[1] && to[2] == node[3],
          "capture: each node depends on the one before");
    run_graph(graph);
    check(byte_at(0) == 7 && byte_at(8) == 8 && counter == 1, "replay: first, results as captured");
    run_graph(graph);
    check(byte_at(8) == 8 && counter == 2, "replay: second, results as captured");
    cudaGraphDestroy(graph);
}

/* Pageable memory: the host does not wait for captured work, which never runs. */
static void test_pageable(void)
{
    unsigned char host = 3;
    begin_capture();
    check(cudaMemcpyAsync(block, &host, 1, cudaMemcpyHostToDevice, stream) == cudaSuccess,
          "pageable copy: does not wait");
    cudaGraph_t graph = end_capture();
    host = 5;
    run_graph(graph);
    check(byte_at(0) == 5, "pageable copy: source read at replay");
    cudaGraphDestroy(graph);
}

static void test_fork_and_join(void)
{
    cudaEvent_t fork = new_event(), joined = new_event();
    cudaGraphNode_t from[8], to[8];
    size_t count = 8;
    begin_capture();
    cudaMemsetAsync(block, 1, 8, stream);
    cudaEventRecord(fork, stream);
    check(cudaStreamWaitEvent(side, fork, 0) == cudaSuccess &&
              status_of(side) == cudaStreamCaptureStatusActive,
          "fork: stream that waits for a captured event, joins");
    cudaMemcpyAsync(block + 16, block, 8, cudaMemcpyDeviceToDevice, side);
    cudaEventRecord(joined, side);
    cudaMemcpyAsync(block + 32, block, 8, cudaMemcpyDeviceToDevice, stream);
    cudaStreamWaitEvent(stream, joined, 0);
    cudaMemcpyAsync(block + 48, block + 16, 8, cudaMemcpyDeviceToDevice, stream);
    cudaGraph_t graph = end_capture();
    check(status_of(side) == cudaStreamCaptureStatusNone,
          "join: stream leaves at the end of the capture");
    cudaGraphGetEdges(graph, from, to, NULL, &count);
    check(nodes_of(graph) == 4 && count == 4 && from[0] == from[1] && to[2] == to[3],
          "fork: events become edges, not nodes");
    cudaMemset(block, 0, BYTES);
    cudaDeviceSynchronize();
    run_graph(graph);
    check(byte_at(16) == 1 && byte_at(32) == 1 && byte_at(55) == 1 && byte_at(56) == 0,
          "fork: replay of both branches");
    cudaGraphDestroy(graph);
    check(fails(cudaEventQuery(joined), cudaErrorCapturedEvent) &&
              fails(cudaEventSynchronize(joined), cudaErrorCapturedEvent),
          "captured event: query and synchronisation, refused");
    check(fails(cudaStreamWaitEvent(outside, joined, 0), cudaErrorCapturedEvent),
          "captured event: wait outside of the capture, refused");
    check(cudaEventRecord(joined, outside) == cudaSuccess &&
              cudaEventSynchronize(joined) == cudaSuccess,
          "captured event: recorded outside, usable");
    cudaEventDestroy(fork);
    cudaEventDestroy(joined);
}

static void test_join_without_work(void)
{
    cudaEvent_t event = new_event();
    begin_capture();
    cudaEventRecord(event, stream);
    cudaStreamWaitEvent(side, event, 0);
    cudaMemsetAsync(block, 2, 1, stream);
    cudaGraph_t graph = end_capture();
    check(nodes_of(graph) == 1, "fork: branch without work, no join needed");
    cudaGraphDestroy(graph);
    begin_capture();
    cudaStreamWaitEvent(side, event, 0);
    (void)cudaGetLastError();
    check(status_of(side) == cudaStreamCaptureStatusNone && nodes_of(graph = end_capture()) == 0,
          "fork: event of an earlier capture, does not join");
    cudaGraphDestroy(graph);
    cudaEventDestroy(event);
}

static void test_launch_is_refused(void)
{
    cudaGraphExec_t exec;
    unsigned char counter = 0;
    begin_capture();
    cudaLaunchHostFunc(stream, increment, &counter);
    cudaGraph_t inner = end_capture();
    cudaGraphInstantiate(&exec, inner, 0);
    begin_capture();
    check(fails(cudaGraphLaunch(exec, stream), cudaErrorStreamCaptureUnsupported) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "graph launch: refused on a capturing stream");
    begin_capture();
    check(cudaGraphLaunch(exec, outside) == cudaSuccess, "graph launch: on another stream");
    cudaGraphDestroy(end_capture());
    cudaStreamSynchronize(outside);
    check(counter == 1, "graph launch: ran once");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(inner);
}

/* --- the state of a capture --- */

static void test_info(void)
{
    enum cudaStreamCaptureStatus status;
    unsigned long long id = 0, later = 0;
    const cudaGraphNode_t *nodes;
    const cudaGraphEdgeData *edges;
    cudaGraphNode_t manual = NULL, list[2];
    cudaGraph_t graph = NULL;
    size_t count = 9;
    begin_capture();
    cudaMemsetAsync(block, 1, 1, stream);
    check(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, &edges, &count) ==
                  cudaSuccess &&
              status == cudaStreamCaptureStatusActive && id > 0 && nodes_of(graph) == 1 &&
              count == 1 && edges[0].type == 0,
          "info: status, id, graph and dependencies");
    check(fails(cudaGraphDestroy(graph), cudaErrorIllegalState),
          "info: graph of a capture, cannot be destroyed");
    check(cudaGraphAddEmptyNode(&manual, graph, nodes, count) == cudaSuccess &&
              cudaStreamUpdateCaptureDependencies(stream, &manual, NULL, 1,
                                                  cudaStreamSetCaptureDependencies) == cudaSuccess,
          "info: dependencies replaced by an added node");
    cudaMemsetAsync(block + 1, 1, 1, stream);
    check(end_capture() == graph && nodes_of(graph) == 3,
          "info: graph of the query is the returned graph");
    count = 2;
    check(cudaGraphNodeGetDependentNodes(manual, list, NULL, &count) == cudaSuccess && count == 1,
          "info: next node depends on the added node");
    cudaGraphDestroy(graph);
    begin_capture();
    cudaStreamGetCaptureInfo(stream, &status, &later, NULL, NULL, NULL, NULL);
    check(later > id, "info: separate id for every capture");
    cudaGraphDestroy(end_capture());
    check(cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, NULL, NULL, NULL) == cudaSuccess &&
              status == cudaStreamCaptureStatusNone,
          "info: stream that is not capturing");
}

static void test_to_graph(void)
{
    cudaGraphNode_t first = NULL, list[1];
    cudaGraph_t graph = NULL;
    size_t one = 1;
    cudaGraphCreate(&graph, 0);
    cudaGraphAddEmptyNode(&first, graph, NULL, 0);
    check(cudaStreamBeginCaptureToGraph(stream, graph, &first, NULL, 1,
                                        cudaStreamCaptureModeRelaxed) == cudaSuccess,
          "capture to a graph: begins");
    cudaMemsetAsync(block, 4, 1, stream);
    check(end_capture() == graph && nodes_of(graph) == 2 &&
              cudaGraphNodeGetDependentNodes(first, list, NULL, &one) == cudaSuccess && one == 1,
          "capture to a graph: nodes added after the given nodes");
    check(cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0,
                                        cudaStreamCaptureModeRelaxed) == cudaSuccess &&
              fails(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported) &&
              ends_with(cudaErrorStreamCaptureInvalidated) && nodes_of(graph) == 2,
          "capture to a graph: failed capture, graph unchanged");
    check(fails(cudaStreamBeginCaptureToGraph(stream, NULL, NULL, NULL, 0,
                                              cudaStreamCaptureModeRelaxed),
                cudaErrorInvalidValue),
          "capture to a graph: NULL, refused");
    cudaGraphDestroy(graph);
}

/* --- errors --- */

static void test_begin_and_end(void)
{
    cudaGraph_t graph;
    cudaEvent_t event = new_event();
    check(fails(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal),
                cudaErrorStreamCaptureUnsupported),
          "begin: legacy stream, refused");
    check(fails(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState),
          "end: without begin, refused");
    begin_capture();
    check(fails(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaErrorIllegalState),
          "begin: stream that is capturing, refused");
    cudaEventRecord(event, stream);
    cudaStreamWaitEvent(side, event, 0);
    check(fails(cudaStreamEndCapture(side, &graph), cudaErrorStreamCaptureUnmatched),
          "end: on another stream, refused");
    check(ends_with(cudaErrorStreamCaptureInvalidated),
          "end: on another stream, capture invalidated");
    check(begin_in(cudaStreamPerThread, cudaStreamCaptureModeGlobal) &&
              cudaStreamEndCapture(cudaStreamPerThread, &graph) == cudaSuccess,
          "begin: per-thread default stream");
    cudaGraphDestroy(graph);
    cudaEventDestroy(event);
}

static void test_unjoined(void)
{
    cudaEvent_t event = new_event();
    begin_capture();
    cudaEventRecord(event, stream);
    cudaStreamWaitEvent(side, event, 0);
    cudaMemsetAsync(block, 1, 1, side);
    check(ends_with(cudaErrorStreamCaptureUnjoined), "unjoined work: end fails");
    check(status_of(stream) == cudaStreamCaptureStatusNone &&
              status_of(side) == cudaStreamCaptureStatusNone,
          "unjoined work: capture is over");
    begin_capture();
    cudaEventRecord(event, stream);
    cudaStreamWaitEvent(side, event, 0);
    cudaMemsetAsync(block, 1, 1, side);
    cudaEventRecord(event, side);
    cudaMemsetAsync(block + 1, 1, 1, side);
    cudaStreamWaitEvent(stream, event, 0);
    check(ends_with(cudaErrorStreamCaptureUnjoined),
          "unjoined work: after the joining event, end fails");
    cudaEventDestroy(event);
}

static void test_isolation_and_merge(void)
{
    cudaEvent_t event = new_event(), never = new_event();
    cudaGraph_t graph;
    cudaEventRecord(event, outside);
    begin_capture();
    check(cudaStreamWaitEvent(stream, never, 0) == cudaSuccess,
          "isolation: wait for an event never recorded, no effect");
    check(fails(cudaStreamWaitEvent(stream, event, 0), cudaErrorStreamCaptureIsolation) &&
              status_of(stream) == cudaStreamCaptureStatusInvalidated,
          "isolation: wait for uncaptured work, refused");
    check(fails(cudaMemsetAsync(block, 1, 1, stream), cudaErrorStreamCaptureInvalidated) &&
              fails(cudaEventRecord(event, stream), cudaErrorStreamCaptureInvalidated),
          "isolation: invalidated capture, refuses work");
    check(ends_with(cudaErrorStreamCaptureInvalidated),
          "isolation: invalidated capture, yields no graph");
    begin_capture();
    begin_in(side, cudaStreamCaptureModeThreadLocal);
    cudaEventRecord(event, side);
    check(fails(cudaStreamWaitEvent(stream, event, 0), cudaErrorStreamCaptureMerge),
          "merge: wait for another capture, refused");
    check(fails(cudaStreamEndCapture(side, &graph), cudaErrorStreamCaptureInvalidated) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "merge: both captures invalidated");
    cudaEventDestroy(event);
    cudaEventDestroy(never);
}

/* Calls that concern a captured stream or event. Each one invalidates its capture. */
static void test_refusals(void)
{
    cudaEvent_t event = new_event();
    void *given = NULL;
    cudaMallocAsync(&given, 64, outside);
    begin_capture();
    check(fails(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "refusals: cudaStreamSynchronize");
    begin_capture();
    check(fails(cudaStreamQuery(stream), cudaErrorStreamCaptureUnsupported) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "refusals: cudaStreamQuery");
    begin_capture();
    check(fails(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "refusals: cudaDeviceSynchronize");
    begin_capture();
    cudaEventRecord(event, stream);
    check(fails(cudaEventQuery(event), cudaErrorCapturedEvent) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "refusals: cudaEventQuery");
    begin_capture();
    cudaEventRecord(event, stream);
    check(fails(cudaEventSynchronize(event), cudaErrorCapturedEvent) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "refusals: cudaEventSynchronize");
    begin_capture();
    check(fails(cudaStreamDestroy(stream), cudaErrorStreamCaptureUnsupported) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "refusals: cudaStreamDestroy");
    begin_capture();
    check(cudaStreamSynchronize(outside) == cudaSuccess &&
              cudaFreeAsync(given, outside) == cudaSuccess,
          "refusals: other streams are not affected");
    cudaGraphDestroy(end_capture());
    cudaEventDestroy(event);
}

static void test_legacy_stream(void)
{
    cudaStream_t blocking;
    cudaGraph_t graph;
    enum cudaStreamCaptureStatus status;
    cudaStreamCreate(&blocking);
    begin_capture();
    check(cudaMemset(block, 1, 1) == cudaSuccess,
          "legacy stream: usable during a capture on a non-blocking stream");
    cudaGraphDestroy(end_capture());
    begin_in(blocking, cudaStreamCaptureModeRelaxed);
    check(fails(cudaStreamIsCapturing(NULL, &status), cudaErrorStreamCaptureImplicit) &&
              status_of(blocking) == cudaStreamCaptureStatusActive,
          "legacy stream: query during a capture on a blocking stream, refused");
    check(fails(cudaMemset(block, 1, 1), cudaErrorStreamCaptureImplicit) &&
              status_of(blocking) == cudaStreamCaptureStatusInvalidated,
          "legacy stream: work during a capture on a blocking stream, refused");
    cudaStreamEndCapture(blocking, &graph);
    (void)cudaGetLastError();
    begin_in(blocking, cudaStreamCaptureModeRelaxed);
    check(fails(cudaStreamSynchronize(cudaStreamLegacy), cudaErrorStreamCaptureImplicit) &&
              fails(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated),
          "legacy stream: wait during a capture on a blocking stream, refused");
    cudaEvent_t event = new_event();
    begin_capture();
    cudaEventRecord(event, stream);
    check(fails(cudaStreamWaitEvent(NULL, event, 0), cudaErrorStreamCaptureImplicit) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "legacy stream: cannot join a capture");
    cudaEventDestroy(event);
    cudaStreamDestroy(blocking);
}

/* --- modes --- */

struct other_thread {
    enum cudaStreamCaptureMode mode; /* of that thread */
    cudaError_t allocated, ended;
};

static void *allocate_in_mode(void *arg)
{
    struct other_thread *other = arg;
    enum cudaStreamCaptureMode mode = other->mode;
    void *memory = NULL;
    cudaThreadExchangeStreamCaptureMode(&mode);
    other->allocated = cudaMalloc(&memory, 64);
    if (other->allocated == cudaSuccess)
        other->allocated = cudaFree(memory);
    return NULL;
}

static void *end_in_this_thread(void *arg)
{
    struct other_thread *other = arg;
    cudaGraph_t graph = NULL;
    other->ended = cudaStreamEndCapture(stream, &graph);
    if (graph)
        cudaGraphDestroy(graph);
    return NULL;
}

static void in_thread(void *(*function)(void *), struct other_thread *other)
{
    pthread_t thread;
    pthread_create(&thread, NULL, function, other);
    pthread_join(thread, NULL);
}

/* True if the capture stays valid after an allocation. Mode `mine` is that of the allocating thread
 * (`here`: this one), `theirs` that of the capture. */
static bool stays_valid(enum cudaStreamCaptureMode mine, enum cudaStreamCaptureMode theirs,
                        bool here)
{
    struct other_thread other = {.mode = mine};
    cudaGraph_t graph = NULL;
    begin_in(stream, theirs);
    if (here) {
        enum cudaStreamCaptureMode mode = mine;
        cudaThreadExchangeStreamCaptureMode(&mode);
        allocate_in_mode(&other);
        cudaThreadExchangeStreamCaptureMode(&mode);
    } else {
        in_thread(allocate_in_mode, &other);
    }
    const bool valid = status_of(stream) == cudaStreamCaptureStatusActive;
    cudaStreamEndCapture(stream, &graph);
    if (graph)
        cudaGraphDestroy(graph);
    (void)cudaGetLastError();
    check(other.allocated == (valid ? cudaSuccess : cudaErrorStreamCaptureUnsupported),
          "mode: allocation fails only if it invalidates the capture");
    return valid;
}

static void test_modes(void)
{
    const enum cudaStreamCaptureMode global = cudaStreamCaptureModeGlobal;
    const enum cudaStreamCaptureMode local = cudaStreamCaptureModeThreadLocal;
    const enum cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;
    check(!stays_valid(global, global, true) && !stays_valid(global, local, true) &&
              stays_valid(global, relaxed, true),
          "mode: same thread, global: allowed only in a relaxed capture");
    check(!stays_valid(local, global, true) && !stays_valid(local, local, true),
          "mode: same thread, thread-local: refused");
    check(stays_valid(relaxed, global, true) && stays_valid(relaxed, local, true),
          "mode: same thread, relaxed: allowed");
    check(!stays_valid(global, global, false) && stays_valid(global, local, false) &&
              stays_valid(global, relaxed, false),
          "mode: other thread, global: refused only by a global capture");
    check(stays_valid(local, global, false) && stays_valid(relaxed, global, false),
          "mode: other thread, thread-local or relaxed: allowed");
    begin_in(stream, relaxed);
    struct other_thread other = {.mode = global};
    in_thread(end_in_this_thread, &other);
    check(other.ended == cudaSuccess, "end: relaxed capture, in another thread");
    begin_capture();
    in_thread(end_in_this_thread, &other);
    check(other.ended == cudaErrorStreamCaptureWrongThread &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "end: other modes, in another thread refused");
}

/* --- many threads --- */

enum {
    THREADS = 6,
    ROUNDS = 60
};

static void *capture_and_run(void *arg)
{
    int *wrong = arg;
    unsigned char count = 0;
    cudaStream_t mine = new_stream(), branch = new_stream();
    cudaEvent_t event = new_event();
    for (int i = 0; i < ROUNDS; i++) {
        cudaGraph_t graph = NULL;
        cudaGraphExec_t exec = NULL;
        *wrong += !begin_in(mine, cudaStreamCaptureModeThreadLocal);
        cudaEventRecord(event, mine);
        cudaStreamWaitEvent(branch, event, 0);
        cudaLaunchHostFunc(branch, increment, &count);
        cudaEventRecord(event, branch);
        cudaStreamWaitEvent(mine, event, 0);
        cudaLaunchHostFunc(mine, increment, &count);
        *wrong += cudaStreamEndCapture(mine, &graph) != cudaSuccess;
        *wrong += cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess;
        cudaGraphDestroy(graph);
        *wrong += cudaGraphLaunch(exec, mine) != cudaSuccess;
        *wrong += cudaGraphLaunch(exec, branch) != cudaSuccess;
        cudaGraphExecDestroy(exec);
        cudaStreamSynchronize(mine);
        cudaStreamSynchronize(branch);
    }
    *wrong += count != (unsigned char)(4 * ROUNDS);
    cudaEventDestroy(event);
    cudaStreamDestroy(branch);
    cudaStreamDestroy(mine);
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    int wrong[THREADS] = {0}, total = 0;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, capture_and_run, &wrong[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        total += wrong[i];
    }
    check(total == 0, "threads: concurrent captures");
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(120);
    block = device_alloc(BYTES);
    stream = new_stream();
    side = new_stream();
    outside = new_stream();
    test_work();
    test_pageable();
    test_fork_and_join();
    test_join_without_work();
    test_launch_is_refused();
    test_info();
    test_to_graph();
    test_begin_and_end();
    test_unjoined();
    test_isolation_and_merge();
    test_refusals();
    test_legacy_stream();
    test_modes();
    test_threads();
    return finish_checks();
}
