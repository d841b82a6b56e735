/* Tests of the simulated libcuda, which shares the device with the runtime. Prints TAP. */
#include "selftest_cuda.h"
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* --- current contexts --- */

static void check_fresh_thread(void)
{
    CUevent event = NULL;
    CUcontext context;
    check(!current() && id_of(NULL) == 0, "context: new thread, none");
    check(cu.cuEventCreate(&event, 0) == CUDA_ERROR_INVALID_CONTEXT &&
              cu.cuCtxPopCurrent_v2(&context) == CUDA_ERROR_INVALID_CONTEXT,
          "context: none, driver calls are refused");
    (void)cudaGetDeviceCount(&(int){0});
    check(!current(), "context: cudaGetDeviceCount, still none");
    (void)cudaSetDevice(0);
    check(current() && cu.cuEventCreate(&event, 0) == CUDA_SUCCESS &&
              cu.cuEventDestroy_v2(event) == CUDA_SUCCESS,
          "context: cudaSetDevice, primary is current");
}

static void check_first_call(void)
{
    void *block = device_alloc(1);
    check(current() != NULL, "context: any runtime call, primary is current");
    cudaFree(block);
}

static void check_first_work(void)
{
    enqueue(NULL, sleep_5ms, NULL);
    check(current() != NULL, "context: queued work, primary is current");
}

static void test_primary(void)
{
    CUcontext retained = NULL;
    on_thread(check_fresh_thread);
    on_thread(check_first_call);
    on_thread(check_first_work);
    cudaSetDevice(0);
    check(cu.cuDevicePrimaryCtxRetain(&retained, 0) == CUDA_SUCCESS && retained == current(),
          "primary context: retained by the driver, same as the runtime's");
    const unsigned long long id = id_of(retained);
    check(id != 0 && id == id_of(NULL), "primary context: has an id");
    check(cu.cuDevicePrimaryCtxRelease_v2(0) == CUDA_SUCCESS && id_of(NULL) == id &&
              cu.cuDevicePrimaryCtxRelease_v2(0) == CUDA_ERROR_INVALID_CONTEXT,
          "primary context: released once, still used by the runtime");
    check(cu.cuDevicePrimaryCtxRetain(&retained, 1) == CUDA_ERROR_INVALID_DEVICE,
          "primary context: second device, refused");
    cudaDeviceReset();
    check(id_of(retained) == 0 && refused(cu.cuCtxGetId(retained, &(unsigned long long){0}),
                                          CUDA_ERROR_CONTEXT_IS_DESTROYED),
          "primary context: reset, destroyed");
    cudaFree(NULL);
    check(current() == retained && id_of(NULL) > id,
          "primary context: next use, same handle and new id");
    int device = -1, bits = 0;
    check(cu.cuInit(0) == CUDA_SUCCESS && cu.cuDeviceGet(&device, 0) == CUDA_SUCCESS &&
              device == 0 && cu.cuDeviceGet(&device, 1) == CUDA_ERROR_INVALID_DEVICE,
          "device: only one");
    check(cu.cuDeviceGetAttribute(&bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 0) ==
                  CUDA_SUCCESS &&
              bits == 6144,
          "device: memory bus of the profile");
}

/* --- streams, events, memory --- */

