/* Tests of the stand-in libcuda's graphs: nodes that cuGraphAddNode_v2 adds, and new parameters of
 * nodes in an executable graph. Prints TAP. */
#include "selftest_cuda.h"
#include <string.h>

enum {
    BYTES = 64
};

#define GRAPH_CALLS(C)                                                                             \
    C(cuGraphCreate, (CUgraph *, unsigned))                                                        \
    C(cuGraphDestroy, (CUgraph))                                                                   \
    C(cuGraphAddNode_v2, (CUgraphNode *, CUgraph, const CUgraphNode *, const CUgraphEdgeData *,    \
                          size_t, CUgraphNodeParams *))                                            \
    C(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long))                   \
    C(cuGraphLaunch, (CUgraphExec, CUstream))                                                      \
    C(cuGraphExecDestroy, (CUgraphExec))                                                           \
    C(cuGraphExecUpdate_v2, (CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo *))                 \
    C(cuGraphExecNodeSetParams, (CUgraphExec, CUgraphNode, CUgraphNodeParams *))                   \
    C(cuGraphExecMemsetNodeSetParams,                                                              \
      (CUgraphExec, CUgraphNode, const CUDA_MEMSET_NODE_PARAMS *, CUcontext))                      \
    C(cuGraphExecMemcpyNodeSetParams, (CUgraphExec, CUgraphNode, const CUDA_MEMCPY3D *, CUcontext))

static struct {
#define MEMBER(name, parameters) CUresult(*name) parameters;
    GRAPH_CALLS(MEMBER)
#undef MEMBER
} graphs;

static bool bind_graphs(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    bool bound = library != NULL;
#define BIND(name, parameters)                                                                     \
    bound = bound && (*(void **)&graphs.name = dlsym(library, #name)) != NULL;
    GRAPH_CALLS(BIND)
#undef BIND
    return bound;
}

static unsigned char *first, *second, *third;
static unsigned char back[BYTES];
static int calls;

static void count_call(void *unused)
{
    (void)unused;
    calls++;
}

static CUgraphNodeParams set_of(unsigned char *to, unsigned value)
{
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMSET,
                               .memset = {.dst = (CUdeviceptr)(uintptr_t)to,
                                          .value = value,
                                          .elementSize = 1,
                                          .width = BYTES,
                                          .height = 1}};
}

static CUDA_MEMCPY3D bytes_of(unsigned char *from, unsigned char *to)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = (CUdeviceptr)(uintptr_t)from,
                           .srcPitch = BYTES,
                           .srcHeight = 1,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = (CUdeviceptr)(uintptr_t)to,
                           .dstPitch = BYTES,
                           .dstHeight = 1,
                           .WidthInBytes = BYTES,
                           .Height = 1,
                           .Depth = 1};
}

static bool holds(const unsigned char *device, unsigned char value)
{
    cudaMemcpy(back, device, BYTES, cudaMemcpyDeviceToHost);
    for (int i = 0; i < BYTES; i++)
        if (back[i] != value)
            return false;
    return true;
}

static bool launch(CUgraphExec exec, CUstream stream)
{
    return graphs.cuGraphLaunch(exec, stream) == CUDA_SUCCESS &&
           cu.cuStreamSynchronize(stream) == CUDA_SUCCESS;
}

/* A set, behind it a copy of the same bytes, behind that a host function, an empty node and a child
 * graph that sets the first bytes to 9. */
static CUgraph make_graph(unsigned value, CUgraphNode *set_node, CUgraphNode *copy_node)
{
    CUgraph graph = NULL, child = NULL;
    CUgraphNode host = NULL, last = NULL;
    CUgraphNodeParams set = set_of(first, value), nine = set_of(first, 9);
    CUgraphNodeParams copy = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
    CUgraphNodeParams call = {.type = CU_GRAPH_NODE_TYPE_HOST, .host = {.fn = count_call}};
    CUgraphNodeParams empty = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    CUgraphNodeParams part = {.type = CU_GRAPH_NODE_TYPE_GRAPH};
    copy.memcpy.copyParams = bytes_of(first, second);
    graphs.cuGraphCreate(&graph, 0);
    graphs.cuGraphCreate(&child, 0);
    part.graph.graph = child;
    check(graphs.cuGraphAddNode_v2(set_node, graph, NULL, NULL, 0, &set) == CUDA_SUCCESS &&
              graphs.cuGraphAddNode_v2(copy_node, graph, set_node, NULL, 1, &copy) ==
                  CUDA_SUCCESS &&
              graphs.cuGraphAddNode_v2(&host, graph, copy_node, NULL, 1, &call) == CUDA_SUCCESS &&
              graphs.cuGraphAddNode_v2(&last, graph, &host, NULL, 1, &empty) == CUDA_SUCCESS &&
              graphs.cuGraphAddNode_v2(&host, child, NULL, NULL, 0, &nine) == CUDA_SUCCESS &&
              graphs.cuGraphAddNode_v2(&host, graph, &last, NULL, 1, &part) == CUDA_SUCCESS,
          "cuGraphAddNode_v2: a set, a copy, a host function, an empty node and a child graph");
    graphs.cuGraphDestroy(child);
    return graph;
}

