#include "graph.h"

#include <string.h>

#define DO(call)                                                                                   \
    do {                                                                                           \
        cudnnStatus_t do_status = (call);                                                          \
        if (do_status != CUDNN_STATUS_SUCCESS)                                                     \
            return do_status;                                                                      \
    } while (0)

/* After a failure nothing more is made. */
struct maker {
    struct graph *graph;
    cudnnStatus_t status;
};

static cudnnBackendDescriptor_t make(struct maker *m, cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t desc = NULL;
    if (m->status == CUDNN_STATUS_SUCCESS)
        m->status = cudnnBackendCreateDescriptor(type, &desc);
    if (m->status == CUDNN_STATUS_SUCCESS)
        m->graph->part[m->graph->count++] = desc;
    return desc;
}

static void set(struct maker *m, cudnnBackendDescriptor_t desc, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    if (m->status == CUDNN_STATUS_SUCCESS)
        m->status = cudnnBackendSetAttribute(desc, name, type, count, values);
}

static void set_desc(struct maker *m, cudnnBackendDescriptor_t desc,
                     cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value)
{
    set(m, desc, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
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
    cudnnDataType_t type = is_virtual ? CUDNN_DATA_FLOAT : t->type;
    int64_t alignment = 16;
    cudnnBackendDescriptor_t desc = make(m, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set(m, desc, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(m, desc, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, t->dims, t->size);
    set(m, desc, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, t->dims, t->stride);
    set(m, desc, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
    set(m, desc, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    if (is_virtual)
        set(m, desc, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
    finalize(m, desc);
    return desc;
}

static cudnnBackendDescriptor_t convolution(struct maker *m, const struct layer *layer)
{
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    const int64_t spatial = 2, dilation[] = {1, 1};
    cudnnBackendDescriptor_t desc = make(m, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    set(m, desc, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    set(m, desc, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    set(m, desc, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &spatial);
    set(m, desc, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, layer->pre);
    set(m, desc, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, layer->post);
    set(m, desc, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dilation);
    set(m, desc, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, layer->stride);
    finalize(m, desc);
    return desc;
}

static cudnnBackendDescriptor_t convolve(struct maker *m, const struct layer *layer,
                                         const struct wish *wish,
                                         const cudnnBackendDescriptor_t operand[ROLES])
{
    static const struct {
        cudnnBackendDescriptorType_t type;
        cudnnBackendAttributeName_t role[ROLES], conv, alpha, beta;
    } names[DIRECTIONS] = {
        [FORWARD] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                     {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
        [BACKWARD_DATA] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                           {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
        [BACKWARD_FILTER] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                             {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};
    const enum direction d = wish->direction;
    cudnnBackendDescriptor_t conv = convolution(m, layer);
    cudnnBackendDescriptor_t desc = make(m, names[d].type);
    for (int role = 0; role < ROLES; role++)
        set_desc(m, desc, names[d].role[role], operand[role]);
    set_desc(m, desc, names[d].conv, conv);
    set(m, desc, names[d].alpha, CUDNN_TYPE_FLOAT, 1, &wish->alpha);
    set(m, desc, names[d].beta, CUDNN_TYPE_FLOAT, 1, &wish->beta);
    finalize(m, desc);
    return desc;
}

/* y = op(x, factor * b); b is NULL for the rectifier. */
static cudnnBackendDescriptor_t pointwise(struct maker *m, cudnnPointwiseMode_t mode,
                                          cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t b,
                                          const float *factor, cudnnBackendDescriptor_t y)
{
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t op = make(m, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(m, op, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    set(m, op, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    finalize(m, op);
    cudnnBackendDescriptor_t desc = make(m, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set_desc(m, desc, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, op);
    set_desc(m, desc, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b != NULL)
        set_desc(m, desc, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    if (factor != NULL)
        set(m, desc, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, 1, factor);
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
    graph->graph = make(&m, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(&m, graph->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, op);
    set(&m, graph->graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    finalize(&m, graph->graph);
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
    DO(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &offered, NULL));
    if (offered > GRAPH_CONFIGS - configs->count)
        offered = GRAPH_CONFIGS - configs->count;
    for (int64_t i = 0; i < offered; i++) {
        DO(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config[i]));
        configs->count++;
    }
    if (offered > 0)
        DO(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, offered, &read, config));
    for (; read < offered; offered--)
        cudnnBackendDestroyDescriptor(configs->config[--configs->count]);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t configs_ask(const struct graph *graph, cudnnBackendHeurMode_t mode,
                          struct configs *configs)
{
    cudnnBackendDescriptor_t heuristics;
    DO(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &heuristics));
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
    DO(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine));
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

/* --- algorithms --- */

static cudnnStatus_t read_engine(cudnnBackendDescriptor_t config, int64_t *index_p)
{
    int64_t count = 0;
    cudnnBackendDescriptor_t engine;
    DO(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine));
    cudnnStatus_t status = cudnnBackendGetAttribute(
        config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64,
                                          1, &count, index_p);
    cudnnBackendDestroyDescriptor(engine);
    return status;
}

static cudnnStatus_t read_knob(cudnnBackendDescriptor_t knob, int64_t *type_p, int64_t *value_p)
{
    int64_t count = 0;
    cudnnBackendKnobType_t type;
    DO(cudnnBackendGetAttribute(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1,
                                &count, &type));
    *type_p = (int64_t)type;
    return cudnnBackendGetAttribute(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1,
                                    &count, value_p);
}

cudnnStatus_t algorithm_of(cudnnBackendDescriptor_t config, struct algorithm *algorithm)
{
    cudnnBackendDescriptor_t knob[GRAPH_KNOBS];
    int made = 0;
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    algorithm->knobs = 0;
    while (made < GRAPH_KNOBS && status == CUDNN_STATUS_SUCCESS)
        if ((status = cudnnBackendCreateDescriptor(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
                                                   &knob[made])) == CUDNN_STATUS_SUCCESS)
            made++;
    if (status == CUDNN_STATUS_SUCCESS)
        status = read_engine(config, &algorithm->engine);
    if (status == CUDNN_STATUS_SUCCESS)
        status =
            cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                     CUDNN_TYPE_BACKEND_DESCRIPTOR, made, &algorithm->knobs, knob);
    for (int64_t i = 0; i < algorithm->knobs && status == CUDNN_STATUS_SUCCESS; i++)
        status = read_knob(knob[i], &algorithm->type[i], &algorithm->value[i]);
    while (made > 0)
        cudnnBackendDestroyDescriptor(knob[--made]);
    return status;
}

static cudnnBackendDescriptor_t make_knob(struct maker *m, int64_t type, int64_t value)
{
    cudnnBackendKnobType_t knob_type = (cudnnBackendKnobType_t)type;
    cudnnBackendDescriptor_t desc = make(m, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    set(m, desc, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &knob_type);
    set(m, desc, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &value);
    finalize(m, desc);
    return desc;
}

static cudnnStatus_t make_config(cudnnBackendDescriptor_t config, cudnnBackendDescriptor_t engine,
                                 const cudnnBackendDescriptor_t *knob, int64_t knobs)
{
    DO(cudnnBackendSetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                1, &engine));
    if (knobs > 0)
        DO(cudnnBackendSetAttribute(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, knobs, knob));
    return cudnnBackendFinalize(config);
}

cudnnStatus_t algorithm_config(const struct algorithm *algorithm, const struct graph *graph,
                               cudnnBackendDescriptor_t *config_p)
{
    struct graph parts = {0};
    struct maker m = {&parts, CUDNN_STATUS_SUCCESS};
    cudnnBackendDescriptor_t knob[GRAPH_KNOBS], config = NULL;
    cudnnBackendDescriptor_t engine = make(&m, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    set_desc(&m, engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph->graph);
    set(&m, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &algorithm->engine);
    finalize(&m, engine);
    for (int64_t i = 0; i < algorithm->knobs; i++)
        knob[i] = make_knob(&m, algorithm->type[i], algorithm->value[i]);
    if (m.status == CUDNN_STATUS_SUCCESS)
        m.status = cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config);
    if (m.status == CUDNN_STATUS_SUCCESS)
        m.status = make_config(config, engine, knob, algorithm->knobs);
    graph_close(&parts);
    if (m.status == CUDNN_STATUS_SUCCESS)
        *config_p = config;
    else if (config != NULL)
        cudnnBackendDestroyDescriptor(config);
    return m.status;
}

/* --- plans --- */

static cudnnStatus_t build(cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t config,
                           cudnnHandle_t handle)
{
    DO(cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config));
    if (handle != NULL)
        DO(cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                                    &handle));
    return cudnnBackendFinalize(plan);
}

cudnnStatus_t plan_open(cudnnBackendDescriptor_t config, cudnnHandle_t handle,
                        cudnnBackendDescriptor_t *plan_p)
{
    cudnnBackendDescriptor_t plan;
    DO(cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan));
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

static cudnnStatus_t fill(cudnnBackendDescriptor_t pack, const struct operands *operands,
                          const struct wish *wish, void *workspace)
{
    int64_t id[ROLES + 2] = {'x', 'w', 'y'}, count = ROLES;
    void *pointer[ROLES + 2];
    memcpy(pointer, operands->device, sizeof operands->device);
    if (wish->z_factor != NULL) {
        id[count] = 'z';
        pointer[count++] = operands->device[ROLE_Y];
    }
    if (wish->biased) {
        id[count] = 'b';
        pointer[count++] = operands->bias;
    }
    DO(cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                                count, pointer));
    DO(cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count,
                                id));
    DO(cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                                &workspace));
    return cudnnBackendFinalize(pack);
}

cudnnStatus_t pack_open(const struct operands *operands, const struct wish *wish, void *workspace,
                        cudnnBackendDescriptor_t *pack_p)
{
    cudnnBackendDescriptor_t pack;
    DO(cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack));
    cudnnStatus_t status = fill(pack, operands, wish, workspace);
    if (status == CUDNN_STATUS_SUCCESS)
        *pack_p = pack;
    else
        cudnnBackendDestroyDescriptor(pack);
    return status;
}

cudnnStatus_t plan_run(const struct session *session, cudnnBackendDescriptor_t plan,
                       const struct operands *operands, const struct wish *wish, void *workspace)
{
    cudnnBackendDescriptor_t pack;
    DO(pack_open(operands, wish, workspace, &pack));
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
