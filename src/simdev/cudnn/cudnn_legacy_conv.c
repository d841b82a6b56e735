/* The convolution functions of the legacy API (cuDNN Backend API, CNN library), implemented by
 * backend plans. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cudnn_internal.h"

enum {
    MAX_ALGORITHMS = 8,
    /* A host runs every engine at the same speed. On a GPU, engines without tensor cores are
     * slower. */
    SLOWER_WITHOUT_TENSOR_CORES = 8
};

static const int algorithm_count[] = {
    [SIMDEV_CONV_FORWARD] = CUDNN_CONVOLUTION_FWD_ALGO_COUNT,
    [SIMDEV_CONV_BACKWARD_DATA] = CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT,
    [SIMDEV_CONV_BACKWARD_FILTER] = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT,
};

/* One row of an algorithm query. The structs of all kinds have the same fields. */
struct candidate {
    int algo;
    cudnnStatus_t status;
    float time;
    size_t memory;
    cudnnDeterminism_t determinism;
    cudnnMathType_t math;
};

static float factor_at(const void *pointer)
{
    float value;
    memcpy(&value, pointer, sizeof value);
    return value;
}

/* Fills the fields that every call passes. The problem is a key, so padding bytes must be zero. */
static cudnnStatus_t describe_problem(cudnnHandle_t handle, enum simdev_conv_kind kind,
                                      cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                                      cudnnConvolutionDescriptor_t conv, cudnnTensorDescriptor_t y,
                                      struct simdev_legacy_problem *out)
{
    if (!x || !w || !conv || !y)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (x->rank != conv->spatial + 2 || w->rank != x->rank || y->rank != x->rank ||
        x->dim[1] != w->dim[1] * conv->groups)
        return simdev_fail(CUDNN_STATUS_BAD_PARAM, "the descriptors are inconsistent");
    memset(out, 0, sizeof *out);
    out->kind = kind;
    out->device = handle->device;
    out->view[SIMDEV_X] = simdev_tensor_view(x, NULL);
    out->view[SIMDEV_W] = simdev_filter_view(w, NULL);
    out->view[SIMDEV_Y] = simdev_tensor_view(y, NULL);
    out->conv = *conv;
    out->alpha = 1;
    out->algo = SIMDEV_ALGO_HEURISTIC;
    return CUDNN_STATUS_SUCCESS;
}

/* NULL with a status if there is none. */
static const struct simdev_legacy_plan *plan_of(const struct simdev_legacy_problem *problem,
                                                cudnnStatus_t *status)
{
    const struct simdev_legacy_plan *plan = simdev_legacy_plan(problem);
    *status = plan ? plan->status : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    if (plan && plan->status == CUDNN_STATUS_SUCCESS)
        return plan;
    simdev_fail(*status, "no plan for this convolution and algorithm");
    return NULL;
}

/* Device memory of a legacy call. */
struct operands {
    const void *role[SIMDEV_ROLES], *side, *bias;
    void *workspace;
    size_t workspace_bytes;
};

/* Queries have no scales and no fused operations, so a call that provides the reported workspace
 * must succeed. */
static const struct simdev_legacy_plan *plan_within(const struct simdev_legacy_problem *problem,
                                                    size_t brought, cudnnStatus_t *status)
{
    const struct simdev_legacy_plan *plan = plan_of(problem, status), *told;
    if (!plan || plan->program->workspace <= brought)
        return plan;
    struct simdev_legacy_problem plain, slow = *problem;
    memset(&plain, 0, sizeof plain);
    plain.kind = problem->kind;
    plain.device = problem->device;
    memcpy(plain.view, problem->view, sizeof plain.view);
    plain.conv = problem->conv;
    plain.alpha = 1;
    plain.algo = problem->algo;
    slow.algo = SIMDEV_ALGO_SLOW;
    told = plan_of(&plain, status);
    if (told && brought >= told->program->workspace)
        return plan_of(&slow, status);
    *status = simdev_fail(CUDNN_STATUS_BAD_PARAM, "%zu bytes of workspace provided, %zu required",
                          brought, plan->program->workspace);
    return NULL;
}

