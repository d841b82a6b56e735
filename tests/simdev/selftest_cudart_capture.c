/* Tests of the stand-in libcudart: stream capture. Prints TAP. */
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

static bool begin(void)
{
    return begin_in(stream, cudaStreamCaptureModeThreadLocal);
}

/* Ends a capture that has to end well. */
static cudaGraph_t end(void)
{
    cudaGraph_t graph = NULL;
    check(cudaStreamEndCapture(stream, &graph) == cudaSuccess && graph, "the capture ends well");
    return graph;
}

/* Ends one that has to end with an error. */
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
          "the graph runs");
    cudaGraphExecDestroy(exec);
}

static void increment(void *byte)
{
    ++*(unsigned char *)byte;
}

/* --- what is captured --- */

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
    check(begin() && status_of(stream) == cudaStreamCaptureStatusActive, "a stream captures");
    cudaMemsetAsync(block, 7, 4, stream);
    cudaMemcpyAsync(block + 8, block, 4, cudaMemcpyDeviceToDevice, stream);
    enqueue(stream, increment, block + 8);
    cudaLaunchHostFunc(stream, increment, &counter);
    cudaGraph_t graph = end();
    check(status_of(stream) == cudaStreamCaptureStatusNone, "and then no more");
    check(byte_at(0) == 1 && byte_at(8) == 1 && counter == 0, "nothing of it has run");
    bool types = nodes_of(graph) == 4;
    cudaGraphGetNodes(graph, node, &count);
    for (size_t i = 0; types && i < 4; i++) {
        enum cudaGraphNodeType type;
        types = cudaGraphNodeGetType(node[i], &type) == cudaSuccess && type == wanted[i];
    }
    check(types, "each piece of work is a node");
    cudaGraphGetEdges(graph, from, to, NULL, &count);
    check(count == 3 && from[0] == node[0] && to[0] == node[1] && to[2] == node[3],
          "behind the one before it");
    run_graph(graph);
    check(byte_at(0) == 7 && byte_at(8) == 8 && counter == 1, "which do what they say");
    run_graph(graph);
    check(byte_at(8) == 8 && counter == 2, "every time");
    cudaGraphDestroy(graph);
}

/* Pageable memory: the host does not wait for what will never run. */
static void test_pageable(void)
{
    unsigned char host = 3;
    begin();
    check(cudaMemcpyAsync(block, &host, 1, cudaMemcpyHostToDevice, stream) == cudaSuccess,
          "a copy from pageable memory does not wait");
    cudaGraph_t graph = end();
    host = 5;
    run_graph(graph);
    check(byte_at(0) == 5, "and is read when it runs");
    cudaGraphDestroy(graph);
}

static void test_fork_and_join(void)
{
    cudaEvent_t fork = new_event(), joined = new_event();
    cudaGraphNode_t from[8], to[8];
    size_t count = 8;
    begin();
    cudaMemsetAsync(block, 1, 8, stream);
    cudaEventRecord(fork, stream);
    check(cudaStreamWaitEvent(side, fork, 0) == cudaSuccess &&
              status_of(side) == cudaStreamCaptureStatusActive,
          "a stream that waits for a captured event joins");
    cudaMemcpyAsync(block + 16, block, 8, cudaMemcpyDeviceToDevice, side);
    cudaEventRecord(joined, side);
    cudaMemcpyAsync(block + 32, block, 8, cudaMemcpyDeviceToDevice, stream);
    cudaStreamWaitEvent(stream, joined, 0);
    cudaMemcpyAsync(block + 48, block + 16, 8, cudaMemcpyDeviceToDevice, stream);
    cudaGraph_t graph = end();
    check(status_of(side) == cudaStreamCaptureStatusNone, "it leaves with the end");
    cudaGraphGetEdges(graph, from, to, NULL, &count);
    check(nodes_of(graph) == 4 && count == 4 && from[0] == from[1] && to[2] == to[3],
          "events are edges, not nodes");
    cudaMemset(block, 0, BYTES);
    cudaDeviceSynchronize();
    run_graph(graph);
    check(byte_at(16) == 1 && byte_at(32) == 1 && byte_at(55) == 1 && byte_at(56) == 0,
          "the branches do their work");
    cudaGraphDestroy(graph);
    check(fails(cudaEventQuery(joined), cudaErrorCapturedEvent) &&
              fails(cudaEventSynchronize(joined), cudaErrorCapturedEvent),
          "an event of a capture names nothing that runs");
    check(fails(cudaStreamWaitEvent(outside, joined, 0), cudaErrorCapturedEvent),
          "nor can it be waited for afterwards");
    check(cudaEventRecord(joined, outside) == cudaSuccess &&
              cudaEventSynchronize(joined) == cudaSuccess,
          "recorded again it is an ordinary one");
    cudaEventDestroy(fork);
    cudaEventDestroy(joined);
}

