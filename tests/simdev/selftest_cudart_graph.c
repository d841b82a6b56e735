/* Tests of the stand-in libcudart: graphs made by hand, and executable graphs. Prints TAP. */
#include "selftest_cudart.h"
#include <string.h>

/* --- work that leaves a trace --- */

enum {
    TRACE = 64
};

/* The names of the host nodes that ran, in the order in which they ran. */
static char trace[TRACE];
static size_t traced;

static void leave(void *name)
{
    if (traced < TRACE - 1)
        trace[traced++] = *(const char *)name;
}

static void forget(void)
{
    memset(trace, 0, sizeof(trace));
    traced = 0;
}

/* A node that leaves the first letter of `name`. */
static cudaGraphNode_t add(cudaGraph_t graph, const char *name, const cudaGraphNode_t *after,
                           size_t count)
{
    const struct cudaHostNodeParams params = {.fn = leave, .userData = (void *)(uintptr_t)name};
    cudaGraphNode_t node = NULL;
    cudaGraphAddHostNode(&node, graph, after, count, &params);
    return node;
}

static cudaGraph_t new_graph(void)
{
    cudaGraph_t graph = NULL;
    cudaGraphCreate(&graph, 0);
    return graph;
}

static cudaError_t run_exec(cudaGraphExec_t exec)
{
    cudaError_t error = cudaGraphLaunch(exec, cudaStreamPerThread);
    return error != cudaSuccess ? error : cudaStreamSynchronize(cudaStreamPerThread);
}

/* Instantiates, runs once and destroys. */
static cudaError_t run_graph(cudaGraph_t graph)
{
    cudaGraphExec_t exec;
    forget();
    cudaError_t error = cudaGraphInstantiate(&exec, graph, 0);
    if (error != cudaSuccess)
        return error;
    error = run_exec(exec);
    cudaGraphExecDestroy(exec);
    return error;
}

static bool before(char first, char second)
{
    const char *a = strchr(trace, first), *b = strchr(trace, second);
    return a && b && a < b;
}

/* --- failure on request; first of all, since SIMDEV_FAIL counts calls --- */

static void test_failures(void)
{
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    cudaGraph_t graph = new_graph(), child = new_graph();
    check(fails(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child), cudaErrorUnknown) &&
              cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child) == cudaSuccess,
          "cudaGraphAddChildGraphNode fails on request");
    check(fails(cudaGraphInstantiate(&exec, graph, 0), cudaErrorUnknown) &&
              run_graph(graph) == cudaSuccess,
          "cudaGraphInstantiate too");
    cudaGraphDestroy(child);
    cudaGraphDestroy(graph);
}

/* --- structure --- */

static void test_structure(void)
{
    cudaGraphNode_t list[4] = {NULL}, to[4] = {NULL};
    cudaGraphEdgeData edge[4];
    size_t count = 0;
    enum cudaGraphNodeType type = cudaGraphNodeTypeCount;
    cudaGraph_t graph = new_graph();
    check(cudaGraphGetNodes(graph, NULL, &count) == cudaSuccess && count == 0, "an empty graph");
    const cudaGraphNode_t a = add(graph, "a", NULL, 0), b = add(graph, "b", &a, 1);
    const cudaGraphNode_t ab[] = {a, b};
    cudaGraphNode_t c = NULL;
    check(cudaGraphAddEmptyNode(&c, graph, ab, 2) == cudaSuccess, "three nodes");
    count = 4;
    check(cudaGraphGetNodes(graph, list, &count) == cudaSuccess && count == 3 && list[0] == a &&
              list[1] == b && list[2] == c && !list[3],
          "cudaGraphGetNodes: in the order of adding, the rest of the room cleared");
    count = 2;
    check(cudaGraphGetNodes(graph, list, &count) == cudaSuccess && count == 2, "less room");
    count = 4;
    check(cudaGraphGetRootNodes(graph, list, &count) == cudaSuccess && count == 1 && list[0] == a,
          "cudaGraphGetRootNodes");
    memset(edge, 1, sizeof(edge));
    count = 4;
    check(cudaGraphGetEdges(graph, list, to, edge, &count) == cudaSuccess && count == 3 &&
              list[0] == a && to[0] == b && to[2] == c && edge[0].type == 0,
          "cudaGraphGetEdges");
    check(cudaGraphNodeGetDependencies(c, NULL, NULL, &count) == cudaSuccess && count == 2 &&
              cudaGraphNodeGetDependencies(c, list, NULL, &count) == cudaSuccess && list[0] == a &&
              list[1] == b,
          "cudaGraphNodeGetDependencies");
    check(cudaGraphNodeGetDependentNodes(a, NULL, NULL, &count) == cudaSuccess && count == 2,
          "cudaGraphNodeGetDependentNodes");
    check(cudaGraphNodeGetType(b, &type) == cudaSuccess && type == cudaGraphNodeTypeHost &&
              cudaGraphNodeGetType(c, &type) == cudaSuccess && type == cudaGraphNodeTypeEmpty,
          "cudaGraphNodeGetType");
    cudaGraphDestroy(graph);
    check(fails(cudaGraphNodeGetType(a, &type), cudaErrorInvalidValue), "nodes go with the graph");
    check(fails(cudaGraphDestroy(graph), cudaErrorInvalidValue), "a graph is destroyed once");
}