static cudnnStatus_t launch_plan(cudnnHandle_t handle, const struct simdev_legacy_problem *problem,
                                 const struct operands *operands)
{
    static const int64_t uid[] = {SIMDEV_UID_X, SIMDEV_UID_X + 1, SIMDEV_UID_X + 2, SIMDEV_UID_SIDE,
                                  SIMDEV_UID_BIAS};
    cudnnStatus_t status;
    void *pointer[5];
    const struct simdev_legacy_plan *plan =
        plan_within(problem, operands->workspace_bytes, &status);
    if (!plan)
        return status;
    for (int role = 0; role < SIMDEV_ROLES; role++)
        pointer[role] = (void *)(uintptr_t)operands->role[role];
    pointer[3] = (void *)(uintptr_t)operands->side;
    pointer[4] = (void *)(uintptr_t)operands->bias;
    const struct simdev_binding binding = {5, uid, pointer, operands->workspace};
    return simdev_program_launch(plan->program, atomic_load(&handle->stream), &binding);
}

static cudnnStatus_t query_workspace(struct simdev_legacy_problem *problem, int algo, size_t *size)
{
    cudnnStatus_t status;
    if (algo < 0)
        return CUDNN_STATUS_BAD_PARAM;
    if (!size)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    problem->algo = algo;
    const struct simdev_legacy_plan *plan = plan_of(problem, &status);
    if (plan)
        *size = plan->program->workspace;
    return status;
}

/* ---- algorithm queries ---- */

static struct candidate candidate_of(struct simdev_legacy_problem *problem, int algo)
{
    struct candidate row = {.algo = algo, .status = CUDNN_STATUS_NOT_SUPPORTED, .time = -1};
    cudnnStatus_t status;
    problem->algo = algo;
    const struct simdev_legacy_plan *plan = plan_of(problem, &status);
    if (!plan)
        return row;
    row.status = CUDNN_STATUS_SUCCESS;
    row.memory = plan->program->workspace;
    row.determinism = plan->is_deterministic ? CUDNN_DETERMINISTIC : CUDNN_NON_DETERMINISTIC;
    row.math = plan->uses_tensor_cores ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH;
    return row;
}

static int take_candidates(const struct candidate *all, int count, bool supported,
                           struct candidate *row)
{
    int filled = 0;
    for (int i = 0; i < count; i++)
        if ((all[i].status == CUDNN_STATUS_SUCCESS) == supported)
            row[filled++] = all[i];
    return filled;
}

