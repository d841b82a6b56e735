#include "cudnn/describe_graph.h"

#include <stdlib.h>
#include <string.h>

/* One attribute as a client set it. */
struct attribute {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t count;
    const void *elements;
};

static int64_t as_int64(const struct attribute *a, enum cs_reason *reason_p)
{
    int64_t value = 0;
    if (a->type == CUDNN_TYPE_INT64 && a->count == 1)
        memcpy(&value, a->elements, sizeof value);
    else
        *reason_p = CS_REASON_ATTRIBUTE;
    return value;
}

static int as_int64s(const struct attribute *a, int64_t *values, int capacity,
                     enum cs_reason *reason_p)
{
    if (a->type != CUDNN_TYPE_INT64 || a->count < 1 || a->count > capacity) {
        *reason_p = CS_REASON_ATTRIBUTE;
        return 0;
    }
    memcpy(values, a->elements, (size_t)a->count * sizeof *values);
    return (int)a->count;
}

static bool as_true(const struct attribute *a)
{
    unsigned char value = 1;
    if (a->type == CUDNN_TYPE_BOOLEAN && a->count == 1)
        memcpy(&value, a->elements, sizeof value);
    return value != 0;
}

static double as_double(const struct attribute *a, enum cs_reason *reason_p)
{
    double wide = 0;
    float narrow = 0;
    if (a->type == CUDNN_TYPE_DOUBLE && a->count == 1) {
        memcpy(&wide, a->elements, sizeof wide);
        return wide;
    }
    if (a->type == CUDNN_TYPE_FLOAT && a->count == 1)
        memcpy(&narrow, a->elements, sizeof narrow);
    else
        *reason_p = CS_REASON_ATTRIBUTE;
    return (double)narrow;
}

/* An enum of cuDNN's, all of which have the size of an int. */
static int as_enum(const struct attribute *a, cudnnBackendAttributeType_t type,
                   enum cs_reason *reason_p)
{
    int value = -1;
    if (a->type == type && a->count == 1)
        memcpy(&value, a->elements, sizeof value);
    else
        *reason_p = CS_REASON_ATTRIBUTE;
    return value;
}

static struct cs_shadow *as_shadow(const struct attribute *a)
{
    cudnnBackendDescriptor_t descriptor;
    if (a->type != CUDNN_TYPE_BACKEND_DESCRIPTOR || a->count != 1)
        return NULL;
    memcpy(&descriptor, a->elements, sizeof descriptor);
    return cs_shadow_find(descriptor);
}

bool cs_describe_dtype(cudnnDataType_t type, enum cs_dtype *dtype_p)
{
    switch (type) {
    case CUDNN_DATA_FLOAT:
        *dtype_p = CS_F32;
        return true;
    case CUDNN_DATA_HALF:
        *dtype_p = CS_F16;
        return true;
    case CUDNN_DATA_BFLOAT16:
        *dtype_p = CS_BF16;
        return true;
    default:
        return false;
    }
}

static enum cs_dtype as_dtype(const struct attribute *a, enum cs_reason *reason_p)
{
    enum cs_dtype dtype = CS_F32;
    int type = as_enum(a, CUDNN_TYPE_DATA_TYPE, reason_p);
    if (*reason_p == CS_REASON_NONE && !cs_describe_dtype((cudnnDataType_t)type, &dtype))
        *reason_p = CS_REASON_DTYPE;
    return dtype;
}

static void set_tensor(struct cs_tensor_note *note, const struct attribute *a)
{
    switch ((int)a->name) {
    case CUDNN_ATTR_TENSOR_DATA_TYPE:
        note->dtype = as_dtype(a, &note->reason);
        break;
    case CUDNN_ATTR_TENSOR_DIMENSIONS:
        note->dims = as_int64s(a, note->extent, CS_DIMS, &note->reason);
        break;
    case CUDNN_ATTR_TENSOR_STRIDES:
        as_int64s(a, note->stride, CS_DIMS, &note->reason);
        break;
    case CUDNN_ATTR_TENSOR_UNIQUE_ID:
        note->uid = as_int64(a, &note->reason);
        break;
    case CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT:
        note->alignment = as_int64(a, &note->reason);
        break;
    case CUDNN_ATTR_TENSOR_VECTOR_COUNT:
        if (as_int64(a, &note->reason) != 1)
            note->reason = CS_REASON_TENSOR;
        break;
    case CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION:
        break; /* means nothing while the vector count is 1 */
    case CUDNN_ATTR_TENSOR_IS_VIRTUAL:
    case CUDNN_ATTR_TENSOR_IS_BY_VALUE:
        if (as_true(a))
            note->reason = CS_REASON_TENSOR;
        break;
    case CUDNN_ATTR_TENSOR_REORDERING_MODE:
        if (as_enum(a, CUDNN_TYPE_TENSOR_REORDERING_MODE, &note->reason) !=
            CUDNN_TENSOR_REORDERING_NONE)
            note->reason = CS_REASON_TENSOR;
        break;
    case CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC:
        note->reason = CS_REASON_TENSOR;
        break;
    default:
        note->reason = CS_REASON_ATTRIBUTE;
    }
}