static void test_dependencies(void)
{
    cudaGraph_t graph = new_graph(), other = new_graph();
    const cudaGraphNode_t a = add(graph, "a", NULL, 0), b = add(graph, "b", NULL, 0);
    const cudaGraphNode_t foreign = add(other, "x", NULL, 0), twice[] = {a, a};
    const cudaGraphEdgeData odd = {.type = cudaGraphDependencyTypeProgrammatic};
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    check(cudaGraphAddDependencies(graph, &b, &a, NULL, 1) == cudaSuccess &&
              run_graph(graph) == cudaSuccess && before('b', 'a'),
          "an edge may lead back to a node added earlier");
    check(fails(cudaGraphAddDependencies(graph, &b, &a, NULL, 1), cudaErrorInvalidValue),
          "the same edge again");
    check(fails(cudaGraphAddDependencies(graph, &a, &a, NULL, 1), cudaErrorInvalidValue),
          "a node that waits for itself");
    check(fails(cudaGraphAddDependencies(graph, &a, &foreign, NULL, 1), cudaErrorInvalidValue),
          "a node of another graph");
    check(fails(cudaGraphAddDependencies(graph, &a, &b, &odd, 1), cudaErrorNotSupported),
          "an edge that is not a full one");
    check(fails(cudaGraphAddEmptyNode(&node, graph, twice, 2), cudaErrorInvalidValue),
          "a dependency named twice");
    cudaGraphAddDependencies(graph, &a, &b, NULL, 1);
    check(fails(cudaGraphInstantiate(&exec, graph, 0), cudaErrorInvalidValue), "a circle");
    cudaGraphDestroy(other);
    cudaGraphDestroy(graph);
}

/* a -> (b, c) -> d, b and c with nothing between them. */
static void test_order(void)
{
    cudaGraph_t graph = new_graph();
    const cudaGraphNode_t a = add(graph, "a", NULL, 0);
    const cudaGraphNode_t bc[] = {add(graph, "b", &a, 1), add(graph, "c", &a, 1)};
    add(graph, "d", bc, 2);
    check(run_graph(graph) == cudaSuccess && traced == 4 && before('a', 'b') && before('a', 'c') &&
              before('b', 'd') && before('c', 'd'),
          "nodes run in an order that the edges allow");
    check(before('c', 'b'), "which need not be that of adding");
    cudaGraphDestroy(graph);
}

