/* The driver's copies of boxes between device memory, on streams and as graph nodes. */
#include "cuda_driver.h"

static const size_t MAX_PITCH = 0x7fffffff; /* CU_DEVICE_ATTRIBUTE_MAX_PITCH of every GPU so far */

/* False for a box that a GPU's driver refuses. Arrays and host memory are not simulated. */
static bool is_box(const CUDA_MEMCPY3D *box)
{
    return box && box->srcMemoryType == CU_MEMORYTYPE_DEVICE &&
           box->dstMemoryType == CU_MEMORYTYPE_DEVICE && box->srcPitch <= MAX_PITCH &&
           box->dstPitch <= MAX_PITCH && box->WidthInBytes + box->srcXInBytes <= box->srcPitch &&
           box->WidthInBytes + box->dstXInBytes <= box->dstPitch &&
           box->Height + box->srcY <= box->srcHeight && box->Height + box->dstY <= box->dstHeight;
}

static struct cudaMemcpy3DParms as_runtime(const CUDA_MEMCPY3D *box)
{
    return (struct cudaMemcpy3DParms){.srcPtr = {(void *)(uintptr_t)box->srcDevice, box->srcPitch,
                                                 box->WidthInBytes, box->srcHeight},
                                      .srcPos = {box->srcXInBytes, box->srcY, box->srcZ},
                                      .dstPtr = {(void *)(uintptr_t)box->dstDevice, box->dstPitch,
                                                 box->WidthInBytes, box->dstHeight},
                                      .dstPos = {box->dstXInBytes, box->dstY, box->dstZ},
                                      .extent = {box->WidthInBytes, box->Height, box->Depth},
                                      .kind = cudaMemcpyDeviceToDevice};
}

static cudaError_t copy(const CUDA_MEMCPY3D *box, CUstream stream)
{
    if (!is_box(box))
        return cudaErrorInvalidValue;
    const struct cudaMemcpy3DParms parameters = as_runtime(box);
    return cudaMemcpy3DAsync(&parameters, stream);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *box, CUstream stream)
{
    return CUDA_DRIVER_CALL(copy(box, stream));
}

cudaError_t cuda_driver_add_copy(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                 size_t count, const CUDA_MEMCPY3D *box)
{
    if (!is_box(box))
        return cudaErrorInvalidValue;
    const struct cudaMemcpy3DParms parameters = as_runtime(box);
    return cudaGraphAddMemcpyNode(node, graph, dependencies, count, &parameters);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t count, const CUDA_MEMCPY3D *box, CUcontext context)
{
    return CUDA_DRIVER_CALL(context ? cuda_driver_add_copy(node, graph, dependencies, count, box)
                                    : cudaErrorDeviceUninitialized);
}

static cudaError_t change_node(CUgraphNode node, const CUDA_MEMCPY3D *box)
{
    if (!is_box(box))
        return cudaErrorInvalidValue;
    const struct cudaMemcpy3DParms parameters = as_runtime(box);
    return cudaGraphMemcpyNodeSetParams(node, &parameters);
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *box)
{
    return CUDA_DRIVER_CALL(change_node(node, box));
}
