/* Tests of the simulated libcudart. Prints TAP. Run from the root of the repository, because it
 * reads conf/devices/h200.json. */
#include "selftest_cudart.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define PROFILE "conf/devices/h200.json"

static void increment(void *counter)
{
    ++*(int *)counter;
}

struct expectation {
    const int *counter;
    atomic_int seen;
};

static void record_counter(void *arg)
{
    struct expectation *e = arg;
    e->seen = *e->counter;
}

/* --- memory --- */

static void test_capacity(void)
{
    size_t free_bytes = 0, total = 0;
    void *second = NULL;
    void *first = device_alloc(40 * MIB);
    check(first != NULL, "capacity: allocation within it");
    check(cudaMalloc(&second, 40 * MIB) == cudaErrorMemoryAllocation,
          "capacity: allocation above it, refused");
    check(cudaPeekAtLastError() == cudaErrorMemoryAllocation, "last error: kept");
    const cudaError_t told = cudaGetLastError(), after = cudaGetLastError();
    check(told == cudaErrorMemoryAllocation && after == cudaSuccess,
          "last error: cleared by cudaGetLastError");
    cudaMemGetInfo(&free_bytes, &total);
    check(total == 64 * MIB && free_bytes == 24 * MIB, "cudaMemGetInfo: capacity and free bytes");
    cudaFree(first);
    first = device_alloc(64 * MIB);
    check(first != NULL, "capacity: all available after a free");
    check(cudaMalloc(&second, 1) == cudaErrorMemoryAllocation, "capacity: one byte more, refused");
    (void)cudaGetLastError();
    cudaFree(first);
    check(cudaMalloc(&second, SIZE_MAX) == cudaErrorMemoryAllocation,
          "capacity: SIZE_MAX bytes, refused");
    (void)cudaGetLastError();
    check(cudaMalloc(&second, 0) == cudaSuccess && !second, "cudaMalloc: 0 bytes, NULL");
    struct cudaPointerAttributes attributes = {.type = cudaMemoryTypeHost};
    check(cudaMallocManaged(&second, 64, cudaMemAttachGlobal) == cudaSuccess &&
              cudaPointerGetAttributes(&attributes, second) == cudaSuccess &&
              attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == second,
          "managed memory: attributes of host and device");
    cudaFree(second);
}

static void test_blocks(void)
{
    unsigned char host[3000];
    unsigned char *block = device_alloc(sizeof(host));
    check((uintptr_t)block % 512 == 0 && (uintptr_t)block % 1024 != 0,
          "block: aligned to 512 bytes and not more");
    cudaMemcpy(host, block, sizeof(host), cudaMemcpyDeviceToHost);
    bool poisoned = true;
    for (size_t i = 0; i < sizeof(host); i++)
        poisoned = poisoned && host[i] == 0xCB;
    check(poisoned, "block: new memory is poisoned");
    check(simdev_range_alive(block, sizeof(host)) && simdev_range_alive(block + 2999, 1),
          "range: inside a block, alive");
    check(!simdev_range_alive(block, sizeof(host) + 1) && !simdev_range_alive(block - 1, 2),
          "range: past the block's ends, not alive");
    check(simdev_range_alive(block + 2999, 0) && !simdev_range_alive(block + 3000, 0),
          "range: 0 bytes, alive if the address is");
    check(!simdev_range_alive(host, 1) && !simdev_range_alive(block, SIZE_MAX),
          "range: host memory and SIZE_MAX, not alive");
    cudaFree(block);
    check(!simdev_range_alive(block, 1), "range: freed block, not alive");
}

static void test_attributes(void)
{
    struct cudaPointerAttributes a = {0};
    void *pinned = NULL;
    int local;
    unsigned char *block = device_alloc(100);
    cudaPointerGetAttributes(&a, block + 50);
    check(a.type == cudaMemoryTypeDevice && a.devicePointer == block + 50 && !a.hostPointer,
          "attributes: device memory");
    cudaMallocHost(&pinned, 100);
    cudaPointerGetAttributes(&a, pinned);
    check(a.type == cudaMemoryTypeHost && a.hostPointer == pinned,
          "attributes: page-locked memory");
    check(cudaPointerGetAttributes(&a, &local) == cudaSuccess &&
              a.type == cudaMemoryTypeUnregistered,
          "attributes: other memory");
    check(!simdev_range_alive(pinned, 100), "range: page-locked memory, not alive");
    cudaFreeHost(pinned);
    cudaFree(block);
}