static void test_streams(void)
{
    CUstream low = NULL, high = NULL;
    int priority = 0;
    unsigned flags = 0;
    unsigned long long a = 0, b = 0, c = 0;
    check(cu.cuStreamCreateWithPriority(&high, CU_STREAM_NON_BLOCKING, -3) == CUDA_SUCCESS &&
              cu.cuStreamGetPriority(high, &priority) == CUDA_SUCCESS && priority == -3 &&
              cu.cuStreamGetFlags(high, &flags) == CUDA_SUCCESS && flags == CU_STREAM_NON_BLOCKING,
          "stream: priority and flags");
    check(cudaStreamGetPriority(high, &priority) == cudaSuccess && priority == -3,
          "stream: usable by the runtime");
    cu.cuStreamCreate(&low, CU_STREAM_DEFAULT);
    check(cu.cuStreamGetId(low, &a) == CUDA_SUCCESS && cudaStreamGetId(low, &b) == cudaSuccess &&
              a == b && cu.cuStreamGetId(high, &c) == CUDA_SUCCESS && a != c,
          "stream: same id in driver and runtime");
    check(cu.cuStreamGetId(NULL, &a) == CUDA_SUCCESS &&
              cu.cuStreamGetId(CU_STREAM_LEGACY, &b) == CUDA_SUCCESS && a == b &&
              cu.cuStreamGetId(CU_STREAM_PER_THREAD, &c) == CUDA_SUCCESS && a != c,
          "stream: default streams have ids");
    cu.cuStreamDestroy_v2(low);
    check(refused(cu.cuStreamDestroy_v2(low), CUDA_ERROR_INVALID_HANDLE) &&
              refused(cu.cuStreamGetId(low, &a), CUDA_ERROR_INVALID_HANDLE) &&
              refused(cu.cuStreamCreate(&low, 8), CUDA_ERROR_INVALID_VALUE),
          "stream: errors are returned, the last error does not change");
    cudaStreamDestroy(high);
}

static void increment(void *counter)
{
    ++*(int *)counter;
}

struct look {
    int *counter;
    int seen;
};

static void record_counter(void *arg)
{
    struct look *l = arg;
    l->seen = *l->counter;
}

static void test_events(void)
{
    sem_t gate;
    cudaStream_t a, b;
    CUevent event = NULL;
    int counter = 0;
    struct look l = {.counter = &counter, .seen = -1};
    sem_init(&gate, 0, 0);
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    check(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS &&
              cu.cuEventQuery(event) == CUDA_SUCCESS,
          "event: never recorded, done");
    enqueue(a, wait_gate, &gate);
    enqueue(a, increment, &counter);
    check(cu.cuEventRecord(event, a) == CUDA_SUCCESS &&
              refused(cu.cuEventQuery(event), CUDA_ERROR_NOT_READY),
          "event: recorded after work, not ready");
    check(cu.cuStreamWaitEvent(b, event, 0) == CUDA_SUCCESS, "event: waited for by another stream");
    enqueue(b, record_counter, &l);
    open_gate(&gate);
    check(cu.cuStreamSynchronize(b) == CUDA_SUCCESS && l.seen == 1 &&
              cu.cuEventQuery(event) == CUDA_SUCCESS,
          "event: wait, ordered after the recorded work");
    cu.cuEventDestroy_v2(event);
    check(refused(cu.cuEventRecord(event, a), CUDA_ERROR_INVALID_HANDLE) &&
              refused(cu.cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE) &&
              refused(cu.cuStreamWaitEvent(a, event, 0), CUDA_ERROR_INVALID_HANDLE),
          "event: destroyed, refused");
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    sem_destroy(&gate);
}

/* A dropped wait does not delay its stream. */
static void test_dropped_call(void)
{
    sem_t gate;
    cudaStream_t a, b;
    CUevent event = NULL;
    int counter = 0;
    struct look l = {.counter = &counter, .seen = -1};
    const uint64_t calls = simdev_calls("cuStreamWaitEvent");
    sem_init(&gate, 0, 0);
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    enqueue(a, wait_gate, &gate);
    enqueue(a, increment, &counter);
    cu.cuEventRecord(event, a);
    simdev_drop("cuStreamWaitEvent", 2);
    check(cu.cuStreamWaitEvent(a, event, 0) == CUDA_SUCCESS &&
              cu.cuStreamWaitEvent(b, event, 0) == CUDA_SUCCESS,
          "dropped call: returns success");
    enqueue(b, record_counter, &l);
    check(cudaStreamSynchronize(b) == cudaSuccess && l.seen == 0, "dropped call: no effect");
    check(simdev_calls("cuStreamWaitEvent") == calls + 2, "calls: counted");
    cudaStreamWaitEvent(b, event, 0);
    check(simdev_calls("cuStreamWaitEvent") == calls + 2,
          "calls: calls of the runtime are not counted");
    open_gate(&gate);
    cudaDeviceSynchronize();
    cu.cuEventDestroy_v2(event);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    sem_destroy(&gate);
}

