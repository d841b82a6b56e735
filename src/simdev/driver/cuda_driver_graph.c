/* The driver's captures, graphs and host functions (CUDA Driver API, Graph Management). The
 * simulated runtime implements them with the same handles and numbers. */
#include "cuda_driver.h"
#include "cudart_module.h"

/* Defines versions by their numbers, because the meaning of a plain name depends on the header. */
#undef cuStreamBeginCapture
#undef cuGraphAddNode
#undef cuGraphAddDependencies
#undef cuGraphGetEdges
#undef cuGraphNodeGetDependencies
#undef cuGraphNodeGetDependentNodes
#undef cuStreamUpdateCaptureDependencies

_Static_assert((int)CU_GRAPH_NODE_TYPE_KERNEL == (int)cudaGraphNodeTypeKernel &&
                   (int)CU_GRAPH_NODE_TYPE_GRAPH == (int)cudaGraphNodeTypeGraph &&
                   (int)CU_GRAPH_NODE_TYPE_EMPTY == (int)cudaGraphNodeTypeEmpty &&
                   sizeof(CUgraphEdgeData) == sizeof(cudaGraphEdgeData),
               "the runtime's numbers are the driver's");

static const cudaGraphEdgeData *edges_in(const CUgraphEdgeData *edges)
{
    return (const cudaGraphEdgeData *)(const void *)edges;
}

static cudaGraphEdgeData *edges_out(CUgraphEdgeData *edges)
{
    return (cudaGraphEdgeData *)(void *)edges;
}

/* --- host functions --- */

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
    return CUDA_DRIVER_CALL(cudaLaunchHostFunc(stream, function, data));
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback function, void *data, unsigned flags)
{
    return CUDA_DRIVER_CALL(
        cudaStreamAddCallback(stream, (cudaStreamCallback_t)(void *)function, data, flags));
}

/* --- captures --- */

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    return CUDA_DRIVER_CALL(cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode));
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                     const CUgraphNode *dependencies, const CUgraphEdgeData *edges,
                                     size_t count, CUstreamCaptureMode mode)
{
    return CUDA_DRIVER_CALL(cudaStreamBeginCaptureToGraph(
        stream, graph, dependencies, edges_in(edges), count, (enum cudaStreamCaptureMode)mode));
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    return CUDA_DRIVER_CALL(cudaStreamEndCapture(stream, graph));
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *dependencies,
                                              const CUgraphEdgeData *edges, size_t count,
                                              unsigned flags)
{
    return CUDA_DRIVER_CALL(
        cudaStreamUpdateCaptureDependencies(stream, dependencies, edges_in(edges), count, flags));
}

/* --- graphs --- */

CUresult cuGraphCreate(CUgraph *graph, unsigned flags)
{
    return CUDA_DRIVER_CALL(cudaGraphCreate(graph, flags));
}

CUresult cuGraphDestroy(CUgraph graph)
{
    return CUDA_DRIVER_CALL(cudaGraphDestroy(graph));
}

CUresult cuGraphClone(CUgraph *clone, CUgraph graph)
{
    return CUDA_DRIVER_CALL(cudaGraphClone(clone, graph));
}

CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                             size_t count)
{
    return CUDA_DRIVER_CALL(cudaGraphAddEmptyNode(node, graph, dependencies, count));
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                  size_t count, CUgraph child)
{
    return CUDA_DRIVER_CALL(cudaGraphAddChildGraphNode(node, graph, dependencies, count, child));
}

static cudaError_t add_host(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                            size_t count, const CUDA_HOST_NODE_PARAMS *params)
{
    if (!params)
        return cudaErrorInvalidValue;
    const struct cudaHostNodeParams own = {.fn = params->fn, .userData = params->userData};
    return cudaGraphAddHostNode(node, graph, dependencies, count, &own);
}

CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                            size_t count, const CUDA_HOST_NODE_PARAMS *params)
{
    return CUDA_DRIVER_CALL(add_host(node, graph, dependencies, count, params));
}