/* Supported algorithms first, and the heuristic's before the one without workspace. */
static int list_candidates(struct simdev_legacy_problem *problem, struct candidate *row)
{
    const int count = algorithm_count[problem->kind];
    struct candidate all[MAX_ALGORITHMS];
    all[0] = candidate_of(problem, SIMDEV_ALGO_HEURISTIC);
    all[1] = candidate_of(problem, SIMDEV_ALGO_NO_WORKSPACE);
    for (int algo = SIMDEV_ALGO_HEURISTIC + 1; algo < count; algo++)
        all[algo] = candidate_of(problem, algo);
    const int supported = take_candidates(all, count, true, row);
    return supported + take_candidates(all, count, false, row + supported);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void measure_candidate(cudnnHandle_t handle, struct simdev_legacy_problem *problem,
                              const struct operands *operands, struct candidate *row)
{
    cudaStream_t stream = atomic_load(&handle->stream);
    if (row->status != CUDNN_STATUS_SUCCESS)
        return;
    if (row->memory > operands->workspace_bytes) {
        row->status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
        return;
    }
    problem->algo = row->algo;
    (void)cudaStreamSynchronize(stream);
    const double start = now_ms();
    row->status = launch_plan(handle, problem, operands);
    if (row->status == CUDNN_STATUS_SUCCESS && cudaStreamSynchronize(stream) != cudaSuccess)
        row->status = CUDNN_STATUS_EXECUTION_FAILED;
    if (row->status == CUDNN_STATUS_SUCCESS)
        row->time = (float)(now_ms() - start) *
                    (row->math == CUDNN_FMA_MATH ? SLOWER_WITHOUT_TENSOR_CORES : 1);
}

static int by_time(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    const bool a_ran = a->status == CUDNN_STATUS_SUCCESS, b_ran = b->status == CUDNN_STATUS_SUCCESS;
    if (a_ran != b_ran)
        return a_ran ? -1 : 1;
    if (!a_ran)
        return 0;
    return a->time < b->time ? -1 : a->time > b->time;
}

static int measure_all(cudnnHandle_t handle, struct simdev_legacy_problem *problem,
                       const struct operands *operands, struct candidate *row)
{
    const int count = list_candidates(problem, row);
    for (int i = 0; i < count; i++)
        measure_candidate(handle, problem, operands, &row[i]);
    qsort(row, (size_t)count, sizeof *row, by_time);
    return count;
}

/* As measure_all, on device memory that the call allocates itself, as cuDNN does. */
static cudnnStatus_t measure_alone(cudnnHandle_t handle, struct simdev_legacy_problem *problem,
                                   struct candidate *row, int *count)
{
    struct operands operands = {.workspace = NULL};
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    void *block[SIMDEV_ROLES] = {NULL};
    *count = list_candidates(problem, row);
    for (int i = 0; i < *count; i++)
        if (row[i].status == CUDNN_STATUS_SUCCESS && row[i].memory > operands.workspace_bytes)
            operands.workspace_bytes = row[i].memory;
    for (int role = 0; role < SIMDEV_ROLES; role++) {
        const size_t bytes = simdev_view_span(&problem->view[role]);
        if (cudaMalloc(&block[role], bytes) != cudaSuccess) {
            status = CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
            goto free_blocks;
        }
        operands.role[role] = block[role];
    }
    if (operands.workspace_bytes &&
        cudaMalloc(&operands.workspace, operands.workspace_bytes) != cudaSuccess)
        operands.workspace_bytes = 0;
    *count = measure_all(handle, problem, &operands, row);
    if (operands.workspace)
        (void)cudaFree(operands.workspace);
free_blocks:
    for (int role = 0; role < SIMDEV_ROLES; role++)
        if (block[role])
            (void)cudaFree(block[role]);
    return status;
}

/* Find and FindEx: `operands` NULL allocates device memory. */
static cudnnStatus_t find_algorithms(cudnnHandle_t handle, enum simdev_conv_kind kind,
                                     cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                                     cudnnConvolutionDescriptor_t conv, cudnnTensorDescriptor_t y,
                                     const struct operands *operands, struct candidate *row,
                                     int *count)
{
    struct simdev_legacy_problem problem = {.algo = 0};
    const cudnnStatus_t status = describe_problem(handle, kind, x, w, conv, y, &problem);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (!operands)
        return measure_alone(handle, &problem, row, count);
    *count = measure_all(handle, &problem, operands, row);
    return CUDNN_STATUS_SUCCESS;
}

#define REPORT(Algo, row, count, requested, returned, results)                                     \
    do {                                                                                           \
        *(returned) = (count) < (requested) ? (count) : (requested);                               \
        for (int i_ = 0; i_ < *(returned); i_++) {                                                 \
            (results)[i_].algo = (Algo)(row)[i_].algo;                                             \
            (results)[i_].status = (row)[i_].status;                                               \
            (results)[i_].time = (row)[i_].time;                                                   \
            (results)[i_].memory = (row)[i_].memory;                                               \
            (results)[i_].determinism = (row)[i_].determinism;                                     \
            (results)[i_].mathType = (row)[i_].math;                                               \
        }                                                                                          \
    } while (0)

/* ---- the convolutions ---- */

static bool all_given(const struct operands *operands)
{
    for (int i = 0; i < SIMDEV_ROLES; i++)
        if (!operands->role[i])
            return false;
    return true;
}

static cudnnStatus_t run_convolution(const char *function, cudnnHandle_t handle,
                                     enum simdev_conv_kind kind, const void *alpha,
                                     const void *beta, cudnnTensorDescriptor_t x,
                                     cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t conv,
                                     cudnnTensorDescriptor_t y, int algo,
                                     const struct operands *operands)
{
    struct simdev_legacy_problem problem = {.algo = 0};
    if (simdev_should_fail(function))
        return simdev_fail(CUDNN_STATUS_EXECUTION_FAILED, "failure on request");
    if (!handle || !alpha || !beta || !all_given(operands))
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (algo < 0)
        return CUDNN_STATUS_BAD_PARAM;
    const cudnnStatus_t status = describe_problem(handle, kind, x, w, conv, y, &problem);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    problem.alpha = factor_at(alpha);
    problem.beta = factor_at(beta);
    problem.algo = algo;
    return launch_plan(handle, &problem, operands);
}

/* The functions of one kind: Get..MaxCount, Get..Algorithm_v7, Find.., Find..Ex, Get..WorkspaceSize
 * and the convolution. The parameters have the order of the kind's functions. x, w and y name the
 * roles among them: the descriptors, and with _data the memory. */
#define QUERIES(Kind, KIND, Perf, Algo, A, a, B, b, C, c)                                          \
    SIMDEV_EXPORT cudnnStatus_t cudnnGetConvolution##Kind##AlgorithmMaxCount(cudnnHandle_t handle, \
                                                                             int *count)           \
    {                                                                                              \
        if (!handle || !count)                                                                     \
            return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;                                            \
        *count = algorithm_count[KIND];                                                            \
        return CUDNN_STATUS_SUCCESS;                                                               \
    }                                                                                              \
    SIMDEV_EXPORT cudnnStatus_t cudnnGetConvolution##Kind##Algorithm_v7(                           \
        cudnnHandle_t handle, const A a, const B b, const cudnnConvolutionDescriptor_t conv,       \
        const C c, const int requested, int *returned, Perf *results)                              \
    {                                                                                              \
        struct simdev_legacy_problem problem = {.algo = 0};                                        \
        struct candidate row[MAX_ALGORITHMS];                                                      \
        if (!handle || !returned || !results || requested < 1)                                     \
            return CUDNN_STATUS_BAD_PARAM;                                                         \
        const cudnnStatus_t status = describe_problem(handle, KIND, x, w, conv, y, &problem);      \
        if (status != CUDNN_STATUS_SUCCESS)                                                        \
            return status;                                                                         \
        const int count = list_candidates(&problem, row);                                          \
        REPORT(Algo, row, count, requested, returned, results);                                    \
        return CUDNN_STATUS_SUCCESS;                                                               \
    }                                                                                              \
    SIMDEV_EXPORT cudnnStatus_t cudnnFindConvolution##Kind##Algorithm(                             \
        cudnnHandle_t handle, const A a, const B b, const cudnnConvolutionDescriptor_t conv,       \
        const C c, const int requested, int *returned, Perf *results)                              \
    {                                                                                              \
        struct candidate row[MAX_ALGORITHMS];                                                      \
        int count = 0;                                                                             \
        if (!handle || !returned || !results || requested < 1)                                     \
            return CUDNN_STATUS_BAD_PARAM;                                                         \
        const cudnnStatus_t status =                                                               \
            find_algorithms(handle, KIND, x, w, conv, y, NULL, row, &count);                       \
        if (status == CUDNN_STATUS_SUCCESS)                                                        \
            REPORT(Algo, row, count, requested, returned, results);                                \
        return status;                                                                             \
    }                                                                                              \
    SIMDEV_EXPORT cudnnStatus_t cudnnGetConvolution##Kind##WorkspaceSize(                          \
        cudnnHandle_t handle, const A a, const B b, const cudnnConvolutionDescriptor_t conv,       \
        const C c, Algo algo, size_t *size)                                                        \
    {                                                                                              \
        struct simdev_legacy_problem problem = {.algo = 0};                                        \
        if (!handle)                                                                               \
            return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;                                            \
        const cudnnStatus_t status = describe_problem(handle, KIND, x, w, conv, y, &problem);      \
        return status == CUDNN_STATUS_SUCCESS ? query_workspace(&problem, (int)algo, size)         \
                                              : status;                                            \
    }                                                                                              \
    SIMDEV_EXPORT cudnnStatus_t cudnnFindConvolution##Kind##AlgorithmEx(                           \
        cudnnHandle_t handle, const A a, const void *a##_data, const B b, const void *b##_data,    \
        const cudnnConvolutionDescriptor_t conv, const C c, void *c##_data, const int requested,   \
        int *returned, Perf *results, void *workspace, size_t workspace_bytes)                     \
    {                                                                                              \
        struct candidate row[MAX_ALGORITHMS];                                                      \
        const struct operands operands = {                                                         \
            {x_data, w_data, y_data}, NULL, NULL, workspace, workspace_bytes};                     \
        int count = 0;                                                                             \
        if (!handle || !returned || !results || requested < 1)                                     \
            return CUDNN_STATUS_BAD_PARAM;                                                         \
        const cudnnStatus_t status =                                                               \
            find_algorithms(handle, KIND, x, w, conv, y, &operands, row, &count);                  \
        if (status == CUDNN_STATUS_SUCCESS)                                                        \
            REPORT(Algo, row, count, requested, returned, results);                                \
        return status;                                                                             \
    }                                                                                              \
    SIMDEV_EXPORT cudnnStatus_t cudnnConvolution##Kind(                                            \
        cudnnHandle_t handle, const void *alpha, const A a, const void *a##_data, const B b,       \
        const void *b##_data, const cudnnConvolutionDescriptor_t conv, Algo algo, void *workspace, \
        size_t workspace_bytes, const void *beta, const C c, void *c##_data)                       \
    {                                                                                              \
        const struct operands operands = {                                                         \
            {x_data, w_data, y_data}, NULL, NULL, workspace, workspace_bytes};                     \
        return run_convolution(__func__, handle, KIND, alpha, beta, x, w, conv, y, (int)algo,      \
                               &operands);                                                         \
    }

