/* Tests of the simulated libcuda's copies of boxes. Prints TAP. */
#include "selftest_cuda.h"
#include <string.h>

enum {
    WIDTH = 5,
    ROWS = 3,
    PLANES = 2,
    PITCH = 16,
    SLICE_ROWS = 4, /* from plane to plane */
    VIEW = PITCH * SLICE_ROWS * PLANES,
    PACKED = WIDTH * ROWS * PLANES
};

static unsigned char host[VIEW], back[VIEW];
static char *view, *packed;

static CUDA_MEMCPY3D box(char *from, size_t from_pitch, size_t from_rows, char *to, size_t to_pitch,
                         size_t to_rows)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = (CUdeviceptr)(uintptr_t)from,
                           .srcPitch = from_pitch,
                           .srcHeight = from_rows,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = (CUdeviceptr)(uintptr_t)to,
                           .dstPitch = to_pitch,
                           .dstHeight = to_rows,
                           .WidthInBytes = WIDTH,
                           .Height = ROWS,
                           .Depth = PLANES};
}

static CUDA_MEMCPY3D inwards(void)
{
    return box(view, PITCH, SLICE_ROWS, packed, WIDTH, ROWS);
}

static CUDA_MEMCPY3D outwards(void)
{
    return box(packed, WIDTH, ROWS, view, PITCH, SLICE_ROWS);
}

static size_t place(int i)
{
    const size_t at = (size_t)i, row = at / WIDTH % ROWS, plane = at / WIDTH / ROWS;
    return (plane * SLICE_ROWS + row) * PITCH + at % WIDTH;
}

static bool is_packed(int add)
{
    bool same = true;
    cudaMemcpy(back, packed, PACKED, cudaMemcpyDeviceToHost);
    for (int i = 0; i < PACKED; i++)
        same = same && back[i] == (unsigned char)(host[place(i)] + add);
    return same;
}

static void refill(int add)
{
    for (int i = 0; i < VIEW; i++)
        host[i] = (unsigned char)(i * 7 + add);
    cudaMemcpy(view, host, VIEW, cudaMemcpyHostToDevice);
}

static void test_stream(CUstream stream)
{
    refill(1);
    CUDA_MEMCPY3D in = inwards(), out = outwards();
    check(cu.cuMemcpy3DAsync_v2(&in, stream) == CUDA_SUCCESS &&
              cu.cuStreamSynchronize(stream) == CUDA_SUCCESS && is_packed(0),
          "stream: box packed");
    memset(back, 9, PACKED);
    cudaMemcpy(packed, back, PACKED, cudaMemcpyHostToDevice);
    check(cu.cuMemcpy3DAsync_v2(&out, stream) == CUDA_SUCCESS &&
              cu.cuStreamSynchronize(stream) == CUDA_SUCCESS,
          "stream: box unpacked");
    cudaMemcpy(back, view, VIEW, cudaMemcpyDeviceToHost);
    for (int i = 0; i < PACKED; i++)
        host[place(i)] = 9;
    check(memcmp(host, back, VIEW) == 0, "stream: gaps unchanged");
}

static void test_capture(CUstream stream)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    CUDA_MEMCPY3D in = inwards();
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    check(cu.cuMemcpy3DAsync_v2(&in, stream) == CUDA_SUCCESS &&
              cudaStreamEndCapture(stream, &graph) == cudaSuccess,
          "capture: copy of a box");
    cudaGraphInstantiate(&exec, graph, 0);
    for (int turn = 2; turn < 4; turn++) {
        refill(turn);
        cudaGraphLaunch(exec, stream);
        cudaStreamSynchronize(stream);
        check(is_packed(0), "capture: replayed copy");
    }
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
}

