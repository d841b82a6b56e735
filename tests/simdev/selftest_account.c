/* Tests of account mode with a program that registers kernels as nvcc's generated code does: its
 * memory and its kernels. */
#include "account_program.h"
#include "selftest_cudart.h"
#include <cuda.h>
#include <dlfcn.h>
#include <string.h>

static uint64_t launched(void)
{
    cudaDeviceSynchronize();
    return simdev_counted(SIMDEV_KERNEL_LAUNCHES);
}

/* --- kernels --- */

static void test_launches(void)
{
    const struct dim3 one = {1, 1, 1}, many = {1, 1, 2000};
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    check(launch(&plain_stub, 8, 128, 0, NULL) == cudaSuccess && launched() == 1,
          "launch: nvcc's code, counted once");
    check(cudaLaunchKernel(&plain_stub, one, one, NULL, 0, stream) == cudaSuccess &&
              launched() == 2,
          "cudaLaunchKernel");
    check(cudaLaunchCooperativeKernel(&plain_stub, one, one, NULL, 0, stream) == cudaSuccess &&
              launched() == 3,
          "launch: cooperative grid that fits, counted");
    const struct dim3 large = {1u << 20, 1, 1};
    check(fails(cudaLaunchCooperativeKernel(&plain_stub, large, one, NULL, 0, stream),
                cudaErrorCooperativeLaunchTooLarge),
          "launch: cooperative grid that does not fit at once, refused");
    const cudaLaunchConfig_t config = {.gridDim = one, .blockDim = one, .stream = stream};
    check(cudaLaunchKernelExC(&config, &plain_stub, NULL) == cudaSuccess && launched() == 4,
          "cudaLaunchKernelExC");
    check(fails(cudaLaunchKernel(&plain_stub, one, many, NULL, 0, stream),
                cudaErrorInvalidConfiguration),
          "launch: block with too many threads, refused");
    check(
        fails(cudaLaunchKernel(numbers, one, one, NULL, 0, stream), cudaErrorInvalidDeviceFunction),
        "launch: address that is not a kernel, refused");
    check(launched() == 4, "launch: refused launches are not counted");
    cudaStreamDestroy(stream);
}

static void test_attributes(const char *packing)
{
    struct cudaFuncAttributes plain = {0}, shared = {0};
    int blocks = 0;
    const bool got = cudaFuncGetAttributes(&plain, &plain_stub) == cudaSuccess &&
                     cudaFuncGetAttributes(&shared, &shared_stub) == cudaSuccess;
    printf("# %s: %d registers, %zu bytes shared, %d threads\n", packing, plain.numRegs,
           shared.sharedSizeBytes, shared.maxThreadsPerBlock);
    check(got && plain.numRegs == FAT_REGISTERS && plain.sharedSizeBytes == 0 &&
              plain.maxThreadsPerBlock == 1024,
          "attributes: registers of the image");
    check(shared.sharedSizeBytes == FAT_SHARED && shared.maxThreadsPerBlock == FAT_MAX_THREADS,
          "attributes: shared memory and launch bounds of the image");
    /* H200: 65536 registers, 64 warps and 228 KiB of shared memory per multiprocessor. 40 registers
     * are 1280 per warp: 51 warps, rounded down to 48: 6 blocks of 8. */
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &plain_stub, 256, 0) ==
                  cudaSuccess &&
              blocks == 6,
          "occupancy: limited by registers");
    /* 4 KiB static, 60 KiB dynamic and the reserved part: 3 fit. */
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &shared_stub, 32, 60 << 10) ==
                  cudaSuccess &&
              blocks == 3,
          "occupancy: limited by shared memory");
}

static void test_dynamic_shared(void)
{
    check(fails(launch(&shared_stub, 1, 32, 46 << 10, NULL), cudaErrorInvalidValue),
          "dynamic shared memory: above the default, refused");
    check(cudaFuncSetAttribute(&shared_stub, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               100 << 10) == cudaSuccess &&
              launch(&shared_stub, 1, 32, 100 << 10, NULL) == cudaSuccess,
          "dynamic shared memory: attribute set, accepted");
    check(fails(cudaFuncSetAttribute(&shared_stub, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     300 << 10),
                cudaErrorInvalidValue),
          "dynamic shared memory: attribute above a block's limit, refused");
}

