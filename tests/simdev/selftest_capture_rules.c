/* Tests of the table "During a capture" in src/simdev/README.md, one check for each call and mode.
 * A capture of mode Global or ThreadLocal forbids calls that CUDA defines as potentially unsafe.
 * Prints TAP. */
#include "selftest_cuda.h"
#include <cudnn.h>

static cudaStream_t stream, outside; /* non-blocking ones */

static bool is_active(void)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(stream, &status);
    return status == cudaStreamCaptureStatusActive;
}

/* Ends the capture. True if it yields a graph. */
static bool end_capture(void)
{
    cudaGraph_t graph = NULL;
    const cudaError_t error = cudaStreamEndCapture(stream, &graph);
    if (graph)
        cudaGraphDestroy(graph);
    (void)cudaGetLastError();
    return error == cudaSuccess;
}

static cudaEvent_t earlier; /* recorded outside of captures */
static cudaGraphExec_t idle;
static void *allocated, *pinned;
static cudaLibrary_t library;
static char page[8192] __attribute__((aligned(4096)));
static CUmodule module;
static cudnnHandle_t handle;
static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(){ret;}";

static cudaError_t load_library(void)
{
    return cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0);
}

static cudaError_t call_malloc(void)
{
    return cudaMalloc(&allocated, 64);
}

static cudaError_t call_free(void)
{
    return cudaFree(allocated);
}

static cudaError_t call_malloc_host(void)
{
    return cudaMallocHost(&pinned, 64);
}

static cudaError_t call_free_host(void)
{
    return cudaFreeHost(pinned);
}

static cudaError_t call_managed(void)
{
    void *managed = NULL;
    return cudaMallocManaged(&managed, 64, cudaMemAttachGlobal);
}

static cudaError_t call_register(void)
{
    return cudaHostRegister(page, sizeof page, 0);
}

static cudaError_t call_unregister(void)
{
    return cudaHostUnregister(page);
}

static cudaError_t call_event_query(void)
{
    return cudaEventQuery(earlier);
}

static cudaError_t call_event_synchronize(void)
{
    return cudaEventSynchronize(earlier);
}

static cudaError_t call_stream_query(void)
{
    return cudaStreamQuery(outside);
}

static cudaError_t call_unload(void)
{
    return cudaLibraryUnload(library);
}

static cudaError_t call_exec_destroy(void)
{
    return cudaGraphExecDestroy(idle);
}

static cudaError_t call_module_load(void)
{
    return (cudaError_t)cu.cuModuleLoadData(&module, ptx);
}

static cudaError_t call_module_unload(void)
{
    return (cudaError_t)cu.cuModuleUnload(module);
}

/* cuDNN has a separate type of status. */
static cudaError_t call_cudnn_create(void)
{
    const cudnnStatus_t status = cudnnCreate(&handle);
    if (status == CUDNN_STATUS_ALLOC_FAILED)
        return cudaErrorStreamCaptureUnsupported;
    return status == CUDNN_STATUS_SUCCESS ? cudaSuccess : cudaErrorUnknown;
}

/* Each call comes before the one that undoes it: a call that is refused has no effect. */
static void test_unsafe(void)
{
    static const struct {
        const char *name;
        cudaError_t (*call)(void);
    } unsafe[] = {
        {"cudaMalloc", call_malloc},
        {"cudaFree", call_free},
        {"cudaMallocHost", call_malloc_host},
        {"cudaFreeHost", call_free_host},
        {"cudaMallocManaged", call_managed},
        {"cudaHostRegister", call_register},
        {"cudaHostUnregister", call_unregister},
        {"cudaEventQuery of an event recorded before", call_event_query},
        {"cudaEventSynchronize of an event recorded before", call_event_synchronize},
        {"cudaStreamQuery of another stream", call_stream_query},
        {"cudaLibraryLoadData", load_library},
        {"cudaLibraryUnload", call_unload},
        {"cudaGraphExecDestroy", call_exec_destroy},
        {"cuModuleLoadData", call_module_load},
        {"cuModuleUnload", call_module_unload},
        {"cudnnCreate", call_cudnn_create},
    };
    cudaGraph_t graph = NULL;
    char text[128];
    cudaEventCreate(&earlier);
    cudaEventRecord(earlier, outside);
    cudaStreamSynchronize(outside);
    cudaGraphCreate(&graph, 0);
    cudaGraphInstantiate(&idle, graph, 0);
    cudaGraphDestroy(graph);
    for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++) {
        bool good = true;
        for (int mode = cudaStreamCaptureModeGlobal; mode < cudaStreamCaptureModeRelaxed; mode++) {
            cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode);
            good = fails(unsafe[i].call(), cudaErrorStreamCaptureUnsupported) && good;
            good = !is_active() && !end_capture() && good;
        }
        snprintf(text, sizeof text, "unsafe: %s, refused in a strict capture", unsafe[i].name);
        check(good, text);
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
        snprintf(text, sizeof text, "unsafe: %s, allowed in a relaxed capture", unsafe[i].name);
        good = unsafe[i].call() == cudaSuccess && is_active();
        check(end_capture() && good, text);
    }
    cudaEventDestroy(earlier);
}

/* Calls that conflict with every capture. */
static void test_conflicts(void)
{
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    check(fails(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported) && !end_capture(),
          "conflict: cudaDeviceSynchronize");
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    check(fails(cudaStreamQuery(stream), cudaErrorStreamCaptureUnsupported) && !end_capture(),
          "conflict: cudaStreamQuery of the captured stream");
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    check(cudnnDestroy(handle) == CUDNN_STATUS_SUCCESS && !is_active() && !end_capture(),
          "conflict: cudnnDestroy, which waits for the device");
}

/* Calls without a rule in CUDA's documentation, of which no report says that they are refused. */
static void test_unknown(void)
{
    cudaMemPool_t pool = NULL;
    void *memory = NULL;
    size_t there = 0, total = 0;
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudnnCreate(&handle);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    check(cudaMemPoolTrimTo(pool, 0) == cudaSuccess &&
              cudaDeviceSetLimit(cudaLimitStackSize, 2048) == cudaSuccess &&
              cudaMemGetInfo(&there, &total) == cudaSuccess &&
              cudaMallocAsync(&memory, 64, outside) == cudaSuccess &&
              cudaFreeAsync(memory, outside) == cudaSuccess && is_active(),
          "unknown: trimming a pool, limits, and memory of another stream are allowed");
    check(cudnnSetStream(handle, stream) == CUDNN_STATUS_SUCCESS &&
              cudnnSetStream(handle, outside) == CUDNN_STATUS_SUCCESS && is_active(),
          "unknown: cudnnSetStream, to the captured stream and to another one, is allowed");
    end_capture();
    cudnnDestroy(handle);
}

int main(void)
{
    alarm(60);
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&outside, cudaStreamNonBlocking);
    if (!bind_driver())
        return 1;
    test_unsafe();
    test_conflicts();
    test_unknown();
    return finish_checks();
}