static void test_set_params(CUgraphExec exec, CUgraphNode set_node, CUgraphNode copy_node,
                            CUstream stream)
{
    CUgraphNodeParams set = set_of(first, 5), call = {.type = CU_GRAPH_NODE_TYPE_HOST};
    call.host.fn = count_call;
    check(graphs.cuGraphExecNodeSetParams(exec, set_node, &set) == CUDA_SUCCESS &&
              launch(exec, stream) && holds(second, 5),
          "cuGraphExecNodeSetParams: the next launch sets another value");
    const CUDA_MEMSET_NODE_PARAMS other = {.dst = (CUdeviceptr)(uintptr_t)first,
                                           .value = 6,
                                           .elementSize = 1,
                                           .width = BYTES,
                                           .height = 1};
    check(graphs.cuGraphExecMemsetNodeSetParams(exec, set_node, &other, current()) ==
                  CUDA_SUCCESS &&
              launch(exec, stream) && holds(second, 6),
          "cuGraphExecMemsetNodeSetParams: the same");
    const CUDA_MEMCPY3D other_way = bytes_of(first, third);
    check(graphs.cuGraphExecMemcpyNodeSetParams(exec, copy_node, &other_way, current()) ==
                  CUDA_SUCCESS &&
              graphs.cuGraphExecNodeSetParams(exec, set_node, &set) == CUDA_SUCCESS &&
              launch(exec, stream) && holds(second, 6) && holds(third, 5),
          "cuGraphExecMemcpyNodeSetParams: the next launch copies other bytes");
    check(
        refused(graphs.cuGraphExecNodeSetParams(exec, set_node, &call), CUDA_ERROR_INVALID_VALUE) &&
            refused(graphs.cuGraphExecNodeSetParams(exec, NULL, &set), CUDA_ERROR_INVALID_VALUE),
        "a node of another type, and no node, are refused");
}

static void test_update(CUgraphExec exec, CUstream stream)
{
    CUgraphNode set_node = NULL, copy_node = NULL;
    CUgraphExecUpdateResultInfo info;
    CUgraph graph = make_graph(7, &set_node, &copy_node), empty = NULL;
    check(graphs.cuGraphExecUpdate_v2(exec, graph, &info) == CUDA_SUCCESS &&
              info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS && launch(exec, stream) &&
              holds(second, 7) && holds(first, 9),
          "cuGraphExecUpdate_v2: the next launch is that of the new graph");
    graphs.cuGraphCreate(&empty, 0);
    check(graphs.cuGraphExecUpdate_v2(exec, empty, &info) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE &&
              info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && launch(exec, stream) &&
              holds(second, 7),
          "a graph with other nodes is refused, and changes nothing");
    graphs.cuGraphDestroy(empty);
    graphs.cuGraphDestroy(graph);
}

static void test_refusals(CUgraph graph)
{
    CUgraphNode node = NULL;
    CUgraphNodeParams wait = {.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT};
    check(refused(graphs.cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, NULL),
                  CUDA_ERROR_INVALID_VALUE),
          "cuGraphAddNode_v2 without parameters is refused");
    check(refused(graphs.cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &wait),
                  CUDA_ERROR_NOT_SUPPORTED),
          "a type that is not simulated is refused");
}

int main(void)
{
    CUstream stream = NULL;
    CUgraphExec exec = NULL;
    CUgraphNode set_node = NULL, copy_node = NULL;
    cudaFree(NULL);
    if (!bind_driver() || !bind_graphs())
        return 1;
    first = device_alloc(BYTES);
    third = device_alloc(BYTES);
    second = device_alloc(BYTES);
    cu.cuStreamCreate(&stream, CU_STREAM_DEFAULT);
    CUgraph graph = make_graph(3, &set_node, &copy_node);
    check(graphs.cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS &&
              launch(exec, stream) && holds(second, 3) && holds(first, 9) && calls == 1,
          "a launch runs all of them, in the order of their edges");
    test_set_params(exec, set_node, copy_node, stream);
    test_update(exec, stream);
    test_refusals(graph);
    graphs.cuGraphExecDestroy(exec);
    graphs.cuGraphDestroy(graph);
    cu.cuStreamDestroy_v2(stream);
    cudaFree(first);
    cudaFree(third);
    cudaFree(second);
    check(simdev_violations() == 0, "none of it was a violation");
    return finish_checks();
}