static void test_children(void)
{
    cudaGraph_t graph = new_graph(), child = new_graph(), embedded = NULL, clone = NULL;
    cudaGraphNode_t node = NULL, list[1] = {NULL};
    enum cudaGraphNodeType type = cudaGraphNodeTypeCount;
    size_t count = 0;
    const cudaGraphNode_t inner = add(child, "i", NULL, 0), a = add(graph, "a", NULL, 0);
    add(child, "j", &inner, 1);
    cudaGraphAddChildGraphNode(&node, graph, &a, 1, child);
    add(graph, "z", &node, 1);
    add(child, "k", NULL, 0);
    check(cudaGraphNodeGetType(node, &type) == cudaSuccess && type == cudaGraphNodeTypeGraph,
          "a child graph node");
    check(run_graph(graph) == cudaSuccess && traced == 4 && before('a', 'i') && before('i', 'j') &&
              before('j', 'z') && !strchr(trace, 'k'),
          "embeds the graph as it was, between what it waits for and what waits for it");
    check(cudaGraphChildGraphNodeGetGraph(node, &embedded) == cudaSuccess && embedded != child &&
              cudaGraphGetNodes(embedded, NULL, &count) == cudaSuccess && count == 2,
          "cudaGraphChildGraphNodeGetGraph hands out the embedded graph");
    add(embedded, "l", NULL, 0);
    check(run_graph(graph) == cudaSuccess && traced == 5 && before('a', 'l') && before('l', 'z'),
          "itself, not a copy");
    check(fails(cudaGraphDestroy(embedded), cudaErrorInvalidValue), "which the node keeps");
    check(fails(cudaGraphChildGraphNodeGetGraph(a, &embedded), cudaErrorInvalidValue),
          "other nodes have none");
    check(cudaGraphClone(&clone, graph) == cudaSuccess, "cudaGraphClone");
    cudaGraphDestroy(child);
    cudaGraphDestroy(graph);
    check(run_graph(clone) == cudaSuccess && traced == 5 && before('a', 'i') && before('j', 'z'),
          "outlives the original, with what is embedded");
    count = 1;
    check(cudaGraphGetRootNodes(clone, list, &count) == cudaSuccess && list[0] && list[0] != a,
          "and has nodes of its own");
    cudaGraphDestroy(clone);
}

static void test_memory_nodes(void)
{
    unsigned char from[16], to[16] = {0};
    cudaGraphNode_t set, in, out;
    cudaGraph_t graph = new_graph();
    unsigned char *block = device_alloc(64);
    const struct cudaMemsetParams words = {.dst = block + 32,
                                           .elementSize = 4,
                                           .value = 0x04030201,
                                           .width = 2,
                                           .pitch = 16,
                                           .height = 2};
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (unsigned char)i;
    check(cudaGraphAddMemcpyNode1D(&in, graph, NULL, 0, block, from, 16, cudaMemcpyHostToDevice) ==
                  cudaSuccess &&
              cudaGraphAddMemcpyNode1D(&out, graph, &in, 1, to, block, 16, cudaMemcpyDefault) ==
                  cudaSuccess &&
              run_graph(graph) == cudaSuccess && memcmp(from, to, 16) == 0,
          "copy nodes");
    from[3] = 99;
    check(run_graph(graph) == cudaSuccess && to[3] == 99, "read when they run");
    check(cudaGraphMemcpyNodeSetParams1D(in, block, from + 8, 4, cudaMemcpyDefault) ==
                  cudaSuccess &&
              run_graph(graph) == cudaSuccess && to[0] == 8 && to[4] == 4,
          "and may be changed");
    check(fails(cudaGraphMemsetNodeSetParams(in, &words), cudaErrorInvalidValue),
          "not into nodes of another type");
    check(cudaGraphAddMemsetNode(&set, graph, NULL, 0, &words) == cudaSuccess &&
              run_graph(graph) == cudaSuccess,
          "a node that sets words");
    cudaMemcpy(to, block + 32, 16, cudaMemcpyDeviceToHost);
    check(to[0] == 1 && to[3] == 4 && to[4] == 1 && to[7] == 4 && to[8] == 0xCB, "row by row");
    cudaMemcpy(to, block + 48, 16, cudaMemcpyDeviceToHost);
    check(to[5] == 2 && to[8] == 0xCB, "in every row");
    struct cudaMemsetParams bytes = {.dst = block + 56, .elementSize = 1, .width = 3, .height = 1};
    check(cudaGraphMemsetNodeSetParams(set, &bytes) == cudaSuccess &&
              run_graph(graph) == cudaSuccess,
          "changed to bytes");
    cudaMemcpy(to, block + 56, 4, cudaMemcpyDeviceToHost);
    check(to[0] == 0 && to[2] == 0 && to[3] == 0xCB, "elsewhere");
    cudaGraphDestroy(graph);
    cudaFree(block);
}

