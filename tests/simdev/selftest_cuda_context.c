/* Tests of contexts and of several devices. Prints TAP. */
#include "selftest_cuda.h"
#include <cudnn.h>
#include <stdatomic.h>
#include <string.h>

static void increment(void *counter)
{
    ++*(int *)counter;
}

/* Creates a context on the device, which becomes current. */
static CUcontext make_context(int device)
{
    CUcontext context = NULL;
    return cu.cuCtxCreate_v2(&context, 0, device) == CUDA_SUCCESS ? context : NULL;
}

static CUcontext primary(int device)
{
    CUcontext context = NULL;
    (void)cudaSetDevice(device);
    (void)cu.cuCtxGetCurrent(&context);
    return context;
}

/* --- contexts --- */

static void test_stack(void)
{
    CUcontext first = primary(0), second = NULL, popped = NULL;
    const unsigned long long outer = id_of(NULL);
    second = make_context(0);
    check(second && current() == second && id_of(NULL) != outer, "stack: created context, current");
    check(cu.cuCtxPopCurrent_v2(&popped) == CUDA_SUCCESS && popped == second && current() == first,
          "stack: popped context, the previous one is current");
    check(cu.cuCtxPushCurrent_v2(second) == CUDA_SUCCESS && current() == second &&
              cu.cuCtxSetCurrent(first) == CUDA_SUCCESS && current() == first &&
              cu.cuCtxPopCurrent_v2(NULL) == CUDA_SUCCESS && current() == first,
          "stack: pushed on top, or set instead of the top");
    check(cu.cuCtxSetCurrent(NULL) == CUDA_SUCCESS && !current(), "stack: set to NULL, no context");
    check(refused(cu.cuCtxSetCurrent((CUcontext)(void *)&first), CUDA_ERROR_INVALID_CONTEXT) &&
              refused(cu.cuCtxPushCurrent_v2(NULL), CUDA_ERROR_INVALID_CONTEXT) &&
              refused(cu.cuCtxDestroy_v2(first), CUDA_ERROR_INVALID_CONTEXT) &&
              refused(cu.cuCtxCreate_v2(&popped, 0, 7), CUDA_ERROR_INVALID_DEVICE),
          "stack: invalid contexts, refused");
    cu.cuCtxDestroy_v2(second);
}

static void test_runtime(void)
{
    CUcontext context = make_context(1), v4 = NULL;
    int device = -1;
    void *block = device_alloc(100);
    cudaGetDevice(&device);
    check(context && current() == context && device == 1,
          "runtime: current context of the driver, used");
    cudaSetDevice(0);
    check(current() == primary(0) && current() != context,
          "runtime: device chosen, primary context is current");
    cu.cuCtxSetCurrent(context);
    check(cudaFree(block) == cudaSuccess, "runtime: memory of the current context, freed");
    check(cu.cuCtxCreate_v4(&v4, NULL, 0, 0) == CUDA_SUCCESS && v4 && v4 != context,
          "cuCtxCreate_v4: creates a context");
    cu.cuCtxDestroy_v2(v4);
    check(current() == context, "stack: destroyed context, popped");
    cu.cuCtxDestroy_v2(context);
}

static void test_owners(void)
{
    CUcontext first = primary(0), second;
    CUstream stream = NULL, other = NULL;
    CUevent event = NULL;
    int counter = 0;
    cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    second = make_context(0);
    cu.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING);
    cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    check(refused(cu.cuEventRecord(event, stream), CUDA_ERROR_INVALID_HANDLE) &&
              fails(cudaEventRecord(event, stream), cudaErrorInvalidResourceHandle),
          "event: recorded on a stream of another context, refused");
    check(cu.cuEventRecord(event, other) == CUDA_SUCCESS &&
              cu.cuStreamWaitEvent(stream, event, 0) == CUDA_SUCCESS,
          "event: waited for by a stream of another context");
    check(fails(enqueue(stream, increment, &counter), cudaErrorInvalidResourceHandle) &&
              enqueue(other, increment, &counter) == cudaSuccess,
          "launch: stream of another context, refused");
    cu.cuCtxSetCurrent(first);
    check(enqueue(stream, increment, &counter) == cudaSuccess &&
              cu.cuEventRecord(event, other) == CUDA_SUCCESS,
          "event: recorded while another context is current");
    cu.cuStreamSynchronize(stream);
    cu.cuStreamSynchronize(other);
    cu.cuStreamDestroy_v2(stream);
    cu.cuCtxDestroy_v2(second);
}

struct touch {
    void *memory;
    bool alive;
};

static void touch(void *arg)
{
    struct touch *t = arg;
    t->alive = simdev_range_alive(t->memory, 64);
}

/* True if work on the stream can use the memory. */
static bool can_use(cudaStream_t stream, void *memory)
{
    struct touch t = {.memory = memory, .alive = false};
    enqueue(stream, touch, &t);
    cudaStreamSynchronize(stream);
    return t.alive;
}

