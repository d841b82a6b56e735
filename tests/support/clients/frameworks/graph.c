#include "graph.h"

#include <string.h>

/* After a failure nothing more is made. */
struct maker {
    struct graph *graph;
    cudnnStatus_t status;
};

/* Keeps a descriptor that was made with that status, also an unfinished one. */
static cudnnBackendDescriptor_t keep(struct maker *m, cudnnStatus_t status,
                                     cudnnBackendDescriptor_t desc)
{
    m->status = status;
    if (desc != NULL)
        m->graph->part[m->graph->count++] = desc;
    return desc;
}

static cudnnBackendDescriptor_t make(struct maker *m, cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t desc = NULL;
    if (m->status != CUDNN_STATUS_SUCCESS)
        return NULL;
    cudnnStatus_t status = cudnnBackendCreateDescriptor(type, &desc);
    return keep(m, status, desc);
}

static void set(struct maker *m, cudnnBackendDescriptor_t desc, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, const void *value)
{
    if (m->status == CUDNN_STATUS_SUCCESS)
        m->status = backend_set(desc, name, type, value);
}

static void set_desc(struct maker *m, cudnnBackendDescriptor_t desc,
                     cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value)
{
    set(m, desc, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, &value);
}

static void finalize(struct maker *m, cudnnBackendDescriptor_t desc)
{
    if (m->status == CUDNN_STATUS_SUCCESS)
        m->status = cudnnBackendFinalize(desc);
}

/* Unique ids are letters, as in PyTorch and XLA; those of virtual tensors are capitals. */
static cudnnBackendDescriptor_t tensor(struct maker *m, const struct tensor *t, int64_t id,
                                       bool is_virtual)
{
    struct tensor described = *t;
    cudnnBackendDescriptor_t desc = NULL;
    if (m->status != CUDNN_STATUS_SUCCESS)
        return NULL;
    if (is_virtual)
        described.type = CUDNN_DATA_FLOAT;
    cudnnStatus_t status =
        backend_tensor(&described, id, is_virtual ? BACKEND_VIRTUAL : BACKEND_MEMORY, &desc);
    return keep(m, status, desc);
}

static cudnnBackendDescriptor_t convolve(struct maker *m, const struct layer *layer,
                                         const struct wish *wish,
                                         const cudnnBackendDescriptor_t operand[ROLES])
{
    static const enum conv_direction directions[DIRECTIONS] = {CONV_FORWARD, CONV_DATA,
                                                               CONV_FILTER};
    struct conv_problem problem = {.direction = directions[wish->direction],
                                   .spatial = 2,
                                   .dilation = {1, 1},
                                   .alpha = wish->alpha,
                                   .beta = wish->beta};
    cudnnBackendDescriptor_t part[] = {operand[ROLE_X], operand[ROLE_W], operand[ROLE_Y], NULL};
    cudnnBackendDescriptor_t desc = NULL;
    memcpy(problem.pre, layer->pre, sizeof layer->pre);
    memcpy(problem.post, layer->post, sizeof layer->post);
    memcpy(problem.stride, layer->stride, sizeof layer->stride);
    if (m->status != CUDNN_STATUS_SUCCESS)
        return NULL;
    cudnnStatus_t status = backend_convolution(&problem, &part[3]);
    keep(m, status, part[3]);
    if (status == CUDNN_STATUS_SUCCESS)
        status = backend_operation(&problem, part, &desc);
    return keep(m, status, desc);
}

