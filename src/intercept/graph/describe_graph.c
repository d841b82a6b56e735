/* Turns a finalized operation graph into a problem, and a variant pack into addresses. */
#include "intercept/graph/describe_graph.h"

#include "cudnn/plan/descriptors.h"
#include "cudnn/plan/handle_id.h"
#include <stdlib.h>
#include <string.h>

/* Converts the application's dimensions (N C [[D] H] W) to five. */
static void spread_tensor(const struct cs_tensor_attributes *attributes, struct cs_tensor *tensor)
{
    *tensor = (struct cs_tensor){.dims = {1, 1, 1, 1, 1},
                                 .alignment = attributes->alignment,
                                 .dtype = attributes->dtype,
                                 .is_virtual = attributes->is_virtual,
                                 .by_value = attributes->by_value};
    for (int i = 0; i < attributes->dims; i++) {
        int dim = i < CS_D ? i : i + CS_DIMS - attributes->dims;
        tensor->dims[dim] = attributes->extent[i];
        tensor->strides[dim] = attributes->stride[i];
    }
}

/* Converts paddings, strides and dilations to three spatial dimensions. */
static void spread_window(const struct cs_conv_attributes *attributes, struct cs_problem *problem)
{
    int absent = CS_SPATIAL - attributes->spatial;
    for (int i = 0; i < CS_SPATIAL; i++) {
        int from = i - absent;
        problem->pre[i] = from < 0 ? 0 : attributes->pre[from];
        problem->post[i] = from < 0 ? 0 : attributes->post[from];
        problem->stride[i] = from < 0 ? 1 : attributes->stride[from];
        problem->dilation[i] = from < 0 ? 1 : attributes->dilation[from];
    }
}

/* A graph while it is converted to a problem. Tensors are identified by the application's names. */
struct draft {
    const struct cs_graph_attributes *attributes;
    const struct cs_operation_attributes *convolution;
    struct cs_problem *problem;
    int64_t *uid;
    bool sided[CS_MAX_TENSORS]; /* tensor[i].side has been determined */
};

/* The first reason of an operation or one of its tensors, or CS_REASON_NONE. */
static enum cs_reason operation_reason(const struct cs_operation_attributes *operation)
{
    enum cs_reason reasons[] = {operation->reason, operation->conv.reason,
                                operation->pointwise.reason};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i] != CS_REASON_NONE)
            return reasons[i];
    for (int i = 0; i < CS_PW_OPERANDS; i++)
        if (operation->tensor[i].reason != CS_REASON_NONE)
            return operation->tensor[i].reason;
    return CS_REASON_NONE;
}

static enum cs_reason first_reason(const struct cs_graph_attributes *attributes)
{
    enum cs_reason reason = attributes->reason;
    for (int i = 0; i < attributes->operations && reason == CS_REASON_NONE; i++)
        reason = operation_reason(&attributes->operation[i]);
    return reason;
}

/* Finds the only convolution of a graph, and counts the operations before it in the application's
 * order. CS_REASON_FUSED if there are several. */
static enum cs_reason find_convolution(struct draft *draft)
{
    for (int i = 0; i < draft->attributes->operations; i++) {
        const struct cs_operation_attributes *operation = &draft->attributes->operation[i];
        if (!cs_operation_direction(operation->type, &draft->problem->direction))
            continue;
        if (draft->convolution)
            return CS_REASON_FUSED;
        draft->convolution = operation;
        draft->problem->steps_before = i;
    }
    return draft->convolution ? CS_REASON_NONE : CS_REASON_FUSED;
}

static bool same_tensor(const struct cs_tensor *a, const struct cs_tensor *b)
{
    return memcmp(a->dims, b->dims, sizeof a->dims) == 0 &&
           memcmp(a->strides, b->strides, sizeof a->strides) == 0 && a->alignment == b->alignment &&
           a->dtype == b->dtype && a->is_virtual == b->is_virtual && a->by_value == b->by_value;
}

