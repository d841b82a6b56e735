/* A planner without cuDNN: two engines, workspaces by the rule of thumb. */
#include <stdlib.h>
#include <string.h>

#include "cudnn_rule.h"

/* Planning without cuDNN, by the rule of thumb that tensor-core engines convert tensors whose
 * channels are not innermost. There are two engines. One needs input + filter + output as workspace
 * in that case, the other needs none. */

enum {
    ENGINE_PLAIN = 0,
    ENGINE_CONVERTING = 1000
};

/* True if the attribute belongs to the descriptor type. cuDNN numbers them in ranges. */
static bool is_attribute_of(cudnnBackendDescriptorType_t type, int name)
{
    static const struct {
        cudnnBackendDescriptorType_t type;
        int first, last;
    } range[] = {
        {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, 0, 9},
        {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, 100, 106},
        {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, 200, 204},
        {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, 300, 304},
        {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, 401, 408},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 700, 705},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, 706, 711},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, 712, 717},
        {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, 750, 758},
        {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, 801, 806},
        {CUDNN_BACKEND_TENSOR_DESCRIPTOR, 900, 913},
        {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, 1000, 1012},
        {CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1300, 1309},
        {CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, CUDNN_ATTR_DEVICEPROP_DEVICE_ID,
         CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION},
    };
    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        if (range[i].type == type)
            return name >= range[i].first && name <= range[i].last;
    return false;
}

/* ---- life ---- */

static void release_node(struct rule_node *node);

