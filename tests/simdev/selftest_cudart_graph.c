/* Tests of the simulated libcudart: graphs created by calls, and executable graphs. Prints TAP. */
#include "selftest_cudart.h"
#include <string.h>

/* --- work that records its execution --- */

enum {
    TRACE = 64
};

/* The names of the host nodes that ran, in the order in which they ran. */
static char trace[TRACE];
static size_t traced;

static void record_letter(void *name)
{
    if (traced < TRACE - 1)
        trace[traced++] = *(const char *)name;
}

static void clear_trace(void)
{
    memset(trace, 0, sizeof(trace));
    traced = 0;
}

/* Adds a node that records the first letter of `name`. */
static cudaGraphNode_t add(cudaGraph_t graph, const char *name, const cudaGraphNode_t *after,
                           size_t count)
{
    const struct cudaHostNodeParams params = {.fn = record_letter,
                                              .userData = (void *)(uintptr_t)name};
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
    clear_trace();
    cudaError_t error = cudaGraphInstantiate(&exec, graph, 0);
    if (error != cudaSuccess)
        return error;
    error = run_exec(exec);
    cudaGraphExecDestroy(exec);
    return error;
}

static bool runs_before(char first, char second)
{
    const char *a = strchr(trace, first), *b = strchr(trace, second);
    return a && b && a < b;
}

/* --- failure on request: first, because SIMDEV_FAIL counts calls --- */

static void test_failures(void)
{
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    cudaGraph_t graph = new_graph(), child = new_graph();
    check(fails(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child), cudaErrorUnknown) &&
              cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child) == cudaSuccess,
          "SIMDEV_FAIL: cudaGraphAddChildGraphNode");
    check(fails(cudaGraphInstantiate(&exec, graph, 0), cudaErrorUnknown) &&
              run_graph(graph) == cudaSuccess,
          "SIMDEV_FAIL: cudaGraphInstantiate");
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
    check(cudaGraphGetNodes(graph, NULL, &count) == cudaSuccess && count == 0,
          "cudaGraphGetNodes: empty graph");
    const cudaGraphNode_t a = add(graph, "a", NULL, 0), b = add(graph, "b", &a, 1);
    const cudaGraphNode_t ab[] = {a, b};
    cudaGraphNode_t c = NULL;
    check(cudaGraphAddEmptyNode(&c, graph, ab, 2) == cudaSuccess,
          "cudaGraphGetNodes: three nodes, count");
    count = 4;
    check(cudaGraphGetNodes(graph, list, &count) == cudaSuccess && count == 3 && list[0] == a &&
              list[1] == b && list[2] == c && !list[3],
          "cudaGraphGetNodes: order of adding, rest of the array cleared");
    count = 2;
    check(cudaGraphGetNodes(graph, list, &count) == cudaSuccess && count == 2,
          "cudaGraphGetNodes: short array");
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
    check(fails(cudaGraphNodeGetType(a, &type), cudaErrorInvalidValue),
          "cudaGraphDestroy: destroys the nodes");
    check(fails(cudaGraphDestroy(graph), cudaErrorInvalidValue),
          "cudaGraphDestroy: second call, refused");
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
              run_graph(graph) == cudaSuccess && runs_before('b', 'a'),
          "edges: back to a node added earlier");
    check(fails(cudaGraphAddDependencies(graph, &b, &a, NULL, 1), cudaErrorInvalidValue),
          "edges: duplicate, refused");
    check(fails(cudaGraphAddDependencies(graph, &a, &a, NULL, 1), cudaErrorInvalidValue),
          "edges: from a node to itself, refused");
    check(fails(cudaGraphAddDependencies(graph, &a, &foreign, NULL, 1), cudaErrorInvalidValue),
          "edges: to a node of another graph, refused");
    check(fails(cudaGraphAddDependencies(graph, &a, &b, &odd, 1), cudaErrorNotSupported),
          "edges: with data, refused");
    check(fails(cudaGraphAddEmptyNode(&node, graph, twice, 2), cudaErrorInvalidValue),
          "edges: duplicate dependency of a new node, refused");
    cudaGraphAddDependencies(graph, &a, &b, NULL, 1);
    check(fails(cudaGraphInstantiate(&exec, graph, 0), cudaErrorInvalidValue),
          "edges: circle, instantiation refused");
    cudaGraphDestroy(other);
    cudaGraphDestroy(graph);
}

