/* Runs the Find... queries, which time every algorithm. Algorithms that convshim tiles are timed
 * tiled, within the reported size. */
#include "intercept/legacy/dispatch.h"

#include "cudnn/bind/driver.h"
#include <stdlib.h>

enum {
    ALGORITHMS = 16 /* more than any direction has */
};

/* Runs a call tiled between two events. *time_p becomes the milliseconds on the device. False if
 * the run failed. */
static bool run_timed(struct cs *cs, const struct cs_legacy_call *call, CUstream stream,
                      CUevent begin, CUevent end, float *time_p)
{
    int status = CUDNN_STATUS_SUCCESS;
    bool good = CS_CU(cuEventRecord, begin, stream) == CUDA_SUCCESS &&
                cs_legacy_try(cs, call, &status) && status == CUDNN_STATUS_SUCCESS;
    good = CS_CU(cuEventRecord, end, stream) == CUDA_SUCCESS && good;
    good = CS_CU(cuEventSynchronize, end) == CUDA_SUCCESS && good;
    return good && CS_CU(cuEventElapsedTime, time_p, begin, end) == CUDA_SUCCESS;
}

/* Times the second of two runs, because the first one loads kernels. */
static bool time_run(struct cs *cs, const struct cs_legacy_call *call, float *time_p)
{
    CUstream stream;
    CUevent begin = NULL, end = NULL;
    bool good = CS_REAL(cudnnGetStream, call->handle, &stream) == CUDNN_STATUS_SUCCESS &&
                CS_CU(cuEventCreate, &begin, CU_EVENT_DEFAULT) == CUDA_SUCCESS &&
                CS_CU(cuEventCreate, &end, CU_EVENT_DEFAULT) == CUDA_SUCCESS;
    good = good && run_timed(cs, call, stream, begin, end, time_p) &&
           run_timed(cs, call, stream, begin, end, time_p);
    if (begin)
        (void)CS_CU(cuEventDestroy_v2, begin);
    if (end)
        (void)CS_CU(cuEventDestroy_v2, end);
    return good;
}

/* *bytes_p becomes the workspace that a result's algorithm requires. False if the algorithm failed
 * for another reason than a workspace that was too small. */
static bool required_of(const struct cs_legacy_call *call, const cs_legacy_result *result,
                        size_t *bytes_p)
{
    *bytes_p = result->memory;
    return result->status == CUDNN_STATUS_SUCCESS ||
           (cs_legacy_call_size(call, bytes_p) == CUDNN_STATUS_SUCCESS &&
            *bytes_p > call->execution.provided);
}

/* Replaces the time and memory of an algorithm that convshim rewrites by those of its tiles. */
static void retime_algorithm(struct cs *cs, const struct cs_legacy_call *call,
                             cs_legacy_result *result)
{
    struct cs_legacy_call chosen = *call;
    size_t required;
    chosen.algorithm = (int)result->algo;
    chosen.math =
        result->status == CUDNN_STATUS_SUCCESS ? result->mathType : cs_legacy_call_math(call->conv);
    if (!required_of(&chosen, result, &required))
        return;
    size_t reported = cs_legacy_report_as(cs, &chosen, required);
    if (reported >= required || reported > call->execution.provided)
        return;
    result->memory = reported;
    chosen.execution.provided = reported;
    if (time_run(cs, &chosen, &result->time)) {
        result->status = CUDNN_STATUS_SUCCESS;
        result->mathType = chosen.math;
    }
}

/* Orders results for qsort: successful ones first, then the fastest first. */
static int compare_results(const void *left, const void *right)
{
    const cs_legacy_result *a = left, *b = right;
    bool ran_a = a->status == CUDNN_STATUS_SUCCESS, ran_b = b->status == CUDNN_STATUS_SUCCESS;
    if (ran_a != ran_b)
        return ran_a ? -1 : 1;
    return (a->time > b->time) - (a->time < b->time);
}