QUERIES(Forward, SIMDEV_CONV_FORWARD, cudnnConvolutionFwdAlgoPerf_t, cudnnConvolutionFwdAlgo_t,
        cudnnTensorDescriptor_t, x, cudnnFilterDescriptor_t, w, cudnnTensorDescriptor_t, y)
QUERIES(BackwardData, SIMDEV_CONV_BACKWARD_DATA, cudnnConvolutionBwdDataAlgoPerf_t,
        cudnnConvolutionBwdDataAlgo_t, cudnnFilterDescriptor_t, w, cudnnTensorDescriptor_t, y,
        cudnnTensorDescriptor_t, x)
QUERIES(BackwardFilter, SIMDEV_CONV_BACKWARD_FILTER, cudnnConvolutionBwdFilterAlgoPerf_t,
        cudnnConvolutionBwdFilterAlgo_t, cudnnTensorDescriptor_t, x, cudnnTensorDescriptor_t, y,
        cudnnFilterDescriptor_t, w)

SIMDEV_EXPORT cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void *alpha1, const cudnnTensorDescriptor_t x_desc, const void *x,
    const cudnnFilterDescriptor_t w_desc, const void *w, const cudnnConvolutionDescriptor_t conv,
    cudnnConvolutionFwdAlgo_t algo, void *workspace, size_t workspace_bytes, const void *alpha2,
    const cudnnTensorDescriptor_t z_desc, const void *z, const cudnnTensorDescriptor_t bias_desc,
    const void *bias, const cudnnActivationDescriptor_t activation,
    const cudnnTensorDescriptor_t y_desc, void *y)
{
    struct simdev_legacy_problem problem = {.algo = 0};
    const struct operands operands = {{x, w, y}, z, bias, workspace, workspace_bytes};
    if (simdev_should_fail("cudnnConvolutionBiasActivationForward"))
        return simdev_fail(CUDNN_STATUS_EXECUTION_FAILED, "failure on request");
    if (!handle || !alpha1 || !alpha2 || !bias_desc || !bias || !activation ||
        !all_given(&operands))
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    const cudnnStatus_t status =
        describe_problem(handle, SIMDEV_CONV_FORWARD, x_desc, w_desc, conv, y_desc, &problem);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    problem.alpha = factor_at(alpha1);
    problem.side_scale = factor_at(alpha2);
    problem.is_fused = true;
    problem.bias = simdev_tensor_view(bias_desc, NULL);
    if (problem.side_scale != 0 && z_desc)
        problem.side = simdev_tensor_view(z_desc, NULL);
    problem.activation = *activation;
    problem.algo = (int)algo;
    return launch_plan(handle, &problem, &operands);
}
