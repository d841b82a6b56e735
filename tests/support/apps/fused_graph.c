#include "fused.h"

#include <math.h>

struct graph {
    cudnnBackendDescriptor_t tensor[FUSED_MAX_TENSORS];
    cudnnBackendDescriptor_t conv;
    cudnnBackendDescriptor_t pointwise[FUSED_MAX_STEPS];
    cudnnBackendDescriptor_t operation[FUSED_MAX_STEPS + 1];
    cudnnBackendDescriptor_t graph;
};

static enum outcome set_activation(const struct fused_step *step, cudnnBackendDescriptor_t desc)
{
    const struct {
        cudnnPointwiseMode_t mode;
        cudnnBackendAttributeName_t name;
        float value, neutral;
    } numbers[] = {
        {CUDNN_POINTWISE_RELU_FWD, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, step->lower_clip, 0.0F},
        {CUDNN_POINTWISE_RELU_FWD, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, step->upper_clip,
         INFINITY},
        {CUDNN_POINTWISE_RELU_FWD, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, step->lower_slope,
         0.0F},
        {CUDNN_POINTWISE_ELU_FWD, CUDNN_ATTR_POINTWISE_ELU_ALPHA, step->elu_alpha, 1.0F},
        {CUDNN_POINTWISE_SWISH_FWD, CUDNN_ATTR_POINTWISE_SWISH_BETA, step->swish_beta, 1.0F}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (step->mode == numbers[i].mode && numbers[i].value != numbers[i].neutral)
            ASK_CUDNN(backend_set(desc, numbers[i].name, CUDNN_TYPE_FLOAT, &numbers[i].value));
    return OUTCOME_OK;
}

static enum outcome make_pointwise(const struct fused_step *step, cudnnBackendDescriptor_t *desc)
{
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    ASK_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, desc));
    ASK_CUDNN(
        backend_set(*desc, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, &step->mode));
    ASK_CUDNN(backend_set(*desc, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, &compute));
    enum outcome outcome = set_activation(step, *desc);
    if (outcome != OUTCOME_OK)
        return outcome;
    ASK_CUDNN(cudnnBackendFinalize(*desc));
    return OUTCOME_OK;
}

static enum outcome make_step(const struct fused_step *step, const struct graph *graph,
                              cudnnBackendDescriptor_t pointwise, cudnnBackendDescriptor_t *desc)
{
    ASK_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, desc));
    ASK_CUDNN(backend_set_desc(*desc, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise));
    ASK_CUDNN(
        backend_set_desc(*desc, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, graph->tensor[step->x]));
    if (step->b >= 0)
        ASK_CUDNN(
            backend_set_desc(*desc, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, graph->tensor[step->b]));
    ASK_CUDNN(
        backend_set_desc(*desc, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, graph->tensor[step->y]));
    ASK_CUDNN(
        backend_set(*desc, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, &step->alpha1));
    if (step->b >= 0)
        ASK_CUDNN(backend_set(*desc, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT,
                              &step->alpha2));
    ASK_CUDNN(cudnnBackendFinalize(*desc));
    return OUTCOME_OK;
}

static enum outcome make_convolution(const struct fused_problem *problem, struct graph *graph,
                                     cudnnBackendDescriptor_t *desc)
{
    enum outcome outcome = BACKEND_ASK(backend_convolution(&problem->conv, &graph->conv));
    if (outcome != OUTCOME_OK)
        return outcome;
    const cudnnBackendDescriptor_t parts[] = {graph->tensor[problem->x], graph->tensor[problem->w],
                                              graph->tensor[problem->y], graph->conv};
    return BACKEND_ASK(backend_operation(&problem->conv, parts, desc));
}