static void test_nodes(CUstream stream)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    CUgraphNode first = NULL, second = NULL;
    CUDA_MEMCPY3D in = inwards(), out = outwards();
    CUcontext context = current();
    cudaGraphCreate(&graph, 0);
    check(cu.cuGraphAddMemcpyNode(&first, graph, NULL, 0, &in, context) == CUDA_SUCCESS &&
              cu.cuGraphAddMemcpyNode(&second, graph, &first, 1, &out, context) == CUDA_SUCCESS &&
              cu.cuGraphAddMemcpyNode(&second, graph, NULL, 0, &out, NULL) ==
                  CUDA_ERROR_INVALID_CONTEXT,
          "nodes: added, refused without a context");
    refill(5);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    check(is_packed(0), "nodes: copies run");
    cudaGraphExecDestroy(exec);
    in.srcDevice += 1;
    check(cu.cuGraphMemcpyNodeSetParams(first, &in) == CUDA_SUCCESS, "nodes: other addresses set");
    refill(6);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    check(is_packed(7), "nodes: other addresses used");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
}

/* XLA's copies in command buffers: contiguous bytes, pitches and heights 0. */
static void test_contiguous(CUstream stream)
{
    CUDA_MEMCPY3D bytes = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = (CUdeviceptr)(uintptr_t)view,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = (CUdeviceptr)(uintptr_t)packed,
                           .WidthInBytes = PACKED,
                           .Height = 1,
                           .Depth = 1};
    cudaGraph_t graph = NULL;
    CUgraphNode node = NULL;
    refill(8);
    cudaGraphCreate(&graph, 0);
    check(cu.cuMemcpy3DAsync_v2(&bytes, stream) == CUDA_SUCCESS &&
              cu.cuStreamSynchronize(stream) == CUDA_SUCCESS &&
              cudaMemcpy(back, packed, PACKED, cudaMemcpyDeviceToHost) == cudaSuccess &&
              memcmp(back, host, PACKED) == 0,
          "contiguous: copied without pitches and heights");
    check(cu.cuGraphAddMemcpyNode(&node, graph, NULL, 0, &bytes, current()) == CUDA_SUCCESS,
          "contiguous: a node without pitches and heights");
    bytes.Height = 2;
    check(refused(cu.cuMemcpy3DAsync_v2(&bytes, stream), CUDA_ERROR_INVALID_VALUE),
          "contiguous: two rows need a pitch");
    bytes.srcPitch = bytes.dstPitch = PACKED;
    bytes.Height = 1;
    bytes.Depth = 2;
    check(refused(cu.cuMemcpy3DAsync_v2(&bytes, stream), CUDA_ERROR_INVALID_VALUE),
          "contiguous: two planes need a height");
    cudaGraphDestroy(graph);
}

static void test_refusals(CUstream stream)
{
    CUDA_MEMCPY3D bad = inwards();
    check(cu.cuMemcpy3DAsync_v2(NULL, stream) == CUDA_ERROR_INVALID_VALUE,
          "refusals: NULL instead of a box");
    bad.srcPitch = (size_t)1 << 31;
    check(refused(cu.cuMemcpy3DAsync_v2(&bad, stream), CUDA_ERROR_INVALID_VALUE),
          "refusals: pitch of 2^31 bytes");
    bad = inwards();
    bad.dstPitch = WIDTH - 1;
    check(refused(cu.cuMemcpy3DAsync_v2(&bad, stream), CUDA_ERROR_INVALID_VALUE),
          "refusals: rows longer than their pitch");
    bad = inwards();
    bad.srcHeight = ROWS - 1;
    check(refused(cu.cuMemcpy3DAsync_v2(&bad, stream), CUDA_ERROR_INVALID_VALUE),
          "refusals: planes with more rows than their height");
    bad = inwards();
    bad.srcMemoryType = CU_MEMORYTYPE_HOST;
    check(refused(cu.cuMemcpy3DAsync_v2(&bad, stream), CUDA_ERROR_INVALID_VALUE),
          "refusals: host memory");
    check(simdev_violations() == 0, "refusals: no violations");
}

int main(void)
{
    CUstream stream = NULL;
    cudaFree(NULL);
    if (!bind_driver())
        return 1;
    view = device_alloc(VIEW);
    packed = device_alloc(PACKED);
    cu.cuStreamCreate(&stream, CU_STREAM_DEFAULT);
    test_stream(stream);
    test_capture(stream);
    test_nodes(stream);
    test_contiguous(stream);
    test_refusals(stream);
    cudaFree(view);
    cudaFree(packed);
    cu.cuStreamDestroy_v2(stream);
    return finish_checks();
}