/* a -> (b, c) -> d, without an edge between b and c. */
static void test_order(void)
{
    cudaGraph_t graph = new_graph();
    const cudaGraphNode_t a = add(graph, "a", NULL, 0);
    const cudaGraphNode_t bc[] = {add(graph, "b", &a, 1), add(graph, "c", &a, 1)};
    add(graph, "d", bc, 2);
    check(run_graph(graph) == cudaSuccess && traced == 4 && runs_before('a', 'b') &&
              runs_before('a', 'c') && runs_before('b', 'd') && runs_before('c', 'd'),
          "order: as the edges allow");
    check(runs_before('c', 'b'), "order: not that of adding");
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
          "child graph: node type");
    check(run_graph(graph) == cudaSuccess && traced == 4 && runs_before('a', 'i') &&
              runs_before('i', 'j') && runs_before('j', 'z') && !strchr(trace, 'k'),
          "child graph: copy of the graph, runs between dependencies and dependents");
    check(cudaGraphChildGraphNodeGetGraph(node, &embedded) == cudaSuccess && embedded != child &&
              cudaGraphGetNodes(embedded, NULL, &count) == cudaSuccess && count == 2,
          "child graph: query returns the embedded graph");
    add(embedded, "l", NULL, 0);
    check(run_graph(graph) == cudaSuccess && traced == 5 && runs_before('a', 'l') &&
              runs_before('l', 'z'),
          "child graph: query returns the graph itself, not a copy");
    check(fails(cudaGraphDestroy(embedded), cudaErrorInvalidValue),
          "child graph: destruction of the embedded graph, refused");
    check(fails(cudaGraphChildGraphNodeGetGraph(a, &embedded), cudaErrorInvalidValue),
          "child graph: query of another node type, refused");
    check(cudaGraphClone(&clone, graph) == cudaSuccess, "clone: created");
    cudaGraphDestroy(child);
    cudaGraphDestroy(graph);
    check(run_graph(clone) == cudaSuccess && traced == 5 && runs_before('a', 'i') &&
              runs_before('j', 'z'),
          "clone: runs after the original is destroyed");
    count = 1;
    check(cudaGraphGetRootNodes(clone, list, &count) == cudaSuccess && list[0] && list[0] != a,
          "clone: separate nodes");
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
          "copy nodes: run");
    from[3] = 99;
    check(run_graph(graph) == cudaSuccess && to[3] == 99,
          "copy nodes: read the source when they run");
    check(cudaGraphMemcpyNodeSetParams1D(in, block, from + 8, 4, cudaMemcpyDefault) ==
                  cudaSuccess &&
              run_graph(graph) == cudaSuccess && to[0] == 8 && to[4] == 4,
          "copy nodes: parameters changed");
    check(fails(cudaGraphMemsetNodeSetParams(in, &words), cudaErrorInvalidValue),
          "copy nodes: parameters of another type, refused");
    check(cudaGraphAddMemsetNode(&set, graph, NULL, 0, &words) == cudaSuccess &&
              run_graph(graph) == cudaSuccess,
          "set node: elements of 4 bytes");
    cudaMemcpy(to, block + 32, 16, cudaMemcpyDeviceToHost);
    check(to[0] == 1 && to[3] == 4 && to[4] == 1 && to[7] == 4 && to[8] == 0xCB,
          "set node: first row");
    cudaMemcpy(to, block + 48, 16, cudaMemcpyDeviceToHost);
    check(to[5] == 2 && to[8] == 0xCB, "set node: second row");
    struct cudaMemsetParams bytes = {.dst = block + 56, .elementSize = 1, .width = 3, .height = 1};
    check(cudaGraphMemsetNodeSetParams(set, &bytes) == cudaSuccess &&
              run_graph(graph) == cudaSuccess,
          "set node: parameters changed");
    cudaMemcpy(to, block + 56, 4, cudaMemcpyDeviceToHost);
    check(to[0] == 0 && to[2] == 0 && to[3] == 0xCB, "set node: changed parameters used");
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
    check(cudaGraphInstantiateWithFlags(&exec, graph, 0) == cudaSuccess,
          "executable graph: created");
    cudaGraphDestroy(graph);
    check(cudaGraphUpload(exec, a) == cudaSuccess && cudaGraphLaunch(exec, a) == cudaSuccess &&
              cudaGraphLaunch(exec, b) == cudaSuccess,
          "launch: twice, after the graph is destroyed");
    wait_gate(&started);
    usleep(20000);
    check(sem_trywait(&started) != 0 && fails(cudaStreamQuery(b), cudaErrorNotReady),
          "launch: second waits for the first, on another stream");
    check(cudaGraphExecDestroy(exec) == cudaSuccess, "executable graph: destroyed during a launch");
    open_gate(&gate);
    open_gate(&gate);
    check(cudaStreamSynchronize(a) == cudaSuccess && cudaStreamSynchronize(b) == cudaSuccess &&
              sem_trywait(&started) == 0,
          "executable graph: both launches finish");
    check(fails(cudaGraphLaunch(exec, a), cudaErrorInvalidValue),
          "executable graph: launch after destruction, refused");
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    sem_destroy(&gate);
    sem_destroy(&started);
}

