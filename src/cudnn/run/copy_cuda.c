/* Starts the copies of staged tensors as driver memcpy calls, or adds them to a CUDA graph. */
#include "cudnn/run/launcher.h"

#include "cudnn/bind/driver.h"
#include "cudnn/bind/real.h"

static int status_of(CUresult result)
{
    return result == CUDA_SUCCESS ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

static CUcontext context(void)
{
    CUcontext current = NULL;
    return CS_CU(cuCtxGetCurrent, &current) == CUDA_SUCCESS ? current : NULL;
}

bool cs_copy_possible(void)
{
    return cs_driver()->cuMemcpy3DAsync_v2 && context();
}

/* One side of a copy in the driver's units: rows in bytes, planes in rows. */
struct side {
    CUdeviceptr begin;
    size_t pitch, rows;
};

static struct side side_of(const struct cs_copy *copy, void *base, int side, int64_t number)
{
    int64_t pitch = copy->height > 1 ? copy->pitch[side] : copy->width;
    int64_t rows = copy->depth > 1 ? copy->slice[side] / pitch : copy->height;
    uintptr_t begin = (uintptr_t)base + (uintptr_t)(number * copy->step[side]);
    return (struct side){begin, (size_t)pitch, (size_t)rows};
}

CUDA_MEMCPY3D cs_copy_box(const struct cs_copy *copy, void *view, void *packed, bool in,
                          int64_t number)
{
    const struct side viewed = side_of(copy, view, CS_COPY_VIEW, number);
    const struct side dense = side_of(copy, packed, CS_COPY_PACKED, number);
    const struct side *from = in ? &viewed : &dense, *to = in ? &dense : &viewed;
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = from->begin,
                           .srcPitch = from->pitch,
                           .srcHeight = from->rows,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = to->begin,
                           .dstPitch = to->pitch,
                           .dstHeight = to->rows,
                           .WidthInBytes = (size_t)copy->width,
                           .Height = (size_t)copy->height,
                           .Depth = (size_t)copy->depth};
}

int cs_copy_start(const struct cs_copy *copy, void *view, void *packed, bool in, void *stream)
{
    CUresult result = CUDA_SUCCESS;
    for (int64_t i = 0; i < copy->times && result == CUDA_SUCCESS; i++) {
        const CUDA_MEMCPY3D box = cs_copy_box(copy, view, packed, in, i);
        result = CS_CU(cuMemcpy3DAsync_v2, &box, stream);
    }
    return status_of(result);
}

int cs_copy_add_node(const CUDA_MEMCPY3D *box, CUgraph graph, CUgraphNode *last_p)
{
    CUgraphNode node = NULL;
    CUresult result =
        CS_CU(cuGraphAddMemcpyNode, &node, graph, last_p, *last_p ? 1 : 0, box, context());
    if (result == CUDA_SUCCESS)
        *last_p = node;
    return status_of(result);
}

int cs_copy_change_node(const CUDA_MEMCPY3D *box, CUgraphNode node)
{
    return status_of(CS_CU(cuGraphMemcpyNodeSetParams, node, box));
}