/* y = op(x, factor * b); b is NULL for the rectifier. */
static cudnnBackendDescriptor_t pointwise(struct maker *m, cudnnPointwiseMode_t mode,
                                          cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t b,
                                          const float *factor, cudnnBackendDescriptor_t y)
{
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t op = make(m, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(m, op, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, &mode);
    set(m, op, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, &compute);
    finalize(m, op);
    cudnnBackendDescriptor_t desc = make(m, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set_desc(m, desc, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, op);
    set_desc(m, desc, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b != NULL)
        set_desc(m, desc, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    if (factor != NULL)
        set(m, desc, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, factor);
    set_desc(m, desc, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    finalize(m, desc);
    return desc;
}

/* The operations in their order; the last one writes y. */
static int operations(struct maker *m, const struct operands *operands, const struct wish *wish,
                      cudnnBackendDescriptor_t *op)
{
    const struct tensor *t = operands->tensor;
    const bool more = wish->z_factor != NULL || wish->biased || wish->relu;
    const float one = 1.0F;
    cudnnBackendDescriptor_t operand[] = {tensor(m, &t[ROLE_X], 'x', false),
                                          tensor(m, &t[ROLE_W], 'w', false),
                                          tensor(m, &t[ROLE_Y], more ? 'C' : 'y', more)};
    cudnnBackendDescriptor_t y = more ? tensor(m, &t[ROLE_Y], 'y', false) : operand[ROLE_Y];
    cudnnBackendDescriptor_t from = operand[ROLE_Y], to;
    int count = 0;
    op[count++] = convolve(m, &operands->layer, wish, operand);
    if (wish->z_factor != NULL) {
        to = wish->biased || wish->relu ? tensor(m, &t[ROLE_Y], 'A', true) : y;
        op[count++] = pointwise(m, CUDNN_POINTWISE_ADD, from, tensor(m, &t[ROLE_Y], 'z', false),
                                wish->z_factor, to);
        from = to;
    }
    if (wish->biased) {
        to = wish->relu ? tensor(m, &t[ROLE_Y], 'B', true) : y;
        op[count++] = pointwise(m, CUDNN_POINTWISE_ADD, from,
                                tensor(m, &operands->bias_tensor, 'b', false), &one, to);
        from = to;
    }
    if (wish->relu)
        op[count++] = pointwise(m, CUDNN_POINTWISE_RELU_FWD, from, NULL, NULL, y);
    return count;
}

cudnnStatus_t graph_open(cudnnHandle_t handle, const struct operands *operands,
                         const struct wish *wish, struct graph *graph)
{
    struct maker m = {graph, CUDNN_STATUS_SUCCESS};
    cudnnBackendDescriptor_t op[4];
    const int count = operations(&m, operands, wish, op);
    cudnnBackendDescriptor_t made = NULL;
    if (m.status == CUDNN_STATUS_SUCCESS)
        m.status = backend_graph(handle, op, count, &made);
    graph->graph = keep(&m, m.status, made);
    return m.status;
}

void graph_close(struct graph *graph)
{
    while (graph->count > 0)
        cudnnBackendDestroyDescriptor(graph->part[--graph->count]);
    graph->graph = NULL;
}

/* --- engine configs --- */

static cudnnStatus_t read_configs(cudnnBackendDescriptor_t heuristics, struct configs *configs)
{
    int64_t offered = 0, read = 0;
    cudnnBackendDescriptor_t *config = configs->config + configs->count;
    BACKEND_DO(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                        CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &offered, NULL));
    if (offered > GRAPH_CONFIGS - configs->count)
        offered = GRAPH_CONFIGS - configs->count;
    for (int64_t i = 0; i < offered; i++) {
        BACKEND_DO(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config[i]));
        configs->count++;
    }
    if (offered > 0)
        BACKEND_DO(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                            CUDNN_TYPE_BACKEND_DESCRIPTOR, offered, &read, config));
    for (; read < offered; offered--)
        cudnnBackendDestroyDescriptor(configs->config[--configs->count]);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t configs_ask(const struct graph *graph, cudnnBackendHeurMode_t mode,
                          struct configs *configs)
{
    cudnnBackendDescriptor_t heuristics;
    BACKEND_DO(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &heuristics));
    cudnnStatus_t status =
        cudnnBackendSetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph->graph);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendSetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE,
                                          CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendFinalize(heuristics);
    if (status == CUDNN_STATUS_SUCCESS)
        status = read_configs(heuristics, configs);
    cudnnBackendDestroyDescriptor(heuristics);
    return status;
}