static void test_graph(void)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    const uint64_t before = launched();
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    launch(&plain_stub, 1, 32, 0, stream);
    simdev_account_call(stream, "library", NULL);
    cudaStreamEndCapture(stream, &graph);
    check(launched() == before, "captured launch: not counted");
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, stream);
    cudaGraphLaunch(exec, stream);
    check(launched() == before + 2, "captured launch: counted at each launch of the graph");
    check(simdev_counted(SIMDEV_LIBRARY_CALLS) == 2,
          "captured library call: counted at each launch of the graph");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
}

/* --- variables --- */

static void test_variable(void)
{
    int host[FAT_NUMBERS] = {0};
    const int changed[2] = {-1, -2};
    void *address = NULL;
    size_t bytes = 0;
    check(cudaGetSymbolSize(&bytes, numbers) == cudaSuccess && bytes == sizeof(numbers) &&
              cudaGetSymbolAddress(&address, numbers) == cudaSuccess &&
              simdev_range_alive(address, bytes),
          "variable: storage of its size");
    check(cudaMemcpyFromSymbol(host, numbers, sizeof(host), 0, cudaMemcpyDeviceToHost) ==
                  cudaSuccess &&
              host[0] == 11 && host[3] == 44,
          "variable: starts with the image's content");
    check(cudaMemcpyToSymbol(numbers, changed, sizeof(changed), 4, cudaMemcpyHostToDevice) ==
                  cudaSuccess &&
              cudaMemcpy(host, address, sizeof(host), cudaMemcpyDeviceToHost) == cudaSuccess &&
              host[0] == 11 && host[1] == -1 && host[2] == -2 && host[3] == 44,
          "variable: returns copied values");
    check(fails(cudaMemcpyToSymbol(numbers, host, sizeof(host), 4, cudaMemcpyHostToDevice),
                cudaErrorInvalidValue),
          "variable: copy past its end, refused");
    check(fails(cudaGetSymbolAddress(&address, &plain_stub), cudaErrorInvalidSymbol),
          "variable: address that is not a variable, refused");
}

/* --- memory --- */

static size_t resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    size_t total = 0, resident = 0;
    if (!file || fscanf(file, "%zu %zu", &total, &resident) != 2)
        resident = SIZE_MAX / 4096;
    if (file)
        fclose(file);
    return resident * 4096;
}

static void test_large(void)
{
    const size_t bytes = 40000 * MIB;
    const size_t before = resident_bytes();
    size_t free_before = 0, free_after = 0, total = 0;
    unsigned char end[4] = {1, 1, 1, 1};
    cudaMemGetInfo(&free_before, &total);
    unsigned char *first = device_alloc(bytes), *second = device_alloc(bytes);
    cudaMemGetInfo(&free_after, &total);
    check(first && second && free_before - free_after == 2 * bytes,
          "memory: 80 GB allocated and counted");
    cudaMemset(first, 7, bytes);
    cudaMemcpy(second, first, bytes, cudaMemcpyDeviceToDevice);
    cudaMemcpy(end, second + bytes - 4, 4, cudaMemcpyDeviceToHost);
    check(end[0] == 7 && end[3] == 7, "memory: a set on the source, copied to the destination");
    check(resident_bytes() < before + 64 * MIB,
          "memory: 80 GB take less than 64 MiB of this machine");
    check(!device_alloc(total), "memory: above the capacity, refused");
    (void)cudaGetLastError();
    cudaFree(first);
    cudaFree(second);
}

static bool all(const unsigned char *bytes, size_t count, unsigned char value)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