static void test_join_without_work(void)
{
    cudaEvent_t event = new_event();
    begin();
    cudaEventRecord(event, stream);
    cudaStreamWaitEvent(side, event, 0);
    cudaMemsetAsync(block, 2, 1, stream);
    cudaGraph_t graph = end();
    check(nodes_of(graph) == 1, "a branch without work needs no joining");
    cudaGraphDestroy(graph);
    begin();
    cudaStreamWaitEvent(side, event, 0);
    (void)cudaGetLastError();
    check(status_of(side) == cudaStreamCaptureStatusNone && nodes_of(graph = end()) == 0,
          "an event of an earlier capture brings nobody into this one");
    cudaGraphDestroy(graph);
    cudaEventDestroy(event);
}

static void test_launch_is_captured(void)
{
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    size_t one = 1;
    unsigned char counter = 0;
    begin();
    cudaLaunchHostFunc(stream, increment, &counter);
    cudaGraph_t inner = end();
    cudaGraphInstantiate(&exec, inner, 0);
    begin();
    check(cudaGraphLaunch(exec, stream) == cudaSuccess, "a launch on a capturing stream");
    cudaGraph_t outer = end();
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(inner);
    cudaGraphGetNodes(outer, &node, &one);
    check(one == 1 && cudaGraphNodeGetType(node, &type) == cudaSuccess &&
              type == cudaGraphNodeTypeGraph && counter == 0,
          "becomes a child graph");
    run_graph(outer);
    check(counter == 1, "that runs");
    cudaGraphDestroy(outer);
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
    begin();
    cudaMemsetAsync(block, 1, 1, stream);
    check(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, &edges, &count) ==
                  cudaSuccess &&
              status == cudaStreamCaptureStatusActive && id > 0 && nodes_of(graph) == 1 &&
              count == 1 && edges[0].type == 0,
          "cudaStreamGetCaptureInfo");
    check(fails(cudaGraphDestroy(graph), cudaErrorIllegalState), "its graph cannot be destroyed");
    check(cudaGraphAddEmptyNode(&manual, graph, nodes, count) == cudaSuccess &&
              cudaStreamUpdateCaptureDependencies(stream, &manual, NULL, 1,
                                                  cudaStreamSetCaptureDependencies) == cudaSuccess,
          "a node can be put between by hand");
    cudaMemsetAsync(block + 1, 1, 1, stream);
    check(end() == graph && nodes_of(graph) == 3, "the graph is the one that was told");
    count = 2;
    check(cudaGraphNodeGetDependentNodes(manual, list, NULL, &count) == cudaSuccess && count == 1,
          "and what came next depends on that node");
    cudaGraphDestroy(graph);
    begin();
    cudaStreamGetCaptureInfo(stream, &status, &later, NULL, NULL, NULL, NULL);
    check(later > id, "every capture has an id of its own");
    cudaGraphDestroy(end());
    check(cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, NULL, NULL, NULL) == cudaSuccess &&
              status == cudaStreamCaptureStatusNone,
          "a stream that does not capture");
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
          "cudaStreamBeginCaptureToGraph");
    cudaMemsetAsync(block, 4, 1, stream);
    check(end() == graph && nodes_of(graph) == 2 &&
              cudaGraphNodeGetDependentNodes(first, list, NULL, &one) == cudaSuccess && one == 1,
          "adds to the graph behind the given nodes");
    check(cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0,
                                        cudaStreamCaptureModeRelaxed) == cudaSuccess &&
              fails(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported) &&
              ends_with(cudaErrorStreamCaptureInvalidated) && nodes_of(graph) == 2,
          "which stays when the capture fails");
    check(fails(cudaStreamBeginCaptureToGraph(stream, NULL, NULL, NULL, 0,
                                              cudaStreamCaptureModeRelaxed),
                cudaErrorInvalidValue),
          "no graph");
    cudaGraphDestroy(graph);
}

