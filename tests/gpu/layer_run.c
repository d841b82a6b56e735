#include "layer_run.h"
#include "gpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum operand {
    OPERAND_X,
    OPERAND_W,
    OPERAND_Y,
    OPERANDS
};

struct run {
    cudnnHandle_t handle;
    cudaStream_t stream;
    const struct conv_problem *problem;
    const struct layer_settings *settings;
    struct pattern x, w;
    void *operand[OPERANDS];
    struct conv_plan plan;
    void *workspace;
    int64_t held, peak; /* bytes allocated now and at most */
    int64_t free_before,
        least; /* free device memory before the first allocation and at the least */
};

static const struct tensor *tensor_of(const struct run *run, enum operand operand)
{
    const struct tensor *tensors[] = {&run->problem->x, &run->problem->w, &run->problem->y};
    return tensors[operand];
}

const char *layer_status_name(enum layer_status status)
{
    static const char *const names[] = {"ok", "refused", "out of memory", "error"};
    return names[status];
}

static enum layer_status status_of(enum outcome outcome)
{
    static const enum layer_status statuses[] = {LAYER_OK, LAYER_REFUSED, LAYER_ERROR};
    return statuses[outcome];
}

static enum layer_status note_memory(struct run *run)
{
    int64_t available = gpu_free_memory();
    if (available < 0)
        return LAYER_ERROR;
    if (available < run->least)
        run->least = available;
    return LAYER_OK;
}

static enum layer_status take_memory(struct run *run, int64_t bytes, void **buffer)
{
    cudaError_t error = cudaMalloc(buffer, (size_t)bytes);
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        *buffer = NULL;
        return LAYER_OUT_OF_MEMORY;
    }
    TRY_CUDA(error, fail);
    run->held += bytes;
    if (run->held > run->peak)
        run->peak = run->held;
    return note_memory(run);
fail:
    return LAYER_ERROR;
}

static void give_memory(struct run *run, int64_t bytes, void **buffer)
{
    if (*buffer == NULL)
        return;
    cudaFree(*buffer);
    *buffer = NULL;
    run->held -= bytes;
}

/* The output begins as NaNs, so that elements that no launch writes are noticed. */
static enum layer_status fill_operands(struct run *run)
{
    void **operand = run->operand;
    for (int i = OPERAND_X; i < OPERANDS; i++) {
        int64_t bytes = (int64_t)tensor_storage_bytes(tensor_of(run, (enum operand)i));
        enum layer_status status = take_memory(run, bytes, &operand[i]);
        if (status != LAYER_OK)
            return status;
    }
    TRY_CUDA(cudaMemsetAsync(operand[OPERAND_Y], 0xff, tensor_storage_bytes(&run->problem->y),
                             run->stream),
             fail);
    if (pattern_spread(&run->x, operand[OPERAND_X], run->problem->x.storage, run->stream) &&
        pattern_spread(&run->w, operand[OPERAND_W], run->problem->w.storage, run->stream))
        return LAYER_OK;
fail:
    return LAYER_ERROR;
}

static void drop_plan(struct run *run)
{
    give_memory(run, run->plan.workspace, &run->workspace);
    conv_plan_destroy(&run->plan);
}

/* On LAYER_OK there is a plan, with its workspace, to be dropped. */
static enum layer_status make_plan(struct run *run, int first)
{
    enum layer_status status = status_of(
        conv_plan_create(run->handle, run->settings->api, run->problem, NULL, first, &run->plan));
    if (status != LAYER_OK || run->plan.workspace == 0)
        return status;
    status = take_memory(run, run->plan.workspace, &run->workspace);
    if (status != LAYER_OK)
        drop_plan(run);
    return status;
}

static enum layer_status call(struct run *run)
{
    return status_of(conv_plan_run(run->handle, &run->plan, run->operand[OPERAND_X],
                                   run->operand[OPERAND_W], run->operand[OPERAND_Y],
                                   run->workspace));
}

static enum layer_status warm_up(struct run *run, int64_t calls)
{
    enum layer_status status = LAYER_OK;
    for (int64_t i = 0; i < calls && status == LAYER_OK; i++)
        status = call(run);
    if (status != LAYER_OK)
        return status;
    TRY_CUDA(cudaStreamSynchronize(run->stream), fail);
    return note_memory(run);
fail:
    return LAYER_ERROR;
}