static void test_waits(void)
{
    CUdeviceptr block = 0;
    CUevent event = NULL;
    const uint64_t own = simdev_counted(SIMDEV_WAITS), driver = simdev_counted(SIMDEV_DRIVER_WAITS);
    cu.cuMemAlloc_v2(&block, 64);
    cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    cu.cuEventRecord(event, NULL);
    cu.cuStreamWaitEvent(NULL, event, 0);
    (void)cu.cuEventQuery(event);
    cu.cuEventDestroy_v2(event);
    check(simdev_counted(SIMDEV_DRIVER_WAITS) == driver,
          "waits: calls that do not wait, not counted");
    cu.cuMemFree_v2(block);
    cu.cuStreamSynchronize(NULL);
    check(simdev_counted(SIMDEV_DRIVER_WAITS) == driver + 2 && simdev_counted(SIMDEV_WAITS) == own,
          "waits: calls that wait, counted");
    cudaDeviceSynchronize();
    check(simdev_counted(SIMDEV_DRIVER_WAITS) == driver + 2 &&
              simdev_counted(SIMDEV_WAITS) == own + 1,
          "waits: waits of the runtime, counted separately");
}

static void sleep_for(void *milliseconds)
{
    usleep(1000u * *(unsigned *)milliseconds);
}

static void test_times(void)
{
    CUstream stream = NULL;
    CUevent start = NULL, end = NULL, untimed = NULL;
    unsigned milliseconds = 20;
    float told = 0;
    cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cu.cuEventCreate(&start, CU_EVENT_DEFAULT);
    cu.cuEventCreate(&end, CU_EVENT_DEFAULT);
    cu.cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING);
    cu.cuEventRecord(start, stream);
    enqueue(stream, sleep_for, &milliseconds);
    cu.cuEventRecord(end, stream);
    cu.cuEventRecord(untimed, stream);
    check(refused(cu.cuEventElapsedTime(&told, start, end), CUDA_ERROR_NOT_READY),
          "time: unfinished event, not ready");
    check(cu.cuEventSynchronize(end) == CUDA_SUCCESS &&
              cu.cuEventElapsedTime(&told, start, end) == CUDA_SUCCESS && told >= 20 &&
              told < 20000,
          "time: between two events");
    cu.cuStreamSynchronize(stream);
    check(refused(cu.cuEventElapsedTime(&told, start, untimed), CUDA_ERROR_INVALID_HANDLE),
          "time: event without timing, refused");
    cu.cuEventDestroy_v2(start);
    cu.cuEventDestroy_v2(end);
    cu.cuEventDestroy_v2(untimed);
    cu.cuStreamDestroy_v2(stream);
}

static void test_name(void)
{
    char name[64] = "", little[4] = "";
    CUdevice device = -1;
    struct cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, 0);
    check(cu.cuCtxGetDevice(&device) == CUDA_SUCCESS && device == 0 &&
              cu.cuDeviceGetName(name, sizeof name, device) == CUDA_SUCCESS &&
              strcmp(name, properties.name) == 0,
          "name: device of the current context");
    check(cu.cuDeviceGetName(little, sizeof little, device) == CUDA_SUCCESS &&
              strncmp(little, name, 3) == 0 && little[3] == '\0' &&
              refused(cu.cuDeviceGetName(name, sizeof name, 99), CUDA_ERROR_INVALID_DEVICE),
          "name: truncated to the buffer");
}

static void test_set(void)
{
    CUdeviceptr block = 0;
    unsigned char got[100] = {0};
    cu.cuMemAlloc_v2(&block, sizeof got);
    check(cu.cuMemsetD8Async(block, 0x3b, sizeof got, NULL) == CUDA_SUCCESS &&
              cudaMemcpy(got, (void *)(uintptr_t)block, sizeof got, cudaMemcpyDeviceToHost) ==
                  cudaSuccess &&
              got[0] == 0x3b && got[sizeof got - 1] == 0x3b,
          "memory: cuMemsetD8Async");
    cu.cuMemFree_v2(block);
}