/* Sets *index_p to the index of a tensor, -1 for an absent one. Adds the tensor if it is new.
 * Operations refer to tensors by unique id. The same id with another shape is an error that cuDNN
 * reports. */
static enum cs_reason index_of(struct draft *draft, const struct cs_tensor_attributes *attributes,
                               int64_t *index_p)
{
    struct cs_problem *problem = draft->problem;
    struct cs_tensor tensor;
    *index_p = -1;
    if (attributes->dims == 0)
        return CS_REASON_NONE;
    if (attributes->dims != problem->spatial + CS_D || attributes->uid == CS_NO_UID)
        return CS_REASON_ATTRIBUTE;
    spread_tensor(attributes, &tensor);
    for (int i = 0; i < problem->tensors; i++) {
        if (draft->uid[i] != attributes->uid)
            continue;
        *index_p = i;
        return same_tensor(&problem->tensor[i], &tensor) ? CS_REASON_NONE : CS_REASON_ATTRIBUTE;
    }
    if (problem->tensors == CS_MAX_TENSORS)
        return CS_REASON_FUSED;
    *index_p = problem->tensors++;
    problem->tensor[*index_p] = tensor;
    draft->uid[*index_p] = attributes->uid;
    return CS_REASON_NONE;
}

/* Adds the convolution's x, filter and y, whose indexes must be those of enum cs_operand. */
static enum cs_reason add_operands(struct draft *draft)
{
    for (int i = 0; i < CS_OPERANDS; i++) {
        int64_t index;
        enum cs_reason reason = index_of(draft, &draft->convolution->tensor[i], &index);
        if (reason != CS_REASON_NONE)
            return reason;
        if (index != i)
            return CS_REASON_ATTRIBUTE;
        draft->problem->tensor[i].side = (enum cs_operand)i;
        draft->sided[i] = true;
    }
    enum cs_operand result = cs_result(draft->problem->direction);
    draft->problem->tensor[result].written = !draft->problem->tensor[result].is_virtual;
    return CS_REASON_NONE;
}

/* Adds a pointwise operation and its new tensors. */
static enum cs_reason add_step(struct draft *draft, const struct cs_operation_attributes *operation)
{
    struct cs_problem *problem = draft->problem;
    const struct cs_pointwise_attributes *attributes = &operation->pointwise;
    struct cs_pointwise pointwise = {.mode = attributes->mode,
                                     .precision = attributes->precision,
                                     .settings = attributes->settings};
    if (attributes->mode == CUDNN_POINTWISE_GEN_INDEX)
        return CS_REASON_FUSED; /* its values depend on the position of an element */
    memcpy(pointwise.setting, attributes->setting, sizeof pointwise.setting);
    for (int i = 0; i < CS_PW_OPERANDS; i++) {
        enum cs_reason reason = index_of(draft, &operation->tensor[i], &pointwise.operand[i]);
        if (reason != CS_REASON_NONE)
            return reason;
    }
    if (pointwise.operand[CS_PW_Y] < 0)
        return CS_REASON_ATTRIBUTE;
    struct cs_tensor *result = &problem->tensor[pointwise.operand[CS_PW_Y]];
    result->written = !result->is_virtual;
    cs_fusion_pack(&pointwise, &problem->step[problem->steps++]);
    return CS_REASON_NONE;
}

static bool is_single(const struct cs_tensor *tensor)
{
    for (int i = 0; i < CS_DIMS; i++)
        if (tensor->dims[i] != 1)
            return false;
    return true;
}

/* Gives the unsided tensors of a pointwise operation the side of its others. A side is the operand
 * (x, filter or y) whose division a tensor follows. All tensors of an operation are on one side,
 * except a single number, which is not divided. Sets *clash if two sides meet. Returns true if a
 * tensor got a side. */