void configs_close(struct configs *configs)
{
    while (configs->count > 0)
        cudnnBackendDestroyDescriptor(configs->config[--configs->count]);
}

cudnnStatus_t config_bears(cudnnBackendDescriptor_t config, cudnnBackendNumericalNote_t note,
                           bool *bears_p)
{
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t count = 0;
    cudnnBackendDescriptor_t engine;
    BACKEND_DO(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine));
    cudnnStatus_t status = cudnnBackendGetAttribute(
        config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                          CUDNN_TYPE_NUMERICAL_NOTE,
                                          CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes);
    cudnnBackendDestroyDescriptor(engine);
    *bears_p = false;
    for (int64_t i = 0; i < count && status == CUDNN_STATUS_SUCCESS; i++)
        *bears_p = *bears_p || notes[i] == note;
    return status;
}

cudnnStatus_t config_size(cudnnBackendDescriptor_t config, int64_t *bytes_p)
{
    int64_t count = 0;
    return cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                                    1, &count, bytes_p);
}

/* --- plans --- */

static cudnnStatus_t build(cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t config,
                           cudnnHandle_t handle)
{
    BACKEND_DO(cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config));
    if (handle != NULL)
        BACKEND_DO(cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE,
                                            CUDNN_TYPE_HANDLE, 1, &handle));
    return cudnnBackendFinalize(plan);
}

cudnnStatus_t plan_open(cudnnBackendDescriptor_t config, cudnnHandle_t handle,
                        cudnnBackendDescriptor_t *plan_p)
{
    cudnnBackendDescriptor_t plan;
    BACKEND_DO(cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan));
    cudnnStatus_t status = build(plan, config, handle);
    if (status == CUDNN_STATUS_SUCCESS)
        *plan_p = plan;
    else
        cudnnBackendDestroyDescriptor(plan);
    return status;
}

void plan_close(cudnnBackendDescriptor_t plan)
{
    if (plan != NULL)
        cudnnBackendDestroyDescriptor(plan);
}

cudnnStatus_t plan_size(cudnnBackendDescriptor_t plan, int64_t *bytes_p)
{
    return cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                    CUDNN_TYPE_INT64, 1, NULL, bytes_p);
}

cudnnStatus_t pack_open(const struct operands *operands, const struct wish *wish, void *workspace,
                        cudnnBackendDescriptor_t *pack_p)
{
    int64_t id[ROLES + 2] = {'x', 'w', 'y'}, count = ROLES;
    void *pointer[ROLES + 2];
    cudnnBackendDescriptor_t pack = NULL;
    memcpy(pointer, operands->device, sizeof operands->device);
    if (wish->z_factor != NULL) {
        id[count] = 'z';
        pointer[count++] = operands->device[ROLE_Y];
    }
    if (wish->biased) {
        id[count] = 'b';
        pointer[count++] = operands->bias;
    }
    cudnnStatus_t status = backend_pack(count, id, pointer, workspace, &pack);
    if (status == CUDNN_STATUS_SUCCESS)
        *pack_p = pack;
    else
        backend_destroy(pack);
    return status;
}

cudnnStatus_t plan_run(const struct session *session, cudnnBackendDescriptor_t plan,
                       const struct operands *operands, const struct wish *wish, void *workspace)
{
    cudnnBackendDescriptor_t pack;
    BACKEND_DO(pack_open(operands, wish, workspace, &pack));
    cudnnStatus_t status = cudnnBackendExecute(session->handle, plan, pack);
    cudnnBackendDestroyDescriptor(pack);
    return status;
}

struct formula wish_formula(const struct wish *wish)
{
    struct formula formula = {wish->direction, wish->alpha, wish->beta, wish->biased, wish->relu};
    if (wish->z_factor != NULL)
        formula.beta = *wish->z_factor;
    return formula;
}
