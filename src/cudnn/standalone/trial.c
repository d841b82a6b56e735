/* Runs one convolution on the GPU that is present, and measures it. */
#include "cudnn/standalone/trial.h"

#include "base/checked.h"
#include "base/clock.h"
#include "cudnn/standalone/trial_data.h"
#include "cudnn/standalone/trial_plan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WARM_CALLS = 1000,
    NAN_BYTE = 0xff /* four of them are a NaN, two of them one of either 16-bit type */
};

struct run {
    struct cs_trial *trial;
    const struct cs_problem *problem;
    const struct cs_trial_settings *settings;
    struct cs_trial_result *result;
    struct cs_trial_plan plan;
    struct cs_pattern pattern[CS_OPERANDS];
    CUdeviceptr operand[CS_OPERANDS], workspace;
    int64_t held, peak;         /* bytes allocated now and at most */
    int64_t free_before, least; /* free device memory before the plan, and at the least */
};

const char *cs_trial_status_name(enum cs_trial_status status)
{
    static const char *const names[] = {"ok", "refused", "out of memory", "too large", "error"};
    return names[status];
}

static enum cs_trial_status fail(struct run *run, enum cs_trial_status status, const char *what)
{
    snprintf(run->result->error, sizeof run->result->error, "%s", what);
    return status;
}

/* A call of the driver. */
static enum cs_trial_status check(struct run *run, CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return CS_TRIAL_OK;
    cs_gpu_error(result, call, run->result->error, sizeof run->result->error);
    return result == CUDA_ERROR_OUT_OF_MEMORY ? CS_TRIAL_OUT_OF_MEMORY : CS_TRIAL_ERROR;
}

/* A call of cuDNN. */
static enum cs_trial_status judge(struct run *run, cudnnStatus_t status, const char *call)
{
    if (status == CUDNN_STATUS_SUCCESS)
        return CS_TRIAL_OK;
    char text[CS_TRIAL_TEXT];
    snprintf(text, sizeof text, "%s: cuDNN returned status %d", call, (int)status);
    return fail(run, status / 1000 == 3 ? CS_TRIAL_REFUSED : CS_TRIAL_ERROR, text);
}

int64_t cs_trial_free_memory(const struct cs_trial *trial)
{
    size_t available = 0, total = 0;
    return trial->calls.cuMemGetInfo_v2(&available, &total) == CUDA_SUCCESS ? (int64_t)available
                                                                            : -1;
}

static void note_memory(struct run *run)
{
    int64_t available = cs_trial_free_memory(run->trial);
    if (available >= 0 && available < run->least)
        run->least = available;
}

static enum cs_trial_status allocate(struct run *run, int64_t bytes, CUdeviceptr *memory_p)
{
    enum cs_trial_status status =
        check(run, run->trial->calls.cuMemAlloc_v2(memory_p, (size_t)bytes), "cuMemAlloc");
    if (status != CS_TRIAL_OK) {
        *memory_p = 0;
        return status;
    }
    run->held += bytes;
    if (run->held > run->peak)
        run->peak = run->held;
    note_memory(run);
    return CS_TRIAL_OK;
}

static void release(struct run *run, int64_t bytes, CUdeviceptr *memory_p)
{
    if (!*memory_p)
        return;
    (void)run->trial->calls.cuMemFree_v2(*memory_p);
    *memory_p = 0;
    run->held -= bytes;
}

/* --- the plan --- */

static void drop_plan(struct run *run)
{
    cs_trial_plan_drop(&run->plan);
    release(run, run->plan.required, &run->workspace);
}

static enum cs_trial_status make_plan(struct run *run)
{
    return cs_trial_plan_make(run->trial, run->problem, &run->plan)
               ? CS_TRIAL_OK
               : fail(run, CS_TRIAL_REFUSED, "cuDNN has no engine for this convolution");
}

/* The workspace of the plan, and all addresses. */
static enum cs_trial_status bind(struct run *run)
{
    enum cs_trial_status status = CS_TRIAL_OK;
    if (run->plan.required > 0)
        status = allocate(run, run->plan.required, &run->workspace);
    return status == CS_TRIAL_OK
               ? judge(run, cs_trial_plan_bind(&run->plan, run->operand, run->workspace),
                       "variant pack")
               : status;
}

static enum cs_trial_status call(struct run *run)
{
    return judge(run, cs_trial_plan_run(run->trial, &run->plan), "the convolution");
}

static double seconds_now(void)
{
    return (double)cs_clock(CLOCK_MONOTONIC) / (double)CS_SECOND;
}

static enum cs_trial_status synchronize(struct run *run)
{
    return check(run, run->trial->calls.cuStreamSynchronize(run->trial->stream),
                 "cuStreamSynchronize");
}

static enum cs_trial_status warm_up(struct run *run, int64_t calls)
{
    enum cs_trial_status status = CS_TRIAL_OK;
    for (int64_t i = 0; i < calls && status == CS_TRIAL_OK; i++)
        status = call(run);
    return status == CS_TRIAL_OK ? synchronize(run) : status;
}

/* --- the data --- */