/* A launch is one operation in the order of its stream. */
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
    clear_trace();
    enqueue(stream, wait_gate, &gate);
    enqueue(stream, record_letter, (void *)(uintptr_t) "1");
    cudaGraphLaunch(exec, stream);
    enqueue(stream, record_letter, (void *)(uintptr_t) "2");
    cudaGraphLaunch(exec, stream);
    open_gate(&gate);
    cudaStreamSynchronize(stream);
    check(strcmp(trace, "1g2g") == 0, "launch: ordered with other work of the stream");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    sem_destroy(&gate);
}

static cudaGraph_t graph_of_two(const char *first, const char *second)
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
    cudaGraph_t graph = graph_of_two("a", "b"), same = graph_of_two("c", "d"),
                more = graph_of_two("e", "f");
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
    clear_trace();
    enqueue(stream, wait_gate, &gate);
    cudaGraphLaunch(exec, stream);
    check(cudaGraphExecUpdate(exec, same, &info) == cudaSuccess &&
              info.result == cudaGraphExecUpdateSuccess,
          "update: same structure, accepted");
    open_gate(&gate);
    cudaStreamSynchronize(stream);
    check(strcmp(trace, "ab") == 0, "update: queued launch, unchanged");
    clear_trace();
    cudaGraphDestroy(same);
    check(run_exec(exec) == cudaSuccess && strcmp(trace, "cd") == 0,
          "update: later launch, new work");
    check(fails(cudaGraphExecUpdate(exec, more, &info), cudaErrorGraphExecUpdateFailure) &&
              info.result == cudaGraphExecUpdateErrorTopologyChanged && !info.errorNode,
          "update: different number of nodes, refused");
    check(fails(cudaGraphExecUpdate(exec, apart, &info), cudaErrorGraphExecUpdateFailure) &&
              info.result == cudaGraphExecUpdateErrorTopologyChanged && info.errorNode == loose,
          "update: different edges, refused");
    check(fails(cudaGraphExecUpdate(exec, empty, &info), cudaErrorGraphExecUpdateFailure) &&
              info.result == cudaGraphExecUpdateErrorNodeTypeChanged && info.errorNode == node,
          "update: different types, refused");
    clear_trace();
    check(run_exec(exec) == cudaSuccess && strcmp(trace, "cd") == 0, "update: refused, no change");
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
    cudaGraph_t graph = new_graph(), middle = new_graph(), child = graph_of_two("a", "b"), embedded;
    cudaGraph_t other = graph_of_two("c", "d"), third = graph_of_two("e", "f"),
                unlike = new_graph();
    cudaGraphNode_t first, second, outer, inner;
    add(unlike, "x", NULL, 0);
    cudaGraphAddChildGraphNode(&inner, middle, NULL, 0, child);
    cudaGraphAddChildGraphNode(&first, graph, NULL, 0, child);
    cudaGraphAddChildGraphNode(&second, graph, &first, 1, child);
    cudaGraphAddChildGraphNode(&outer, graph, &second, 1, middle);
    cudaGraphInstantiate(&exec, graph, 0);
    check(cudaGraphExecChildGraphNodeSetParams(exec, second, other) == cudaSuccess,
          "child update: accepted");
    clear_trace();
    check(run_exec(exec) == cudaSuccess && strcmp(trace, "abcdab") == 0,
          "child update: changes only that child");
    size_t one = 1;
    cudaGraphChildGraphNodeGetGraph(outer, &embedded);
    cudaGraphGetNodes(embedded, &inner, &one);
    check(cudaGraphExecChildGraphNodeSetParams(exec, inner, third) == cudaSuccess,
          "child update: graph nested in a child");
    clear_trace();
    check(run_exec(exec) == cudaSuccess && strcmp(trace, "abcdef") == 0,
          "child update: nested graph runs at its place");
    check(run_graph(graph) == cudaSuccess && strcmp(trace, "ababab") == 0,
          "child update: original graph unchanged");
    check(fails(cudaGraphExecChildGraphNodeSetParams(exec, first, unlike),
                cudaErrorGraphExecUpdateFailure),
          "child update: different structure, refused");
    check(fails(cudaGraphExecChildGraphNodeSetParams(exec, NULL, other), cudaErrorInvalidValue),
          "child update: NULL node, refused");
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
          "user object: retained by a graph");
    cudaGraphAddChildGraphNode(&node, outer, NULL, 0, graph);
    cudaGraphDestroy(graph);
    cudaGraphInstantiate(&exec, outer, 0);
    cudaGraphDestroy(outer);
    enqueue(stream, wait_gate, &gate);
    cudaGraphLaunch(exec, stream);
    cudaGraphExecDestroy(exec);
    usleep(20000);
    check(sem_trywait(&gone) != 0, "user object: kept by copies and by a running launch");
    open_gate(&gate);
    wait_gate(&gone);
    check(cudaStreamSynchronize(stream) == cudaSuccess, "user object: destroyed after the launch");
    check(fails(cudaUserObjectRelease(object, 1), cudaErrorInvalidValue),
          "user object: destroyed, refused");
    graph = new_graph();
    cudaUserObjectCreate(&object, &gone, open_gate, 2, cudaUserObjectNoDestructorSync);
    cudaGraphRetainUserObject(graph, object, 1, 0);
    check(cudaUserObjectRelease(object, 2) == cudaSuccess &&
              cudaGraphReleaseUserObject(graph, object, 1) == cudaSuccess,
          "user object: references counted");
    wait_gate(&gone);
    check(fails(cudaGraphReleaseUserObject(graph, object, 1), cudaErrorInvalidValue),
          "user object: released by the graph only once");
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