/* --- executable graphs --- */

static void test_replay(void)
{
    sem_t started, gate;
    cudaStream_t a, b;
    cudaGraphExec_t exec;
    const struct cudaHostNodeParams start = {.fn = open_gate, .userData = &started};
    const struct cudaHostNodeParams wait = {.fn = wait_gate, .userData = &gate};
    cudaGraphNode_t first, second;
    cudaGraph_t graph = new_graph();
    sem_init(&started, 0, 0);
    sem_init(&gate, 0, 0);
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaGraphAddHostNode(&first, graph, NULL, 0, &start);
    cudaGraphAddHostNode(&second, graph, &first, 1, &wait);
    check(cudaGraphInstantiateWithFlags(&exec, graph, 0) == cudaSuccess, "instantiated");
    cudaGraphDestroy(graph);
    check(cudaGraphUpload(exec, a) == cudaSuccess && cudaGraphLaunch(exec, a) == cudaSuccess &&
              cudaGraphLaunch(exec, b) == cudaSuccess,
          "launched twice, the graph gone");
    wait_gate(&started);
    usleep(20000);
    check(sem_trywait(&started) != 0 && fails(cudaStreamQuery(b), cudaErrorNotReady),
          "the second launch waits for the first, on whatever stream");
    check(cudaGraphExecDestroy(exec) == cudaSuccess, "destroyed under way");
    open_gate(&gate);
    open_gate(&gate);
    check(cudaStreamSynchronize(a) == cudaSuccess && cudaStreamSynchronize(b) == cudaSuccess &&
              sem_trywait(&started) == 0,
          "both finish");
    check(fails(cudaGraphLaunch(exec, a), cudaErrorInvalidValue), "then it is gone");
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    sem_destroy(&gate);
    sem_destroy(&started);
}

/* A launch is one piece of work in the order of its stream. */
static void test_stream_order(void)
{
    sem_t gate;
    cudaStream_t stream;
    cudaGraphExec_t exec;
    cudaGraph_t graph = new_graph();
    sem_init(&gate, 0, 0);
    cudaStreamCreate(&stream);
    add(graph, "g", NULL, 0);
    cudaGraphInstantiate(&exec, graph, 0);
    forget();
    enqueue(stream, wait_gate, &gate);
    enqueue(stream, leave, (void *)(uintptr_t) "1");
    cudaGraphLaunch(exec, stream);
    enqueue(stream, leave, (void *)(uintptr_t) "2");
    cudaGraphLaunch(exec, stream);
    open_gate(&gate);
    cudaStreamSynchronize(stream);
    check(strcmp(trace, "1g2g") == 0, "launches keep the order of the stream");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    sem_destroy(&gate);
}

static cudaGraph_t pair(const char *first, const char *second)
{
    cudaGraph_t graph = new_graph();
    const cudaGraphNode_t node = add(graph, first, NULL, 0);
    add(graph, second, &node, 1);
    return graph;
}