static void test_stream_ordered_memory(void)
{
    sem_t gate;
    cudaStream_t stream;
    void *block = NULL;
    size_t before = 0, after = 0, total = 0;
    sem_init(&gate, 0, 0);
    cudaStreamCreate(&stream);
    cudaMallocAsync(&block, MIB, stream);
    cudaMemGetInfo(&before, &total);
    enqueue(stream, wait_gate, &gate);
    cudaMemsetAsync(block, 7, MIB, stream);
    cudaFreeAsync(block, stream);
    cudaMemGetInfo(&after, &total);
    check(after == before, "cudaFreeAsync: the pool keeps the bytes");
    check(!simdev_range_alive(block, MIB), "cudaFreeAsync: the host cannot use the memory");
    open_gate(&gate);
    check(cudaStreamSynchronize(stream) == cudaSuccess,
          "cudaFreeAsync: work queued before can use the memory");
    cudaMemGetInfo(&after, &total);
    check(after == before + 32 * MIB, "cudaFreeAsync: the bytes are free after a wait");
    cudaStreamDestroy(stream);
    sem_destroy(&gate);
}

/* --- copies --- */

static void test_copies(void)
{
    unsigned char from[4 * 5 * 6], to[sizeof(from)];
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (unsigned char)(i + 1);
    unsigned char *a = device_alloc(sizeof(from)), *b = device_alloc(sizeof(from));
    cudaMemcpy(a, from, sizeof(from), cudaMemcpyHostToDevice);
    cudaMemcpy(b, a, sizeof(from), cudaMemcpyDeviceToDevice);
    cudaMemcpy(to, b, sizeof(to), cudaMemcpyDefault);
    check(memcmp(from, to, sizeof(from)) == 0, "copy: host to device to device to host");

    memset(to, 0, sizeof(to));
    check(cudaMemcpy2D(to, 3, a + 1, 6, 3, 5, cudaMemcpyDeviceToHost) == cudaSuccess &&
              to[0] == 2 && to[3] == 8 && to[14] == 28 && to[15] == 0,
          "copy: 2-D, correct bytes");
    check(cudaMemcpy2D(to, 3, a, 6, 4, 5, cudaMemcpyDeviceToHost) == cudaErrorInvalidPitchValue,
          "copy: rows longer than the pitch, refused");
    (void)cudaGetLastError();

    memset(to, 0, sizeof(to));
    struct cudaMemcpy3DParms box = {.srcPtr = {a, 6, 6, 5},
                                    .srcPos = {1, 2, 1},
                                    .dstPtr = {to, 2, 2, 2},
                                    .extent = {2, 2, 3},
                                    .kind = cudaMemcpyDeviceToHost};
    check(cudaMemcpy3DAsync(&box, 0) == cudaSuccess, "copy: 3-D, accepted");
    cudaStreamSynchronize(0);
    bool right = true;
    for (int z = 0, i = 0; z < 3; z++) {
        for (int y = 0; y < 2; y++) {
            for (int x = 0; x < 2; x++, i++)
                right = right && to[i] == from[(z + 1) * 30 + (y + 2) * 6 + x + 1];
        }
    }
    check(right && to[12] == 0, "copy: 3-D, correct bytes");
    cudaMemset(a, 9, 5);
    cudaMemcpy(to, a, 6, cudaMemcpyDeviceToHost);
    check(to[0] == 9 && to[4] == 9 && to[5] == from[5], "cudaMemset: correct bytes");
    cudaFree(a);
    cudaFree(b);
}

static void test_pinned_is_asynchronous(void)
{
    sem_t gate;
    cudaStream_t stream;
    unsigned char *pinned = NULL, result = 0;
    unsigned char *block = device_alloc(1);
    sem_init(&gate, 0, 0);
    cudaStreamCreate(&stream);
    cudaMallocHost((void **)&pinned, 1);
    *pinned = 1;
    enqueue(stream, wait_gate, &gate);
    cudaMemcpyAsync(block, pinned, 1, cudaMemcpyHostToDevice, stream);
    check(cudaStreamQuery(stream) == cudaErrorNotReady, "copy: page-locked memory, does not wait");
    (void)cudaGetLastError();
    *pinned = 2;
    open_gate(&gate);
    cudaStreamSynchronize(stream);
    cudaMemcpy(&result, block, 1, cudaMemcpyDeviceToHost);
    check(result == 2, "copy: page-locked memory, read when it runs");
    cudaStreamDestroy(stream);
    cudaFreeHost(pinned);
    cudaFree(block);
    sem_destroy(&gate);
}

