/* Nodes of graphs with parameters (CUDA Driver API, Graph Management). The structs of the driver
 * and the runtime are the same, except those of kernels and copies. */
#include "cuda_driver.h"
#include "cudart_module.h"

/* Defines the version by its number, because the meaning of a plain name depends on the header. */
#undef cuGraphAddNode

static cudaError_t add_kernel(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t count, const CUDA_KERNEL_NODE_PARAMS *params)
{
    const struct cudaKernelNodeParams own = {
        .func = params->func ? (void *)params->func : (void *)params->kern,
        .gridDim = {params->gridDimX, params->gridDimY, params->gridDimZ},
        .blockDim = {params->blockDimX, params->blockDimY, params->blockDimZ},
        .sharedMemBytes = params->sharedMemBytes,
        .kernelParams = params->kernelParams};
    return cudaGraphAddKernelNode(node, graph, dependencies, count, &own);
}

/* Adds a node of that type. `params`: the driver's struct for it. Later versions of a struct have
 * more members at its end. */
static cudaError_t add_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                            size_t count, CUgraphNodeType type, const void *params)
{
    if (!params)
        return cudaErrorInvalidValue;
    switch ((int)type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return add_kernel(node, graph, dependencies, count, params);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return cuda_driver_add_copy(node, graph, dependencies, count, params);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return cudaGraphAddMemsetNode(node, graph, dependencies, count, params);
    case CU_GRAPH_NODE_TYPE_HOST:
        return cudaGraphAddHostNode(node, graph, dependencies, count, params);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return cudaGraphAddChildGraphNode(node, graph, dependencies, count,
                                          *(const CUgraph *)params);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return cudaGraphAddEmptyNode(node, graph, dependencies, count);
    default:
        simdev_refused("cuGraphAddNode of a type that is not simulated");
        return cudaErrorNotSupported;
    }
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS *params)
{
    return CUDA_DRIVER_CALL(
        add_node(node, graph, dependencies, count, CU_GRAPH_NODE_TYPE_KERNEL, params));
}

CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS *params,
                              CUcontext context)
{
    return CUDA_DRIVER_CALL(
        context ? add_node(node, graph, dependencies, count, CU_GRAPH_NODE_TYPE_MEMSET, params)
                : cudaErrorDeviceUninitialized);
}

/* The struct of the node's type. */
static const void *struct_of(const CUgraphNodeParams *params)
{
    return !params                                     ? NULL
           : params->type == CU_GRAPH_NODE_TYPE_MEMCPY ? (const void *)&params->memcpy.copyParams
                                                       : (const void *)&params->kernel;
}

static CUgraphNodeType type_of(const CUgraphNodeParams *params)
{
    return params ? params->type : CU_GRAPH_NODE_TYPE_EMPTY;
}

/* Edges only define when a dependent kernel may start before this one ends. */
CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                           const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params)
{
    (void)edges;
    return CUDA_DRIVER_CALL(
        add_node(node, graph, dependencies, count, type_of(params), struct_of(params)));
}

/* --- nodes of executable graphs --- */

/* Creates the node in a temporary graph and uses its work for the node of the executable graph. */
static cudaError_t set_node(CUgraphExec exec, CUgraphNode node, CUgraphNodeType type,
                            const void *params)
{
    CUgraph part = NULL;
    CUgraphNode made;
    cudaError_t error = cudaGraphCreate(&part, 0);
    if (error == cudaSuccess)
        error = add_node(&made, part, NULL, 0, type, params);
    if (error == cudaSuccess)
        error = simdev_graph_exec_set(exec, node, part);
    if (part)
        (void)cudaGraphDestroy(part);
    return error;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS *params)
{
    return CUDA_DRIVER_CALL(set_node(exec, node, CU_GRAPH_NODE_TYPE_KERNEL, params));
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D *params, CUcontext context)
{
    (void)context;
    return CUDA_DRIVER_CALL(set_node(exec, node, CU_GRAPH_NODE_TYPE_MEMCPY, params));
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
    (void)context;
    return CUDA_DRIVER_CALL(set_node(exec, node, CU_GRAPH_NODE_TYPE_MEMSET, params));
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
    return CUDA_DRIVER_CALL(set_node(exec, node, type_of(params), struct_of(params)));
}