static bool spread_side(struct draft *draft, const struct cs_pointwise *pointwise, bool *clash)
{
    struct cs_problem *problem = draft->problem;
    bool added = false;
    int from = -1;
    for (int i = 0; i < CS_PW_OPERANDS; i++) {
        int at = (int)pointwise->operand[i];
        if (at >= 0 && draft->sided[at] && (from < 0 || !is_single(&problem->tensor[at])))
            from = at;
    }
    for (int i = 0; from >= 0 && i < CS_PW_OPERANDS; i++) {
        int at = (int)pointwise->operand[i];
        if (at < 0)
            continue;
        if (!draft->sided[at]) {
            problem->tensor[at].side = problem->tensor[from].side;
            draft->sided[at] = added = true;
        } else if (problem->tensor[at].side != problem->tensor[from].side &&
                   !is_single(&problem->tensor[at])) {
            *clash = true;
        }
    }
    return added;
}

/* Finds the sides of all tensors. Operations may be in another order than the data, so this repeats
 * until no tensor gets a side. CS_REASON_FUSED if two sides meet, or if a tensor has none. */
static enum cs_reason find_sides(struct draft *draft)
{
    struct cs_problem *problem = draft->problem;
    bool added = true, clash = false;
    while (added && !clash) {
        added = false;
        for (int i = 0; i < problem->steps; i++) {
            struct cs_pointwise pointwise;
            cs_fusion_unpack(&problem->step[i], &pointwise);
            added |= spread_side(draft, &pointwise, &clash);
        }
    }
    for (int i = 0; i < problem->tensors; i++)
        clash |= !draft->sided[i];
    return clash ? CS_REASON_FUSED : CS_REASON_NONE;
}

static enum cs_reason add_steps(struct draft *draft)
{
    for (int i = 0; i < draft->attributes->operations; i++) {
        const struct cs_operation_attributes *operation = &draft->attributes->operation[i];
        enum cs_reason reason =
            operation == draft->convolution ? CS_REASON_NONE : add_step(draft, operation);
        if (reason != CS_REASON_NONE)
            return reason;
    }
    return find_sides(draft);
}

static enum cs_reason set_window(struct draft *draft)
{
    const struct cs_conv_attributes *conv = &draft->convolution->conv;
    struct cs_problem *problem = draft->problem;
    if (conv->spatial < 1 || conv->spatial > CS_SPATIAL)
        return CS_REASON_ATTRIBUTE;
    problem->compute = conv->compute;
    problem->spatial = conv->spatial;
    problem->flipped = conv->flipped;
    problem->alpha = draft->convolution->alpha;
    problem->beta = draft->convolution->beta;
    spread_window(conv, problem);
    return CS_REASON_NONE;
}

/* Checks that tensors are written only on the result's side, and that the result is written at all.
 * Tiles overlap in the halo of the input's side: a tensor that is written there would be written
 * twice, perhaps by tiles that run at once. */
static enum cs_reason check_written(const struct cs_problem *problem)
{
    for (int i = 0; i < problem->tensors; i++)
        if (problem->tensor[i].written && problem->tensor[i].side != cs_result(problem->direction))
            return CS_REASON_FUSED;
    return problem->steps == 0 && problem->tensor[cs_result(problem->direction)].is_virtual
               ? CS_REASON_TENSOR
               : CS_REASON_NONE;
}

enum cs_reason cs_describe_groups(struct cs_problem *problem)
{
    int64_t channels = problem->tensor[CS_X].dims[CS_C];
    int64_t per_group = problem->tensor[CS_FILTER].dims[CS_C];
    if (per_group < 1 || channels % per_group != 0)
        return CS_REASON_ATTRIBUTE;
    problem->groups = channels / per_group;
    return CS_REASON_NONE;
}

enum cs_reason cs_describe_check(const struct cs_problem *problem)
{
    enum cs_status status = cs_problem_check(problem);
    if (status == CS_OVERFLOW)
        return CS_REASON_OVERFLOW;
    if (status == CS_INVALID)
        return CS_REASON_ATTRIBUTE;
    /* Only now the direction and all tensors are known to be in range. */
    enum cs_reason reason = check_written(problem);
    return reason == CS_REASON_NONE && status != CS_OK ? CS_REASON_ATTRIBUTE : reason;
}

