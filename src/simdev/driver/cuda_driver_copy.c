/* The driver's copies of boxes between device memory, on streams and as graph nodes (CUDA
 * Driver API, Memory Management). */
#include "cuda_driver.h"

static const size_t MAX_PITCH = 0x7fffffff; /* CU_DEVICE_ATTRIBUTE_MAX_PITCH of every GPU so far */

/* The pitch and the height of a box may be 0 if no second row or plane depends on them. */
static bool is_side(size_t pitch, size_t height, size_t x, size_t y, const CUDA_MEMCPY3D *box)
{
    const bool one_plane = box->Depth <= 1, one_row = one_plane && box->Height <= 1;
    return pitch <= MAX_PITCH && ((pitch == 0 && one_row) || box->WidthInBytes + x <= pitch) &&
           ((height == 0 && one_plane) || box->Height + y <= height);
}

/* False for a box that a GPU's driver refuses. Arrays and host memory are not simulated. */
static bool is_box(const CUDA_MEMCPY3D *box)
{
    return box && box->srcMemoryType == CU_MEMORYTYPE_DEVICE &&
           box->dstMemoryType == CU_MEMORYTYPE_DEVICE &&
           is_side(box->srcPitch, box->srcHeight, box->srcXInBytes, box->srcY, box) &&
           is_side(box->dstPitch, box->dstHeight, box->dstXInBytes, box->dstY, box);
}

static struct cudaPitchedPtr memory_of(CUdeviceptr memory, size_t pitch, size_t height, size_t x,
                                       size_t y, const CUDA_MEMCPY3D *box)
{
    return (struct cudaPitchedPtr){(void *)(uintptr_t)memory, pitch ? pitch : box->WidthInBytes + x,
                                   box->WidthInBytes, height ? height : box->Height + y};
}

static struct cudaMemcpy3DParms as_runtime(const CUDA_MEMCPY3D *box)
{
    return (struct cudaMemcpy3DParms){
        .srcPtr = memory_of(box->srcDevice, box->srcPitch, box->srcHeight, box->srcXInBytes,
                            box->srcY, box),
        .srcPos = {box->srcXInBytes, box->srcY, box->srcZ},
        .dstPtr = memory_of(box->dstDevice, box->dstPitch, box->dstHeight, box->dstXInBytes,
                            box->dstY, box),
        .dstPos = {box->dstXInBytes, box->dstY, box->dstZ},
        .extent = {box->WidthInBytes, box->Height, box->Depth},
        .kind = cudaMemcpyDeviceToDevice};
}

static cudaError_t copy_box(const CUDA_MEMCPY3D *box, CUstream stream)
{
    if (!is_box(box))
        return cudaErrorInvalidValue;
    const struct cudaMemcpy3DParms parameters = as_runtime(box);
    return cudaMemcpy3DAsync(&parameters, stream);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *box, CUstream stream)
{
    return CUDA_DRIVER_CALL(copy_box(box, stream));
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