static void test_bytes(void)
{
    enum {
        BYTES = 10000
    };
    unsigned char host[BYTES], back[BYTES];
    unsigned char *a = device_alloc(BYTES), *b = device_alloc(BYTES);
    memset(host, 3, sizeof(host));
    memset(back, 9, sizeof(back));
    cudaMemcpy(back, a, BYTES, cudaMemcpyDeviceToHost);
    check(all(back, BYTES, 0), "bytes: never written, read as zeros");
    cudaMemcpy(a + 1000, host, 5000, cudaMemcpyHostToDevice);
    cudaMemset(a + 2000, 4, 100);
    cudaMemcpy(back, a, BYTES, cudaMemcpyDeviceToHost);
    check(all(back, 1000, 0) && all(back + 1000, 1000, 3) && all(back + 2000, 100, 4) &&
              all(back + 2100, 3900, 3) && all(back + 6000, 4000, 0),
          "bytes: copies and sets are kept, others read as zeros");
    cudaMemset(b, 5, BYTES);
    cudaMemcpy(b, a + 500, 1700, cudaMemcpyDeviceToDevice);
    cudaMemcpy(back, b, BYTES, cudaMemcpyDeviceToHost);
    check(all(back, 500, 0) && all(back + 500, 1000, 3) && all(back + 1500, 100, 4) &&
              all(back + 1600, 100, 3) && all(back + 1700, 8300, 5),
          "bytes: copy inside the device, known and unknown bytes are copied");
    cudaMemcpy2D(b, 100, host, 50, 50, 10, cudaMemcpyHostToDevice);
    cudaMemcpy(back, b, 1000, cudaMemcpyDeviceToHost);
    check(all(back, 50, 3) && all(back + 50, 50, 0) && all(back + 900, 50, 3),
          "bytes: copy of rows, gaps stay unchanged");
    cudaFree(a);
    cudaFree(b);
    a = device_alloc(BYTES);
    cudaMemcpy(back, a, BYTES, cudaMemcpyDeviceToHost);
    check(all(back, BYTES, 0), "bytes: new memory at old addresses, unknown");
    cudaFree(a);
}

/* A kernel may write to the addresses passed to it. */
static void test_kernel_arguments(void)
{
    static const struct dim3 one = {1, 1, 1};
    int host[4] = {1, 2, 3, 4}, back[4] = {9, 9, 9, 9};
    int *given = device_alloc(64), *within = device_alloc(64), *apart = device_alloc(64);
    struct {
        uint64_t number;
        int *address;
    } pair = {7, within};
    void *arguments[] = {&given, &pair};
    cudaMemcpy(given, host, sizeof(host), cudaMemcpyHostToDevice);
    cudaMemcpy(within, host, sizeof(host), cudaMemcpyHostToDevice);
    cudaMemcpy(apart, host, sizeof(host), cudaMemcpyHostToDevice);
    cudaLaunchKernel(&plain_stub, one, one, arguments, 0, NULL);
    cudaMemcpy(back, given, sizeof(back), cudaMemcpyDeviceToHost);
    check(back[0] == 1 && back[3] == 4, "kernel arguments: whole input read after a launch, kept");
    cudaMemcpy(back, given, sizeof(int), cudaMemcpyDeviceToHost);
    check(back[0] == 0, "kernel arguments: part of the input at the address, unknown");
    cudaMemcpy(back, given + 1, sizeof(int), cudaMemcpyDeviceToHost);
    check(back[0] == 2, "kernel arguments: another part of the input, kept");
    cudaMemcpy(back, within, sizeof(int), cudaMemcpyDeviceToHost);
    check(back[0] == 0, "kernel arguments: address inside a structure, unknown");
    cudaMemcpy(back, apart, sizeof(int), cudaMemcpyDeviceToHost);
    check(back[0] == 1, "kernel arguments: memory not passed, kept");
    cudaMemcpy(given, host, sizeof(host), cudaMemcpyHostToDevice);
    cudaMemcpy(back, given, sizeof(int), cudaMemcpyDeviceToHost);
    check(back[0] == 1, "kernel arguments: memory written after the launch, kept");
    simdev_account_written(apart, sizeof(int));
    cudaMemcpy(back, apart, sizeof(back), cudaMemcpyDeviceToHost);
    check(back[0] == 0 && back[1] == 2,
          "simdev_account_written: bytes are unknown, others are kept");
    cudaFree(given);
    cudaFree(within);
    cudaFree(apart);
}

static void test_managed(void)
{
    int *shared = NULL, back = 0;
    check(cudaMallocManaged((void **)&shared, 4096, cudaMemAttachGlobal) == cudaSuccess,
          "managed memory: allocated, attributes returned");
    shared[5] = 77;
    cudaMemcpy(&back, &shared[5], sizeof(back), cudaMemcpyDefault);
    check(back == 77, "managed memory: writes of the host are read back");
    cudaFree(shared);
    static char own[8192];
    check(cudaHostRegister(own, sizeof(own), 0) == cudaSuccess &&
              fails(cudaHostRegister(own, 10, 0), cudaErrorHostMemoryAlreadyRegistered) &&
              cudaHostUnregister(own) == cudaSuccess &&
              fails(cudaHostUnregister(own), cudaErrorHostMemoryNotRegistered),
          "host memory: registered once, unregistered once");
}

/* --- pools --- */

