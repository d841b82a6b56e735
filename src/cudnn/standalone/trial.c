/* Runs one convolution on the GPU that is present, and measures it. */
#include "cudnn/standalone/trial.h"

#include "base/checked.h"
#include "base/clock.h"
#include "cudnn/plan/descriptors.h"
#include "cudnn/standalone/open_gpu.h"
#include <math.h>
#include <stdlib.h>

enum {
    OFFERS = 96,    /* engines of one heuristic mode that are examined */
    WARM_UP = 3,    /* calls before the timed ones */
    NAN_BYTE = 0xff /* four of them are a NaN, two of them one of either 16-bit type */
};

/* Seconds for which calls raise the clocks of an idle GPU, before the first timed ones of a
 * process. */
static const double RAISING = 0.2;

/* A run of one convolution. Functions that return bool record the first failure as the status of
 * the result. The struct is not moved, because descriptors contain addresses of `target`. */
struct run {
    const struct cs_problem *problem;
    const struct cs_trial_settings *settings;
    struct cs_trial_result *result;
    struct cs_target target;
    cudnnBackendDescriptor_t plan, pack;
    int64_t bytes[CS_OPERANDS];
    CUdeviceptr operand[CS_OPERANDS], workspace;
};

const char *cs_trial_status_name(enum cs_trial_status status)
{
    static const char *const names[] = {"ok", "refused", "out of memory", "too large for --memory",
                                        "error"};
    return names[status];
}

/* Records the first failure. Returns false. */
static bool set_failure(struct run *run, enum cs_trial_status status, const char *text)
{
    struct cs_trial_result *result = run->result;
    if (result->status == CS_TRIAL_OK) {
        result->status = status;
        snprintf(result->error, sizeof result->error, "%s", text);
    }
    return false;
}

static bool check_driver(struct run *run, CUresult result, const char *call)
{
    char text[128];
    if (result == CUDA_SUCCESS)
        return true;
    cs_gpu_error(result, call, text, sizeof text);
    return set_failure(
        run, result == CUDA_ERROR_OUT_OF_MEMORY ? CS_TRIAL_OUT_OF_MEMORY : CS_TRIAL_ERROR, text);
}

static bool check_cudnn(struct run *run, cudnnStatus_t status, const char *call)
{
    char text[128];
    if (status == CUDNN_STATUS_SUCCESS)
        return true;
    snprintf(text, sizeof text, "%s: cuDNN returned status %d", call, (int)status);
    return set_failure(run, status / 1000 == 3 ? CS_TRIAL_REFUSED : CS_TRIAL_ERROR, text);
}

/* Calls a function of the driver. False, with its failure recorded, if it does not succeed. */
#define TRY_GPU(run, name, ...) check_driver(run, CS_GPU(name, __VA_ARGS__), #name)

/* Allocates device memory. *memory_p stays unchanged on failure. */
static bool allocate_memory(struct run *run, int64_t bytes, CUdeviceptr *memory_p)
{
    CUdeviceptr memory = 0;
    bool good = TRY_GPU(run, cuMemAlloc_v2, &memory, (size_t)bytes);
    if (good)
        *memory_p = memory;
    return good;
}

/* The free bytes of the device, 0 if the driver does not report them. */
static int64_t free_memory(void)
{
    size_t available = 0, total = 0;
    return CS_GPU(cuMemGetInfo_v2, &available, &total) == CUDA_SUCCESS ? (int64_t)available : 0;
}

/* False, with `text` as the failure, if operands and workspace exceed the limit. */
static bool check_memory(struct run *run, const char *text)
{
    int64_t bytes = run->result->workspace;
    bool known = true;
    for (int i = 0; i < CS_OPERANDS; i++)
        known = known && cs_add(bytes, run->bytes[i], &bytes);
    return (known && bytes <= run->settings->memory) || set_failure(run, CS_TRIAL_TOO_LARGE, text);
}

/* --- the plan --- */

/* Takes a configuration's plan, workspace and engine if cuDNN can build the plan. */
static void try_configuration(struct run *run, cudnnBackendDescriptor_t configuration)
{
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    cudnnBackendDescriptor_t plan = cs_descriptors_plan(&builder, &run->target, configuration);
    int64_t workspace = cs_descriptors_workspace(&builder, plan),
            engine = cs_descriptors_index(&builder, configuration);
    if (builder.status == CUDNN_STATUS_SUCCESS) {
        run->plan = cs_descriptor_take(&builder, plan);
        run->result->workspace = workspace;
        run->result->engine = engine;
    }
    cs_descriptor_builder_clear(&builder);
}

