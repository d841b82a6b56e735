/* Memory nodes of graphs. */
#include "cuda_driver.h"

static cudaError_t add_allocation(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                  size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    if (!params)
        return cudaErrorInvalidValue;
    struct cudaMemAllocNodeParams own = {
        .poolProps = {.allocType = (enum cudaMemAllocationType)params->poolProps.allocType,
                      .location = {.type =
                                       (enum cudaMemLocationType)params->poolProps.location.type,
                                   .id = params->poolProps.location.id}},
        .bytesize = params->bytesize};
    const cudaError_t error = cudaGraphAddMemAllocNode(node, graph, dependencies, count, &own);
    params->dptr = (CUdeviceptr)(uintptr_t)own.dptr;
    return error;
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    return CUDA_DRIVER_CALL(add_allocation(node, graph, dependencies, count, params));
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                               size_t count, CUdeviceptr address)
{
    return CUDA_DRIVER_CALL(
        cudaGraphAddMemFreeNode(node, graph, dependencies, count, (void *)(uintptr_t)address));
}

static cudaError_t allocation_of(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    struct cudaMemAllocNodeParams own;
    const cudaError_t error = cudaGraphMemAllocNodeGetParams(node, params ? &own : NULL);
    if (error == cudaSuccess && params)
        *params = (CUDA_MEM_ALLOC_NODE_PARAMS){
            .poolProps = {.allocType = (CUmemAllocationType)own.poolProps.allocType,
                          .location = {.type = (CUmemLocationType)own.poolProps.location.type,
                                       .id = own.poolProps.location.id}},
            .bytesize = own.bytesize,
            .dptr = (CUdeviceptr)(uintptr_t)own.dptr};
    return error;
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    return CUDA_DRIVER_CALL(allocation_of(node, params));
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *address)
{
    return CUDA_DRIVER_CALL(cudaGraphMemFreeNodeGetParams(node, address));
}

/* The attributes of both interfaces have the same numbers. */
CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value)
{
    return CUDA_DRIVER_CALL(
        cudaDeviceGetGraphMemAttribute(device, (enum cudaGraphMemAttributeType)attribute, value));
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value)
{
    return CUDA_DRIVER_CALL(
        cudaDeviceSetGraphMemAttribute(device, (enum cudaGraphMemAttributeType)attribute, value));
}

CUresult cuDeviceGraphMemTrim(CUdevice device)
{
    return CUDA_DRIVER_CALL(cudaDeviceGraphMemTrim(device));
}