static uint64_t pool_number(cudaMemPool_t pool, enum cudaMemPoolAttr attribute)
{
    uint64_t value = UINT64_MAX;
    cudaMemPoolGetAttribute(pool, attribute, &value);
    return value;
}

static void test_pools(void)
{
    cudaMemPool_t pool = NULL, own = NULL;
    uint64_t zero = 0;
    void *a = NULL, *b = NULL;
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudaMallocAsync(&a, 3 * MIB, NULL);
    cudaMallocAsync(&b, 5 * MIB, NULL);
    check(pool_number(pool, cudaMemPoolAttrUsedMemCurrent) == 8 * MIB &&
              pool_number(pool, cudaMemPoolAttrReservedMemCurrent) >= 8 * MIB,
          "pool: used and reserved bytes after two allocations");
    cudaFreeAsync(a, NULL);
    check(pool_number(pool, cudaMemPoolAttrUsedMemCurrent) == 5 * MIB &&
              pool_number(pool, cudaMemPoolAttrUsedMemHigh) == 8 * MIB,
          "pool: used bytes and high-water mark after a free");
    cudaFree(b);
    cudaMemPoolTrimTo(pool, 0);
    check(pool_number(pool, cudaMemPoolAttrUsedMemCurrent) == 0 &&
              pool_number(pool, cudaMemPoolAttrReservedMemCurrent) == 0,
          "pool: trimmed, holds no memory");
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero);
    check(pool_number(pool, cudaMemPoolAttrUsedMemHigh) == 0, "pool: high-water mark, reset");
    const struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                           .location = {.type = cudaMemLocationTypeDevice}};
    check(cudaMemPoolCreate(&own, &props) == cudaSuccess &&
              cudaMallocFromPoolAsync(&a, MIB, own, NULL) == cudaSuccess &&
              pool_number(own, cudaMemPoolAttrUsedMemCurrent) == MIB &&
              pool_number(pool, cudaMemPoolAttrUsedMemCurrent) == 0,
          "pool: created by the program, counts separately");
    cudaFreeAsync(a, NULL);
    check(cudaMemPoolDestroy(own) == cudaSuccess &&
              fails(cudaMallocFromPoolAsync(&a, MIB, own, NULL), cudaErrorInvalidValue),
          "pool: destroyed, refuses allocations");
}

static size_t free_bytes(void)
{
    size_t there = 0, total = 0;
    cudaMemGetInfo(&there, &total);
    return there;
}

/* Memory that a pool keeps is not free for others. */
static void test_pool_holds(void)
{
    const size_t before = free_bytes();
    const uint64_t all = UINT64_MAX, none = 0;
    cudaMemPool_t pool = NULL;
    cudaStream_t stream;
    cudaEvent_t event;
    void *block = NULL;
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudaStreamCreate(&stream);
    cudaEventCreate(&event);
    cudaMallocAsync(&block, 65 * MIB, stream);
    check(free_bytes() == before - 96 * MIB, "pool: its reserved bytes are not free");
    cudaFreeAsync(block, stream);
    check(free_bytes() == before - 96 * MIB &&
              pool_number(pool, cudaMemPoolAttrReservedMemCurrent) == 96 * MIB,
          "pool: keeps freed memory until the program waits");
    cudaStreamSynchronize(stream);
    check(free_bytes() == before && pool_number(pool, cudaMemPoolAttrReservedMemCurrent) == 0 &&
              pool_number(pool, cudaMemPoolAttrReservedMemHigh) >= 96 * MIB,
          "pool: above its threshold, gives memory back when the program waits for a stream");
    cudaMallocAsync(&block, MIB, stream);
    cudaFreeAsync(block, stream);
    cudaEventRecord(event, stream);
    cudaEventSynchronize(event);
    check(free_bytes() == before, "pool: gives memory back when the program waits for an event");
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, (void *)&all);
    cudaMallocAsync(&block, MIB, stream);
    cudaFreeAsync(block, stream);
    cudaDeviceSynchronize();
    check(free_bytes() == before - 32 * MIB, "pool: below its threshold, keeps memory");
    cudaMemPoolTrimTo(pool, 0);
    check(free_bytes() == before, "pool: gives memory back when it is trimmed");
    check(fails(cudaMallocAsync(&block, before + 1, stream), cudaErrorMemoryAllocation) &&
              pool_number(pool, cudaMemPoolAttrUsedMemCurrent) == 0,
          "pool: cannot grow above the capacity");
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, (void *)&none);
    cudaEventDestroy(event);
    cudaStreamDestroy(stream);
}