/* Queues the calls without waiting between them and writes how many microseconds each took. */
static enum layer_status time_calls(struct run *run, int64_t calls, double *us)
{
    enum layer_status status = LAYER_ERROR;
    int64_t made = 0;
    cudaEvent_t *events = calloc((size_t)calls * 2, sizeof *events);
    if (events == NULL)
        return LAYER_ERROR;
    for (; made < calls * 2; made++)
        TRY_CUDA(cudaEventCreate(&events[made]), destroy_events);
    for (int64_t i = 0; i < calls; i++) {
        TRY_CUDA(cudaEventRecord(events[i * 2], run->stream), destroy_events);
        status = call(run);
        if (status != LAYER_OK)
            goto destroy_events;
        status = LAYER_ERROR;
        TRY_CUDA(cudaEventRecord(events[i * 2 + 1], run->stream), destroy_events);
    }
    TRY_CUDA(cudaStreamSynchronize(run->stream), destroy_events);
    for (int64_t i = 0; i < calls; i++) {
        float milliseconds;
        TRY_CUDA(cudaEventElapsedTime(&milliseconds, events[i * 2], events[i * 2 + 1]),
                 destroy_events);
        us[i] = (double)milliseconds * 1e3;
    }
    status = note_memory(run);
destroy_events:
    while (made > 0)
        cudaEventDestroy(events[--made]);
    free(events);
    return status;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The least of `count` sorted numbers that a share of them does not exceed. */
static double quantile(const double *sorted, int64_t count, double share)
{
    int64_t rank = (int64_t)ceil(share * (double)count);
    return sorted[rank > 0 ? rank - 1 : 0];
}

static enum layer_status time_plan(struct run *run, struct layer_result *result)
{
    int64_t count = run->settings->iterations;
    double *us = malloc((size_t)count * sizeof *us);
    if (us == NULL)
        return LAYER_ERROR;
    double start = client_seconds();
    enum layer_status status = time_calls(run, count, us);
    if (status == LAYER_OK) {
        result->wall_us = (client_seconds() - start) * 1e6 / (double)count;
        qsort(us, (size_t)count, sizeof *us, compare_numbers);
        result->median_us = quantile(us, count, 0.5);
        result->p10_us = quantile(us, count, 0.1);
        result->p90_us = quantile(us, count, 0.9);
    }
    free(us);
    return status;
}

/* The answer that is fastest in the best of a few calls. One for whose workspace there is no
 * memory, or that cuDNN refuses to run, is left out, as frameworks do. */
static enum layer_status pick_fastest(struct run *run, int *fastest)
{
    enum {
        CALLS = 3
    };
    double best = INFINITY;
    enum layer_status reason = LAYER_REFUSED;
    for (int first = 0;; first = run->plan.choice + 1) {
        double us[CALLS];
        run->plan.choice = -1;
        enum layer_status status = make_plan(run, first);
        if (status == LAYER_OUT_OF_MEMORY && run->plan.choice >= first) {
            reason = status;
            continue;
        }
        if (status != LAYER_OK)
            return status != LAYER_REFUSED ? status : best < INFINITY ? LAYER_OK : reason;
        status = warm_up(run, 1);
        if (status == LAYER_OK)
            status = time_calls(run, CALLS, us);
        drop_plan(run);
        if (status == LAYER_ERROR)
            return status;
        for (int i = 0; status == LAYER_OK && i < CALLS; i++) {
            if (us[i] < best) {
                best = us[i];
                *fastest = run->plan.choice;
            }
        }
    }
}

static enum layer_status measure(struct run *run, struct layer_result *result)
{
    const struct layer_settings *settings = run->settings;
    enum layer_status status = warm_up(run, settings->warmup);
    if (status == LAYER_OK)
        status = time_plan(run, result);
    if (status != LAYER_OK)
        return status;
    if (!output_read(run->operand[OPERAND_Y], tensor_storage_bytes(&run->problem->y), run->stream,
                     settings->dump, &result->checksum))
        return LAYER_ERROR;
    if (settings->samples > 0 &&
        !output_check(run->problem, &run->x, &run->w, run->operand[OPERAND_Y], settings->samples,
                      &result->error))
        return LAYER_ERROR;
    return LAYER_OK;
}

static enum layer_status plan_and_measure(struct run *run, struct layer_result *result)
{
    int first = 0;
    enum layer_status status = LAYER_OK;
    if (run->settings->benchmark)
        status = pick_fastest(run, &first);
    if (status != LAYER_OK)
        return status;
    run->plan.choice = -1;
    status = make_plan(run, first);
    result->planned = run->plan.choice >= first;
    if (result->planned) {
        result->engine = run->plan.engine;
        result->choice = run->plan.choice;
        result->workspace = run->plan.workspace;
    }
    if (status != LAYER_OK)
        return status;
    status = measure(run, result);
    drop_plan(run);
    return status;
}

/* Reckons up when all is freed. */
static void settle(const struct run *run, struct layer_result *result)
{
    int64_t missing = run->free_before - gpu_free_memory();
    int64_t taken = run->free_before - run->least - run->peak;
    result->allocated = run->peak;
    result->taken = taken > 0 ? taken : 0;
    result->kept = missing < result->taken ? missing : result->taken;
    if (result->kept < 0)
        result->kept = 0;
}

void layer_run(cudnnHandle_t handle, cudaStream_t stream, const struct conv_problem *problem,
               const struct layer_settings *settings, struct layer_result *result)
{
    struct run run = {.handle = handle, .stream = stream, .problem = problem, .settings = settings};
    *result = (struct layer_result){.status = LAYER_ERROR};
    run.free_before = run.least = gpu_free_memory();
    if (run.free_before < 0 || !pattern_make(problem->x.type, 'x', &run.x))
        return;
    if (pattern_make(problem->w.type, 'w', &run.w)) {
        result->status = fill_operands(&run);
        if (result->status == LAYER_OK)
            result->status = plan_and_measure(&run, result);
    }
    for (int i = OPERAND_X; i < OPERANDS; i++)
        give_memory(&run, (int64_t)tensor_storage_bytes(tensor_of(&run, (enum operand)i)),
                    &run.operand[i]);
    free(run.w.values);
    free(run.x.values);
    settle(&run, result);
}