/* --- errors --- */

static void test_begin_and_end(void)
{
    cudaGraph_t graph;
    cudaEvent_t event = new_event();
    check(fails(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal),
                cudaErrorStreamCaptureUnsupported),
          "the legacy stream cannot capture");
    check(fails(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState),
          "no end without a beginning");
    begin();
    check(fails(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaErrorIllegalState),
          "a stream captures once at a time");
    cudaEventRecord(event, stream);
    cudaStreamWaitEvent(side, event, 0);
    check(fails(cudaStreamEndCapture(side, &graph), cudaErrorStreamCaptureUnmatched),
          "it ends on the stream that it began on");
    check(ends_with(cudaErrorStreamCaptureInvalidated), "the mistake made it invalid");
    check(begin_in(cudaStreamPerThread, cudaStreamCaptureModeGlobal) &&
              cudaStreamEndCapture(cudaStreamPerThread, &graph) == cudaSuccess,
          "the stream of the thread can capture");
    cudaGraphDestroy(graph);
    cudaEventDestroy(event);
}

static void test_unjoined(void)
{
    cudaEvent_t event = new_event();
    begin();
    cudaEventRecord(event, stream);
    cudaStreamWaitEvent(side, event, 0);
    cudaMemsetAsync(block, 1, 1, side);
    check(ends_with(cudaErrorStreamCaptureUnjoined), "work that nobody waits for");
    check(status_of(stream) == cudaStreamCaptureStatusNone &&
              status_of(side) == cudaStreamCaptureStatusNone,
          "ends the capture all the same");
    begin();
    cudaEventRecord(event, stream);
    cudaStreamWaitEvent(side, event, 0);
    cudaMemsetAsync(block, 1, 1, side);
    cudaEventRecord(event, side);
    cudaMemsetAsync(block + 1, 1, 1, side);
    cudaStreamWaitEvent(stream, event, 0);
    check(ends_with(cudaErrorStreamCaptureUnjoined), "also what came behind the event");
    cudaEventDestroy(event);
}

static void test_isolation_and_merge(void)
{
    cudaEvent_t event = new_event(), never = new_event();
    cudaGraph_t graph;
    cudaEventRecord(event, outside);
    begin();
    check(cudaStreamWaitEvent(stream, never, 0) == cudaSuccess, "an event never recorded");
    check(fails(cudaStreamWaitEvent(stream, event, 0), cudaErrorStreamCaptureIsolation) &&
              status_of(stream) == cudaStreamCaptureStatusInvalidated,
          "a wait for work outside of the capture");
    check(fails(cudaMemsetAsync(block, 1, 1, stream), cudaErrorStreamCaptureInvalidated) &&
              fails(cudaEventRecord(event, stream), cudaErrorStreamCaptureInvalidated),
          "after which the stream takes nothing");
    check(ends_with(cudaErrorStreamCaptureInvalidated), "and yields no graph");
    begin();
    begin_in(side, cudaStreamCaptureModeThreadLocal);
    cudaEventRecord(event, side);
    check(fails(cudaStreamWaitEvent(stream, event, 0), cudaErrorStreamCaptureMerge),
          "two captures do not become one");
    check(fails(cudaStreamEndCapture(side, &graph), cudaErrorStreamCaptureInvalidated) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "both are invalid then");
    cudaEventDestroy(event);
    cudaEventDestroy(never);
}