static void test_memory(void)
{
    CUdeviceptr block = 0;
    struct cudaPointerAttributes attributes;
    check(cu.cuMemAlloc_v2(&block, 3 * MIB) == CUDA_SUCCESS && block % 512 == 0 &&
              cudaPointerGetAttributes(&attributes, (void *)(uintptr_t)block) == cudaSuccess &&
              attributes.type == cudaMemoryTypeDevice,
          "memory: allocated on the device");
    check(cudaMemset((void *)(uintptr_t)block, 0, 3 * MIB) == cudaSuccess,
          "memory: usable by the runtime");
    check(cu.cuMemFree_v2(block) == CUDA_SUCCESS &&
              !simdev_range_alive((void *)(uintptr_t)block, 1),
          "memory: freed, not usable");
    check(refused(cu.cuMemAlloc_v2(&block, (size_t)1 << 60), CUDA_ERROR_OUT_OF_MEMORY) &&
              refused(cu.cuMemAlloc_v2(&block, 0), CUDA_ERROR_INVALID_VALUE) &&
              refused(cu.cuMemFree_v2(0), CUDA_ERROR_INVALID_VALUE),
          "memory: too many bytes, 0 bytes and NULL, refused");
}

static cuuint64_t pool_number(CUmemoryPool pool, CUmemPool_attribute attribute)
{
    cuuint64_t value = UINT64_MAX;
    cu.cuMemPoolGetAttribute(pool, attribute, &value);
    return value;
}