/* --- streams and events --- */

struct numbered {
    int number;
    int *length;
    int *history;
};

static void append_number(void *arg)
{
    const struct numbered *n = arg;
    n->history[(*n->length)++] = n->number;
}

static void test_order(void)
{
    enum {
        TASKS = 500
    };
    static struct numbered tasks[TASKS];
    static int history[TASKS];
    int length = 0, in_order = 0;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = (struct numbered){i, &length, history};
        enqueue(stream, append_number, &tasks[i]);
    }
    cudaStreamSynchronize(stream);
    while (in_order < length && history[in_order] == in_order)
        in_order++;
    check(in_order == TASKS, "stream: order of execution");
    check(cudaStreamQuery(stream) == cudaSuccess, "stream: idle after synchronisation");
    check(cudaStreamDestroy(stream) == cudaSuccess, "stream: destroyed");
    check(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle,
          "stream: destroyed, synchronisation refused");
    check(enqueue(stream, sleep_5ms, NULL) == cudaErrorInvalidResourceHandle,
          "stream: work after destruction, refused");
    (void)cudaGetLastError();
}

static void test_events(void)
{
    sem_t gate, later;
    cudaStream_t a, b;
    cudaEvent_t event;
    int counter = 0;
    struct expectation e = {.counter = &counter, .seen = -1};
    sem_init(&gate, 0, 0);
    sem_init(&later, 0, 0);
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    check(cudaEventQuery(event) == cudaSuccess && cudaStreamWaitEvent(b, event, 0) == cudaSuccess,
          "event: never recorded, does not block");
    enqueue(a, wait_gate, &gate);
    enqueue(a, increment, &counter);
    cudaEventRecord(event, a);
    enqueue(a, wait_gate, &later);
    cudaStreamWaitEvent(b, event, 0);
    enqueue(b, record_counter, &e);
    check(cudaEventQuery(event) == cudaErrorNotReady, "event: before its work, not ready");
    usleep(20000);
    check(cudaStreamQuery(b) == cudaErrorNotReady, "event: other stream waits for it");
    (void)cudaGetLastError();
    open_gate(&gate);
    cudaStreamSynchronize(b);
    check(e.seen == 1, "event: waiting stream has the results of the work before");
    check(cudaEventSynchronize(event) == cudaSuccess && cudaEventQuery(event) == cudaSuccess,
          "event: work done, ready");
    check(cudaStreamQuery(a) == cudaErrorNotReady, "event: ready while later work runs");
    (void)cudaGetLastError();
    open_gate(&later);
    cudaStreamSynchronize(a);
    cudaEventDestroy(event);
    check(cudaEventRecord(event, a) == cudaErrorInvalidResourceHandle, "event: destroyed, refused");
    (void)cudaGetLastError();
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    sem_destroy(&later);
    sem_destroy(&gate);
}

static void test_wait_takes_the_last_record(void)
{
    sem_t gate;
    cudaStream_t a, b;
    cudaEvent_t event;
    sem_init(&gate, 0, 0);
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    cudaEventRecord(event, a);
    cudaStreamWaitEvent(b, event, 0);
    enqueue(a, wait_gate, &gate);
    cudaEventRecord(event, a); /* after the wait, so b does not wait for it */
    check(cudaStreamSynchronize(b) == cudaSuccess, "wait: only for the record before it");
    cudaStreamWaitEvent(b, event, 0);
    cudaEventDestroy(event);
    usleep(20000);
    check(cudaStreamQuery(b) == cudaErrorNotReady, "wait: survives the destruction of its event");
    (void)cudaGetLastError();
    open_gate(&gate);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    check(cudaDeviceSynchronize() == cudaSuccess, "stream: destroyed, finishes its work");
    sem_destroy(&gate);
}