static void test_update(void)
{
    sem_t gate;
    cudaStream_t stream;
    cudaGraphExec_t exec;
    cudaGraphExecUpdateResultInfo info;
    cudaGraph_t graph = pair("a", "b"), same = pair("c", "d"), more = pair("e", "f");
    cudaGraph_t apart = new_graph(), empty = new_graph();
    cudaGraphNode_t node;
    sem_init(&gate, 0, 0);
    cudaStreamCreate(&stream);
    add(more, "g", NULL, 0);
    add(apart, "h", NULL, 0);
    const cudaGraphNode_t loose = add(apart, "i", NULL, 0);
    cudaGraphAddEmptyNode(&node, empty, NULL, 0);
    add(empty, "j", &node, 1);
    cudaGraphInstantiate(&exec, graph, 0);
    forget();
    enqueue(stream, wait_gate, &gate);
    cudaGraphLaunch(exec, stream);
    check(cudaGraphExecUpdate(exec, same, &info) == cudaSuccess &&
              info.result == cudaGraphExecUpdateSuccess,
          "cudaGraphExecUpdate");
    open_gate(&gate);
    cudaStreamSynchronize(stream);
    check(strcmp(trace, "ab") == 0, "leaves launches alone that are queued");
    forget();
    cudaGraphDestroy(same);
    check(run_exec(exec) == cudaSuccess && strcmp(trace, "cd") == 0, "later ones do the new work");
    check(fails(cudaGraphExecUpdate(exec, more, &info), cudaErrorGraphExecUpdateFailure) &&
              info.result == cudaGraphExecUpdateErrorTopologyChanged && !info.errorNode,
          "not with another number of nodes");
    check(fails(cudaGraphExecUpdate(exec, apart, &info), cudaErrorGraphExecUpdateFailure) &&
              info.result == cudaGraphExecUpdateErrorTopologyChanged && info.errorNode == loose,
          "or other edges");
    check(fails(cudaGraphExecUpdate(exec, empty, &info), cudaErrorGraphExecUpdateFailure) &&
              info.result == cudaGraphExecUpdateErrorNodeTypeChanged && info.errorNode == node,
          "or other types");
    forget();
    check(run_exec(exec) == cudaSuccess && strcmp(trace, "cd") == 0,
          "a refused one changes nothing");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaGraphDestroy(more);
    cudaGraphDestroy(apart);
    cudaGraphDestroy(empty);
    cudaStreamDestroy(stream);
    sem_destroy(&gate);
}

static void test_child_update(void)
{
    cudaGraphExec_t exec;
    cudaGraph_t graph = new_graph(), middle = new_graph(), child = pair("a", "b"), embedded;
    cudaGraph_t other = pair("c", "d"), third = pair("e", "f"), unlike = new_graph();
    cudaGraphNode_t first, second, outer, inner;
    add(unlike, "x", NULL, 0);
    cudaGraphAddChildGraphNode(&inner, middle, NULL, 0, child);
    cudaGraphAddChildGraphNode(&first, graph, NULL, 0, child);
    cudaGraphAddChildGraphNode(&second, graph, &first, 1, child);
    cudaGraphAddChildGraphNode(&outer, graph, &second, 1, middle);
    cudaGraphInstantiate(&exec, graph, 0);
    check(cudaGraphExecChildGraphNodeSetParams(exec, second, other) == cudaSuccess,
          "cudaGraphExecChildGraphNodeSetParams");
    forget();
    check(run_exec(exec) == cudaSuccess && strcmp(trace, "abcdab") == 0,
          "changes that child alone");
    size_t one = 1;
    cudaGraphChildGraphNodeGetGraph(outer, &embedded);
    cudaGraphGetNodes(embedded, &inner, &one);
    check(cudaGraphExecChildGraphNodeSetParams(exec, inner, third) == cudaSuccess,
          "also one inside of a child");
    forget();
    check(run_exec(exec) == cudaSuccess && strcmp(trace, "abcdef") == 0, "at its place");
    check(run_graph(graph) == cudaSuccess && strcmp(trace, "ababab") == 0,
          "the graph stays as it was");
    check(fails(cudaGraphExecChildGraphNodeSetParams(exec, first, unlike),
                cudaErrorGraphExecUpdateFailure),
          "another structure is refused");
    check(fails(cudaGraphExecChildGraphNodeSetParams(exec, NULL, other), cudaErrorInvalidValue),
          "no node");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaGraphDestroy(middle);
    cudaGraphDestroy(child);
    cudaGraphDestroy(other);
    cudaGraphDestroy(third);
    cudaGraphDestroy(unlike);
}

/* --- user objects --- */