static void set_conv(struct cs_conv_note *note, const struct attribute *a)
{
    switch ((int)a->name) {
    case CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS:
        note->spatial = (int)as_int64(a, &note->reason);
        break;
    case CUDNN_ATTR_CONVOLUTION_COMP_TYPE:
        note->compute = as_dtype(a, &note->reason);
        break;
    case CUDNN_ATTR_CONVOLUTION_CONV_MODE:
        note->flipped = as_enum(a, CUDNN_TYPE_CONVOLUTION_MODE, &note->reason) == CUDNN_CONVOLUTION;
        break;
    case CUDNN_ATTR_CONVOLUTION_DILATIONS:
        as_int64s(a, note->dilation, CS_SPATIAL, &note->reason);
        break;
    case CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES:
        as_int64s(a, note->stride, CS_SPATIAL, &note->reason);
        break;
    case CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS:
        as_int64s(a, note->pre, CS_SPATIAL, &note->reason);
        break;
    case CUDNN_ATTR_CONVOLUTION_POST_PADDINGS:
        as_int64s(a, note->post, CS_SPATIAL, &note->reason);
        break;
    default:
        note->reason = CS_REASON_ATTRIBUTE;
    }
}

static void set_operand(struct cs_operation_note *note, enum cs_operand operand,
                        const struct attribute *a)
{
    const struct cs_shadow *tensor = as_shadow(a);
    if (tensor && tensor->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR)
        note->tensor[operand] = tensor->tensor;
    else
        note->tensor[operand].reason = CS_REASON_UNSEEN;
}

static void set_conv_of(struct cs_operation_note *note, const struct attribute *a)
{
    const struct cs_shadow *conv = as_shadow(a);
    if (conv && conv->type == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)
        note->conv = conv->conv;
    else
        note->conv.reason = CS_REASON_UNSEEN;
}

static void set_operation(struct cs_operation_note *note, const struct attribute *a)
{
    switch ((int)a->name) {
    case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X:
        set_operand(note, CS_X, a);
        break;
    case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W:
        set_operand(note, CS_FILTER, a);
        break;
    case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y:
        set_operand(note, CS_Y, a);
        break;
    case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC:
        set_conv_of(note, a);
        break;
    case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA:
        note->alpha = as_double(a, &note->reason);
        break;
    case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA:
        note->beta = as_double(a, &note->reason);
        break;
    default:
        note->reason = CS_REASON_ATTRIBUTE;
    }
}

static bool is_convolution(cudnnBackendDescriptorType_t type)
{
    return type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
           type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ||
           type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
}

static void set_operations(struct cs_graph_note *note, const struct attribute *a)
{
    const char *elements = a->elements;
    note->operations = a->count < CS_GRAPH_OPS ? (int)a->count : CS_GRAPH_OPS;
    note->convolution = false;
    if (a->type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        note->reason = CS_REASON_ATTRIBUTE;
        return;
    }
    for (int i = 0; i < note->operations; i++) {
        cudnnBackendDescriptor_t descriptor;
        memcpy(&descriptor, elements + (size_t)i * sizeof descriptor, sizeof descriptor);
        const struct cs_shadow *operation = cs_shadow_find(descriptor);
        if (!operation)
            note->reason = CS_REASON_UNSEEN;
        else if (is_convolution(operation->type))
            note->convolution = true;
        if (operation && operation->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)
            note->operation = operation->operation;
        else if (operation && is_convolution(operation->type))
            note->reason = CS_REASON_BACKWARD;
    }
    if (note->operations > 1)
        note->reason = CS_REASON_FUSED;
}

