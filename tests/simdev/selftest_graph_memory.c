/* Tests of the simulated device: memory nodes of graphs, captured and made by hand. Prints TAP. */
#include "selftest_cuda.h"
#include <string.h>

static cudaStream_t stream;

static size_t free_bytes(void)
{
    size_t there = 0, total = 0;
    cudaMemGetInfo(&there, &total);
    return there;
}

static uint64_t number(enum cudaGraphMemAttributeType attribute)
{
    uint64_t value = UINT64_MAX;
    cudaDeviceGetGraphMemAttribute(0, attribute, &value);
    return value;
}

static cudaGraph_t end_capture(void)
{
    cudaGraph_t graph = NULL;
    cudaStreamEndCapture(stream, &graph);
    return graph;
}

static enum cudaGraphNodeType type_at(cudaGraph_t graph, size_t at)
{
    cudaGraphNode_t node[8];
    enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    size_t count = 8;
    cudaGraphGetNodes(graph, node, &count);
    if (at < count)
        cudaGraphNodeGetType(node[at], &type);
    return type;
}

/* An allocation that the graph itself frees. */
static void test_inside(void)
{
    const size_t before = free_bytes();
    void *block = NULL, *copy = NULL;
    cudaGraphExec_t exec = NULL;
    unsigned char got[2] = {0};
    cudaMallocHost(&copy, 2);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    check(cudaMallocAsync(&block, 40 * MIB, stream) == cudaSuccess && block,
          "capture: cudaMallocAsync returns an address");
    cudaMemsetAsync(block, 7, 40 * MIB, stream);
    cudaMemcpyAsync(copy, (char *)block + 40 * MIB - 2, 2, cudaMemcpyDeviceToHost, stream);
    check(cudaFreeAsync(block, stream) == cudaSuccess, "capture: cudaFreeAsync");
    cudaGraph_t graph = end_capture();
    check(graph && type_at(graph, 0) == cudaGraphNodeTypeMemAlloc &&
              type_at(graph, 3) == cudaGraphNodeTypeMemFree,
          "capture: allocation and free are nodes");
    check(free_bytes() == before && !simdev_range_alive(block, 1),
          "capture: nothing is allocated before the launch");
    check(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess, "capture: instantiated");
    for (int i = 0; i < 2; i++) {
        memset(copy, 0, 2);
        check(cudaGraphLaunch(exec, stream) == cudaSuccess &&
                  cudaStreamSynchronize(stream) == cudaSuccess,
              "launch: runs, again too");
        memcpy(got, copy, 2);
        check(got[0] == 7 && got[1] == 7, "launch: work uses the memory");
    }
    check(number(cudaGraphMemAttrUsedMemCurrent) == 0 &&
              number(cudaGraphMemAttrUsedMemHigh) == 40 * MIB &&
              number(cudaGraphMemAttrReservedMemCurrent) == 64 * MIB &&
              free_bytes() == before - 64 * MIB,
          "launch: the device's pool of graphs keeps the memory");
    check(cudaDeviceGraphMemTrim(0) == cudaSuccess && free_bytes() == before &&
              number(cudaGraphMemAttrReservedMemHigh) == 64 * MIB,
          "trim: gives the memory back");
    cudaGraph_t clone = NULL;
    check(fails(cudaGraphClone(&clone, graph), cudaErrorNotSupported),
          "clone: refused, as CUDA does");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaFreeHost(copy);
}

/* An allocation that outlives the launch. */
static void test_outside(unsigned long long flags)
{
    const bool frees = flags == cudaGraphInstantiateFlagAutoFreeOnLaunch;
    void *block = NULL;
    cudaGraphExec_t exec = NULL;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cudaMallocAsync(&block, MIB, stream);
    cudaGraph_t graph = end_capture();
    cudaGraphInstantiate(&exec, graph, flags);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    check(simdev_range_alive(block, MIB) && number(cudaGraphMemAttrUsedMemCurrent) == MIB,
          "outside: the memory is there after the launch");
    const cudaError_t again = cudaGraphLaunch(exec, stream);
    check(frees ? again == cudaSuccess : fails(again, cudaErrorInvalidValue),
          "outside: a second launch is allowed only with AutoFreeOnLaunch");
    check(number(cudaGraphMemAttrUsedMemCurrent) == MIB, "outside: counted once");
    cudaStreamSynchronize(stream);
    check((frees ? cudaFree(block) : cudaFreeAsync(block, stream)) == cudaSuccess &&
              cudaStreamSynchronize(stream) == cudaSuccess &&
              number(cudaGraphMemAttrUsedMemCurrent) == 0 && !simdev_range_alive(block, 1),
          "outside: freed by the program");
    check(cudaGraphLaunch(exec, stream) == cudaSuccess &&
              cudaStreamSynchronize(stream) == cudaSuccess && simdev_range_alive(block, MIB),
          "outside: then launched again, at the same address");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    check(simdev_range_alive(block, MIB) && cudaFree(block) == cudaSuccess,
          "outside: survives its graph until it is freed");
    cudaDeviceGraphMemTrim(0);
}

static void test_refusals(void)
{
    void *plain = device_alloc(64), *block = NULL;
    cudaGraphExec_t exec = NULL;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    check(fails(cudaFreeAsync(plain, stream), cudaErrorInvalidValue),
          "capture: only memory of a graph can be freed");
    check(cudaMallocAsync(&block, free_bytes() + MIB, stream) == cudaSuccess,
          "capture: an allocation of any size");
    cudaGraph_t graph = end_capture();
    check(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess &&
              fails(cudaGraphLaunch(exec, stream), cudaErrorMemoryAllocation) &&
              number(cudaGraphMemAttrUsedMemCurrent) == 0,
          "launch: refused if the device is full");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaFree(plain);
}

static void test_by_hand(void)
{
    CUgraphNode first = NULL, last = NULL;
    CUgraph graph = NULL;
    CUdeviceptr address = 0;
    CUDA_MEM_ALLOC_NODE_PARAMS params = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                       .location = {CU_MEM_LOCATION_TYPE_DEVICE}},
                                         .bytesize = MIB},
                               got = {.bytesize = 0};
    cudaGraphExec_t exec = NULL;
    cudaGraphCreate(&graph, 0);
    check(cu.cuGraphAddMemAllocNode(&first, graph, NULL, 0, &params) == CUDA_SUCCESS &&
              params.dptr && cu.cuGraphMemAllocNodeGetParams(first, &got) == CUDA_SUCCESS &&
              got.dptr == params.dptr && got.bytesize == MIB,
          "by hand: an allocation node");
    check(cu.cuGraphAddMemFreeNode(&last, graph, &first, 1, params.dptr) == CUDA_SUCCESS &&
              cu.cuGraphMemFreeNodeGetParams(last, &address) == CUDA_SUCCESS &&
              address == params.dptr,
          "by hand: a free node");
    check(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess &&
              cudaGraphLaunch(exec, stream) == cudaSuccess &&
              cudaStreamSynchronize(stream) == cudaSuccess,
          "by hand: runs");
    check(cu.cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &address) ==
                  CUDA_SUCCESS &&
              address >= MIB && cu.cuDeviceGraphMemTrim(0) == CUDA_SUCCESS,
          "by hand: the driver's attributes");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
}

int main(void)
{
    alarm(60);
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (!bind_driver())
        return 1;
    test_inside();
    test_outside(0);
    test_outside(cudaGraphInstantiateFlagAutoFreeOnLaunch);
    test_refusals();
    test_by_hand();
    check(simdev_violations() == 0, "no violation");
    return finish_checks();
}
