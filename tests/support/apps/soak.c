/* Many small convolutions of constantly new shapes, one after the other in each thread, as in a
 * long-lived server. Prints the largest heap of the process in the first and in the second half. */
#include "problems.h"

#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static const char USAGE[] =
    "usage: soak [--calls 1000000] [--repeat 20] [--threads 1] [--seed 1]\n"
    "Runs as many convolutions in all threads together, each shape --repeat times in a row, in "
    "turns through\n"
    "both APIs and in all directions. Prints one line of JSON: calls, shapes, and the most bytes "
    "that malloc\n"
    "had given out in each half.\n"
    "Status: 0, 1 on an error, 2 on usage.\n";

enum {
    BUFFER = 1 << 22,
    WORKSPACE = 1 << 24,
    MAX_THREADS = 256
};

struct settings {
    int64_t calls, repeat, threads, seed;
};

/* State that all threads share. */
struct soak {
    const struct settings *settings;
    _Atomic int64_t calls, shapes;
    _Atomic size_t most[2]; /* bytes of the heap, by half */
    atomic_bool failed;
};

/* Objects for the calls of a thread. */
struct bench {
    cudnnHandle_t handle;
    void *x, *w, *y, *workspace;
};

static bool open_bench(struct bench *bench)
{
    TRY_CUDNN(cudnnCreate(&bench->handle), fail);
    TRY_CUDA(cudaMalloc(&bench->x, BUFFER), fail);
    TRY_CUDA(cudaMalloc(&bench->w, BUFFER), fail);
    TRY_CUDA(cudaMalloc(&bench->y, BUFFER), fail);
    TRY_CUDA(cudaMalloc(&bench->workspace, WORKSPACE), fail);
    TRY_CUDA(cudaMemset(bench->x, 0, BUFFER), fail);
    TRY_CUDA(cudaMemset(bench->w, 0, BUFFER), fail);
    TRY_CUDA(cudaMemset(bench->y, 0, BUFFER), fail);
    return true;
fail:
    return false;
}

static void close_bench(struct bench *bench)
{
    cudaFree(bench->workspace);
    cudaFree(bench->y);
    cudaFree(bench->w);
    cudaFree(bench->x);
    if (bench->handle != NULL)
        cudnnDestroy(bench->handle);
}

static bool fits(const struct tensor *tensor)
{
    return tensor_storage_bytes(tensor) <= BUFFER;
}

/* Runs a shape up to `most` times; how often, or -1. */
static int64_t run_shape(const struct bench *bench, const struct settings *settings, uint64_t index,
                         int64_t most)
{
    struct conv_problem problem;
    struct conv_plan plan;
    int64_t calls = 0;
    enum conv_api api = index % 2 ? CONV_LEGACY : CONV_GRAPH;
    problem_random((uint64_t)settings->seed, index,
                   (enum conv_direction)(index / 2 % CONV_DIRECTIONS), CUDNN_DATA_FLOAT,
                   api == CONV_LEGACY, &problem);
    if (!fits(&problem.x) || !fits(&problem.w) || !fits(&problem.y))
        return 0;
    enum outcome outcome = conv_plan_create(bench->handle, api, &problem, NULL, 0, &plan);
    if (outcome != OUTCOME_OK)
        return outcome == OUTCOME_REFUSED ? 0 : -1;
    while (outcome == OUTCOME_OK && calls < most && plan.workspace <= WORKSPACE) {
        outcome = conv_plan_run(bench->handle, &plan, tensor_first(&problem.x, bench->x),
                                tensor_first(&problem.w, bench->w),
                                tensor_first(&problem.y, bench->y), bench->workspace);
        calls++;
    }
    conv_plan_destroy(&plan);
    return outcome == OUTCOME_ERROR ? -1 : calls;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/* mallinfo2 reports nothing about a sanitizer's malloc, and the sanitizer's own header is not
 * installed everywhere. */
size_t __sanitizer_get_current_allocated_bytes(void);
#define HEAP_BYTES() __sanitizer_get_current_allocated_bytes()
#else
#define HEAP_BYTES() mallinfo2().uordblks
#endif

static size_t heap(void)
{
    (void)cudaDeviceSynchronize();
    return HEAP_BYTES();
}

/* How many calls a thread may make of its next shape; they count as made. */
static int64_t claim(struct soak *soak)
{
    const struct settings *settings = soak->settings;
    int64_t made = atomic_load(&soak->calls), claimed;
    do {
        int64_t left = settings->calls - made;
        claimed = left < settings->repeat ? left : settings->repeat;
    } while (claimed > 0 && !atomic_compare_exchange_weak(&soak->calls, &made, made + claimed));
    return claimed;
}

static void note_heap(struct soak *soak)
{
    bool second = atomic_load(&soak->calls) > soak->settings->calls / 2;
    size_t now = heap(), most = atomic_load(&soak->most[second]);
    while (now > most && !atomic_compare_exchange_weak(&soak->most[second], &most, now))
        ;
}

static void *work(void *opaque)
{
    struct soak *soak = opaque;
    struct bench bench = {.handle = NULL};
    int64_t claimed;
    if (!open_bench(&bench))
        atomic_store(&soak->failed, true);
    while (!atomic_load(&soak->failed) && (claimed = claim(soak)) > 0) {
        uint64_t shape = (uint64_t)atomic_fetch_add(&soak->shapes, 1);
        int64_t made = run_shape(&bench, soak->settings, shape, claimed);
        if (made < 0)
            atomic_store(&soak->failed, true);
        else
            atomic_fetch_sub(&soak->calls, claimed - made); /* a shape that was refused */
        note_heap(soak);
    }
    close_bench(&bench);
    return NULL;
}

static bool run_threads(struct soak *soak)
{
    pthread_t thread[MAX_THREADS];
    int64_t started = 0;
    while (started < soak->settings->threads &&
           pthread_create(&thread[started], NULL, work, soak) == 0)
        started++;
    for (int64_t i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    return started == soak->settings->threads && !atomic_load(&soak->failed);
}

static bool soak(const struct settings *settings)
{
    struct soak soak = {.settings = settings};
    if (!run_threads(&soak))
        return false;
    printf("{\"calls\": %" PRId64 ", \"shapes\": %" PRId64 ", \"first_half_bytes\": %zu, "
           "\"second_half_bytes\": %zu}\n",
           atomic_load(&soak.calls), atomic_load(&soak.shapes), atomic_load(&soak.most[0]),
           atomic_load(&soak.most[1]));
    return true;
}

static bool take(int option, const char *value, void *opaque)
{
    struct settings *settings = opaque;
    switch (option) {
    case 'c':
        return option_number("--calls", value, 1, INT64_C(1000000000), &settings->calls);
    case 'r':
        return option_number("--repeat", value, 1, INT64_C(1000000000), &settings->repeat);
    case 't':
        return option_number("--threads", value, 1, MAX_THREADS, &settings->threads);
    default:
        return option_number("--seed", value, 0, INT64_MAX, &settings->seed);
    }
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"calls", required_argument, NULL, 'c'},   {"repeat", required_argument, NULL, 'r'},
        {"threads", required_argument, NULL, 't'}, {"seed", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},          {0}};
    struct settings settings = {1000000, 20, 1, 1};
    int status = options_parse(argc, argv, known, take, &settings, USAGE, 0);
    if (status >= 0)
        return status;
    return soak(&settings) ? 0 : 1;
}