static void test_address_spaces(void)
{
    CUcontext first = primary(0), second;
    void *here = device_alloc(64), *there, *pooled = NULL;
    cudaMallocAsync(&pooled, 64, NULL);
    second = make_context(0);
    there = device_alloc(64);
    check(can_use(NULL, there) && !can_use(NULL, here), "memory: of another context, not usable");
    check(can_use(NULL, pooled), "memory: of the device's pool, usable in any context");
    cu.cuCtxSetCurrent(first);
    check(can_use(NULL, here) && !can_use(NULL, there),
          "memory: of the first context, not usable in the second");
    cu.cuCtxDestroy_v2(second);
    cudaFree(here);
    cudaFreeAsync(pooled, NULL);
    cudaDeviceSynchronize();
}

static unsigned long long stream_id(cudaStream_t stream)
{
    unsigned long long id = 0;
    return cu.cuStreamGetId(stream, &id) == CUDA_SUCCESS ? id : 0;
}

static unsigned long long other_threads_stream;

static void note_stream(void)
{
    cudaSetDevice(0);
    other_threads_stream = stream_id(cudaStreamPerThread);
}

static void test_default_streams(void)
{
    CUcontext first = primary(0), second;
    sem_t gate;
    int here = 0, there = 0;
    const unsigned long long legacy = stream_id(NULL), own = stream_id(cudaStreamPerThread);
    sem_init(&gate, 0, 0);
    on_thread(note_stream);
    check(own != other_threads_stream && own == stream_id(cudaStreamPerThread) && own != legacy,
          "default streams: one per thread");
    enqueue(NULL, wait_gate, &gate);
    enqueue(NULL, increment, &here);
    second = make_context(0);
    check(stream_id(NULL) != legacy && stream_id(cudaStreamPerThread) != own,
          "default streams: separate in each context");
    enqueue(NULL, increment, &there);
    check(cudaDeviceSynchronize() == cudaSuccess && there == 1 && here == 0,
          "default streams: no order between contexts");
    cu.cuCtxSetCurrent(first);
    open_gate(&gate);
    cudaDeviceSynchronize();
    check(here == 1 && stream_id(NULL) == legacy && stream_id(cudaStreamPerThread) == own,
          "default streams: unchanged after another context's end");
    cu.cuCtxDestroy_v2(second);
    sem_destroy(&gate);
}

/* --- destruction --- */

static atomic_int stage;

static void await_stage(int wanted)
{
    while (atomic_load(&stage) < wanted)
        usleep(100);
}

static CUcontext shared;