static cudaError_t add_kernel(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t count, const CUDA_KERNEL_NODE_PARAMS *params)
{
    if (!params)
        return cudaErrorInvalidValue;
    const struct cudaKernelNodeParams own = {
        .func = params->func ? (void *)params->func : (void *)params->kern,
        .gridDim = {params->gridDimX, params->gridDimY, params->gridDimZ},
        .blockDim = {params->blockDimX, params->blockDimY, params->blockDimZ},
        .sharedMemBytes = params->sharedMemBytes,
        .kernelParams = params->kernelParams};
    return cudaGraphAddKernelNode(node, graph, dependencies, count, &own);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS *params)
{
    return CUDA_DRIVER_CALL(add_kernel(node, graph, dependencies, count, params));
}

static cudaError_t add_set(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                           size_t count, const CUDA_MEMSET_NODE_PARAMS *params)
{
    if (!params)
        return cudaErrorInvalidValue;
    const struct cudaMemsetParams own = {.dst = (void *)(uintptr_t)params->dst,
                                         .pitch = params->pitch,
                                         .value = params->value,
                                         .elementSize = params->elementSize,
                                         .width = params->width,
                                         .height = params->height};
    return cudaGraphAddMemsetNode(node, graph, dependencies, count, &own);
}

CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS *params,
                              CUcontext context)
{
    return CUDA_DRIVER_CALL(context ? add_set(node, graph, dependencies, count, params)
                                    : cudaErrorDeviceUninitialized);
}

/* Nodes of the types with a separate function above, and copies. */
static cudaError_t add_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                            size_t count, const CUgraphNodeParams *params)
{
    if (!params)
        return cudaErrorInvalidValue;
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
        const CUDA_KERNEL_NODE_PARAMS_v3 *kernel = &params->kernel;
        const struct cudaKernelNodeParams own = {
            .func = kernel->func ? (void *)kernel->func : (void *)kernel->kern,
            .gridDim = {kernel->gridDimX, kernel->gridDimY, kernel->gridDimZ},
            .blockDim = {kernel->blockDimX, kernel->blockDimY, kernel->blockDimZ},
            .sharedMemBytes = kernel->sharedMemBytes,
            .kernelParams = kernel->kernelParams};
        return cudaGraphAddKernelNode(node, graph, dependencies, count, &own);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return cuda_driver_add_copy(node, graph, dependencies, count, &params->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
        const CUDA_MEMSET_NODE_PARAMS set = {.dst = params->memset.dst,
                                             .pitch = params->memset.pitch,
                                             .value = params->memset.value,
                                             .elementSize = params->memset.elementSize,
                                             .width = params->memset.width,
                                             .height = params->memset.height};
        return add_set(node, graph, dependencies, count, &set);
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
        const struct cudaHostNodeParams host = {.fn = params->host.fn,
                                                .userData = params->host.userData};
        return cudaGraphAddHostNode(node, graph, dependencies, count, &host);
    }
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return cudaGraphAddChildGraphNode(node, graph, dependencies, count, params->graph.graph);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return cudaGraphAddEmptyNode(node, graph, dependencies, count);
    default:
        simdev_refused("cuGraphAddNode of a type that is not simulated");
        return cudaErrorNotSupported;
    }
}

/* Edges only define when a dependent kernel may start before this one ends. */
CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                           const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params)
{
    (void)edges;
    return CUDA_DRIVER_CALL(add_node(node, graph, dependencies, count, params));
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *edges, size_t count)
{
    return CUDA_DRIVER_CALL(cudaGraphAddDependencies(graph, from, to, edges_in(edges), count));
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    return CUDA_DRIVER_CALL(cudaGraphGetNodes(graph, nodes, count));
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    return CUDA_DRIVER_CALL(cudaGraphGetRootNodes(graph, nodes, count));
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                            CUgraphEdgeData *edges, size_t *count)
{
    return CUDA_DRIVER_CALL(cudaGraphGetEdges(graph, from, to, edges_out(edges), count));
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges,
                                       size_t *count)
{
    return CUDA_DRIVER_CALL(cudaGraphNodeGetDependencies(node, nodes, edges_out(edges), count));
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes,
                                         CUgraphEdgeData *edges, size_t *count)
{
    return CUDA_DRIVER_CALL(cudaGraphNodeGetDependentNodes(node, nodes, edges_out(edges), count));
}