static void do_nothing(void *unused)
{
    (void)unused;
}

static void test_release(void)
{
    int released = 0, replaced = 0;
    cudaGraphExec_t exec;
    cudaGraph_t graph = new_graph(), clone;
    const struct simdev_work work = {
        .run = do_nothing, .release = count_release, .arg = &released, .maker = &work};
    struct simdev_work next = {
        .run = do_nothing, .release = count_release, .arg = &replaced, .maker = &work};
    check(simdev_graph_add(graph, &work) == cudaSuccess, "simdev_graph_add: accepted");
    cudaGraphClone(&clone, graph);
    cudaGraphInstantiate(&exec, clone, 0);
    run_exec(exec);
    check(simdev_graph_replace(graph, &next) == cudaSuccess,
          "simdev_graph_replace: same maker, accepted");
    next.maker = &next;
    check(simdev_graph_replace(graph, &next) == cudaErrorInvalidValue,
          "simdev_graph_replace: another maker, refused");
    add(graph, "x", NULL, 0);
    next.maker = &work;
    check(simdev_graph_replace(graph, &next) == cudaErrorInvalidValue,
          "simdev_graph_replace: graph of two nodes, refused");
    cudaGraphDestroy(graph);
    cudaGraphDestroy(clone);
    run_exec(exec);
    check(released == 0 && replaced == 1, "work: not released while a graph holds it");
    cudaGraphExecDestroy(exec);
    cudaDeviceSynchronize();
    check(released == 1 && replaced == 1, "work: released once");
    check(simdev_graph_add(graph, &work) == cudaErrorInvalidValue && released == 1,
          "work: refused, kept by the caller");
    check(enqueue(NULL, do_nothing, NULL) == cudaSuccess &&
              simdev_enqueue(NULL, &work) == cudaSuccess &&
              cudaDeviceSynchronize() == cudaSuccess && released == 2,
          "work: on a stream, released after it ran");
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
