/* A program with the imitation of PyTorch's allocator (torch/). It runs one convolution, which
 * requires 18 MiB, with its tensors and its workspace from the allocator. Words of the command
 * line, in their order:
 *
 *   peak MIB   has so much memory for a moment
 *   hold MIB   has so much memory until the end
 *   run N      runs the convolution N times, and compares the results with the first one
 *   graph      uses the graph API from now on
 *   stream     runs on another stream from now on
 *   refuse     has no scratch from now on
 *   empty      returns cached memory to the device
 *   pool       the first word: uses cudaMallocAsync instead
 *
 * With KEEP_POOL in the environment the pool keeps its memory at the end.
 * Prints the peaks, and whether each report has reached libc10.so. */
#include "../apps/conv.h"
#include "layer.h"
#include "torch/allocator.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program {
    struct conv_problem problem;
    struct problem_data data;
    struct conv_plan plan;
    bool planned;
    enum conv_api api;
    cudnnHandle_t handle;
    void *x, *w, *y;
    void *first; /* the first result */
};

static void *(*allocate)(size_t bytes) = torch_allocate;
static void (*release)(void *memory) = torch_free;

static void *pool_allocate(size_t bytes)
{
    void *memory = NULL;
    return cudaMallocAsync(&memory, bytes, torch_stream) == cudaSuccess ? memory : NULL;
}

static void pool_release(void *memory)
{
    (void)cudaFreeAsync(memory, torch_stream);
}

static bool use_pool(void)
{
    cudaMemPool_t pool;
    uint64_t all = UINT64_MAX;
    allocate = pool_allocate;
    release = pool_release;
    return cudaDeviceGetDefaultMemPool(&pool, 0) == cudaSuccess &&
           cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all) == cudaSuccess;
}

static void read_peaks(uint64_t *allocated_p, uint64_t *reserved_p)
{
    cudaMemPool_t pool;
    *allocated_p = torch_allocated_peak;
    *reserved_p = torch_reserved_peak;
    if (allocate != pool_allocate || cudaDeviceGetDefaultMemPool(&pool, 0) != cudaSuccess)
        return;
    (void)cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, allocated_p);
    (void)cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemHigh, reserved_p);
}

static bool begin(struct program *p)
{
    static const int64_t sizes[] = {1, 64, 288, 256}, filter[] = {64, 64, 3, 3};
    layer_describe(&p->problem);
    memcpy(p->problem.x.size, sizes, sizeof sizes);
    memcpy(p->problem.y.size, sizes, sizeof sizes);
    memcpy(p->problem.w.size, filter, sizeof filter);
    tensor_pack(&p->problem.x, LAYOUT_NCHW);
    tensor_pack(&p->problem.w, LAYOUT_NCHW);
    tensor_pack(&p->problem.y, LAYOUT_NCHW);
    if (!problem_fill(&p->problem, 1, DATA_INTEGERS, &p->data) || cudnnCreate(&p->handle) != 0)
        return false;
    size_t x = tensor_storage_bytes(&p->problem.x), w = tensor_storage_bytes(&p->problem.w);
    p->x = allocate(x);
    p->w = allocate(w);
    p->y = allocate(tensor_storage_bytes(&p->problem.y));
    TRY_CUDA(cudaMemcpy(p->x, p->data.x, x, cudaMemcpyHostToDevice), fail);
    TRY_CUDA(cudaMemcpy(p->w, p->data.w, w, cudaMemcpyHostToDevice), fail);
    return true;
fail:
    return false;
}

/* True if the result is the one of the first call. */
static bool right(struct program *p)
{
    size_t bytes = tensor_storage_bytes(&p->problem.y);
    void *result = malloc(bytes);
    bool equal = false;
    if (result == NULL)
        return false;
    TRY_CUDA(cudaDeviceSynchronize(), free);
    TRY_CUDA(cudaMemcpy(result, p->y, bytes, cudaMemcpyDeviceToHost), free);
    if (p->first == NULL) {
        p->first = result;
        return true;
    }
    equal = memcmp(result, p->first, bytes) == 0;
free:
    free(result);
    return equal;
}

static bool run(struct program *p)
{
    if (!p->planned &&
        conv_plan_create(p->handle, p->api, &p->problem, NULL, 0, &p->plan) != OUTCOME_OK)
        return false;
    p->planned = true;
    void *workspace = allocate((size_t)p->plan.workspace);
    enum outcome ran = conv_plan_run(p->handle, &p->plan, p->x, p->w, p->y, workspace);
    release(workspace);
    return ran == OUTCOME_OK && right(p);
}

/* Follows one word. False if a result is wrong. */
static bool follow(struct program *p, const char *word, const char *number)
{
    long value = number ? atol(number) : 0;
    cudaStream_t stream;
    if (strcmp(word, "peak") == 0)
        release(allocate((size_t)value << 20));
    else if (strcmp(word, "hold") == 0)
        (void)allocate((size_t)value << 20);
    else if (strcmp(word, "graph") == 0)
        p->api = CONV_GRAPH;
    else if (strcmp(word, "refuse") == 0)
        torch_refuses = 1;
    else if (strcmp(word, "empty") == 0)
        torch_empty_cache();
    else if (strcmp(word, "stream") == 0)
        return cudaStreamCreate(&stream) == cudaSuccess &&
               cudnnSetStream(p->handle, stream) == CUDNN_STATUS_SUCCESS &&
               (torch_stream = stream) != NULL;
    else if (strcmp(word, "run") == 0)
        for (long i = 0; i < value; i++)
            if (!run(p))
                return false;
    return true;
}

int main(int argc, char **argv)
{
    struct program p = {.api = CONV_LEGACY};
    uint64_t allocated, reserved;
    bool fine = (argc < 2 || strcmp(argv[1], "pool") != 0 || use_pool()) && begin(&p);
    for (int i = 1; i < argc && fine; i++)
        fine = follow(&p, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
    read_peaks(&allocated, &reserved);
    printf("%s, peaks %" PRIu64 " %" PRIu64 ", reports %s\n", fine ? "right" : "wrong", allocated,
           reserved, torch_events == torch_reports ? "complete" : "missing");
    if (p.planned)
        conv_plan_destroy(&p.plan);
    problem_release(&p.data);
    torch_end();
    free(p.first);
    if (p.handle != NULL)
        cudnnDestroy(p.handle);
    if (allocate == pool_allocate && !getenv("KEEP_POOL"))
        (void)cudaDeviceReset(); /* ends the pool's memory */
    return !fine;
}