static void set_graph(struct cs_graph_note *note, const struct attribute *a)
{
    switch ((int)a->name) {
    case CUDNN_ATTR_OPERATIONGRAPH_OPS:
        set_operations(note, a);
        break;
    case CUDNN_ATTR_OPERATIONGRAPH_HANDLE:
        if (a->type == CUDNN_TYPE_HANDLE && a->count == 1)
            memcpy(&note->handle, a->elements, sizeof note->handle);
        else
            note->reason = CS_REASON_ATTRIBUTE;
        break;
    case CUDNN_ATTR_OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED:
        if (as_true(a))
            note->reason = CS_REASON_DYNAMIC;
        break;
    case CUDNN_ATTR_OPERATIONGRAPH_IS_SAME_TOPOLOGY:
        break;
    default:
        note->reason = CS_REASON_ATTRIBUTE;
    }
}

/* How many elements were noted; -1 if they are not of that type or too many. */
static int as_row(const struct attribute *a, cudnnBackendAttributeType_t type, void *out)
{
    if (a->type != type || a->count < 0 || a->count > CS_PACK_OPERANDS)
        return -1;
    if (a->count > 0)
        memcpy(out, a->elements, (size_t)a->count * sizeof(int64_t));
    return (int)a->count;
}

static void set_pack(struct cs_pack_note *note, const struct attribute *a)
{
    switch ((int)a->name) {
    case CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS:
        note->pointers = as_row(a, CUDNN_TYPE_VOID_PTR, note->pointer);
        break;
    case CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS:
        note->uids = as_row(a, CUDNN_TYPE_INT64, note->uid);
        break;
    case CUDNN_ATTR_VARIANT_PACK_WORKSPACE:
        if (a->type == CUDNN_TYPE_VOID_PTR && a->count == 1)
            memcpy(&note->workspace, a->elements, sizeof note->workspace);
        else
            note->overridden = true;
        break;
    default:
        note->overridden = true;
    }
}

static void set_origin(struct cs_shadow *shadow, const struct attribute *a)
{
    const struct cs_shadow *from = as_shadow(a);
    cs_shadow_origin(shadow, from ? from->graph : NULL);
}

static void set_plan(struct cs_shadow *shadow, const struct attribute *a)
{
    if (a->name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)
        set_origin(shadow, a);
    else if (a->name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION)
        shadow->plan.reason = CS_REASON_FROM_JSON;
}

void cs_describe_set(struct cs_shadow *shadow, cudnnBackendAttributeName_t name,
                     cudnnBackendAttributeType_t type, int64_t count, const void *elements)
{
    struct attribute a = {name, type, count, elements};
    switch (shadow->type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
        set_tensor(&shadow->tensor, &a);
        break;
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
        set_conv(&shadow->conv, &a);
        break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        set_operation(&shadow->operation, &a);
        break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        set_graph(&shadow->graph_note, &a);
        break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        if (name == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)
            set_origin(shadow, &a);
        break;
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
        if (name == CUDNN_ATTR_ENGINE_OPERATION_GRAPH)
            set_origin(shadow, &a);
        break;
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
        if (name == CUDNN_ATTR_ENGINECFG_ENGINE)
            set_origin(shadow, &a);
        break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        set_plan(shadow, &a);
        break;
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        set_pack(&shadow->pack, &a);
        break;
    default:
        break;
    }
}

void cs_describe_got(struct cs_shadow *shadow, cudnnBackendAttributeName_t name, int64_t count,
                     const void *elements)
{
    bool derived = name == CUDNN_ATTR_ENGINEHEUR_RESULTS || name == CUDNN_ATTR_ENGINECFG_ENGINE ||
                   name == CUDNN_ATTR_ENGINE_OPERATION_GRAPH ||
                   name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG;
    for (int64_t i = 0; derived && i < count; i++) {
        cudnnBackendDescriptor_t descriptor;
        memcpy(&descriptor, (const char *)elements + (size_t)i * sizeof descriptor,
               sizeof descriptor);
        struct cs_shadow *filled = cs_shadow_find(descriptor);
        if (filled)
            cs_shadow_origin(filled, shadow->graph);
    }
}

