#include "plan_query.h"

#include <stdlib.h>
#include <string.h>

typedef cudnnBackendDescriptor_t descriptor;

enum part {
    PART_X,
    PART_W,
    PART_Y,
    PART_CONV,
    PART_OPERATION,
    PART_GRAPH,
    PART_HEURISTICS,
    PARTS
};

/* The queried handle or profile, and all descriptors made for the query. */
struct query {
    cudnnHandle_t handle;
    descriptor profile;
    descriptor part[PARTS];
};

/* An operation's names for the tensors that the directions share: x, w and y or their gradients. */
struct operation {
    const char *name;
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t operand[PART_CONV + 1];
    cudnnBackendAttributeName_t alpha, beta;
};

static const struct operation OPERATIONS[DIRECTIONS] = {
    {"fwd",
     CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC},
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {"dgrad",
     CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC},
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {"wgrad",
     CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC},
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

const char *direction_name(enum direction direction)
{
    return OPERATIONS[direction].name;
}

bool direction_parse(const char *name, enum direction *direction)
{
    for (int i = 0; i < DIRECTIONS; i++) {
        if (strcmp(name, OPERATIONS[i].name) == 0) {
            *direction = (enum direction)i;
            return true;
        }
    }
    return false;
}

static cudnnStatus_t set(descriptor desc, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    return cudnnBackendSetAttribute(desc, name, type, count, values);
}

static cudnnStatus_t set_integer(descriptor desc, cudnnBackendAttributeName_t name, int64_t value)
{
    return set(desc, name, CUDNN_TYPE_INT64, 1, &value);
}

static cudnnStatus_t set_descriptor(descriptor desc, cudnnBackendAttributeName_t name,
                                    descriptor value)
{
    return set(desc, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

/* Who plans: the handle or the profile, each by its own attribute of the descriptor. */
static cudnnStatus_t set_device(const struct query *query, descriptor desc,
                                cudnnBackendAttributeName_t by_handle,
                                cudnnBackendAttributeName_t by_profile)
{
    if (query->profile != NULL)
        return set_descriptor(desc, by_profile, query->profile);
    return set(desc, by_handle, CUDNN_TYPE_HANDLE, 1, &query->handle);
}

static enum outcome make_tensor(const struct tensor *tensor, int64_t id, descriptor *desc)
{
    ASK_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, desc));
    ASK_CUDNN(set(*desc, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &tensor->type));
    ASK_CUDNN(
        set(*desc, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, tensor->dims, tensor->size));
    ASK_CUDNN(
        set(*desc, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, tensor->dims, tensor->stride));
    ASK_CUDNN(set_integer(*desc, CUDNN_ATTR_TENSOR_UNIQUE_ID, id));
    ASK_CUDNN(set_integer(*desc, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, tensor_alignment(tensor)));
    ASK_CUDNN(cudnnBackendFinalize(*desc));
    return OUTCOME_OK;
}

static enum outcome make_convolution(const struct conv_problem *problem, descriptor *desc)
{
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    const int64_t axes = problem->spatial;
    ASK_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, desc));
    ASK_CUDNN(set(*desc, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute));
    ASK_CUDNN(set(*desc, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode));
    ASK_CUDNN(set_integer(*desc, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, axes));
    ASK_CUDNN(
        set(*desc, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, axes, problem->pre));
    ASK_CUDNN(
        set(*desc, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, axes, problem->post));
    ASK_CUDNN(
        set(*desc, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, axes, problem->dilation));
    ASK_CUDNN(
        set(*desc, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, axes, problem->stride));
    ASK_CUDNN(cudnnBackendFinalize(*desc));
    return OUTCOME_OK;
}

static enum outcome make_operation(const struct conv_problem *problem,
                                   const struct operation *operation, descriptor *part)
{
    descriptor *desc = &part[PART_OPERATION];
    ASK_CUDNN(cudnnBackendCreateDescriptor(operation->type, desc));
    for (int i = PART_X; i <= PART_CONV; i++)
        ASK_CUDNN(set_descriptor(*desc, operation->operand[i], part[i]));
    ASK_CUDNN(set(*desc, operation->alpha, CUDNN_TYPE_FLOAT, 1, &problem->alpha));
    ASK_CUDNN(set(*desc, operation->beta, CUDNN_TYPE_FLOAT, 1, &problem->beta));
    ASK_CUDNN(cudnnBackendFinalize(*desc));
    return OUTCOME_OK;
}

static enum outcome make_graph(struct query *query)
{
    descriptor *desc = &query->part[PART_GRAPH];
    ASK_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, desc));
    ASK_CUDNN(set_descriptor(*desc, CUDNN_ATTR_OPERATIONGRAPH_OPS, query->part[PART_OPERATION]));
    if (query->profile == NULL)
        ASK_CUDNN(
            set(*desc, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &query->handle));
    ASK_CUDNN(cudnnBackendFinalize(*desc));
    return OUTCOME_OK;
}