/* --- time --- */

static float time_of_launch(unsigned blocks)
{
    cudaEvent_t start, end;
    float ms = -1;
    cudaEventCreate(&start);
    cudaEventCreate(&end);
    cudaEventRecord(start, NULL);
    launch(&plain_stub, blocks, 256, 0, NULL);
    cudaEventRecord(end, NULL);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&ms, start, end);
    cudaEventDestroy(start);
    cudaEventDestroy(end);
    return ms;
}

static void test_time(void)
{
    const float small = time_of_launch(1), large = time_of_launch(1u << 20);
    check(small > 0 && large > 10 * small, "time: launch, from the size of its grid");
    check(time_of_launch(1u << 20) == large && time_of_launch(1) == small,
          "time: same launch, same time");
}

static void sleep_a_little(void *data)
{
    usleep(20000);
    ++*(int *)data;
}

static void test_order(void)
{
    int calls = 0;
    cudaStream_t stream;
    const uint64_t before = launched();
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaLaunchHostFunc(stream, sleep_a_little, &calls);
    launch(&plain_stub, 1, 32, 0, stream);
    check(simdev_counted(SIMDEV_KERNEL_LAUNCHES) == before,
          "order: kernel after a host function, waits");
    check(cudaStreamQuery(stream) == cudaErrorNotReady,
          "order: stream with waiting work, not ready");
    cudaStreamSynchronize(stream);
    check(calls == 1 && simdev_counted(SIMDEV_KERNEL_LAUNCHES) == before + 1,
          "order: synchronised stream, both have run");
    launch(&plain_stub, 1, 32, 0, stream);
    check(cudaStreamQuery(stream) == cudaSuccess, "order: kernel on an idle stream, done at once");
    cudaStreamDestroy(stream);
}

/* --- images that are loaded by a call --- */

static void test_library(void)
{
    const void *image = fat_image(90, FAT_PLAIN);
    cudaLibrary_t library;
    cudaKernel_t kernel = NULL;
    unsigned count = 0;
    int *address = NULL, back = 0;
    size_t bytes = 0;
    check(cudaLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0) == cudaSuccess &&
              cudaLibraryGetKernelCount(&count, library) == cudaSuccess && count == 2,
          "library: number of kernels");
    check(cudaLibraryGetKernel(&kernel, library, "shared") == cudaSuccess && kernel &&
              fails(cudaLibraryGetKernel(&kernel, library, "absent"), cudaErrorSymbolNotFound),
          "library: kernels found by name");
    cudaLibraryGetKernel(&kernel, library, "shared");
    const struct dim3 one = {1, 1, 1};
    const uint64_t before = launched();
    check(cudaLaunchKernel(kernel, one, one, NULL, 0, NULL) == cudaSuccess &&
              launched() == before + 1,
          "library: kernel launched by handle");
    check(cudaLibraryGetGlobal((void **)&address, &bytes, library, "numbers") == cudaSuccess &&
              bytes == sizeof(numbers) &&
              cudaMemcpy(&back, address + 2, 4, cudaMemcpyDeviceToHost) == cudaSuccess &&
              back == 33,
          "library: variable read");
    check(cudaLibraryUnload(library) == cudaSuccess &&
              fails(cudaLaunchKernel(kernel, one, one, NULL, 0, NULL),
                    cudaErrorInvalidDeviceFunction) &&
              fails(cudaLibraryUnload(library), cudaErrorInvalidResourceHandle),
          "library: unloaded, kernels and handle are invalid");
}

/* --- the driver, as programs look it up --- */

static void *driver(const char *name, unsigned version)
{
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult result;
    cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &result);
    return result == cudaDriverEntryPointSuccess ? function : NULL;
}

#define DRIVER(name) __typeof__(&name) p_##name = (__typeof__(&name))driver(#name, 13000)