int cs_find_algorithm_ex(struct cs *cs, const struct cs_legacy_call *call,
                         const struct cs_legacy_results *to)
{
    /* All results are requested, because retiming may change their order. */
    cs_legacy_result result[ALGORITHMS];
    int returned = 0, required = to->requested;
    const struct cs_legacy_results all = {ALGORITHMS, &returned, result};
    if (!to->result || !to->returned || required < 1)
        return (int)cs_legacy_call_find_ex(call, to);
    cudnnStatus_t status = cs_legacy_call_find_ex(call, &all);
    if (status != CUDNN_STATUS_SUCCESS)
        return (int)status;
    for (int i = 0; i < returned; i++)
        retime_algorithm(cs, call, &result[i]);
    qsort(result, (size_t)returned, sizeof *result, compare_results);
    *to->returned = returned < required ? returned : required;
    for (int i = 0; i < *to->returned; i++)
        to->result[i] = result[i];
    return (int)status;
}

/* Sets *bytes_p to the largest workspace that is reported for any algorithm. True if less is
 * reported for one than it requires. */
static bool plan_workspace(struct cs *cs, const struct cs_legacy_call *call, size_t *bytes_p)
{
    struct cs_legacy_call chosen = *call;
    bool tiled_calls = false;
    chosen.math = cs_legacy_call_math(call->conv);
    *bytes_p = 0;
    for (int i = 0; i < ALGORITHMS; i++) {
        size_t required;
        chosen.algorithm = i;
        if (cs_legacy_call_size(&chosen, &required) != CUDNN_STATUS_SUCCESS)
            continue;
        size_t reported = cs_legacy_report_as(cs, &chosen, required);
        tiled_calls = tiled_calls || reported < required;
        *bytes_p = reported > *bytes_p ? reported : *bytes_p;
    }
    return tiled_calls;
}

/* Allocates through the driver, because an error of the runtime would become the program's last
 * error. */
static bool allocate_memory(size_t bytes, void **address_p)
{
    CUdeviceptr address;
    if (CS_CU(cuMemAlloc_v2, &address, bytes) != CUDA_SUCCESS)
        return false;
    *address_p = (void *)address;
    return true;
}

/* Allocates the operands and the workspace of a search. On failure the caller frees those that were
 * allocated. */
static bool allocate_tensors(struct cs_legacy_call *call)
{
    struct cs_problem problem;
    struct cs_addresses none;
    if (cs_describe_legacy(call, &problem, &none) != CS_REASON_NONE)
        return false;
    for (int i = 0; i < CS_OPERANDS; i++) {
        int64_t bytes;
        if (cs_problem_tensor_span(&problem.tensor[i], &bytes) != CS_OK ||
            !allocate_memory((size_t)bytes, &call->execution.data[i]))
            return false;
    }
    return call->execution.provided == 0 ||
           allocate_memory(call->execution.provided, &call->execution.workspace);
}

static void free_tensors(const struct cs_legacy_call *call)
{
    for (int i = 0; i < CS_OPERANDS; i++)
        if (call->execution.data[i])
            (void)CS_CU(cuMemFree_v2, (CUdeviceptr)call->execution.data[i]);
    if (call->execution.workspace)
        (void)CS_CU(cuMemFree_v2, (CUdeviceptr)call->execution.workspace);
}

int cs_find_algorithm(struct cs *cs, const struct cs_legacy_call *call,
                      const struct cs_legacy_results *to)
{
    struct cs_legacy_call own = *call;
    if (!plan_workspace(cs, call, &own.execution.provided))
        return (int)cs_legacy_call_find(call, to);
    if (allocate_tensors(&own)) {
        int status = cs_find_algorithm_ex(cs, &own, to);
        free_tensors(&own);
        return status;
    }
    /* If the memory was not enough, the vendor's search runs. */
    free_tensors(&own);
    int status = (int)cs_legacy_call_find(call, to);
    if (status == CUDNN_STATUS_SUCCESS)
        cs_legacy_report_results(cs, call, to);
    return status;
}
