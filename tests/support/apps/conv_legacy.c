#include "conv.h"

/* One result of an algorithm query: the fields of a cudnnConvolution*AlgoPerf_t that PyTorch keeps.
 */
struct answer {
    int algorithm;
    cudnnMathType_t math;
    size_t workspace;
};

/* Names a direction's first successful answer, not before the `first`-th, of its algorithm query;
 * the memory field is the workspace. The three kinds of answers have the same fields. */
#define FIRST_ANSWER(query, perf_type, limit, ...)                                                 \
    do {                                                                                           \
        perf_type perf[limit];                                                                     \
        int count = 0;                                                                             \
        ASK_CUDNN(query(handle, __VA_ARGS__, limit, &count, perf));                                \
        for (int i = first; i < count; i++) {                                                      \
            if (perf[i].status != CUDNN_STATUS_SUCCESS)                                            \
                continue;                                                                          \
            plan->choice = i;                                                                      \
            *answer = (struct answer){(int)perf[i].algo, perf[i].mathType, perf[i].memory};        \
            return OUTCOME_OK;                                                                     \
        }                                                                                          \
        return OUTCOME_REFUSED;                                                                    \
    } while (0)

static enum outcome describe_filter(const struct conv_problem *problem,
                                    cudnnFilterDescriptor_t desc)
{
    const struct tensor *w = &problem->w;
    cudnnTensorFormat_t format =
        problem->layout == LAYOUT_NHWC ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
    int size[CLIENT_MAX_DIMS];
    for (int i = 0; i < w->dims; i++)
        size[i] = (int)w->size[i];
    ASK_CUDNN(cudnnSetFilterNdDescriptor(desc, w->type, format, w->dims, size));
    return OUTCOME_OK;
}

