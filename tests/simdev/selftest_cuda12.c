/* Tests of libcudart.so.12, called as by a program compiled with CUDA 12's headers: functions and
 * structures in forms that CUDA 13 removed. Declares them itself. */
#include "selftest_cudart.h"
#include <dlfcn.h>
#include <string.h>

enum {
    OLD_PROP_BYTES = 1032,
    OLD_POINTER_BYTES = 24,
    CANARY = 0x77
};

static void *runtime(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

#define FUNCTION(name, ...)                                                                        \
    cudaError_t (*name)(__VA_ARGS__) = (cudaError_t(*)(__VA_ARGS__))runtime(#name)

/* True if no byte from `begin` on was written. */
static bool untouched(const unsigned char *memory, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        if (memory[i] != CANARY)
            return false;
    return true;
}

static int integer_at(const unsigned char *memory, size_t offset)
{
    int value;
    memcpy(&value, memory + offset, sizeof(value));
    return value;
}

static void test_structures(void)
{
    FUNCTION(cudaRuntimeGetVersion, int *);
    FUNCTION(cudaPointerGetAttributes, void *, const void *);
    FUNCTION(cudaGetDeviceProperties_v2, void *, int);
    unsigned char memory[2048];
    int version = 0;
    void *block = device_alloc(100), *told;
    check(cudaRuntimeGetVersion(&version) == cudaSuccess && version / 1000 == 12, "version: 12");
    memset(memory, CANARY, sizeof(memory));
    check(cudaPointerGetAttributes(memory, block) == cudaSuccess &&
              integer_at(memory, 0) == cudaMemoryTypeDevice && integer_at(memory, 4) == 0 &&
              untouched(memory, OLD_POINTER_BYTES, sizeof(memory)),
          "structures: pointer attributes, CUDA 12's size");
    memcpy(&told, memory + 8, sizeof(told));
    check(told == block, "structures: pointer attributes, device pointer");
    memset(memory, CANARY, sizeof(memory));
    check(cudaGetDeviceProperties_v2(memory, 0) == cudaSuccess &&
              untouched(memory, OLD_PROP_BYTES, sizeof(memory)) &&
              !untouched(memory, OLD_PROP_BYTES - 1, OLD_PROP_BYTES),
          "structures: device properties, CUDA 12's size");
    /* From CUDA 12.8's header: clockRate, multiProcessorCount, cooperativeLaunch, clusterLaunch. */
    check(integer_at(memory, 348) == 1980000 && integer_at(memory, 388) == 132 &&
              integer_at(memory, 688) == 1 && integer_at(memory, 772) == 1,
          "structures: device properties at CUDA 12's offsets");
    cudaFree(block);
}

static void test_forms(void)
{
    FUNCTION(cudaStreamGetCaptureInfo, cudaStream_t, enum cudaStreamCaptureStatus *,
             unsigned long long *);
    FUNCTION(cudaStreamGetCaptureInfo_v2, cudaStream_t, enum cudaStreamCaptureStatus *,
             unsigned long long *, cudaGraph_t *, const cudaGraphNode_t **, size_t *);
    FUNCTION(cudaGraphAddDependencies, cudaGraph_t, const cudaGraphNode_t *,
             const cudaGraphNode_t *, size_t);
    FUNCTION(cudaGraphGetEdges, cudaGraph_t, cudaGraphNode_t *, cudaGraphNode_t *, size_t *);
    FUNCTION(cudaGraphNodeGetDependencies, cudaGraphNode_t, cudaGraphNode_t *, size_t *);
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    cudaStream_t stream;
    cudaGraph_t graph, captured = NULL;
    const cudaGraphNode_t *nodes;
    cudaGraphNode_t first, second, found = NULL;
    size_t count = 7;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    check(cudaStreamGetCaptureInfo(stream, &status, &id) == cudaSuccess &&
              status == cudaStreamCaptureStatusActive && id != 0,
          "forms: cudaStreamGetCaptureInfo with three arguments");
    check(cudaStreamGetCaptureInfo_v2(stream, &status, &id, &captured, &nodes, &count) ==
                  cudaSuccess &&
              captured && count == 0,
          "forms: cudaStreamGetCaptureInfo_v2 with six arguments");
    cudaStreamEndCapture(stream, &graph);
    cudaGraphAddEmptyNode(&first, graph, NULL, 0);
    cudaGraphAddEmptyNode(&second, graph, NULL, 0);
    check(cudaGraphAddDependencies(graph, &first, &second, 1) == cudaSuccess &&
              cudaGraphGetEdges(graph, NULL, NULL, &count) == cudaSuccess && count == 1 &&
              cudaGraphNodeGetDependencies(second, &found, &count) == cudaSuccess && found == first,
          "forms: edges without data");
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    check(runtime("cudaEventElapsedTime_v2") && runtime("cudaStreamGetCaptureInfo_v3") &&
              runtime("cudaGraphAddNode_v2") && runtime("cudaMemAdvise_v2") &&
              !runtime("simdev_12_edges"),
          "forms: newer forms have a version suffix");
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(120);
    test_structures();
    test_forms();
    return finish_checks();
}