static void test_pool(void)
{
    CUmemoryPool standard = NULL, current = NULL, of_memory = NULL;
    CUdeviceptr pooled = 0, plain = 0;
    check(cu.cuDeviceGetDefaultMemPool(&standard, 0) == CUDA_SUCCESS && standard &&
              cu.cuDeviceGetMemPool(&current, 0) == CUDA_SUCCESS && current == standard,
          "pool: the default one is current");
    check(cu.cuMemAllocAsync(&pooled, 3 * MIB, NULL) == CUDA_SUCCESS &&
              pool_number(standard, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 3 * MIB &&
              pool_number(standard, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 3 * MIB &&
              pool_number(standard, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 32 * MIB &&
              pool_number(standard, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 32 * MIB,
          "pool: used and reserved bytes, current and high");
    check(cu.cuPointerGetAttribute(&of_memory, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pooled) ==
                  CUDA_SUCCESS &&
              of_memory == standard,
          "pool: the handle of the pool of a pointer");
    cu.cuMemAlloc_v2(&plain, MIB);
    check(cu.cuPointerGetAttribute(&of_memory, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, plain) ==
                  CUDA_SUCCESS &&
              !of_memory,
          "pool: other memory has no pool");
    cu.cuMemFreeAsync(pooled, NULL);
    check(pool_number(standard, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0 &&
              pool_number(standard, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 32 * MIB,
          "pool: keeps freed memory");
    cu.cuStreamSynchronize(NULL);
    check(pool_number(standard, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0,
          "pool: gives memory back when the program waits");
    cu.cuMemFree_v2(plain);
}

/* --- captures --- */

static CUresult capture_state(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                              CUgraph *graph)
{
    return cu.cuStreamGetCaptureInfo_v2(stream, status, id, graph, NULL, NULL);
}

static void test_capture_info(void)
{
    cudaStream_t stream;
    cudaGraph_t graph = NULL;
    CUgraph told = NULL;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    cuuint64_t first = 0, second = 0;
    const CUgraphNode *nodes = NULL;
    const CUgraphEdgeData *edges = NULL;
    size_t count = 0;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    check(capture_state(stream, &status, &first, &told) == CUDA_SUCCESS &&
              status == CU_STREAM_CAPTURE_STATUS_NONE,
          "capture info: stream is not capturing");
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    enqueue(stream, sleep_5ms, NULL);
    check(capture_state(stream, &status, &first, &told) == CUDA_SUCCESS &&
              status == CU_STREAM_CAPTURE_STATUS_ACTIVE && first != 0 && told,
          "capture info: id and graph");
    check(cu.cuStreamGetCaptureInfo_v3(stream, &status, &second, NULL, &nodes, &edges, &count) ==
                  CUDA_SUCCESS &&
              second == first && count == 1 && nodes && edges,
          "capture info: dependencies of the next node");
    check(cu.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
              status == CU_STREAM_CAPTURE_STATUS_ACTIVE,
          "capture info: cuStreamIsCapturing");
    cudaStreamEndCapture(stream, &graph);
    check(graph == told, "capture info: the captured graph is the returned one");
    cudaGraphDestroy(graph);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    check(capture_state(stream, &status, &second, &told) == CUDA_SUCCESS && second != first,
          "capture info: next capture, new id");
    (void)cudaStreamQuery(stream);
    (void)cudaGetLastError();
    check(capture_state(stream, &status, &second, &told) == CUDA_SUCCESS &&
              status == CU_STREAM_CAPTURE_STATUS_INVALIDATED,
          "capture info: invalidated capture");
    (void)cudaStreamEndCapture(stream, &graph);
    (void)cudaGetLastError();
    cudaStreamDestroy(stream);
}

/* A stream joins a capture and is joined again, both by driver calls. */
static void test_capture_join(void)
{
    cudaStream_t stream;
    CUstream side = NULL;
    CUevent fork = NULL, join = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    int counter = 0;
    struct look l = {.counter = &counter, .seen = -1};
    cudaStreamCreate(&stream);
    cu.cuStreamCreate(&side, CU_STREAM_NON_BLOCKING);
    cu.cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING);
    cu.cuEventCreate(&join, CU_EVENT_DISABLE_TIMING);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    check(cu.cuEventRecord(fork, stream) == CUDA_SUCCESS &&
              cu.cuStreamWaitEvent(side, fork, 0) == CUDA_SUCCESS,
          "capture: stream joins by an event");
    enqueue(side, increment, &counter);
    check(cu.cuEventRecord(join, side) == CUDA_SUCCESS &&
              cu.cuStreamWaitEvent(stream, join, 0) == CUDA_SUCCESS,
          "capture: stream is joined again");
    enqueue(stream, record_counter, &l);
    check(cudaStreamEndCapture(stream, &graph) == cudaSuccess &&
              cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess &&
              cudaGraphLaunch(exec, stream) == cudaSuccess &&
              cudaStreamSynchronize(stream) == cudaSuccess && l.seen == 1,
          "capture: replay in the captured order");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cu.cuEventDestroy_v2(fork);
    cu.cuEventDestroy_v2(join);
    cu.cuStreamDestroy_v2(side);
    cudaStreamDestroy(stream);
}

static void test_capture_mode(void)
{
    cudaStream_t stream;
    cudaGraph_t graph = NULL;
    CUdeviceptr block = 0;
    CUevent event = NULL;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    cudaStreamCreate(&stream);
    cu.cuEventCreate(&event, 0);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    check(cu.cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS &&
              mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
              cu.cuMemAlloc_v2(&block, 64) == CUDA_SUCCESS &&
              cu.cuEventQuery(event) == CUDA_SUCCESS,
          "capture mode relaxed: allocation and event query succeed");
    cu.cuThreadExchangeStreamCaptureMode(&mode);
    check(cudaStreamEndCapture(stream, &graph) == cudaSuccess,
          "capture mode relaxed: capture stays valid");
    cudaGraphDestroy(graph);
    cu.cuMemFree_v2(block);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    check(refused(cu.cuMemAlloc_v2(&block, 64), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) &&
              fails(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated),
          "capture mode global: allocation refused, capture invalidated");
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    check(refused(cu.cuEventQuery(event), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) &&
              fails(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated),
          "capture mode thread-local: event query refused, capture invalidated");
    cu.cuEventDestroy_v2(event);
    cudaStreamDestroy(stream);
}

static atomic_int gone;

static void CUDA_CB note_gone(void *arg)
{
    (void)arg;
    atomic_fetch_add(&gone, 1);
}

static bool gone_soon(int wanted)
{
    for (int i = 0; i < 1000 && atomic_load(&gone) != wanted; i++)
        usleep(1000);
    return atomic_load(&gone) == wanted;
}

static void test_user_objects(void)
{
    CUuserObject object = NULL;
    cudaGraph_t graph;
    cudaGraphExec_t exec = NULL;
    cudaGraphCreate(&graph, 0);
    check(cu.cuUserObjectCreate(&object, NULL, note_gone, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) ==
                  CUDA_SUCCESS &&
              cu.cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE) ==
                  CUDA_SUCCESS,
          "user object: retained by a graph");
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphDestroy(graph);
    check(atomic_load(&gone) == 0, "user object: retained by the executable graph");
    cudaGraphExecDestroy(exec);
    check(gone_soon(1), "user object: destroyed with the last graph");
    cu.cuUserObjectCreate(&object, NULL, note_gone, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    check(refused(cu.cuGraphRetainUserObject(NULL, object, 1, 0), CUDA_ERROR_INVALID_VALUE) &&
              cu.cuUserObjectRelease(object, 1) == CUDA_SUCCESS && gone_soon(2),
          "user object: never retained, destroyed at release");
}

static void test_errors(void)
{
    const char *name = NULL, *text = NULL;
    check(cu.cuGetErrorName(CUDA_ERROR_CONTEXT_IS_DESTROYED, &name) == CUDA_SUCCESS &&
              strcmp(name, "CUDA_ERROR_CONTEXT_IS_DESTROYED") == 0 &&
              cu.cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text) == CUDA_SUCCESS &&
              strcmp(text, "out of memory") == 0,
          "errors: names and texts");
    check(cu.cuGetErrorName((CUresult)12345, &name) == CUDA_ERROR_INVALID_VALUE && !name,
          "errors: unknown number, refused");
}

/* --- properties of the device --- */

static void check_no_device(void)
{
    CUdevice device;
    check(cu.cuCtxGetDevice(&device) == CUDA_ERROR_INVALID_CONTEXT, "device: no context, none");
}

static int attribute(CUdevice_attribute which)
{
    int value = -1;
    return cu.cuDeviceGetAttribute(&value, which, 0) == CUDA_SUCCESS ? value : -1;
}

static void test_device(void)
{
    CUdevice device = -1;
    struct cudaDeviceProp prop;
    char name[64] = "";
    size_t memory = 0;
    on_thread(check_no_device);
    (void)cudaSetDevice(0);
    (void)cudaGetDeviceProperties(&prop, 0);
    check(cu.cuCtxGetDevice(&device) == CUDA_SUCCESS && device == 0,
          "device: of the current context");
    check(cu.cuDeviceGetName(name, sizeof name, 0) == CUDA_SUCCESS &&
              strcmp(name, prop.name) == 0 && cu.cuDeviceTotalMem_v2(&memory, 0) == CUDA_SUCCESS &&
              memory == prop.totalGlobalMem,
          "device: name and memory as in the runtime");
    check(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) == prop.major &&
              attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) == prop.multiProcessorCount &&
              attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) == prop.l2CacheSize &&
              attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) > 0 &&
              attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) > 0,
          "device: attributes as in the runtime");
    check(cu.cuDeviceGetName(name, sizeof name, 9) == CUDA_ERROR_INVALID_DEVICE,
          "device: invalid number, refused");
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    check(!bind_driver(), "driver: not loaded before the first call");
    (void)cudaGetDeviceCount(&(int){0});
    if (check(bind_driver(), "driver: loaded by the first call, with all functions")) {
        test_errors();
        test_primary();
        test_device();
        test_streams();
        test_events();
        test_dropped_call();
        test_waits();
        test_memory();
        test_pool();
        test_set();
        test_times();
        test_name();
        test_capture_info();
        test_capture_join();
        test_capture_mode();
        test_user_objects();
    }
    return finish_checks();
}