static enum outcome describe_convolution(const struct conv_problem *problem,
                                         cudnnConvolutionDescriptor_t desc)
{
    int padding[3];
    int stride[3];
    int dilation[3];
    for (int i = 0; i < problem->spatial; i++) {
        if (problem->pre[i] != problem->post[i])
            return OUTCOME_REFUSED;
        padding[i] = (int)problem->pre[i];
        stride[i] = (int)problem->stride[i];
        dilation[i] = (int)problem->dilation[i];
    }
    ASK_CUDNN(cudnnSetConvolutionNdDescriptor(desc, problem->spatial, padding, stride, dilation,
                                              CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    ASK_CUDNN(cudnnSetConvolutionGroupCount(desc, (int)problem->groups));
    ASK_CUDNN(cudnnSetConvolutionMathType(
        desc, problem->x.type == CUDNN_DATA_FLOAT ? CUDNN_DEFAULT_MATH : CUDNN_TENSOR_OP_MATH));
    return OUTCOME_OK;
}

/* The descriptors made so far are the caller's also on failure. */
static enum outcome describe(const struct conv_problem *problem, struct conv_plan *plan)
{
    ASK_CUDNN(cudnnCreateTensorDescriptor(&plan->x));
    ASK_CUDNN(cudnnCreateTensorDescriptor(&plan->y));
    ASK_CUDNN(cudnnCreateFilterDescriptor(&plan->w));
    ASK_CUDNN(cudnnCreateConvolutionDescriptor(&plan->conv));
    ASK_CUDNN(tensor_describe(&problem->x, plan->x));
    ASK_CUDNN(tensor_describe(&problem->y, plan->y));
    enum outcome outcome = describe_filter(problem, plan->w);
    if (outcome == OUTCOME_OK)
        outcome = describe_convolution(problem, plan->conv);
    return outcome;
}

static enum outcome ask_algorithm(cudnnHandle_t handle, int first, struct conv_plan *plan,
                                  struct answer *answer)
{
    switch (plan->direction) {
    case CONV_DATA:
        FIRST_ANSWER(cudnnGetConvolutionBackwardDataAlgorithm_v7, cudnnConvolutionBwdDataAlgoPerf_t,
                     CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, plan->w, plan->y, plan->conv, plan->x);
    case CONV_FILTER:
        FIRST_ANSWER(cudnnGetConvolutionBackwardFilterAlgorithm_v7,
                     cudnnConvolutionBwdFilterAlgoPerf_t, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT,
                     plan->x, plan->y, plan->conv, plan->w);
    default:
        FIRST_ANSWER(cudnnGetConvolutionForwardAlgorithm_v7, cudnnConvolutionFwdAlgoPerf_t,
                     CUDNN_CONVOLUTION_FWD_ALGO_COUNT, plan->x, plan->w, plan->conv, plan->y);
    }
}

static cudnnStatus_t query_workspace(cudnnHandle_t handle, const struct conv_plan *plan,
                                     int algorithm, size_t *bytes)
{
    switch (plan->direction) {
    case CONV_DATA:
        return cudnnGetConvolutionBackwardDataWorkspaceSize(
            handle, plan->w, plan->y, plan->conv, plan->x, (cudnnConvolutionBwdDataAlgo_t)algorithm,
            bytes);
    case CONV_FILTER:
        return cudnnGetConvolutionBackwardFilterWorkspaceSize(
            handle, plan->x, plan->y, plan->conv, plan->w,
            (cudnnConvolutionBwdFilterAlgo_t)algorithm, bytes);
    default:
        return cudnnGetConvolutionForwardWorkspaceSize(handle, plan->x, plan->w, plan->conv,
                                                       plan->y,
                                                       (cudnnConvolutionFwdAlgo_t)algorithm, bytes);
    }
}

/* The same with named algorithms, those that deterministic frameworks name, and the workspace
 * query. */
static enum outcome ask_workspace(cudnnHandle_t handle, int first, struct conv_plan *plan,
                                  struct answer *answer)
{
    static const int algorithms[][2] = {
        {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
         CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM},
        {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, CUDNN_CONVOLUTION_BWD_DATA_ALGO_0},
        {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0}};
    cudnnMathType_t math;
    ASK_CUDNN(cudnnGetConvolutionMathType(plan->conv, &math));
    for (int i = first; i < 2; i++) {
        int algorithm = algorithms[plan->direction][i];
        size_t workspace = 0;
        if (query_workspace(handle, plan, algorithm, &workspace) != CUDNN_STATUS_SUCCESS)
            continue;
        plan->choice = i;
        *answer = (struct answer){algorithm, math, workspace};
        return OUTCOME_OK;
    }
    return OUTCOME_REFUSED;
}

static enum outcome set_math(cudnnConvolutionDescriptor_t conv, cudnnMathType_t math)
{
    ASK_CUDNN(cudnnSetConvolutionMathType(conv, math));
    return OUTCOME_OK;
}

enum outcome conv_legacy_plan(cudnnHandle_t handle, const struct conv_problem *problem,
                              const struct conv_settings *settings, int first,
                              struct conv_plan *plan)
{
    struct conv_plan made = {.api = CONV_LEGACY,
                             .direction = problem->direction,
                             .config_workspace = -1,
                             .alpha = problem->alpha,
                             .beta = problem->beta};
    struct answer answer = {.workspace = 0};
    enum outcome outcome = describe(problem, &made);
    if (outcome == OUTCOME_OK)
        outcome = settings->ask_workspace ? ask_workspace(handle, first, &made, &answer)
                                          : ask_algorithm(handle, first, &made, &answer);
    if (outcome == OUTCOME_OK)
        outcome = set_math(made.conv, answer.math);
    if (outcome != OUTCOME_OK) {
        conv_legacy_destroy(&made);
        return outcome;
    }
    made.algorithm = answer.algorithm;
    made.engine = answer.algorithm;
    made.workspace = (int64_t)answer.workspace;
    *plan = made;
    return OUTCOME_OK;
}

static cudnnStatus_t convolve(cudnnHandle_t handle, const struct conv_plan *plan, void *x, void *w,
                              void *y, void *workspace)
{
    size_t bytes = (size_t)plan->workspace;
    switch (plan->direction) {
    case CONV_DATA:
        return cudnnConvolutionBackwardData(handle, &plan->alpha, plan->w, w, plan->y, y,
                                            plan->conv,
                                            (cudnnConvolutionBwdDataAlgo_t)plan->algorithm,
                                            workspace, bytes, &plan->beta, plan->x, x);
    case CONV_FILTER:
        return cudnnConvolutionBackwardFilter(handle, &plan->alpha, plan->x, x, plan->y, y,
                                              plan->conv,
                                              (cudnnConvolutionBwdFilterAlgo_t)plan->algorithm,
                                              workspace, bytes, &plan->beta, plan->w, w);
    default:
        return cudnnConvolutionForward(handle, &plan->alpha, plan->x, x, plan->w, w, plan->conv,
                                       (cudnnConvolutionFwdAlgo_t)plan->algorithm, workspace, bytes,
                                       &plan->beta, plan->y, y);
    }
}

enum outcome conv_legacy_run(cudnnHandle_t handle, const struct conv_plan *plan, void *x, void *w,
                             void *y, void *workspace)
{
    ASK_CUDNN(convolve(handle, plan, x, w, y, workspace));
    return OUTCOME_OK;
}

void conv_legacy_destroy(struct conv_plan *plan)
{
    if (plan->conv != NULL)
        cudnnDestroyConvolutionDescriptor(plan->conv);
    if (plan->w != NULL)
        cudnnDestroyFilterDescriptor(plan->w);
    if (plan->y != NULL)
        cudnnDestroyTensorDescriptor(plan->y);
    if (plan->x != NULL)
        cudnnDestroyTensorDescriptor(plan->x);
}