static enum outcome make_heuristics(struct query *query, int64_t *configs)
{
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    descriptor *desc = &query->part[PART_HEURISTICS];
    ASK_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, desc));
    ASK_CUDNN(
        set_descriptor(*desc, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, query->part[PART_GRAPH]));
    ASK_CUDNN(set(*desc, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode));
    if (query->profile != NULL)
        ASK_CUDNN(set_descriptor(*desc, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, query->profile));
    ASK_CUDNN(cudnnBackendFinalize(*desc));
    ASK_CUDNN(cudnnBackendGetAttribute(*desc, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, configs, NULL));
    return OUTCOME_OK;
}

static enum outcome build(struct query *query, const struct conv_problem *problem,
                          enum direction direction, int64_t *configs)
{
    enum outcome outcome = make_tensor(&problem->x, 'x', &query->part[PART_X]);
    if (outcome == OUTCOME_OK)
        outcome = make_tensor(&problem->w, 'w', &query->part[PART_W]);
    if (outcome == OUTCOME_OK)
        outcome = make_tensor(&problem->y, 'y', &query->part[PART_Y]);
    if (outcome == OUTCOME_OK)
        outcome = make_convolution(problem, &query->part[PART_CONV]);
    if (outcome == OUTCOME_OK)
        outcome = make_operation(problem, &OPERATIONS[direction], query->part);
    if (outcome == OUTCOME_OK)
        outcome = make_graph(query);
    if (outcome == OUTCOME_OK)
        outcome = make_heuristics(query, configs);
    return outcome;
}

static cudnnStatus_t read_engine(descriptor config, int64_t *index)
{
    descriptor engine = NULL;
    int64_t count = 0;
    cudnnStatus_t status = cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    status = cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                      CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64,
                                          1, &count, index);
    cudnnBackendDestroyDescriptor(engine);
    return status;
}

/* False if the config does not become a plan: its turn goes to the next. */
static bool try_config(const struct query *query, descriptor config, struct plan_answer *answer)
{
    int64_t engine = -1;
    int64_t workspace = -1;
    int64_t count = 0;
    descriptor plan = NULL;
    if (cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan) !=
        CUDNN_STATUS_SUCCESS)
        return false;
    bool planned =
        set_descriptor(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config) ==
            CUDNN_STATUS_SUCCESS &&
        set_device(query, plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE,
                   CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP) == CUDNN_STATUS_SUCCESS &&
        cudnnBackendFinalize(plan) == CUDNN_STATUS_SUCCESS &&
        cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                                 1, &count, &workspace) == CUDNN_STATUS_SUCCESS &&
        read_engine(config, &engine) == CUDNN_STATUS_SUCCESS;
    cudnnBackendDestroyDescriptor(plan);
    if (planned) {
        answer->engine = engine;
        answer->workspace = workspace;
    }
    return planned;
}

static enum outcome try_configs(const struct query *query, int64_t configs,
                                struct plan_answer *answer)
{
    enum outcome outcome = OUTCOME_ERROR;
    int64_t count = 0;
    descriptor *config = calloc((size_t)configs + 1, sizeof *config);
    if (config == NULL)
        return OUTCOME_ERROR;
    for (int64_t i = 0; i < configs; i++)
        TRY_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config[i]),
                  destroy_configs);
    if (configs > 0)
        TRY_CUDNN(cudnnBackendGetAttribute(query->part[PART_HEURISTICS],
                                           CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                           CUDNN_TYPE_BACKEND_DESCRIPTOR, configs, &count, config),
                  destroy_configs);
    answer->configs = count;
    outcome = OUTCOME_REFUSED;
    for (int64_t i = 0; i < count && outcome != OUTCOME_OK; i++)
        outcome = try_config(query, config[i], answer) ? OUTCOME_OK : OUTCOME_REFUSED;
destroy_configs:
    for (int64_t i = 0; i < configs; i++)
        if (config[i] != NULL)
            cudnnBackendDestroyDescriptor(config[i]);
    free(config);
    return outcome;
}

bool plan_ask(cudnnHandle_t handle, cudnnBackendDescriptor_t profile,
              const struct conv_problem *problem, enum direction direction,
              struct plan_answer *answer)
{
    struct query query = {.handle = handle, .profile = profile};
    struct plan_answer found = {.engine = -1, .workspace = -1};
    int64_t configs = 0;
    enum outcome outcome = build(&query, problem, direction, &configs);
    if (outcome == OUTCOME_OK)
        outcome = try_configs(&query, configs, &found);
    for (int i = PARTS - 1; i >= 0; i--)
        if (query.part[i] != NULL)
            cudnnBackendDestroyDescriptor(query.part[i]);
    if (outcome == OUTCOME_ERROR)
        return false;
    *answer = found;
    return true;
}

bool plan_equal(const struct plan_answer *a, const struct plan_answer *b)
{
    return a->engine == b->engine && a->workspace == b->workspace;
}