static void test_driver_module(void)
{
    DRIVER(cuModuleLoadData);
    DRIVER(cuModuleGetFunction);
    DRIVER(cuLaunchKernel);
    DRIVER(cuFuncGetAttribute);
    DRIVER(cuModuleUnload);
    CUmodule module;
    CUfunction function = NULL;
    int registers = 0;
    const uint64_t before = launched();
    if (!check(p_cuModuleLoadData && p_cuModuleGetFunction && p_cuLaunchKernel &&
                   p_cuFuncGetAttribute && p_cuModuleUnload,
               "driver: module functions found"))
        return;
    check(p_cuModuleLoadData(&module, fat_image(90, FAT_PLAIN)) == CUDA_SUCCESS &&
              p_cuModuleGetFunction(&function, module, "plain") == CUDA_SUCCESS &&
              p_cuModuleGetFunction(&function, module, "none") == CUDA_ERROR_NOT_FOUND &&
              p_cuModuleGetFunction(&function, module, "plain") == CUDA_SUCCESS,
          "driver: kernels of a module found by name");
    check(p_cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) == CUDA_SUCCESS &&
              launched() == before + 1,
          "cuLaunchKernel");
    check(p_cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function) == CUDA_SUCCESS &&
              registers == FAT_REGISTERS,
          "cuFuncGetAttribute");
    check(p_cuModuleUnload(module) == CUDA_SUCCESS &&
              p_cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) ==
                  CUDA_ERROR_INVALID_HANDLE,
          "driver: unloaded module, handle is invalid");
    check(driver("cuStreamGetCaptureInfo", 12000) != driver("cuStreamGetCaptureInfo", 13000) &&
              !driver("cuNothing", 13000),
          "driver: look-up by CUDA version, matching function");
}

static void test_driver_graph(void)
{
    DRIVER(cuGraphCreate);
    DRIVER(cuGraphAddKernelNode);
    DRIVER(cuGraphInstantiateWithFlags);
    DRIVER(cuGraphLaunch);
    DRIVER(cuGraphDestroy);
    DRIVER(cuGraphExecDestroy);
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    CUgraphNode node = NULL;
    CUDA_KERNEL_NODE_PARAMS params = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1};
    params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    params.func = (CUfunction)(void *)&plain_stub;
    const uint64_t before = launched();
    check(p_cuGraphCreate(&graph, 0) == CUDA_SUCCESS &&
              p_cuGraphAddKernelNode(&node, graph, NULL, 0, &params) == CUDA_SUCCESS &&
              p_cuGraphAddKernelNode(&node, graph, &node, 1, &params) == CUDA_SUCCESS &&
              p_cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS,
          "driver: graph of kernels created");
    const cudaLaunchAttributeID id = cudaLaunchAttributeClusterDimension;
    cudaLaunchAttributeValue cluster = {.clusterDim = {2, 1, 1}}, read[2];
    check(cudaGraphKernelNodeGetAttribute(node, id, &read[0]) == cudaSuccess &&
              cudaGraphKernelNodeSetAttribute(node, id, &cluster) == cudaSuccess &&
              cudaGraphKernelNodeGetAttribute(node, id, &read[1]) == cudaSuccess &&
              read[0].clusterDim.x == 0 && read[1].clusterDim.x == 2,
          "kernel node: clusters, 0 until they are set");
    check(p_cuGraphLaunch(exec, NULL) == CUDA_SUCCESS && launched() == before + 2,
          "driver: graph of kernels launched");
    check(p_cuGraphExecDestroy(exec) == CUDA_SUCCESS && p_cuGraphDestroy(graph) == CUDA_SUCCESS,
          "driver: graph of kernels destroyed");
}