/* Makes a plan of the first configuration from which cuDNN can build one. The fallback engines come
 * last, as frameworks try them. */
static bool make_plan(struct run *run)
{
    static const cudnnBackendHeurMode_t modes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};
    run->target.handle = cs_trial_session.handle;
    for (int i = 0; i < CS_OPERANDS; i++)
        run->target.uid[i] = i + 1;
    for (size_t mode = 0; mode < sizeof modes / sizeof *modes && !run->plan; mode++) {
        struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
        cudnnBackendDescriptor_t configuration[OFFERS];
        int offers = cs_descriptors_heuristics(&builder, &run->target, run->problem, modes[mode],
                                               configuration, OFFERS);
        for (int i = 0; i < offers && !run->plan; i++)
            try_configuration(run, configuration[i]);
        cs_descriptor_builder_clear(&builder);
    }
    return run->plan ||
           set_failure(run, CS_TRIAL_REFUSED, "cuDNN has no engine for this convolution");
}

/* Allocates the workspace, and sets all addresses. */
static bool bind_memory(struct run *run)
{
    void *pointer[CS_OPERANDS];
    int64_t required = run->result->workspace;
    if (required > 0 && !allocate_memory(run, required, &run->workspace))
        return false;
    for (int i = 0; i < CS_OPERANDS; i++)
        pointer[i] = (void *)(uintptr_t)run->operand[i];
    return check_cudnn(run,
                       cs_descriptors_pack(CS_OPERANDS, pointer, run->target.uid,
                                           (void *)(uintptr_t)run->workspace, &run->pack),
                       "variant pack");
}

static bool call_plan(struct run *run)
{
    return check_cudnn(run,
                       CS_REAL(cudnnBackendExecute, cs_trial_session.handle, run->plan, run->pack),
                       "the convolution");
}

static bool wait_for_stream(struct run *run)
{
    return TRY_GPU(run, cuStreamSynchronize, cs_trial_session.stream);
}

/* --- the data --- */

static bool fill_operand(struct run *run, int operand)
{
    return check_driver(run,
                        cs_buffer_fill(run->operand[operand], run->bytes[operand],
                                       run->problem->tensor[operand].dtype,
                                       (uint64_t)'w' + (uint64_t)operand),
                        "filling a tensor");
}

static bool make_operands(struct run *run)
{
    bool good = true;
    for (int i = 0; i < CS_OPERANDS && good; i++)
        good = allocate_memory(run, run->bytes[i], &run->operand[i]) && fill_operand(run, i);
    return good;
}

/* Fills the result with NaNs, so that elements that are not written are found. If the convolution
 * reads the result (beta is not 0), fills it with numbers. */
static bool reset_result(struct run *run, int written)
{
    if (run->problem->beta < 0 || run->problem->beta > 0)
        return fill_operand(run, written);
    return TRY_GPU(run, cuMemsetD8Async, run->operand[written], NAN_BYTE,
                   (size_t)run->bytes[written], cs_trial_session.stream);
}

/* Calls the plan on a reset result, and computes the checksum of the result. */
static bool check_result(struct run *run, FILE *dump, uint64_t *checksum_p)
{
    int written = (int)cs_result(run->problem->direction);
    if (!reset_result(run, written))
        return false;
    double start = cs_clock_seconds();
    if (!call_plan(run) || !wait_for_stream(run))
        return false;
    if (run->result->first_us <= 0)
        run->result->first_us = (cs_clock_seconds() - start) * 1e6;
    return check_driver(
        run, cs_buffer_checksum(run->operand[written], run->bytes[written], dump, checksum_p),
        "reading the result");
}

/* --- time --- */

/* Queues all calls without waiting between them, with an event before the first and after each. */
static bool queue_calls(struct run *run, int64_t calls, const CUevent *event)
{
    double start = cs_clock_seconds();
    bool good = TRY_GPU(run, cuEventRecord, event[0], cs_trial_session.stream);
    for (int64_t i = 0; i < calls && good; i++)
        good = call_plan(run) && TRY_GPU(run, cuEventRecord, event[i + 1], cs_trial_session.stream);
    run->result->host_us = (cs_clock_seconds() - start) * 1e6 / (double)calls;
    return wait_for_stream(run) && good;
}