/* Unique ids count the tensors from 1. */
static enum outcome build(cudnnHandle_t handle, const struct fused_problem *problem,
                          struct graph *graph)
{
    enum outcome outcome = OUTCOME_OK;
    int operations = 0;
    for (int i = 0; i < problem->tensors && outcome == OUTCOME_OK; i++)
        outcome = BACKEND_ASK(backend_tensor(&problem->tensor[i].tensor, i + 1,
                                             problem->tensor[i].storage, &graph->tensor[i]));
    for (int i = 0; i <= problem->steps && outcome == OUTCOME_OK; i++) {
        if (i == problem->before)
            outcome = make_convolution(problem, graph, &graph->operation[operations++]);
        if (i == problem->steps || outcome != OUTCOME_OK)
            break;
        outcome = make_pointwise(&problem->step[i], &graph->pointwise[i]);
        if (outcome == OUTCOME_OK)
            outcome = make_step(&problem->step[i], graph, graph->pointwise[i],
                                &graph->operation[operations++]);
    }
    if (outcome == OUTCOME_OK)
        outcome = BACKEND_ASK(backend_graph(handle, graph->operation, operations, &graph->graph));
    return outcome;
}

static void release(struct graph *graph)
{
    backend_destroy(graph->graph);
    for (int i = FUSED_MAX_STEPS; i >= 0; i--)
        backend_destroy(graph->operation[i]);
    for (int i = FUSED_MAX_STEPS - 1; i >= 0; i--)
        backend_destroy(graph->pointwise[i]);
    backend_destroy(graph->conv);
    for (int i = FUSED_MAX_TENSORS - 1; i >= 0; i--)
        backend_destroy(graph->tensor[i]);
}

enum outcome fused_graph_launch(cudnnHandle_t handle, const struct fused_problem *problem,
                                const struct conv_plan *plan, void *const *buffers, void *workspace)
{
    int64_t ids[FUSED_MAX_TENSORS];
    void *pointers[FUSED_MAX_TENSORS];
    float values[FUSED_MAX_TENSORS]; /* room for one number of any type each */
    int64_t count = 0;
    for (int i = 0; i < problem->tensors; i++) {
        const struct fused_tensor *tensor = &problem->tensor[i];
        if (tensor->storage == BACKEND_VIRTUAL)
            continue;
        dtype_store(tensor->tensor.type, &values[i], 0, tensor->value);
        ids[count] = i + 1;
        pointers[count++] = tensor->storage == BACKEND_BY_VALUE
                                ? (void *)&values[i]
                                : tensor_first(&tensor->tensor, buffers[tensor->shares]);
    }
    return backend_run(handle, plan->plan, count, ids, pointers, workspace);
}

enum outcome fused_graph_plan(cudnnHandle_t handle, const struct fused_problem *problem,
                              const struct conv_settings *settings, struct conv_plan *plan)
{
    struct graph graph = {.graph = NULL};
    struct conv_plan made = {.api = CONV_GRAPH};
    enum outcome outcome = build(handle, problem, &graph);
    if (outcome == OUTCOME_OK)
        outcome = backend_plan(handle, graph.graph, settings, 0, &made);
    release(&graph);
    if (outcome == OUTCOME_OK)
        *plan = made;
    return outcome;
}

/* Allocates the workspace for this call. */
static enum outcome execute(cudnnHandle_t handle, const struct fused_problem *problem,
                            const struct conv_plan *plan, void *const *buffers)
{
    void *workspace = NULL;
    enum outcome outcome = OUTCOME_ERROR;
    if (plan->workspace > 0)
        TRY_CUDA(cudaMalloc(&workspace, (size_t)plan->workspace), done);
    outcome = fused_graph_launch(handle, problem, plan, buffers, workspace);
    if (workspace != NULL && cudaFree(workspace) != cudaSuccess)
        outcome = OUTCOME_ERROR;
done:
    return outcome;
}

enum outcome fused_run_graph(cudnnHandle_t handle, const struct fused_problem *problem,
                             const struct conv_settings *settings, void *const *buffers)
{
    struct graph graph = {.graph = NULL};
    struct conv_plan plan = {.api = CONV_GRAPH};
    enum outcome outcome = build(handle, problem, &graph);
    for (int first = 0; outcome == OUTCOME_OK; first = plan.choice + 1) {
        outcome = backend_plan(handle, graph.graph, settings, first, &plan);
        if (outcome != OUTCOME_OK)
            break;
        outcome = execute(handle, problem, &plan, buffers);
        backend_destroy(plan.plan);
        /* If cuDNN plans an engine and then refuses to run it, the next one is tried. */
        if (outcome != OUTCOME_REFUSED)
            break;
        outcome = OUTCOME_OK;
    }
    release(&graph);
    return outcome;
}