/* Hangs without concurrency, because each stream's work opens the other's gate. */
static void test_streams_are_concurrent(void)
{
    sem_t gate;
    cudaStream_t a, b;
    sem_init(&gate, 0, 0);
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    enqueue(a, wait_gate, &gate);
    enqueue(b, open_gate, &gate);
    check(cudaDeviceSynchronize() == cudaSuccess, "streams: run concurrently");
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    sem_destroy(&gate);
}

static void test_legacy_stream(void)
{
    sem_t gate, legacy_gate;
    cudaStream_t blocking, other;
    int counter = 0;
    struct expectation at_legacy = {&counter, -1}, at_other = {&counter, -1};
    struct expectation at_blocking = {&counter, -1};
    sem_init(&gate, 0, 0);
    sem_init(&legacy_gate, 0, 0);
    cudaStreamCreate(&blocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    enqueue(blocking, wait_gate, &gate);
    enqueue(NULL, record_counter, &at_legacy);
    enqueue(cudaStreamLegacy, wait_gate, &legacy_gate);
    enqueue(NULL, increment, &counter);
    enqueue(blocking, record_counter, &at_blocking);
    enqueue(other, record_counter, &at_other);
    cudaStreamSynchronize(other);
    check(at_other.seen == 0, "legacy stream: non-blocking streams do not wait for it");
    usleep(20000);
    check(at_legacy.seen == -1 && cudaStreamQuery(NULL) == cudaErrorNotReady,
          "legacy stream: waits for blocking streams");
    open_gate(&gate);
    usleep(20000);
    check(at_blocking.seen == -1 && cudaStreamQuery(blocking) == cudaErrorNotReady,
          "legacy stream: blocking streams wait for it");
    (void)cudaGetLastError();
    open_gate(&legacy_gate);
    cudaStreamSynchronize(blocking);
    check(at_legacy.seen == 0 && at_blocking.seen == 1,
          "legacy stream: both have the results of the work before");
    cudaStreamDestroy(blocking);
    cudaStreamDestroy(other);
    sem_destroy(&legacy_gate);
    sem_destroy(&gate);
}

static void test_timing(void)
{
    cudaStream_t stream;
    cudaEvent_t start, end, untimed;
    float ms = 0;
    cudaStreamCreate(&stream);
    cudaEventCreate(&start);
    cudaEventCreate(&end);
    cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming);
    cudaEventRecord(start, stream);
    enqueue(stream, sleep_5ms, NULL);
    cudaEventRecord(end, stream);
    cudaEventRecord(untimed, stream);
    cudaEventSynchronize(untimed);
    check(cudaEventElapsedTime(&ms, start, end) == cudaSuccess && ms >= 5 && ms < 5000,
          "time: cudaEventElapsedTime");
    check(cudaEventElapsedTime(&ms, start, untimed) == cudaErrorInvalidResourceHandle,
          "time: event without timing, refused");
    (void)cudaGetLastError();
    cudaEventDestroy(start);
    cudaEventDestroy(end);
    cudaEventDestroy(untimed);
    cudaStreamDestroy(stream);
}

static void call_cuda(void *result)
{
    *(cudaError_t *)result = cudaDeviceSynchronize();
}

static void test_host_function(void)
{
    cudaError_t inside = cudaSuccess;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaLaunchHostFunc(stream, call_cuda, &inside);
    cudaStreamSynchronize(stream);
    check(inside == cudaErrorNotPermitted, "host function: CUDA call, refused");
    check(cudaGetLastError() == cudaSuccess, "host function: last error of the caller unchanged");
    cudaStreamDestroy(stream);
}

/* --- many threads --- */

enum {
    THREADS = 8,
    ROUNDS = 300
};

struct shared {
    cudaStream_t common;
    int counter; /* only touched on `common` */
    atomic_int errors;
};

