#include "fused.h"

/* The descriptors that the fused call needs beside those of the convolution. */
struct further {
    cudnnTensorDescriptor_t bias;
    cudnnActivationDescriptor_t activation;
};

/* What was made so far is the caller's also on failure. */
static enum outcome describe(const struct fused_problem *problem, struct further *further)
{
    const struct fused_step *steps = problem->step;
    cudnnActivationMode_t mode = steps[2].mode == CUDNN_POINTWISE_RELU_FWD
                                     ? CUDNN_ACTIVATION_RELU
                                     : CUDNN_ACTIVATION_IDENTITY;
    ASK_CUDNN(cudnnCreateTensorDescriptor(&further->bias));
    ASK_CUDNN(tensor_describe(&problem->tensor[steps[1].b].tensor, further->bias));
    ASK_CUDNN(cudnnCreateActivationDescriptor(&further->activation));
    ASK_CUDNN(
        cudnnSetActivationDescriptor(further->activation, mode, CUDNN_NOT_PROPAGATE_NAN, 0.0));
    return OUTCOME_OK;
}

static void release(struct further *further)
{
    if (further->activation != NULL)
        cudnnDestroyActivationDescriptor(further->activation);
    if (further->bias != NULL)
        cudnnDestroyTensorDescriptor(further->bias);
}

static void *address(const struct fused_problem *problem, int tensor, void *const *buffers)
{
    const struct fused_tensor *found = &problem->tensor[tensor];
    return tensor_first(&found->tensor, buffers[found->shares]);
}

static enum outcome call(cudnnHandle_t handle, const struct fused_problem *problem,
                         const struct conv_plan *plan, const struct further *further,
                         void *const *buffers, void *workspace)
{
    const struct fused_step *sum = &problem->step[0];
    ASK_CUDNN(cudnnConvolutionBiasActivationForward(
        handle, &sum->alpha1, plan->x, address(problem, problem->x, buffers), plan->w,
        address(problem, problem->w, buffers), plan->conv,
        (cudnnConvolutionFwdAlgo_t)plan->algorithm, workspace, (size_t)plan->workspace,
        &sum->alpha2, plan->y, address(problem, sum->b, buffers), further->bias,
        address(problem, problem->step[1].b, buffers), further->activation, plan->y,
        address(problem, problem->result, buffers)));
    return OUTCOME_OK;
}

/* With a workspace of its own for the call. */
static enum outcome execute(cudnnHandle_t handle, const struct fused_problem *problem,
                            const struct conv_plan *plan, const struct further *further,
                            void *const *buffers)
{
    void *workspace = NULL;
    enum outcome outcome = OUTCOME_ERROR;
    if (plan->workspace > 0)
        TRY_CUDA(cudaMalloc(&workspace, (size_t)plan->workspace), done);
    outcome = call(handle, problem, plan, further, buffers, workspace);
    if (workspace != NULL && cudaFree(workspace) != cudaSuccess)
        outcome = OUTCOME_ERROR;
done:
    return outcome;
}

enum outcome fused_run_legacy(cudnnHandle_t handle, const struct fused_problem *problem,
                              const struct conv_settings *settings, void *const *buffers)
{
    /* The only algorithm that the identity is allowed with is what a client that names algorithms
     * names first. */
    const struct conv_settings named = {.ask_workspace = true};
    bool identity = problem->step[2].mode == CUDNN_POINTWISE_IDENTITY;
    struct further further = {NULL, NULL};
    struct conv_plan plan = {.choice = -1};
    enum outcome outcome = describe(problem, &further);
    while (outcome == OUTCOME_OK) {
        outcome = conv_legacy_plan(handle, &problem->conv, identity ? &named : settings,
                                   plan.choice + 1, &plan);
        if (outcome != OUTCOME_OK)
            break;
        outcome = execute(handle, problem, &plan, &further, buffers);
        conv_legacy_destroy(&plan);
        /* What cuDNN answered and then refuses to run gives its turn to the next answer. */
        if (outcome != OUTCOME_REFUSED || identity)
            break;
        outcome = OUTCOME_OK;
    }
    release(&further);
    return outcome;
}

enum outcome fused_run(cudnnHandle_t handle, const struct fused_problem *problem,
                       const struct conv_settings *settings, void *const *buffers)
{
    if (problem->form == FUSED_LEGACY)
        return fused_run_legacy(handle, problem, settings, buffers);
    return fused_run_graph(handle, problem, settings, buffers);
}