/* The client's dimensions (N C [[D] H] W) in our five. */
static void spread(const struct cs_tensor_note *note, struct cs_tensor *tensor)
{
    *tensor = (struct cs_tensor){
        .dims = {1, 1, 1, 1, 1}, .alignment = note->alignment, .dtype = note->dtype};
    for (int i = 0; i < note->dims; i++) {
        int dim = i < CS_D ? i : i + CS_DIMS - note->dims;
        tensor->dims[dim] = note->extent[i];
        tensor->strides[dim] = note->stride[i];
    }
}

static void spread_window(const struct cs_conv_note *note, struct cs_problem *problem)
{
    int absent = CS_SPATIAL - note->spatial;
    for (int i = 0; i < CS_SPATIAL; i++) {
        int from = i - absent;
        problem->pre[i] = from < 0 ? 0 : note->pre[from];
        problem->post[i] = from < 0 ? 0 : note->post[from];
        problem->stride[i] = from < 0 ? 1 : note->stride[from];
        problem->dilation[i] = from < 0 ? 1 : note->dilation[from];
    }
}

static enum cs_reason first_reason(const struct cs_graph_note *note)
{
    const struct cs_operation_note *operation = &note->operation;
    enum cs_reason reasons[] = {note->reason,
                                operation->reason,
                                operation->conv.reason,
                                operation->tensor[CS_X].reason,
                                operation->tensor[CS_FILTER].reason,
                                operation->tensor[CS_Y].reason};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i] != CS_REASON_NONE)
            return reasons[i];
    return CS_REASON_NONE;
}

enum cs_reason cs_describe_finish(struct cs_problem *problem)
{
    int64_t channels = problem->tensor[CS_X].dims[CS_C];
    int64_t per_group = problem->tensor[CS_FILTER].dims[CS_C];
    if (per_group < 1 || channels % per_group != 0)
        return CS_REASON_ATTRIBUTE;
    problem->groups = channels / per_group;
    switch (cs_problem_check(problem)) {
    case CS_OK:
        return CS_REASON_NONE;
    case CS_OVERFLOW:
        return CS_REASON_OVERFLOW;
    default:
        return CS_REASON_ATTRIBUTE;
    }
}

static enum cs_reason problem_of(const struct cs_operation_note *operation,
                                 struct cs_problem *problem)
{
    const struct cs_conv_note *conv = &operation->conv;
    if (conv->spatial < 1 || conv->spatial > CS_SPATIAL)
        return CS_REASON_ATTRIBUTE;
    *problem = (struct cs_problem){.direction = CS_FORWARD,
                                   .compute = conv->compute,
                                   .spatial = conv->spatial,
                                   .flipped = conv->flipped,
                                   .alpha = operation->alpha,
                                   .beta = operation->beta};
    for (int i = 0; i < CS_OPERANDS; i++) {
        if (operation->tensor[i].dims != conv->spatial + 2)
            return CS_REASON_ATTRIBUTE;
        spread(&operation->tensor[i], &problem->tensor[i]);
    }
    spread_window(conv, problem);
    return cs_describe_finish(problem);
}

struct cs_graph *cs_describe_graph(const struct cs_shadow *shadow)
{
    const struct cs_graph_note *note = &shadow->graph_note;
    struct cs_graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return NULL;
    atomic_init(&graph->references, 1);
    graph->convolution = note->convolution;
    graph->handle = note->handle;
    graph->reason = first_reason(note);
    if (graph->convolution && graph->reason == CS_REASON_NONE)
        graph->reason = problem_of(&note->operation, &graph->problem);
    for (int i = 0; i < CS_OPERANDS; i++)
        graph->uid[i] = note->operation.tensor[i].uid;
    return graph;
}

bool cs_describe_pack(const struct cs_shadow *shadow, const struct cs_graph *graph,
                      struct cs_addresses *addresses)
{
    const struct cs_pack_note *pack = &shadow->pack;
    if (shadow->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR || pack->overridden ||
        pack->pointers != pack->uids || pack->uids < CS_OPERANDS)
        return false;
    for (int i = 0; i < CS_OPERANDS; i++) {
        addresses->operand[i] = NULL;
        for (int j = 0; j < pack->uids; j++)
            if (pack->uid[j] == graph->uid[i])
                addresses->operand[i] = pack->pointer[j];
        if (!addresses->operand[i])
            return false;
    }
    addresses->workspace = pack->workspace;
    return true;
}