static cudaError_t type_of(CUgraphNode node, CUgraphNodeType *type)
{
    enum cudaGraphNodeType own = cudaGraphNodeTypeEmpty;
    const cudaError_t error = cudaGraphNodeGetType(node, type ? &own : NULL);
    if (error == cudaSuccess && type)
        *type = (CUgraphNodeType)own;
    return error;
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    return CUDA_DRIVER_CALL(type_of(node, type));
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph)
{
    return CUDA_DRIVER_CALL(cudaGraphChildGraphNodeGetGraph(node, graph));
}

CUresult cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned flags)
{
    return CUDA_DRIVER_CALL(cudaGraphDebugDotPrint(graph, path, flags));
}

/* --- executable graphs --- */

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    return CUDA_DRIVER_CALL(cudaGraphInstantiate(exec, graph, flags));
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    return CUDA_DRIVER_CALL(cudaGraphExecDestroy(exec));
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    return CUDA_DRIVER_CALL(cudaGraphLaunch(exec, stream));
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
    return CUDA_DRIVER_CALL(cudaGraphUpload(exec, stream));
}

CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags)
{
    unsigned long long own = 0;
    const CUresult result = CUDA_DRIVER_CALL(cudaGraphExecGetFlags(exec, flags ? &own : NULL));
    if (result == CUDA_SUCCESS)
        *flags = own;
    return result;
}

static cudaError_t update_graph(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    cudaGraphExecUpdateResultInfo own = {.result = cudaGraphExecUpdateError};
    const cudaError_t error = cudaGraphExecUpdate(exec, graph, &own);
    if (info)
        *info = (CUgraphExecUpdateResultInfo){.result = (CUgraphExecUpdateResult)own.result,
                                              .errorNode = own.errorNode,
                                              .errorFromNode = own.errorFromNode};
    return error;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    return CUDA_DRIVER_CALL(update_graph(exec, graph, info));
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
    return CUDA_DRIVER_CALL(cudaGraphExecChildGraphNodeSetParams(exec, node, child));
}

/* --- nodes of executable graphs --- */

typedef cudaError_t add_part(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                             size_t count, const void *params);

/* Creates the node in a temporary graph and uses its work for the node of the executable graph. */
static cudaError_t set_part(CUgraphExec exec, CUgraphNode node, add_part *add, const void *params)
{
    CUgraph part = NULL;
    CUgraphNode made;
    cudaError_t error = cudaGraphCreate(&part, 0);
    if (error == cudaSuccess)
        error = add(&made, part, NULL, 0, params);
    if (error == cudaSuccess)
        error = simdev_graph_exec_set(exec, node, part);
    if (part)
        (void)cudaGraphDestroy(part);
    return error;
}

static cudaError_t kernel_part(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                               size_t count, const void *params)
{
    return add_kernel(node, graph, dependencies, count, params);
}

static cudaError_t copy_part(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                             size_t count, const void *params)
{
    return cuda_driver_add_copy(node, graph, dependencies, count, params);
}

static cudaError_t set_node_part(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                 size_t count, const void *params)
{
    return add_set(node, graph, dependencies, count, params);
}

static cudaError_t any_part(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                            size_t count, const void *params)
{
    return add_node(node, graph, dependencies, count, params);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS *params)
{
    return CUDA_DRIVER_CALL(set_part(exec, node, kernel_part, params));
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D *params, CUcontext context)
{
    (void)context;
    return CUDA_DRIVER_CALL(set_part(exec, node, copy_part, params));
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
    (void)context;
    return CUDA_DRIVER_CALL(set_part(exec, node, set_node_part, params));
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
    return CUDA_DRIVER_CALL(set_part(exec, node, any_part, params));
}