static enum cs_trial_status fill(struct run *run, int operand)
{
    return check(run,
                 cs_pattern_spread(run->trial, &run->pattern[operand], run->operand[operand],
                                   run->result->operand[operand]),
                 "filling a tensor");
}

/* The result begins as NaNs, which stay where no launch writes; if it is read, as numbers. */
static enum cs_trial_status reset_result(struct run *run)
{
    int written = (int)cs_result(run->problem->direction);
    if (run->problem->beta < 0 || run->problem->beta > 0)
        return fill(run, written);
    return check(run,
                 run->trial->calls.cuMemsetD8Async(run->operand[written], NAN_BYTE,
                                                   (size_t)run->result->operand[written],
                                                   run->trial->stream),
                 "cuMemsetD8Async");
}

static enum cs_trial_status make_operands(struct run *run)
{
    enum cs_trial_status status = CS_TRIAL_OK;
    for (int i = 0; i < CS_OPERANDS && status == CS_TRIAL_OK; i++)
        status = allocate(run, run->result->operand[i], &run->operand[i]);
    for (int i = 0; i < CS_OPERANDS && status == CS_TRIAL_OK; i++) {
        if (!cs_pattern_make(run->problem->tensor[i].dtype, (uint64_t)'w' + (uint64_t)i,
                             &run->pattern[i]))
            return fail(run, CS_TRIAL_ERROR, "out of host memory");
        status = fill(run, i);
    }
    return status;
}

/* A call on a fresh result, and the checksum of what it wrote. */
static enum cs_trial_status sum_up(struct run *run, FILE *dump, uint64_t *checksum_p)
{
    int written = (int)cs_result(run->problem->direction);
    enum cs_trial_status status = reset_result(run);
    double start = seconds_now();
    if (status == CS_TRIAL_OK)
        status = warm_up(run, 1);
    if (run->result->first_us <= 0)
        run->result->first_us = (seconds_now() - start) * 1e6;
    if (status == CS_TRIAL_OK)
        status = check(run,
                       cs_buffer_checksum(run->trial, run->operand[written],
                                          run->result->operand[written], dump, checksum_p),
                       "reading the result");
    note_memory(run);
    return status;
}

/* --- time --- */

static enum cs_trial_status record(struct run *run, CUevent event)
{
    return check(run, run->trial->calls.cuEventRecord(event, run->trial->stream), "cuEventRecord");
}

/* Queues all calls without waiting between them. */
static enum cs_trial_status queue_calls(struct run *run, int64_t calls, CUevent *event)
{
    enum cs_trial_status status = CS_TRIAL_OK;
    double start = seconds_now();
    for (int64_t i = 0; i < calls && status == CS_TRIAL_OK; i++) {
        status = record(run, event[2 * i]);
        if (status == CS_TRIAL_OK)
            status = call(run);
        if (status == CS_TRIAL_OK)
            status = record(run, event[2 * i + 1]);
    }
    run->result->host_us = (seconds_now() - start) * 1e6 / (double)calls;
    enum cs_trial_status over = synchronize(run);
    return status == CS_TRIAL_OK ? over : status;
}