static void test_virtual_memory(void)
{
    DRIVER(cuMemAddressReserve);
    DRIVER(cuMemAddressFree);
    DRIVER(cuMemCreate);
    DRIVER(cuMemMap);
    DRIVER(cuMemSetAccess);
    DRIVER(cuMemUnmap);
    DRIVER(cuMemRelease);
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    const CUmemAccessDesc access = {.location = prop.location,
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle first = 0, second = 0;
    CUdeviceptr base = 0;
    size_t free_before = 0, free_after = 0, total;
    int back[2] = {9, 9};
    const int value = 123;
    cudaMemGetInfo(&free_before, &total);
    check(p_cuMemAddressReserve(&base, 1000 * MIB, 0, 0, 0) == CUDA_SUCCESS &&
              base % (2 * MIB) == 0,
          "virtual memory: addresses reserved");
    check(!simdev_range_alive((void *)base, 1), "virtual memory: reserved range, not usable");
    check(p_cuMemCreate(&first, 2 * MIB, &prop, 0) == CUDA_SUCCESS &&
              p_cuMemCreate(&second, 2 * MIB, &prop, 0) == CUDA_SUCCESS &&
              p_cuMemMap(base, 2 * MIB, 0, first, 0) == CUDA_SUCCESS &&
              p_cuMemMap(base + 2 * MIB, 2 * MIB, 0, second, 0) == CUDA_SUCCESS &&
              p_cuMemSetAccess(base, 4 * MIB, &access, 1) == CUDA_SUCCESS,
          "virtual memory: two pieces mapped next to each other");
    check(p_cuMemMap(base, 2 * MIB, 0, second, 0) == CUDA_ERROR_INVALID_VALUE,
          "virtual memory: map over a mapped range, refused");
    cudaMemGetInfo(&free_after, &total);
    check(free_before - free_after == 4 * MIB, "virtual memory: created pieces count");
    check(simdev_range_alive((void *)(base + MIB), 2 * MIB) &&
              !simdev_range_alive((void *)(base + 3 * MIB), 2 * MIB),
          "virtual memory: range across two pieces, valid up to their end");
    cudaMemcpy((void *)(base + 2 * MIB - 4), &value, 4, cudaMemcpyHostToDevice);
    cudaMemcpy(back, (void *)(base + 2 * MIB - 4), 8, cudaMemcpyDeviceToHost);
    check(back[0] == 123 && back[1] == 0, "virtual memory: copy across two pieces, correct");
    check(p_cuMemUnmap(base, 4 * MIB) == CUDA_SUCCESS && p_cuMemRelease(first) == CUDA_SUCCESS &&
              p_cuMemRelease(second) == CUDA_SUCCESS &&
              p_cuMemRelease(second) == CUDA_ERROR_INVALID_VALUE &&
              p_cuMemAddressFree(base, 1000 * MIB) == CUDA_SUCCESS,
          "virtual memory: unmapped, released and freed once");
    cudaMemGetInfo(&free_after, &total);
    check(free_before == free_after, "virtual memory: released pieces do not count");
    check(p_cuMemCreate(&first, total / (2 * MIB) * 2 * MIB + 2 * MIB, &prop, 0) ==
              CUDA_ERROR_OUT_OF_MEMORY,
          "virtual memory: above the capacity, refused");
}

/* Eight copies of 128 MiB: more than the 512 MiB that are kept. */
static void test_large_copies(void)
{
    enum {
        BLOCKS = 8,
        BYTES = 128 << 20
    };
    char *host = malloc(BYTES), *block[BLOCKS], first = 0, last = 1, small = 0;
    memset(host, 7, BYTES);
    for (int i = 0; i < BLOCKS; i++) {
        cudaMalloc((void **)&block[i], BYTES);
        cudaMemcpy(block[i], host, BYTES, cudaMemcpyHostToDevice);
    }
    cudaMemcpy(&first, block[0], 1, cudaMemcpyDeviceToHost);
    cudaMemcpy(&last, block[BLOCKS - 1], 1, cudaMemcpyDeviceToHost);
    check(first == 7 && last == 0, "large copies: 512 MiB are kept, later ones read as zeros");
    cudaMemcpy(block[BLOCKS - 1], host, 1, cudaMemcpyHostToDevice);
    cudaMemcpy(&small, block[BLOCKS - 1], 1, cudaMemcpyDeviceToHost);
    check(small == 7, "large copies: a small copy is kept beyond 512 MiB");
    for (int i = 0; i < BLOCKS; i++)
        cudaFree(block[i]);
    free(host);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(120);
    setenv("SIMDEV_MODE", "account", 1);
    void **handle = register_program(FAT_PLAIN);
    test_launches();
    test_attributes("as it is");
    __cudaUnregisterFatBinary(handle);
    check(fails(launch(&plain_stub, 1, 32, 0, NULL), cudaErrorUnknown),
          "unloaded library: its kernels are invalid");
    handle = register_program(FAT_LZ4);
    test_attributes("LZ4");
    __cudaUnregisterFatBinary(handle);
    handle = register_program(FAT_ZSTD);
    test_attributes("Zstandard");
    test_dynamic_shared();
    test_graph();
    test_variable();
    test_large();
    test_bytes();
    test_large_copies();
    test_kernel_arguments();
    test_managed();
    test_pools();
    test_pool_holds();
    test_time();
    test_order();
    test_library();
    test_driver_module();
    test_driver_graph();
    test_virtual_memory();
    __cudaUnregisterFatBinary(handle);
    return finish_checks();
}