static void test_user_objects(void)
{
    sem_t gone, gate;
    cudaStream_t stream;
    cudaUserObject_t object;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    cudaGraph_t graph = new_graph(), outer = new_graph();
    sem_init(&gone, 0, 0);
    sem_init(&gate, 0, 0);
    cudaStreamCreate(&stream);
    check(cudaUserObjectCreate(&object, &gone, open_gate, 1, cudaUserObjectNoDestructorSync) ==
                  cudaSuccess &&
              cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove) == cudaSuccess,
          "a graph takes a user object");
    cudaGraphAddChildGraphNode(&node, outer, NULL, 0, graph);
    cudaGraphDestroy(graph);
    cudaGraphInstantiate(&exec, outer, 0);
    cudaGraphDestroy(outer);
    enqueue(stream, wait_gate, &gate);
    cudaGraphLaunch(exec, stream);
    cudaGraphExecDestroy(exec);
    usleep(20000);
    check(sem_trywait(&gone) != 0, "which lives as long as any copy, also one on a stream");
    open_gate(&gate);
    wait_gate(&gone);
    check(cudaStreamSynchronize(stream) == cudaSuccess, "and no longer");
    check(fails(cudaUserObjectRelease(object, 1), cudaErrorInvalidValue), "then it is gone");
    graph = new_graph();
    cudaUserObjectCreate(&object, &gone, open_gate, 2, cudaUserObjectNoDestructorSync);
    cudaGraphRetainUserObject(graph, object, 1, 0);
    check(cudaUserObjectRelease(object, 2) == cudaSuccess &&
              cudaGraphReleaseUserObject(graph, object, 1) == cudaSuccess,
          "references are counted");
    wait_gate(&gone);
    check(fails(cudaGraphReleaseUserObject(graph, object, 1), cudaErrorInvalidValue),
          "a graph gives back what it has");
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    sem_destroy(&gate);
    sem_destroy(&gone);
}

/* --- the seam to libcudnn --- */

static void count_release(void *count)
{
    ++*(int *)count;
}

static void nothing(void *unused)
{
    (void)unused;
}

static void test_release(void)
{
    int released = 0, replaced = 0;
    cudaGraphExec_t exec;
    cudaGraph_t graph = new_graph(), clone;
    const struct simdev_work work = {
        .run = nothing, .release = count_release, .arg = &released, .maker = &work};
    struct simdev_work next = {
        .run = nothing, .release = count_release, .arg = &replaced, .maker = &work};
    check(simdev_graph_add(graph, &work) == cudaSuccess, "simdev_graph_add");
    cudaGraphClone(&clone, graph);
    cudaGraphInstantiate(&exec, clone, 0);
    run_exec(exec);
    check(simdev_graph_replace(graph, &next) == cudaSuccess, "simdev_graph_replace");
    next.maker = &next;
    check(simdev_graph_replace(graph, &next) == cudaErrorInvalidValue, "by the same maker only");
    add(graph, "x", NULL, 0);
    next.maker = &work;
    check(simdev_graph_replace(graph, &next) == cudaErrorInvalidValue, "in a graph of one node");
    cudaGraphDestroy(graph);
    cudaGraphDestroy(clone);
    run_exec(exec);
    check(released == 0 && replaced == 1, "what a graph holds can run");
    cudaGraphExecDestroy(exec);
    cudaDeviceSynchronize();
    check(released == 1 && replaced == 1, "and is released once");
    check(simdev_graph_add(graph, &work) == cudaErrorInvalidValue && released == 1,
          "refused work stays the caller's");
    check(enqueue(NULL, nothing, NULL) == cudaSuccess &&
              simdev_enqueue(NULL, &work) == cudaSuccess &&
              cudaDeviceSynchronize() == cudaSuccess && released == 2,
          "work on a stream is released when it ran");
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(120);
    setenv("SIMDEV_FAIL", "cudaGraphAddChildGraphNode:1,cudaGraphInstantiate:1", 1);
    test_failures();
    test_structure();
    test_dependencies();
    test_order();
    test_children();
    test_memory_nodes();
    test_replay();
    test_stream_order();
    test_update();
    test_child_update();
    test_user_objects();
    test_release();
    return finish_checks();
}
