#include "conv.h"

/* One answer to "which algorithm": what PyTorch keeps of a cudnnConvolutionFwdAlgoPerf_t. */
struct answer {
    cudnnConvolutionFwdAlgo_t algorithm;
    cudnnMathType_t math;
    size_t workspace;
};

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

/* The first answer, not before the `first`-th, of the algorithm query; its memory field is the
 * workspace. */
static enum outcome ask_algorithm(cudnnHandle_t handle, const struct conv_plan *plan, int first,
                                  int *choice, struct answer *answer)
{
    cudnnConvolutionFwdAlgoPerf_t perf[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
    int count = 0;
    ASK_CUDNN(cudnnGetConvolutionForwardAlgorithm_v7(handle, plan->x, plan->w, plan->conv, plan->y,
                                                     CUDNN_CONVOLUTION_FWD_ALGO_COUNT, &count,
                                                     perf));
    for (int i = first; i < count; i++) {
        if (perf[i].status != CUDNN_STATUS_SUCCESS)
            continue;
        *choice = i;
        *answer = (struct answer){perf[i].algo, perf[i].mathType, perf[i].memory};
        return OUTCOME_OK;
    }
    return OUTCOME_REFUSED;
}

/* The same with named algorithms and the workspace query. */
static enum outcome ask_workspace(cudnnHandle_t handle, const struct conv_plan *plan, int first,
                                  int *choice, struct answer *answer)
{
    static const cudnnConvolutionFwdAlgo_t algorithms[] = {
        CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM};
    cudnnMathType_t math;
    ASK_CUDNN(cudnnGetConvolutionMathType(plan->conv, &math));
    for (int i = first; i < (int)(sizeof algorithms / sizeof *algorithms); i++) {
        size_t workspace = 0;
        if (cudnnGetConvolutionForwardWorkspaceSize(handle, plan->x, plan->w, plan->conv, plan->y,
                                                    algorithms[i],
                                                    &workspace) != CUDNN_STATUS_SUCCESS)
            continue;
        *choice = i;
        *answer = (struct answer){algorithms[i], math, workspace};
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
    struct conv_plan made = {
        .api = CONV_LEGACY, .config_workspace = -1, .alpha = problem->alpha, .beta = problem->beta};
    struct answer answer = {.workspace = 0};
    enum outcome outcome = describe(problem, &made);
    if (outcome == OUTCOME_OK)
        outcome = settings->ask_workspace
                      ? ask_workspace(handle, &made, first, &made.choice, &answer)
                      : ask_algorithm(handle, &made, first, &made.choice, &answer);
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

enum outcome conv_legacy_run(cudnnHandle_t handle, const struct conv_plan *plan, const void *x,
                             const void *w, void *y, void *workspace)
{
    ASK_CUDNN(cudnnConvolutionForward(handle, &plan->alpha, plan->x, x, plan->w, w, plan->conv,
                                      plan->algorithm, workspace, (size_t)plan->workspace,
                                      &plan->beta, plan->y, y));
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