static void *use_all_streams(void *arg)
{
    struct shared *shared = arg;
    cudaStream_t stream;
    cudaEvent_t event;
    int mine = 0, alone = 0, wrong = cudaStreamCreate(&stream) != cudaSuccess;
    wrong += cudaEventCreate(&event) != cudaSuccess;
    for (int i = 0; i < ROUNDS; i++) {
        void *block = NULL;
        wrong += cudaMallocAsync(&block, 512, stream) != cudaSuccess;
        wrong += enqueue(stream, increment, &mine) != cudaSuccess;
        wrong += cudaMemsetAsync(block, i, 512, stream) != cudaSuccess;
        wrong += cudaEventRecord(event, stream) != cudaSuccess;
        wrong += cudaStreamWaitEvent(shared->common, event, 0) != cudaSuccess;
        wrong += enqueue(shared->common, increment, &shared->counter) != cudaSuccess;
        wrong += cudaFreeAsync(block, stream) != cudaSuccess;
        wrong += enqueue(cudaStreamPerThread, increment, &alone) != cudaSuccess;
        wrong += cudaStreamSynchronize(cudaStreamPerThread) != cudaSuccess;
        wrong += i % 16 == 0 && cudaStreamSynchronize(stream) != cudaSuccess;
        cudaStreamWaitEvent(cudaStreamPerThread, event, 0);
        cudaEventRecord(event, cudaStreamPerThread);
        cudaStreamWaitEvent(stream, event, 0);
    }
    wrong += cudaStreamSynchronize(stream) != cudaSuccess;
    wrong += mine != ROUNDS || alone != ROUNDS;
    wrong += cudaEventDestroy(event) != cudaSuccess;
    wrong += cudaStreamDestroy(stream) != cudaSuccess;
    atomic_fetch_add(&shared->errors, wrong);
    return NULL;
}

static void test_threads(void)
{
    struct shared shared = {0};
    pthread_t threads[THREADS];
    cudaStreamCreateWithFlags(&shared.common, cudaStreamNonBlocking);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, use_all_streams, &shared);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    cudaDeviceSynchronize();
    check(atomic_load(&shared.errors) == 0, "threads: eight threads with separate streams");
    check(shared.counter == THREADS * ROUNDS, "threads: eight threads with one stream");
    cudaStreamDestroy(shared.common);
}

/* Enough bytes that blocks freed here push others out of the quarantine. */
static void *allocate_and_free(void *arg)
{
    struct shared *shared = arg;
    int wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        void *block = NULL;
        wrong += cudaMalloc(&block, (size_t)1 << 17) != cudaSuccess;
        wrong += cudaFree(block) != cudaSuccess;
    }
    atomic_fetch_add(&shared->errors, wrong);
    return NULL;
}

/* For sanitizers: repeats rare interleavings many times. */
static void test_threads_allocate(void)
{
    struct shared shared = {0};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, allocate_and_free, &shared);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    check(atomic_load(&shared.errors) == 0, "threads: eight threads allocate and free");
}

/* --- the device --- */

static void test_device(void)
{
    struct cudaDeviceProp prop = {0};
    int major = 0, version = 0, count = 0;
    cJSON *file = read_json(PROFILE);
    cJSON *builtin = cJSON_Parse(simdev_profile_text(0));
    check(file && cJSON_Compare(file, builtin, true), "the built-in profile is " PROFILE);
    cJSON_Delete(file);
    cJSON_Delete(builtin);
    cudaGetDeviceProperties(&prop, 0);
    check(strcmp(prop.name, "NVIDIA H200") == 0 && prop.major == 9 && prop.minor == 0 &&
              prop.multiProcessorCount == 132 && prop.totalGlobalMem == 64 * MIB,
          "properties: from the profile, memory from the capacity");
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess &&
              major == 9,
          "attributes: from the profile");
    check(cudaGetDeviceCount(&count) == cudaSuccess && count == 1 &&
              cudaSetDevice(1) == cudaErrorInvalidDevice,
          "devices: one");
    (void)cudaGetLastError();
    check(cudaDriverGetVersion(&version) == cudaSuccess && version == 13000, "version: driver");
    check(strcmp(cudaGetErrorName(cudaErrorNotReady), "cudaErrorNotReady") == 0 &&
              strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0,
          "errors: names and texts");
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(120);
    setenv("SIMDEV_CAPACITY", "64MiB", 1);
    test_capacity();
    test_blocks();
    test_attributes();
    test_stream_ordered_memory();
    test_copies();
    test_pinned_is_asynchronous();
    test_order();
    test_events();
    test_wait_takes_the_last_record();
    test_streams_are_concurrent();
    test_legacy_stream();
    test_timing();
    test_host_function();
    test_threads();
    test_threads_allocate();
    test_device();
    return finish_checks();
}