/* Calls about something captured; each makes its capture invalid. */
static void test_questions(void)
{
    cudaEvent_t event = new_event();
    void *memory = NULL, *given = NULL;
    cudaMallocAsync(&given, 64, outside);
    begin();
    check(fails(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "cudaStreamSynchronize");
    begin();
    check(fails(cudaStreamQuery(stream), cudaErrorStreamCaptureUnsupported) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "cudaStreamQuery");
    begin();
    check(fails(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "cudaDeviceSynchronize");
    begin();
    cudaEventRecord(event, stream);
    check(fails(cudaEventQuery(event), cudaErrorCapturedEvent) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "cudaEventQuery");
    begin();
    cudaEventRecord(event, stream);
    check(fails(cudaEventSynchronize(event), cudaErrorCapturedEvent) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "cudaEventSynchronize");
    begin();
    check(fails(cudaMallocAsync(&memory, 64, stream), cudaErrorStreamCaptureUnsupported) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "cudaMallocAsync");
    begin();
    check(fails(cudaFreeAsync(given, stream), cudaErrorStreamCaptureUnsupported) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "cudaFreeAsync");
    begin();
    check(fails(cudaStreamDestroy(stream), cudaErrorStreamCaptureUnsupported) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "cudaStreamDestroy");
    begin();
    check(cudaStreamSynchronize(outside) == cudaSuccess &&
              cudaFreeAsync(given, outside) == cudaSuccess,
          "other streams are free to work");
    cudaGraphDestroy(end());
    cudaEventDestroy(event);
}

static void test_legacy_stream(void)
{
    cudaStream_t blocking;
    cudaGraph_t graph;
    enum cudaStreamCaptureStatus status;
    cudaStreamCreate(&blocking);
    begin();
    check(cudaMemset(block, 1, 1) == cudaSuccess, "the legacy stream beside a non-blocking one");
    cudaGraphDestroy(end());
    begin_in(blocking, cudaStreamCaptureModeRelaxed);
    check(fails(cudaStreamIsCapturing(NULL, &status), cudaErrorStreamCaptureImplicit) &&
              status_of(blocking) == cudaStreamCaptureStatusActive,
          "with a blocking one it cannot be asked");
    check(fails(cudaMemset(block, 1, 1), cudaErrorStreamCaptureImplicit) &&
              status_of(blocking) == cudaStreamCaptureStatusInvalidated,
          "nor used");
    cudaStreamEndCapture(blocking, &graph);
    (void)cudaGetLastError();
    begin_in(blocking, cudaStreamCaptureModeRelaxed);
    check(fails(cudaStreamSynchronize(cudaStreamLegacy), cudaErrorStreamCaptureImplicit) &&
              fails(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated),
          "nor waited for");
    cudaEvent_t event = new_event();
    begin();
    cudaEventRecord(event, stream);
    check(fails(cudaStreamWaitEvent(NULL, event, 0), cudaErrorStreamCaptureImplicit) &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "it cannot join");
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

static void *end_there(void *arg)
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

/* An allocation in a thread of mode `mine` while this or another one captures in mode `theirs`. */
static bool allowed(enum cudaStreamCaptureMode mine, enum cudaStreamCaptureMode theirs, bool here)
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
          "an allocation fails exactly if it makes the capture invalid");
    return valid;
}

static void test_modes(void)
{
    const enum cudaStreamCaptureMode global = cudaStreamCaptureModeGlobal;
    const enum cudaStreamCaptureMode local = cudaStreamCaptureModeThreadLocal;
    const enum cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;
    check(!allowed(global, global, true) && !allowed(global, local, true) &&
              allowed(global, relaxed, true),
          "in the thread that captures: only if the capture is relaxed");
    check(!allowed(local, global, true) && !allowed(local, local, true),
          "a thread of local mode no less");
    check(allowed(relaxed, global, true) && allowed(relaxed, local, true),
          "unless the thread is relaxed");
    check(!allowed(global, global, false) && allowed(global, local, false) &&
              allowed(global, relaxed, false),
          "in another thread: not beside a global capture");
    check(allowed(local, global, false) && allowed(relaxed, global, false),
          "unless that thread cares for itself only");
    begin_in(stream, relaxed);
    struct other_thread other = {.mode = global};
    in_thread(end_there, &other);
    check(other.ended == cudaSuccess, "a relaxed capture may end in another thread");
    begin();
    in_thread(end_there, &other);
    check(other.ended == cudaErrorStreamCaptureWrongThread &&
              ends_with(cudaErrorStreamCaptureInvalidated),
          "no other may");
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
    check(total == 0, "threads capture side by side");
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
    test_launch_is_captured();
    test_info();
    test_to_graph();
    test_begin_and_end();
    test_unjoined();
    test_isolation_and_merge();
    test_questions();
    test_legacy_stream();
    test_modes();
    test_threads();
    return finish_checks();
}
