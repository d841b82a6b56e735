/* Kernel nodes, parameters of memory nodes, and the one call that adds a node of any type. */
#include "cudart_graph.h"
#include "cudart_graph_memory.h"
#include "cudart_module.h"

static cudaError_t add_kernel(cudaGraphNode_t *node, cudaGraph_t graph,
                              const cudaGraphNode_t *dependencies, size_t count, const void *key,
                              const struct simdev_grid *grid)
{
    struct simdev_work work;
    cudaError_t error = simdev_launch_work(key, grid, &work);
    if (error != cudaSuccess)
        return error;
    error = simdev_graph_add_work(node, graph, dependencies, count, &work);
    if (error != cudaSuccess)
        work.release(work.arg);
    return error;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                   const cudaGraphNode_t *dependencies, size_t count,
                                   const struct cudaKernelNodeParams *params)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !params)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        const struct simdev_grid grid = {.blocks = params->gridDim,
                                         .threads = params->blockDim,
                                         .shared = params->sharedMemBytes,
                                         .arguments = params->kernelParams};
        error = add_kernel(node, graph, dependencies, count, params->func, &grid);
    }
    return simdev_leave(error);
}

/* Reads or, if `set` is not NULL, writes an attribute of a kernel node. Only the size of clusters
 * is stored, because the others have no effect on memory. They read as zeros. */
static cudaError_t kernel_attribute(const char *function, cudaGraphNode_t node,
                                    cudaLaunchAttributeID attribute, cudaLaunchAttributeValue *get,
                                    const cudaLaunchAttributeValue *set)
{
    cudaError_t error = simdev_enter(function);
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    if ((!get && !set) || !simdev_graph_node_known(node) || node->type != cudaGraphNodeTypeKernel)
        error = cudaErrorInvalidValue;
    else if (set && attribute == cudaLaunchAttributeClusterDimension)
        node->cluster = *set;
    else if (get)
        *get = attribute == cudaLaunchAttributeClusterDimension ? node->cluster
                                                                : (cudaLaunchAttributeValue){0};
    simdev_graph_unlock();
    return simdev_leave(error);
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                            cudaLaunchAttributeValue *value)
{
    return kernel_attribute(__func__, node, attribute, value, NULL);
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                            const cudaLaunchAttributeValue *value)
{
    return kernel_attribute(__func__, node, attribute, NULL, value);
}

static cudaError_t add_kernel_v2(cudaGraphNode_t *node, cudaGraph_t graph,
                                 const cudaGraphNode_t *dependencies, size_t count,
                                 const struct cudaKernelNodeParamsV2 *params)
{
    const struct simdev_grid grid = {.blocks = params->gridDim,
                                     .threads = params->blockDim,
                                     .shared = params->sharedMemBytes,
                                     .arguments = params->kernelParams};
    const cudaError_t error = simdev_enter("cudaGraphAddNode");
    return simdev_leave(error != cudaSuccess
                            ? error
                            : add_kernel(node, graph, dependencies, count, params->func, &grid));
}

static cudaError_t add_allocation(cudaGraphNode_t *node, cudaGraph_t graph,
                                  const cudaGraphNode_t *dependencies, size_t count,
                                  struct cudaMemAllocNodeParamsV2 *params)
{
    struct cudaMemAllocNodeParams first = {.poolProps = params->poolProps,
                                           .bytesize = params->bytesize};
    const cudaError_t error = cudaGraphAddMemAllocNode(node, graph, dependencies, count, &first);
    params->dptr = first.dptr;
    return error;
}

/* Supports the types that have a separate call. Event and conditional nodes are not simulated. */
cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph,
                             const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *edges,
                             size_t count, struct cudaGraphNodeParams *params)
{
    if (!params || (edges && !simdev_graph_plain_edges(edges, count)))
        return simdev_leave(params ? cudaErrorNotSupported : cudaErrorInvalidValue);
    switch ((int)params->type) {
    case cudaGraphNodeTypeKernel:
        return add_kernel_v2(node, graph, dependencies, count, &params->kernel);
    case cudaGraphNodeTypeMemcpy:
        return cudaGraphAddMemcpyNode(node, graph, dependencies, count, &params->memcpy.copyParams);
    case cudaGraphNodeTypeMemset: {
        const struct cudaMemsetParams set = {
            .dst = params->memset.dst,
            .pitch = params->memset.pitch,
            .value = params->memset.value,
            .elementSize = params->memset.elementSize,
            .width = params->memset.width,
            .height = params->memset.height,
        };
        return cudaGraphAddMemsetNode(node, graph, dependencies, count, &set);
    }
    case cudaGraphNodeTypeHost: {
        const struct cudaHostNodeParams host = {.fn = params->host.fn,
                                                .userData = params->host.userData};
        return cudaGraphAddHostNode(node, graph, dependencies, count, &host);
    }
    case cudaGraphNodeTypeGraph:
        return cudaGraphAddChildGraphNode(node, graph, dependencies, count, params->graph.graph);
    case cudaGraphNodeTypeEmpty:
        return cudaGraphAddEmptyNode(node, graph, dependencies, count);
    case cudaGraphNodeTypeMemAlloc:
        return add_allocation(node, graph, dependencies, count, &params->alloc);
    case cudaGraphNodeTypeMemFree:
        return cudaGraphAddMemFreeNode(node, graph, dependencies, count, params->free.dptr);
    default:
        return simdev_leave(cudaErrorNotSupported);
    }
}

/* The allocation of a memory node of this type. */
static cudaError_t memory_of(const char *function, cudaGraphNode_t node,
                             enum cudaGraphNodeType type, struct simdev_graph_memory *memory)
{
    cudaError_t error = simdev_enter(function);
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    if (simdev_graph_node_known(node) && node->type == type)
        *memory = simdev_graph_memory_of(&node->item->work);
    else
        error = cudaErrorInvalidValue;
    simdev_graph_unlock();
    return simdev_leave(error);
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
                                           struct cudaMemAllocNodeParams *params)
{
    struct simdev_graph_memory memory;
    if (!params)
        return simdev_leave(cudaErrorInvalidValue);
    const cudaError_t error = memory_of(__func__, node, cudaGraphNodeTypeMemAlloc, &memory);
    if (error == cudaSuccess)
        *params = (struct cudaMemAllocNodeParams){
            .poolProps = {.allocType = cudaMemAllocationTypePinned,
                          .location = {.type = cudaMemLocationTypeDevice, .id = memory.device}},
            .bytesize = memory.bytes,
            .dptr = memory.ptr};
    return error;
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *out)
{
    struct simdev_graph_memory memory = {0};
    if (!out)
        return simdev_leave(cudaErrorInvalidValue);
    const cudaError_t error = memory_of(__func__, node, cudaGraphNodeTypeMemFree, &memory);
    if (error == cudaSuccess)
        *(void **)out = memory.ptr;
    return error;
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph,
                                             unsigned value, unsigned flags)
{
    (void)handle, (void)graph, (void)value, (void)flags;
    const cudaError_t error = simdev_enter(__func__);
    return simdev_leave(error != cudaSuccess ? error : cudaErrorNotSupported);
}