static void clear_attribute(struct rule_attribute *a)
{
    if (a->type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        for (int64_t i = 0; i < a->count; i++)
            release_node(((struct rule_node **)a->values)[i]);
    free(a->values);
}

static void release_node(struct rule_node *node)
{
    if (!node || atomic_fetch_sub(&node->references, 1) > 1)
        return;
    for (int i = 0; i < node->attributes; i++)
        clear_attribute(&node->attribute[i]);
    free(node->json);
    free(node);
}

static cudnnStatus_t create_node(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out)
{
    struct rule_node *node = calloc(1, sizeof *node);
    if (!node)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    node->type = type;
    atomic_init(&node->references, 1);
    *out = node;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t destroy_node(cudnnBackendDescriptor_t descriptor)
{
    release_node(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t store_attribute(struct rule_node *node, cudnnBackendAttributeName_t name,
                                     cudnnBackendAttributeType_t type, int64_t count,
                                     const void *values)
{
    const size_t bytes = (size_t)count * rule_type_size(type);
    struct rule_attribute *a = NULL;
    for (int i = 0; i < node->attributes; i++)
        if (node->attribute[i].name == name)
            a = &node->attribute[i];
    if (!a && node->attributes == RULE_MAX_ATTRIBUTES)
        return CUDNN_STATUS_NOT_SUPPORTED;
    void *copy = malloc(bytes ? bytes : 1);
    if (!copy)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    memcpy(copy, values, bytes);
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        for (int64_t i = 0; i < count; i++)
            atomic_fetch_add(&((struct rule_node **)copy)[i]->references, 1);
    if (a)
        clear_attribute(a);
    else
        a = &node->attribute[node->attributes++];
    *a = (struct rule_attribute){name, type, count, copy};
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t set_attribute(cudnnBackendDescriptor_t descriptor,
                                   cudnnBackendAttributeName_t name,
                                   cudnnBackendAttributeType_t type, int64_t count,
                                   const void *values)
{
    struct rule_node *node = descriptor;
    if (node->finalized || !is_attribute_of(node->type, (int)name) || count < 0 || !values)
        return CUDNN_STATUS_BAD_PARAM;
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        for (int64_t i = 0; i < count; i++) {
            const struct rule_node *value = ((struct rule_node *const *)values)[i];
            if (!value || !value->finalized)
                return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
        }
    return store_attribute(node, name, type, count, values);
}

/* ---- the rule ---- */

static bool is_channels_last(const struct rule_node *tensor)
{
    const struct rule_attribute *dim = rule_find(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
    const struct rule_attribute *stride = rule_find(tensor, CUDNN_ATTR_TENSOR_STRIDES);
    return ((const int64_t *)dim->values)[1] == 1 || ((const int64_t *)stride->values)[1] == 1;
}

static int64_t count_elements(const struct rule_node *tensor)
{
    const struct rule_attribute *dim = rule_find(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
    int64_t count = 1;
    for (int64_t i = 0; i < dim->count; i++)
        count *= ((const int64_t *)dim->values)[i];
    return count;
}

static int64_t workspace_of(const struct rule_node *graph, int64_t engine)
{
    const struct rule_attribute *ops = rule_find(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    int64_t bytes = 0;
    for (int64_t i = 0; engine == ENGINE_CONVERTING && i < ops->count; i++) {
        const struct rule_node *operation = ((struct rule_node **)ops->values)[i];
        const struct rule_operation *names = rule_operation_of(operation);
        if (!names || operation->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
            continue;
        const struct rule_node *x = rule_child(operation, names->operand[SIMDEV_X].name, 0);
        const struct rule_node *y = rule_child(operation, names->operand[SIMDEV_Y].name, 0);
        if (is_channels_last(x) && is_channels_last(y))
            continue;
        const cudnnDataType_t type =
            (cudnnDataType_t)rule_integer(x, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
        for (int role = 0; role < SIMDEV_ROLES; role++)
            bytes += count_elements(rule_child(operation, names->operand[role].name, 0)) *
                     (int64_t)simdev_type_size(type);
    }
    return bytes;
}

/* ---- finalize ---- */

static bool has_all(const struct rule_node *node, int count,
                    const cudnnBackendAttributeName_t *names)
{
    for (int i = 0; i < count; i++)
        if (!rule_find(node, names[i]))
            return false;
    return true;
}

static cudnnStatus_t finalize_tensor(const struct rule_node *node)
{
    static const cudnnBackendAttributeName_t needed[] = {
        CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_ATTR_TENSOR_STRIDES,
        CUDNN_ATTR_TENSOR_UNIQUE_ID};
    if (!has_all(node, 4, needed))
        return CUDNN_STATUS_BAD_PARAM;
    const struct rule_attribute *dim = rule_find(node, CUDNN_ATTR_TENSOR_DIMENSIONS);
    const struct rule_attribute *stride = rule_find(node, CUDNN_ATTR_TENSOR_STRIDES);
    return dim->count >= 3 && dim->count <= SIMDEV_MAX_RANK && dim->count == stride->count
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_BAD_PARAM;
}

static cudnnStatus_t finalize_operation(const struct rule_node *node)
{
    const struct rule_operation *names = rule_operation_of(node);
    const bool pointwise = node->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
    bool complete = rule_child(node, names->descriptor, 0) != NULL;
    for (int role = 0; role < SIMDEV_ROLES; role++)
        complete = complete && ((pointwise && role == SIMDEV_W) ||
                                rule_child(node, names->operand[role].name, 0) != NULL);
    return complete ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

static cudnnStatus_t finalize_engine(struct rule_node *node)
{
    const struct rule_node *graph = rule_child(node, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, 0);
    const int64_t index = rule_integer(node, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1);
    if (!graph)
        return CUDNN_STATUS_BAD_PARAM;
    if (index != ENGINE_PLAIN && (index != ENGINE_CONVERTING || rule_plain_alone(graph)))
        return CUDNN_STATUS_NOT_SUPPORTED;
    node->workspace = workspace_of(graph, index);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t finalize_config(struct rule_node *node)
{
    const struct rule_node *engine = rule_child(node, CUDNN_ATTR_ENGINECFG_ENGINE, 0);
    const struct rule_attribute *knobs = rule_find(node, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
    if (!engine)
        return CUDNN_STATUS_BAD_PARAM;
    if (knobs && knobs->count > 0)
        return CUDNN_STATUS_NOT_SUPPORTED;
    node->workspace = engine->workspace;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t finalize_plan(struct rule_node *node)
{
    const struct rule_node *config = rule_child(node, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 0);
    if (!config)
        return CUDNN_STATUS_BAD_PARAM;
    const struct rule_node *engine = rule_child(config, CUDNN_ATTR_ENGINECFG_ENGINE, 0);
    const struct rule_node *graph = rule_child(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, 0);
    node->json = rule_describe_plan(graph, rule_integer(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 0));
    struct simdev_program *program = node->json ? simdev_program_parse(node->json, 0) : NULL;
    if (!program)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    const bool refused = program->refusal[0] != '\0';
    simdev_program_release(program);
    node->workspace = config->workspace;
    return refused ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t finalize_pack(const struct rule_node *node)
{
    const struct rule_attribute *pointers = rule_find(node, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    const struct rule_attribute *uids = rule_find(node, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    return pointers && uids && pointers->count == uids->count ? CUDNN_STATUS_SUCCESS
                                                              : CUDNN_STATUS_BAD_PARAM;
}

static cudnnStatus_t finalize_by_type(struct rule_node *node)
{
    switch (node->type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
        return finalize_tensor(node);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        return finalize_operation(node);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        return rule_child(node, CUDNN_ATTR_OPERATIONGRAPH_OPS, 0) ? CUDNN_STATUS_SUCCESS
                                                                  : CUDNN_STATUS_BAD_PARAM;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        return rule_child(node, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, 0) ? CUDNN_STATUS_SUCCESS
                                                                          : CUDNN_STATUS_BAD_PARAM;
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
        return finalize_engine(node);
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
        return finalize_config(node);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        return finalize_plan(node);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        return finalize_pack(node);
    default:
        return CUDNN_STATUS_SUCCESS;
    }
}

static cudnnStatus_t finalize_node(cudnnBackendDescriptor_t descriptor)
{
    struct rule_node *node = descriptor;
    if (node->finalized)
        return CUDNN_STATUS_BAD_PARAM;
    const cudnnStatus_t status = finalize_by_type(node);
    node->finalized = status == CUDNN_STATUS_SUCCESS;
    return status;
}

/* ---- get ---- */

static cudnnStatus_t copy_values(cudnnBackendAttributeType_t type, int64_t available,
                                 const void *from, int64_t requested, int64_t *count, void *values)
{
    const int64_t copied = requested < available ? requested : available;
    if (count)
        *count = available;
    if (from && values && copied > 0)
        memcpy(values, from, (size_t)copied * rule_type_size(type));
    return CUDNN_STATUS_SUCCESS;
}

/* Turns the client's empty descriptor into a copy of a finalized one. */
static void copy_node(struct rule_node *target, const struct rule_node *source)
{
    for (int i = 0; i < target->attributes; i++)
        clear_attribute(&target->attribute[i]);
    target->attributes = 0;
    for (int i = 0; i < source->attributes; i++) {
        const struct rule_attribute *a = &source->attribute[i];
        (void)store_attribute(target, a->name, a->type, a->count, a->values);
    }
    target->workspace = source->workspace;
    target->finalized = true;
}

static cudnnStatus_t fill_config(const struct rule_node *graph, int64_t index,
                                 struct rule_node *config)
{
    cudnnBackendDescriptor_t engine, made;
    cudnnStatus_t status = create_node(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    status = create_node(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &made);
    if (status != CUDNN_STATUS_SUCCESS)
        goto release_engine;
    status = set_attribute(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                           1, &graph);
    if (status == CUDNN_STATUS_SUCCESS)
        status = set_attribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
    if (status == CUDNN_STATUS_SUCCESS)
        status = finalize_node(engine);
    if (status == CUDNN_STATUS_SUCCESS)
        status = set_attribute(made, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                               &engine);
    if (status == CUDNN_STATUS_SUCCESS)
        status = finalize_node(made);
    if (status == CUDNN_STATUS_SUCCESS)
        copy_node(config, made);
    release_node(made);
release_engine:
    release_node(engine);
    return status;
}

static cudnnStatus_t get_results(const struct rule_node *node, int64_t requested, int64_t *count,
                                 void *values)
{
    static const int64_t index[] = {ENGINE_CONVERTING, ENGINE_PLAIN};
    const struct rule_node *graph = rule_child(node, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, 0);
    const bool fallback = rule_integer(node, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_A) ==
                          CUDNN_HEUR_MODE_FALLBACK;
    const int64_t first = fallback || rule_plain_alone(graph) ? 1 : 0, available = 2 - first;
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    for (int64_t i = 0; status == CUDNN_STATUS_SUCCESS && i < requested && i < available; i++)
        status = fill_config(graph, index[first + i], ((struct rule_node **)values)[i]);
    if (count)
        *count = requested > 0 && requested < available ? requested : available;
    return status;
}

static cudnnStatus_t get_stored(const struct rule_node *node, cudnnBackendAttributeName_t name,
                                cudnnBackendAttributeType_t type, int64_t requested, int64_t *count,
                                void *values)
{
    const struct rule_attribute *a = rule_find(node, name);
    if (!a)
        return copy_values(type, 0, NULL, requested, count, values);
    if (a->type != type)
        return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
    if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return copy_values(type, a->count, a->values, requested, count, values);
    for (int64_t i = 0; i < requested && i < a->count; i++)
        copy_node(((struct rule_node **)values)[i], ((struct rule_node **)a->values)[i]);
    if (count)
        *count = a->count;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t get_attribute(cudnnBackendDescriptor_t descriptor,
                                   cudnnBackendAttributeName_t name,
                                   cudnnBackendAttributeType_t type, int64_t requested,
                                   int64_t *count, void *values)
{
    static const cudnnBackendNumericalNote_t tensor_core = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    const struct rule_node *node = descriptor;
    if (!node->finalized)
        return CUDNN_STATUS_NOT_INITIALIZED;
    if (!is_attribute_of(node->type, (int)name))
        return CUDNN_STATUS_BAD_PARAM;
    switch ((int)name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
        return get_results(node, requested, count, values);
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
        return copy_values(type, 1, &node->workspace, requested, count, values);
    case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION:
        return copy_values(type, (int64_t)strlen(node->json), node->json, requested, count, values);
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
        return copy_values(
            type, rule_integer(node, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 0) == ENGINE_CONVERTING,
            &tensor_core, requested, count, values);
    case CUDNN_ATTR_OPERATIONGRAPH_OPS:
    case CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS:
    case CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS:
        return CUDNN_STATUS_NOT_SUPPORTED;
    default:
        return get_stored(node, name, type, requested, count, values);
    }
}

void simdev_planner_rule(struct simdev_planner *planner)
{
    *planner = (struct simdev_planner){
        .create = create_node,
        .destroy = destroy_node,
        .set = set_attribute,
        .get = get_attribute,
        .finalize = finalize_node,
        .version = CUDNN_VERSION,
        .cudart_version = CUDART_VERSION,
    };
}
