#include "fused.h"

static bool is_identity(const struct fused_problem *problem)
{
    return problem->step[2].mode == CUDNN_POINTWISE_IDENTITY;
}

/* The caller destroys the descriptors, also after a failure. */
static enum outcome describe(const struct fused_problem *problem, struct fused_plan *plan)
{
    cudnnActivationMode_t mode =
        is_identity(problem) ? CUDNN_ACTIVATION_IDENTITY : CUDNN_ACTIVATION_RELU;
    ASK_CUDNN(cudnnCreateTensorDescriptor(&plan->bias));
    ASK_CUDNN(tensor_describe(&problem->tensor[problem->step[1].b].tensor, plan->bias));
    ASK_CUDNN(cudnnCreateActivationDescriptor(&plan->activation));
    ASK_CUDNN(cudnnSetActivationDescriptor(plan->activation, mode, CUDNN_NOT_PROPAGATE_NAN, 0.0));
    return OUTCOME_OK;
}

static void release(const struct fused_plan *plan)
{
    if (plan->activation != NULL)
        cudnnDestroyActivationDescriptor(plan->activation);
    if (plan->bias != NULL)
        cudnnDestroyTensorDescriptor(plan->bias);
}

static enum outcome ask(cudnnHandle_t handle, const struct fused_problem *problem,
                        const struct conv_settings *settings, int first, struct fused_plan *plan)
{
    /* The identity is allowed with one algorithm only, the one that a client which names algorithms
     * names first. */
    static const struct conv_settings named = {.ask_workspace = true};
    return conv_legacy_plan(handle, &problem->conv, is_identity(problem) ? &named : settings, first,
                            &plan->plan);
}

static void *address(const struct fused_problem *problem, int tensor, void *const *buffers)
{
    const struct fused_tensor *found = &problem->tensor[tensor];
    return tensor_first(&found->tensor, buffers[found->shares]);
}

enum outcome fused_legacy_launch(cudnnHandle_t handle, const struct fused_problem *problem,
                                 const struct fused_plan *fused, void *const *buffers,
                                 void *workspace)
{
    const struct conv_plan *plan = &fused->plan;
    const struct fused_step *sum = &problem->step[0];
    ASK_CUDNN(cudnnConvolutionBiasActivationForward(
        handle, &sum->alpha1, plan->x, address(problem, problem->x, buffers), plan->w,
        address(problem, problem->w, buffers), plan->conv,
        (cudnnConvolutionFwdAlgo_t)plan->algorithm, workspace, (size_t)plan->workspace,
        &sum->alpha2, plan->y, address(problem, sum->b, buffers), fused->bias,
        address(problem, problem->step[1].b, buffers), fused->activation, plan->y,
        address(problem, problem->result, buffers)));
    return OUTCOME_OK;
}

enum outcome fused_legacy_plan(cudnnHandle_t handle, const struct fused_problem *problem,
                               const struct conv_settings *settings, struct fused_plan *plan)
{
    struct fused_plan made = {.bias = NULL};
    enum outcome outcome = describe(problem, &made);
    if (outcome == OUTCOME_OK)
        outcome = ask(handle, problem, settings, 0, &made);
    if (outcome == OUTCOME_OK)
        *plan = made;
    else
        release(&made);
    return outcome;
}

/* Allocates the workspace for this call. */
static enum outcome execute(cudnnHandle_t handle, const struct fused_problem *problem,
                            const struct fused_plan *plan, void *const *buffers)
{
    void *workspace = NULL;
    enum outcome outcome = OUTCOME_ERROR;
    if (plan->plan.workspace > 0)
        TRY_CUDA(cudaMalloc(&workspace, (size_t)plan->plan.workspace), done);
    outcome = fused_legacy_launch(handle, problem, plan, buffers, workspace);
    if (workspace != NULL && cudaFree(workspace) != cudaSuccess)
        outcome = OUTCOME_ERROR;
done:
    return outcome;
}

enum outcome fused_run_legacy(cudnnHandle_t handle, const struct fused_problem *problem,
                              const struct conv_settings *settings, void *const *buffers)
{
    struct fused_plan plan = {.plan = {.choice = -1}};
    enum outcome outcome = describe(problem, &plan);
    while (outcome == OUTCOME_OK) {
        outcome = ask(handle, problem, settings, plan.plan.choice + 1, &plan);
        if (outcome != OUTCOME_OK)
            break;
        outcome = execute(handle, problem, &plan, buffers);
        conv_legacy_destroy(&plan.plan);
        /* If cuDNN returns an algorithm and then refuses to run it, the next one is tried. */
        if (outcome != OUTCOME_REFUSED || is_identity(problem))
            break;
        outcome = OUTCOME_OK;
    }
    release(&plan);
    return outcome;
}

enum outcome fused_run(cudnnHandle_t handle, const struct fused_problem *problem,
                       const struct conv_settings *settings, void *const *buffers)
{
    if (problem->form == FUSED_LEGACY)
        return fused_run_legacy(handle, problem, settings, buffers);
    return fused_run_graph(handle, problem, settings, buffers);
}

enum outcome fused_plan_create(cudnnHandle_t handle, const struct fused_problem *problem,
                               const struct conv_settings *settings, struct fused_plan *plan)
{
    struct fused_plan made = {.bias = NULL};
    if (problem->form == FUSED_LEGACY)
        return fused_legacy_plan(handle, problem, settings, plan);
    enum outcome outcome = fused_graph_plan(handle, problem, settings, &made.plan);
    if (outcome == OUTCOME_OK)
        *plan = made;
    return outcome;
}

void fused_plan_destroy(struct fused_plan *plan)
{
    conv_plan_destroy(&plan->plan);
    release(plan);
}

enum outcome fused_plan_run(cudnnHandle_t handle, const struct fused_problem *problem,
                            const struct fused_plan *plan, void *const *buffers, void *workspace)
{
    if (problem->form == FUSED_LEGACY)
        return fused_legacy_launch(handle, problem, plan, buffers, workspace);
    return fused_graph_launch(handle, problem, &plan->plan, buffers, workspace);
}