/* The microseconds of each of `calls` calls. */
static enum cs_trial_status time_calls(struct run *run, int64_t calls, double *us)
{
    const struct cs_gpu_calls *gpu = &run->trial->calls;
    CUevent *event = calloc((size_t)calls * 2, sizeof *event);
    if (!event)
        return fail(run, CS_TRIAL_ERROR, "out of host memory");
    enum cs_trial_status status = CS_TRIAL_OK;
    int64_t made = 0;
    for (; made < calls * 2 && status == CS_TRIAL_OK; made += status == CS_TRIAL_OK)
        status = check(run, gpu->cuEventCreate(&event[made], CU_EVENT_DEFAULT), "cuEventCreate");
    if (status == CS_TRIAL_OK)
        status = queue_calls(run, calls, event);
    for (int64_t i = 0; i < calls && status == CS_TRIAL_OK; i++) {
        float milliseconds = 0;
        status = check(run, gpu->cuEventElapsedTime(&milliseconds, event[2 * i], event[2 * i + 1]),
                       "cuEventElapsedTime");
        us[i] = (double)milliseconds * 1e3;
    }
    while (made > 0)
        (void)gpu->cuEventDestroy_v2(event[--made]);
    free(event);
    return status;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The least of `count` sorted numbers that a share of them does not exceed. */
static double quantile(const double *sorted, int64_t count, double share)
{
    int64_t rank = (int64_t)ceil(share * (double)count);
    return sorted[rank > 0 ? rank - 1 : 0];
}

/* An idle GPU has low clocks: a process calls for 0.2 s before it times its first convolution. */
static enum cs_trial_status raise_clocks(struct run *run)
{
    enum cs_trial_status status = CS_TRIAL_OK;
    double end = seconds_now() + 0.2;
    for (int i = 0; i < WARM_CALLS && !run->trial->warm && seconds_now() < end; i++)
        if (status == CS_TRIAL_OK)
            status = warm_up(run, 1);
    run->trial->warm = true;
    return status;
}

/* As many calls as the settings have, fewer if they would take too long; the warm-up shows how long
 * one takes. */
static enum cs_trial_status count_calls(struct run *run, int64_t *calls_p)
{
    const struct cs_trial_settings *settings = run->settings;
    enum cs_trial_status status =
        settings->warmup > 1 && !run->trial->simulated ? raise_clocks(run) : CS_TRIAL_OK;
    if (status == CS_TRIAL_OK)
        status = warm_up(run, settings->warmup > 1 ? settings->warmup - 1 : 0);
    double start = seconds_now();
    if (status == CS_TRIAL_OK && settings->warmup > 0)
        status = warm_up(run, 1);
    double took = seconds_now() - start;
    *calls_p = settings->iterations;
    if (settings->seconds > 0 && settings->warmup > 0 &&
        took * (double)settings->iterations > settings->seconds)
        *calls_p = (int64_t)fmax(1, settings->seconds / took);
    return status;
}

static enum cs_trial_status time_plan(struct run *run)
{
    struct cs_trial_result *result = run->result;
    int64_t calls;
    enum cs_trial_status status = count_calls(run, &calls);
    double *us = malloc((size_t)calls * sizeof *us);
    if (!us)
        return fail(run, CS_TRIAL_ERROR, "out of host memory");
    double start = seconds_now();
    if (status == CS_TRIAL_OK)
        status = time_calls(run, calls, us);
    if (status == CS_TRIAL_OK) {
        result->wall_us = (seconds_now() - start) * 1e6 / (double)calls;
        qsort(us, (size_t)calls, sizeof *us, compare_numbers);
        result->calls = calls;
        result->median_us = quantile(us, calls, 0.5);
        result->p10_us = quantile(us, calls, 0.1);
        result->p90_us = quantile(us, calls, 0.9);
    }
    free(us);
    note_memory(run);
    return status;
}

/* --- all of it --- */

static enum cs_trial_status measure(struct run *run)
{
    struct cs_trial_result *result = run->result;
    enum cs_trial_status status = sum_up(run, run->settings->dump, &result->checksum);
    if (status == CS_TRIAL_OK && run->settings->samples > 0 &&
        run->problem->direction == CS_FORWARD)
        status = check(run,
                       cs_buffer_compare(run->trial, run->problem, run->pattern, run->operand[CS_Y],
                                         run->settings->samples, result),
                       "reading elements");
    if (status == CS_TRIAL_OK)
        status = time_plan(run);
    for (int64_t i = 0; i < run->settings->repeats && status == CS_TRIAL_OK; i++) {
        status = sum_up(run, NULL, &result->repeated);
        result->differing += result->repeated != result->checksum;
    }
    return status;
}

/* True if operands and workspace fit the limit, if there is one. */
static bool fits(struct run *run)
{
    int64_t bytes = run->plan.required;
    bool known = true;
    for (int i = 0; i < CS_OPERANDS; i++)
        known = known && cs_add(bytes, run->result->operand[i], &bytes);
    return known && (run->settings->memory == 0 || bytes <= run->settings->memory);
}

static enum cs_trial_status plan_and_measure(struct run *run)
{
    enum cs_trial_status status = make_plan(run);
    if (status != CS_TRIAL_OK)
        return status;
    run->result->planned = true;
    run->result->engine = run->plan.engine;
    run->result->choice = run->plan.choice;
    run->result->workspace = run->plan.required;
    if (!fits(run))
        return fail(run, CS_TRIAL_TOO_LARGE, "its tensors and its workspace exceed --memory");
    status = bind(run);
    return status == CS_TRIAL_OK ? measure(run) : status;
}

/* Reckons up when all is freed. */
static void settle(struct run *run)
{
    struct cs_trial_result *result = run->result;
    int64_t taken = run->free_before - run->least - run->peak;
    result->allocated = run->peak;
    result->taken = taken > 0 ? taken : 0;
}

void cs_trial_run(struct cs_trial *trial, const struct cs_problem *problem,
                  const struct cs_trial_settings *settings, struct cs_trial_result *result)
{
    struct run run = {.trial = trial, .problem = problem, .settings = settings, .result = result};
    *result = (struct cs_trial_result){.status = CS_TRIAL_ERROR};
    run.free_before = run.least = cs_trial_free_memory(trial);
    bool known = true;
    for (int i = 0; i < CS_OPERANDS; i++)
        known = known && cs_problem_tensor_span(&problem->tensor[i], &result->operand[i]) == CS_OK;
    if (!known) {
        snprintf(result->error, sizeof result->error, "its tensors exceed 64 bits");
        return;
    }
    if (!fits(&run))
        result->status = fail(&run, CS_TRIAL_TOO_LARGE, "its tensors exceed --memory");
    else
        result->status = make_operands(&run);
    if (result->status == CS_TRIAL_OK)
        result->status = plan_and_measure(&run);
    if (result->status == CS_TRIAL_OK)
        result->error[0] = '\0';
    drop_plan(&run);
    for (int i = 0; i < CS_OPERANDS; i++) {
        release(&run, result->operand[i], &run.operand[i]);
        free(run.pattern[i].value);
    }
    settle(&run);
}