/* Fills the problem and the names of a graph. Returns CS_REASON_NONE, or the reason why the graph
 * cannot be tiled. */
static enum cs_reason problem_of(const struct cs_graph_attributes *attributes,
                                 struct cs_graph *graph)
{
    struct draft draft = {.attributes = attributes, .problem = &graph->problem, .uid = graph->uid};
    enum cs_reason reason = first_reason(attributes);
    if (reason == CS_REASON_NONE)
        reason = find_convolution(&draft);
    if (reason == CS_REASON_NONE)
        reason = set_window(&draft);
    if (reason == CS_REASON_NONE)
        reason = add_operands(&draft);
    if (reason == CS_REASON_NONE)
        reason = add_steps(&draft);
    if (reason == CS_REASON_NONE)
        reason = cs_describe_groups(&graph->problem);
    return reason == CS_REASON_NONE ? cs_describe_check(&graph->problem) : reason;
}

struct cs_graph *cs_describe_graph(const struct cs_shadow *shadow)
{
    const struct cs_graph_attributes *attributes = &shadow->graph_note;
    struct cs_graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return NULL;
    atomic_init(&graph->references, 1);
    graph->convolution = attributes->convolution;
    graph->handle = attributes->handle;
    graph->id = cs_handle_id(attributes->handle);
    if (graph->convolution)
        graph->reason = problem_of(attributes, graph);
    return graph;
}

static void *address_of(const struct cs_pack_attributes *pack, int64_t uid)
{
    for (int i = pack->uids - 1; i >= 0; i--)
        if (pack->uid[i] == uid)
            return pack->pointer[i];
    return NULL;
}

static bool is_side_input(const struct cs_problem *problem, int tensor)
{
    return tensor != CS_X && tensor != CS_FILTER && tensor != CS_Y &&
           !problem->tensor[tensor].written;
}

static bool is_read(const struct cs_problem *problem, int tensor)
{
    for (int i = 0; i < problem->steps; i++)
        if (cs_fusion_reads(&problem->step[i], tensor))
            return true;
    return false;
}

static bool laid_out_alike(const struct cs_tensor *a, const struct cs_tensor *b)
{
    return memcmp(a->dims, b->dims, sizeof a->dims) == 0 &&
           memcmp(a->strides, b->strides, sizeof a->strides) == 0 && a->dtype == b->dtype &&
           a->alignment == b->alignment && a->by_value == b->by_value;
}

/* Returns an address for an input that is scaled by 0, for which TensorFlow passes none: that of a
 * result of the same layout, as legacy callers pass y twice. No kernel reads it. NULL for other
 * tensors. */
static void *stand_in_of(const struct cs_pack_attributes *pack, const struct cs_graph *graph,
                         int tensor)
{
    const struct cs_problem *problem = &graph->problem;
    if (!is_side_input(problem, tensor) || is_read(problem, tensor))
        return NULL;
    for (int i = 0; i < problem->tensors; i++)
        if (problem->tensor[i].written &&
            laid_out_alike(&problem->tensor[i], &problem->tensor[tensor]))
            return address_of(pack, graph->uid[i]);
    return NULL;
}

bool cs_describe_pack(const struct cs_shadow *shadow, const struct cs_graph *graph,
                      struct cs_addresses *addresses)
{
    const struct cs_pack_attributes *pack = &shadow->pack;
    if (shadow->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR || !pack->finalized ||
        pack->overridden || pack->pointers != pack->uids)
        return false;
    for (int i = 0; i < graph->problem.tensors; i++) {
        bool is_virtual = graph->problem.tensor[i].is_virtual;
        addresses->tensor[i] = is_virtual ? NULL : address_of(pack, graph->uid[i]);
        if (!is_virtual && !addresses->tensor[i])
            addresses->tensor[i] = stand_in_of(pack, graph, i);
        if (!is_virtual && !addresses->tensor[i])
            return false;
    }
    addresses->workspace = pack->workspace;
    return true;
}