/* Measures the microseconds of each of `calls` calls. `event` has room for one more. */
static bool time_calls(struct run *run, int64_t calls, CUevent *event, double *us)
{
    int64_t made = 0;
    while (made <= calls && TRY_GPU(run, cuEventCreate, &event[made], CU_EVENT_DEFAULT))
        made++;
    bool good = made > calls && queue_calls(run, calls, event);
    for (int64_t i = 0; i < calls && good; i++) {
        float milliseconds = 0;
        good = TRY_GPU(run, cuEventElapsedTime, &milliseconds, event[i], event[i + 1]);
        us[i] = (double)milliseconds * 1e3;
    }
    while (made > 0)
        (void)CS_GPU(cuEventDestroy_v2, event[--made]);
    return good;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The least of `count` sorted numbers that a share of them does not exceed. */
static double find_quantile(const double *sorted, int64_t count, double share)
{
    int64_t rank = (int64_t)ceil(share * (double)count);
    return sorted[rank > 0 ? rank - 1 : 0];
}

/* Calls the plan before the timed calls: WARM_UP times, or as often as the timed calls if those are
 * fewer. On a real GPU the first trial with at least WARM_UP timed calls goes on for RAISING
 * seconds, which raises the clocks. *seconds_p becomes the seconds of the last call. */
static bool warm_up(struct run *run, double *seconds_p)
{
    static bool raised; /* the clocks */
    const int64_t least = cs_min(run->settings->iterations, WARM_UP);
    const bool raise = least == WARM_UP && !cs_trial_session.simulated && !raised;
    const double end = raise ? cs_clock_seconds() + RAISING : 0;
    double start = cs_clock_seconds();
    for (int64_t i = 0; i < least || start < end; i++) {
        if (!call_plan(run) || !wait_for_stream(run))
            return false;
        *seconds_p = cs_clock_seconds() - start;
        start += *seconds_p;
    }
    raised = raised || raise;
    return true;
}

/* Measures calls, fewer if they would take longer than the settings allow, and stores their
 * quantiles. */
static bool time_plan(struct run *run)
{
    struct cs_trial_result *result = run->result;
    int64_t calls = run->settings->iterations;
    double call = 0;
    if (!warm_up(run, &call))
        return false;
    if (call * (double)calls > run->settings->seconds)
        calls = (int64_t)fmax(1, run->settings->seconds / call);
    double *us = calloc((size_t)calls, sizeof *us);
    CUevent *event = calloc((size_t)calls + 1, sizeof *event);
    bool good = us && event ? time_calls(run, calls, event, us)
                            : set_failure(run, CS_TRIAL_ERROR, "out of host memory");
    if (good) {
        qsort(us, (size_t)calls, sizeof *us, compare_numbers);
        result->calls = calls;
        result->median_us = find_quantile(us, calls, 0.5);
        result->p10_us = find_quantile(us, calls, 0.1);
        result->p90_us = find_quantile(us, calls, 0.9);
    }
    free(event);
    free(us);
    return good;
}

/* --- all of it --- */

static bool measure_plan(struct run *run)
{
    struct cs_trial_result *result = run->result;
    bool good = check_result(run, run->settings->dump, &result->checksum) && time_plan(run);
    for (int64_t i = 0; i < run->settings->repeats && good; i++) {
        good = check_result(run, NULL, &result->repeated);
        result->differing += result->repeated != result->checksum;
    }
    return good;
}

static void free_all(struct run *run)
{
    if (run->pack)
        (void)CS_REAL(cudnnBackendDestroyDescriptor, run->pack);
    if (run->plan)
        (void)CS_REAL(cudnnBackendDestroyDescriptor, run->plan);
    if (run->workspace)
        (void)CS_GPU(cuMemFree_v2, run->workspace);
    for (int i = 0; i < CS_OPERANDS; i++)
        if (run->operand[i])
            (void)CS_GPU(cuMemFree_v2, run->operand[i]);
}

void cs_trial_run(const struct cs_problem *problem, const struct cs_trial_settings *settings,
                  struct cs_trial_result *result)
{
    struct run run = {.problem = problem, .settings = settings, .result = result};
    *result = (struct cs_trial_result){.status = CS_TRIAL_OK, .engine = -1};
    const int64_t available = free_memory();
    for (int i = 0; i < CS_OPERANDS; i++) {
        if (cs_problem_tensor_span(&problem->tensor[i], &run.bytes[i]) != CS_OK) {
            (void)set_failure(&run, CS_TRIAL_ERROR, "its tensors exceed 64 bits");
            return;
        }
    }
    result->bytes = run.bytes[cs_result(problem->direction)];
    (void)(check_memory(&run, "its tensors exceed --memory") && make_operands(&run) &&
           make_plan(&run) && check_memory(&run, "its tensors and its workspace exceed --memory") &&
           bind_memory(&run) && measure_plan(&run));
    result->device_peak = available - free_memory();
    free_all(&run);
}
