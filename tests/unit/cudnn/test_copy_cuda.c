/* Copies of staged tensors in the driver's units, on a stream and as nodes of a graph. */
#include "cudnn/run/launcher.h"

#include "vendor_fixture.h"

static CUDA_MEMCPY3D made[8];
static int copies, fails_at;
static CUcontext current = (CUcontext)7;
static CUgraphNode after;
static size_t dependencies;

static CUresult next(const CUDA_MEMCPY3D *box)
{
    made[copies % 8] = *box;
    return ++copies == fails_at ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult get_context(CUcontext *context)
{
    *context = current;
    return CUDA_SUCCESS;
}

static CUresult copy_async(const CUDA_MEMCPY3D *box, CUstream stream)
{
    CHECK(stream == (CUstream)5);
    return next(box);
}

static CUresult add_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *from, size_t count,
                         const CUDA_MEMCPY3D *box, CUcontext context)
{
    CHECK(graph == (CUgraph)3 && context == current);
    after = count ? *from : NULL;
    dependencies = count;
    *node = (CUgraphNode)(uintptr_t)(100 + copies);
    return next(box);
}

static CUresult change_node(CUgraphNode node, const CUDA_MEMCPY3D *box)
{
    CHECK(node == (CUgraphNode)9);
    return next(box);
}

static void start(int failing)
{
    copies = 0;
    fails_at = failing;
    driver = (struct cs_driver){.cuCtxGetCurrent = get_context,
                                .cuMemcpy3DAsync_v2 = copy_async,
                                .cuGraphAddMemcpyNode = add_node,
                                .cuGraphMemcpyNodeSetParams = change_node};
}

/* Three boxes of two planes of four rows of 24 bytes. */
static const struct cs_copy boxes = {.width = 24,
                                     .height = 4,
                                     .depth = 2,
                                     .times = 3,
                                     .pitch = {32, 24},
                                     .slice = {320, 96},
                                     .step = {10000, 192}};

static void check_side(CUdeviceptr begin, size_t pitch, size_t rows, CUdeviceptr expected,
                       bool viewed)
{
    CHECK_INT(begin, expected);
    CHECK_INT(pitch, viewed ? 32 : 24);
    CHECK_INT(rows, viewed ? 10 : 4);
}

static void each_box_has_its_step_on_both_sides(void)
{
    for (int in = 0; in < 2; in++) {
        start(0);
        CHECK_INT(cs_copy_start(&boxes, (void *)0x100000, (void *)0x500000, in, (void *)5),
                  CUDNN_STATUS_SUCCESS);
        CHECK_INT(copies, 3);
        for (int i = 0; i < 3; i++) {
            const CUDA_MEMCPY3D *box = &made[i];
            CUdeviceptr view = 0x100000 + (CUdeviceptr)i * 10000,
                        packed = 0x500000 + (CUdeviceptr)i * 192;
            check_side(box->srcDevice, box->srcPitch, box->srcHeight, in ? view : packed, in);
            check_side(box->dstDevice, box->dstPitch, box->dstHeight, in ? packed : view, !in);
            CHECK(box->WidthInBytes == 24 && box->Height == 4 && box->Depth == 2);
            CHECK(box->srcMemoryType == CU_MEMORYTYPE_DEVICE &&
                  box->dstMemoryType == CU_MEMORYTYPE_DEVICE);
        }
    }
}

/* Pitch and slice are not used if there is one row or plane. */
static void one_row_needs_no_pitch(void)
{
    const struct cs_copy row = {.width = 24, .height = 1, .depth = 1, .times = 1};
    CUDA_MEMCPY3D box = cs_copy_box(&row, (void *)64, (void *)128, true, 0);
    CHECK(box.srcPitch == 24 && box.dstPitch == 24 && box.srcHeight == 1 && box.dstHeight == 1);
}

static void a_failed_box_ends_the_copy(void)
{
    start(2);
    CHECK_INT(cs_copy_start(&boxes, NULL, NULL, true, (void *)5), CUDNN_STATUS_EXECUTION_FAILED);
    CHECK_INT(copies, 2);
}

static void a_node_follows_the_last_one(void)
{
    const CUDA_MEMCPY3D box = cs_copy_box(&boxes, (void *)64, (void *)128, true, 1);
    CUgraphNode last = NULL;
    start(3);
    CHECK_INT(cs_copy_add_node(&box, (CUgraph)3, &last), CUDNN_STATUS_SUCCESS);
    CHECK(last == (CUgraphNode)100 && dependencies == 0);
    CHECK_INT(cs_copy_add_node(&box, (CUgraph)3, &last), CUDNN_STATUS_SUCCESS);
    CHECK(last == (CUgraphNode)101 && dependencies == 1 && after == (CUgraphNode)100);
    CHECK_INT(cs_copy_add_node(&box, (CUgraph)3, &last), CUDNN_STATUS_EXECUTION_FAILED);
    CHECK(last == (CUgraphNode)101);
    CHECK_INT(memcmp(&made[0], &box, sizeof box), 0);
    CHECK_INT(cs_copy_change_node(&box, (CUgraphNode)9), CUDNN_STATUS_SUCCESS);
    fails_at = copies + 1;
    CHECK_INT(cs_copy_change_node(&box, (CUgraphNode)9), CUDNN_STATUS_EXECUTION_FAILED);
}

static void copies_need_the_driver_and_a_context(void)
{
    start(0);
    CHECK(cs_copy_possible());
    current = NULL;
    CHECK(!cs_copy_possible());
    current = (CUcontext)7;
    driver.cuMemcpy3DAsync_v2 = NULL;
    CHECK(!cs_copy_possible());
    CHECK_INT(cs_copy_start(&boxes, NULL, NULL, true, (void *)5), CUDNN_STATUS_EXECUTION_FAILED);
}

int main(void)
{
    TEST(each_box_has_its_step_on_both_sides);
    TEST(one_row_needs_no_pitch);
    TEST(a_failed_box_ends_the_copy);
    TEST(a_node_follows_the_last_one);
    TEST(copies_need_the_driver_and_a_context);
    return REPORT();
}