/* Has the context current while another thread destroys it. */
static void *hold_context(void *unused)
{
    CUevent event;
    (void)unused;
    cu.cuCtxSetCurrent(shared);
    atomic_store(&stage, 1);
    await_stage(2);
    check(refused(cu.cuEventCreate(&event, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED) &&
              current() == shared && fails(cudaFree(NULL), cudaErrorContextIsDestroyed),
          "destroyed by another thread: the current context is invalid");
    cudaSetDevice(0);
    check(cu.cuEventCreate(&event, 0) == CUDA_SUCCESS &&
              cu.cuEventDestroy_v2(event) == CUDA_SUCCESS,
          "destroyed by another thread: a new context can be set");
    return NULL;
}

static void test_destroy(void)
{
    CUstream stream = NULL;
    CUevent event = NULL;
    CUdeviceptr memory = 0;
    pthread_t thread;
    size_t before = 0, after = 0, total = 0;
    int counter = 0;
    CUcontext first = primary(0);
    cudaMemGetInfo(&before, &total);
    shared = make_context(0);
    const unsigned long long id = id_of(shared);
    cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cu.cuEventCreate(&event, 0);
    cu.cuMemAlloc_v2(&memory, 5 * MIB);
    pthread_create(&thread, NULL, hold_context, NULL);
    await_stage(1);
    enqueue(stream, sleep_5ms, NULL);
    enqueue(stream, increment, &counter);
    check(cu.cuCtxDestroy_v2(shared) == CUDA_SUCCESS && counter == 1 && current() == first,
          "destruction: waits for the context's work");
    atomic_store(&stage, 2);
    pthread_join(thread, NULL);
    cudaMemGetInfo(&after, &total);
    check(refused(cu.cuStreamDestroy_v2(stream), CUDA_ERROR_INVALID_HANDLE) &&
              refused(cu.cuEventDestroy_v2(event), CUDA_ERROR_INVALID_HANDLE) &&
              !simdev_range_alive((void *)(uintptr_t)memory, 1) && after == before,
          "destruction: ends streams, events and memory");
    check(refused(cu.cuCtxDestroy_v2(shared), CUDA_ERROR_INVALID_CONTEXT),
          "destruction: second call, refused");
    CUcontext next = make_context(0);
    check(next == shared && id_of(next) > id, "destruction: handle reused, id not reused");
    cu.cuCtxDestroy_v2(next);
}

static void test_destroy_capturing(void)
{
    CUcontext context = make_context(0);
    CUstream stream = NULL;
    void *block;
    cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    enqueue(stream, sleep_5ms, NULL);
    cu.cuCtxDestroy_v2(context);
    primary(0);
    block = device_alloc(64);
    check(block != NULL, "destruction: ends the context's capture");
    cudaFree(block);
}

/* --- devices --- */

static void check_fresh_thread(void)
{
    int device = -1;
    check(cudaGetDevice(&device) == cudaSuccess && device == 0 && !current(),
          "devices: new thread uses the first device");
    check(cudaSetDevice(1) == cudaSuccess && cudaGetDevice(&device) == cudaSuccess && device == 1,
          "devices: thread sets its device");
}

static void test_devices(void)
{
    struct cudaPointerAttributes attributes;
    size_t first_free = 0, second_free = 0, total = 0;
    int count = 0, device = -1;
    check(cudaGetDeviceCount(&count) == cudaSuccess && count == 2,
          "devices: SIMDEV_DEVICES=2, two devices");
    CUcontext a = primary(0), b = primary(1);
    check(a != b && id_of(a) != id_of(b), "devices: separate primary contexts");
    on_thread(check_fresh_thread);
    primary(0);
    on_thread(check_fresh_thread);
    check(cudaGetDevice(&device) == cudaSuccess && device == 0,
          "devices: setting of one thread does not change another");
    check(fails(cudaSetDevice(2), cudaErrorInvalidDevice), "devices: third device, refused");
    void *here = device_alloc(40 * MIB);
    primary(1);
    void *there = device_alloc(40 * MIB);
    check(here && there, "devices: separate memory");
    void *more = NULL;
    check(fails(cudaMalloc(&more, 40 * MIB), cudaErrorMemoryAllocation),
          "devices: separate capacity");
    cudaMemGetInfo(&second_free, &total);
    cudaPointerGetAttributes(&attributes, there);
    check(attributes.device == 1 && second_free == 24 * MIB,
          "devices: attributes and free memory of each");
    check(cudaMemcpy(there, here, MIB, cudaMemcpyDeviceToDevice) == cudaSuccess,
          "devices: copy between two devices");
    const CUdeviceptr to = (CUdeviceptr)(uintptr_t)there, from = (CUdeviceptr)(uintptr_t)here;
    check(cu.cuMemcpyPeer(to, b, from, a, MIB) == CUDA_SUCCESS &&
              cu.cuMemcpyPeerAsync(to, b, from, a, MIB, NULL) == CUDA_SUCCESS &&
              cu.cuMemcpyPeerAsync(to, NULL, from, a, MIB, NULL) == CUDA_ERROR_INVALID_CONTEXT,
          "devices: copy between two devices by their contexts");
    check(can_use(NULL, there) && !can_use(NULL, here),
          "devices: work uses memory of its device only");
    check(cudaDeviceReset() == cudaSuccess && simdev_range_alive(here, 1) == false,
          "reset: one device's memory is freed");
    cudaFree(NULL);
    cudaMemGetInfo(&second_free, &total);
    primary(0);
    cudaMemGetInfo(&first_free, &total);
    check(second_free == 64 * MIB && first_free == 24 * MIB && simdev_range_alive(here, 40 * MIB),
          "reset: memory of the other device is kept");
    cudaFree(here);
}

/* cuDNN plans without a device, also in a program with a context. */
static void test_planner(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    bool (*is_planner)(const void *) = NULL;
    *(void **)&is_planner = library ? dlsym(library, "cuda_driver_is_planner") : NULL;
    check(is_planner && is_planner((const void *)cudnnCreate) &&
              !is_planner((const void *)cudaFree) && !is_planner((const void *)test_planner),
          "cuDNN's planning: has no context");
}

static void test_cudnn(void)
{
    cudnnHandle_t handle = NULL;
    cudaStream_t here, there;
    primary(1);
    cudaStreamCreate(&there);
    primary(0);
    cudaStreamCreate(&here);
    cudnnCreate(&handle);
    check(cudnnSetStream(handle, here) == CUDNN_STATUS_SUCCESS &&
              cudnnSetStream(handle, there) == CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH,
          "cuDNN handle: accepts only streams of its device");
    cudnnDestroy(handle);
    cudaStreamDestroy(here);
    cudaStreamDestroy(there);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    setenv("SIMDEV_DEVICES", "2", 1);
    setenv("SIMDEV_CAPACITY", "64M", 1);
    (void)cudaSetDevice(0);
    if (!check(bind_driver(), "a driver is loaded"))
        return finish_checks();
    test_stack();
    test_runtime();
    test_owners();
    test_address_spaces();
    test_default_streams();
    test_destroy();
    test_destroy_capturing();
    test_devices();
    test_cudnn();
    test_planner();
    return finish_checks();
}
