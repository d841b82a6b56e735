/* Backend plans for legacy calls, by algorithm and math type. */
#include <stdlib.h>
#include <string.h>

#include "cudnn_internal.h"

/* Plans a legacy convolution as a backend graph with the planner itself, not through the exported
 * functions, because a library that wraps those must not see it. */

enum {
    MAX_MADE = 64,
    MAX_CONFIGS = 16,
    COMPARED = 8, /* number of configs whose workspaces are compared */
    BUCKETS = 4096
};

struct entry {
    struct simdev_legacy_problem problem;
    struct simdev_legacy_plan plan;
    struct entry *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *bucket[BUCKETS];

/* Descriptors created so far and the first failure. After a failure, every step does nothing. */
struct builder {
    const struct simdev_planner *planner;
    cudnnBackendDescriptor_t device; /* NULL if the planner needs none */
    cudnnStatus_t status;
    int made;
    cudnnBackendDescriptor_t descriptor[MAX_MADE];
};

static cudnnBackendDescriptor_t make_descriptor(struct builder *b,
                                                cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t made = NULL;
    if (b->status == CUDNN_STATUS_SUCCESS && b->made == MAX_MADE)
        b->status = CUDNN_STATUS_INTERNAL_ERROR;
    if (b->status == CUDNN_STATUS_SUCCESS)
        b->status = b->planner->create(type, &made);
    if (b->status == CUDNN_STATUS_SUCCESS)
        b->descriptor[b->made++] = made;
    return made;
}

static void set_attribute(struct builder *b, cudnnBackendDescriptor_t descriptor,
                          cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                          int64_t count, const void *values)
{
    if (b->status == CUDNN_STATUS_SUCCESS)
        b->status = b->planner->set(descriptor, name, type, count, values);
}

static void set_descriptor(struct builder *b, cudnnBackendDescriptor_t descriptor,
                           cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value)
{
    set_attribute(b, descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static void finalize_descriptor(struct builder *b, cudnnBackendDescriptor_t descriptor)
{
    if (b->status == CUDNN_STATUS_SUCCESS)
        b->status = b->planner->finalize(descriptor);
}

static void destroy_made(struct builder *b, int keep)
{
    while (b->made > keep)
        (void)b->planner->destroy(b->descriptor[--b->made]);
}

/* ---- the graph ---- */

static cudnnBackendDescriptor_t make_tensor(struct builder *b, const struct simdev_view *view,
                                            int64_t uid, bool is_virtual)
{
    const cudnnDataType_t type = is_virtual ? CUDNN_DATA_FLOAT : view->type;
    const int64_t alignment = 16;
    cudnnBackendDescriptor_t d = make_descriptor(b, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set_attribute(b, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set_attribute(b, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, view->rank, view->dim);
    set_attribute(b, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, view->rank, view->stride);
    set_attribute(b, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
    set_attribute(b, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    set_attribute(b, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
    finalize_descriptor(b, d);
    return d;
}

static cudnnBackendDescriptor_t make_convolution(struct builder *b,
                                                 const struct cudnnConvolutionStruct *conv)
{
    int64_t pad[SIMDEV_MAX_SPATIAL], stride[SIMDEV_MAX_SPATIAL], dilation[SIMDEV_MAX_SPATIAL];
    const int64_t spatial = conv->spatial;
    for (int i = 0; i < conv->spatial; i++) {
        pad[i] = conv->pad[i];
        stride[i] = conv->stride[i];
        dilation[i] = conv->dilation[i];
    }
    cudnnBackendDescriptor_t d = make_descriptor(b, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    set_attribute(b, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &conv->compute);
    set_attribute(b, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1,
                  &conv->mode);
    set_attribute(b, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &spatial);
    set_attribute(b, d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, spatial, pad);
    set_attribute(b, d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, spatial, pad);
    set_attribute(b, d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, spatial, dilation);
    set_attribute(b, d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, spatial, stride);
    finalize_descriptor(b, d);
    return d;
}

static cudnnBackendDescriptor_t make_operation(struct builder *b,
                                               const struct simdev_legacy_problem *problem,
                                               const cudnnBackendDescriptor_t operand[SIMDEV_ROLES])
{
    static const struct {
        cudnnBackendDescriptorType_t type;
        cudnnBackendAttributeName_t role[SIMDEV_ROLES], conv, alpha, beta;
    } name[] = {
        [SIMDEV_CONV_FORWARD] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                                 {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
        [SIMDEV_CONV_BACKWARD_DATA] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                                       {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
        [SIMDEV_CONV_BACKWARD_FILTER] =
            {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
             {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
    };
    const enum simdev_conv_kind kind = problem->kind;
    cudnnBackendDescriptor_t conv = make_convolution(b, &problem->conv);
    cudnnBackendDescriptor_t d = make_descriptor(b, name[kind].type);
    for (int role = 0; role < SIMDEV_ROLES; role++)
        set_descriptor(b, d, name[kind].role[role], operand[role]);
    set_descriptor(b, d, name[kind].conv, conv);
    set_attribute(b, d, name[kind].alpha, CUDNN_TYPE_FLOAT, 1, &problem->alpha);
    set_attribute(b, d, name[kind].beta, CUDNN_TYPE_FLOAT, 1, &problem->beta);
    finalize_descriptor(b, d);
    return d;
}

static cudnnBackendDescriptor_t make_pointwise(struct builder *b, const struct simdev_pointwise *op,
                                               cudnnBackendDescriptor_t x,
                                               cudnnBackendDescriptor_t second,
                                               cudnnBackendDescriptor_t y)
{
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    const double lower = (double)op->lower_clip, upper = (double)op->upper_clip;
    const double elu = (double)op->elu_alpha, swish = (double)op->swish_beta;
    cudnnBackendDescriptor_t mode = make_descriptor(b, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set_attribute(b, mode, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &op->mode);
    set_attribute(b, mode, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    if (op->mode == CUDNN_POINTWISE_RELU_FWD && upper < 1e38) {
        set_attribute(b, mode, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_TYPE_DOUBLE, 1, &lower);
        set_attribute(b, mode, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, 1, &upper);
    }
    if (op->mode == CUDNN_POINTWISE_ELU_FWD)
        set_attribute(b, mode, CUDNN_ATTR_POINTWISE_ELU_ALPHA, CUDNN_TYPE_DOUBLE, 1, &elu);
    if (op->mode == CUDNN_POINTWISE_SWISH_FWD)
        set_attribute(b, mode, CUDNN_ATTR_POINTWISE_SWISH_BETA, CUDNN_TYPE_DOUBLE, 1, &swish);
    finalize_descriptor(b, mode);
    cudnnBackendDescriptor_t d = make_descriptor(b, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set_descriptor(b, d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, mode);
    set_descriptor(b, d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (second)
        set_descriptor(b, d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, second);
    set_descriptor(b, d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    set_attribute(b, d, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, 1, &op->alpha1);
    set_attribute(b, d, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, 1, &op->alpha2);
    finalize_descriptor(b, d);
    return d;
}

/* The operations after a fused convolution: add the side input, add the bias, activate. */
static int fused_operations(struct builder *b, const struct simdev_legacy_problem *problem,
                            cudnnBackendDescriptor_t from, cudnnBackendDescriptor_t y,
                            cudnnBackendDescriptor_t *operation_list)
{
    const struct simdev_view *shape = &problem->view[SIMDEV_Y];
    struct simdev_pointwise op = simdev_pointwise_of(CUDNN_POINTWISE_ADD);
    struct cudnnActivationStruct activation = problem->activation;
    const bool activates = activation.mode != CUDNN_ACTIVATION_IDENTITY;
    int count = 0;
    if (problem->side.rank) {
        cudnnBackendDescriptor_t to = make_tensor(b, shape, 100, true);
        op.alpha2 = problem->side_scale;
        operation_list[count++] = make_pointwise(
            b, &op, from, make_tensor(b, &problem->side, SIMDEV_UID_SIDE, false), to);
        from = to;
    }
    cudnnBackendDescriptor_t to = activates ? make_tensor(b, shape, 101, true) : y;
    op.alpha2 = 1;
    operation_list[count++] =
        make_pointwise(b, &op, from, make_tensor(b, &problem->bias, SIMDEV_UID_BIAS, false), to);
    if (activates) {
        if (!simdev_activation_op(&activation, &op))
            b->status = CUDNN_STATUS_NOT_SUPPORTED;
        operation_list[count++] = make_pointwise(b, &op, to, NULL, y);
    }
    return count;
}

static cudnnBackendDescriptor_t make_graph(struct builder *b,
                                           const struct simdev_legacy_problem *problem)
{
    cudnnBackendDescriptor_t operand[SIMDEV_ROLES], list[4];
    int count = 1;
    for (int role = 0; role < SIMDEV_ROLES; role++)
        operand[role] = make_tensor(b, &problem->view[role], SIMDEV_UID_X + role, false);
    cudnnBackendDescriptor_t y = operand[SIMDEV_Y];
    if (problem->is_fused)
        operand[SIMDEV_Y] = make_tensor(b, &problem->view[SIMDEV_Y], 102, true);
    list[0] = make_operation(b, problem, operand);
    if (problem->is_fused)
        count += fused_operations(b, problem, operand[SIMDEV_Y], y, list + 1);
    cudnnBackendDescriptor_t d = make_descriptor(b, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set_attribute(b, d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, list);
    finalize_descriptor(b, d);
    return d;
}

/* ---- the plan ---- */

static bool has_note(const struct builder *b, cudnnBackendDescriptor_t engine,
                     cudnnBackendNumericalNote_t wanted)
{
    cudnnBackendNumericalNote_t note[16];
    int64_t count = 0;
    if (b->planner->get(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 16,
                        &count, note) != CUDNN_STATUS_SUCCESS)
        return false;
    for (int64_t i = 0; i < count && i < 16; i++)
        if (note[i] == wanted)
            return true;
    return false;
}

/* Turns a config into the program of its plan. */
static cudnnStatus_t try_config(struct builder *b, cudnnBackendDescriptor_t config,
                                struct simdev_legacy_plan *out)
{
    const int keep = b->made;
    cudnnBackendDescriptor_t d = make_descriptor(b, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set_descriptor(b, d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    if (b->device)
        set_descriptor(b, d, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, b->device);
    finalize_descriptor(b, d);
    if (b->status == CUDNN_STATUS_SUCCESS)
        b->status = simdev_plan_program(d, &out->program);
    const cudnnStatus_t status = b->status;
    b->status = CUDNN_STATUS_SUCCESS;
    destroy_made(b, keep);
    return status;
}

static bool math_allows(const struct builder *b, cudnnBackendDescriptor_t engine,
                        cudnnMathType_t math)
{
    if (math == CUDNN_FMA_MATH && has_note(b, engine, CUDNN_NUMERICAL_NOTE_TENSOR_CORE))
        return false;
    return math == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION ||
           !has_note(b, engine, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
}

/* The results of the heuristics, in order, and one engine descriptor to read each. */
struct list {
    int64_t count;
    cudnnBackendDescriptor_t config[MAX_CONFIGS], engine;
};

static cudnnStatus_t ask_heuristics(struct builder *b, cudnnBackendDescriptor_t operations,
                                    cudnnBackendHeurMode_t mode, struct list *list)
{
    list->count = 0;
    cudnnBackendDescriptor_t d = make_descriptor(b, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    set_descriptor(b, d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, operations);
    set_attribute(b, d, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (b->device)
        set_descriptor(b, d, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, b->device);
    finalize_descriptor(b, d);
    for (int i = 0; i < MAX_CONFIGS; i++)
        list->config[i] = make_descriptor(b, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    list->engine = make_descriptor(b, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    if (b->status == CUDNN_STATUS_SUCCESS)
        b->status = b->planner->get(d, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                    MAX_CONFIGS, &list->count, list->config);
    if (list->count > MAX_CONFIGS)
        list->count = MAX_CONFIGS;
    return b->status;
}

/* Sets list->engine to that of the i-th config. False if the math type forbids it, or if it is not
 * deterministic as required. */
static bool take_engine(struct builder *b, struct list *list, int64_t i, cudnnMathType_t math,
                        bool deterministic)
{
    int64_t one = 0;
    return b->planner->get(list->config[i], CUDNN_ATTR_ENGINECFG_ENGINE,
                           CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &one,
                           &list->engine) == CUDNN_STATUS_SUCCESS &&
           math_allows(b, list->engine, math) &&
           has_note(b, list->engine, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) != deterministic;
}

static cudnnStatus_t plan_first(struct builder *b, cudnnBackendDescriptor_t operations,
                                cudnnBackendHeurMode_t mode, cudnnMathType_t math,
                                bool deterministic, struct simdev_legacy_plan *out)
{
    struct list list;
    if (ask_heuristics(b, operations, mode, &list) != CUDNN_STATUS_SUCCESS)
        return b->status;
    for (int64_t i = 0; i < list.count; i++) {
        if (!take_engine(b, &list, i, math, deterministic))
            continue;
        out->uses_tensor_cores = has_note(b, list.engine, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
        out->is_deterministic = deterministic;
        if (try_config(b, list.config[i], out) == CUDNN_STATUS_SUCCESS)
            return CUDNN_STATUS_SUCCESS;
    }
    return CUDNN_STATUS_NOT_SUPPORTED;
}

/* -1 if there is no plan. */
static int64_t workspace_of(struct builder *b, cudnnBackendDescriptor_t config)
{
    const int keep = b->made;
    int64_t one = 0, bytes = -1;
    cudnnBackendDescriptor_t d = make_descriptor(b, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set_descriptor(b, d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    if (b->device)
        set_descriptor(b, d, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, b->device);
    finalize_descriptor(b, d);
    if (b->status != CUDNN_STATUS_SUCCESS ||
        b->planner->get(d, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &one,
                        &bytes) != CUDNN_STATUS_SUCCESS)
        bytes = -1;
    b->status = CUDNN_STATUS_SUCCESS;
    destroy_made(b, keep);
    return bytes;
}

static int64_t index_of(const struct builder *b, cudnnBackendDescriptor_t engine)
{
    int64_t one = 0, index = -1;
    (void)b->planner->get(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &one,
                          &index);
    return index;
}

/* Of the engines after the first, the one with the largest workspace, which must not be 0. */
static cudnnStatus_t plan_largest(struct builder *b, cudnnBackendDescriptor_t operations,
                                  cudnnMathType_t math, struct simdev_legacy_plan *out)
{
    struct list list;
    int64_t first = -1, largest = 0, chosen = -1;
    if (ask_heuristics(b, operations, CUDNN_HEUR_MODE_A, &list) != CUDNN_STATUS_SUCCESS)
        return b->status;
    for (int64_t i = 0; i < list.count && i < COMPARED; i++) {
        if (!take_engine(b, &list, i, math, true))
            continue;
        const int64_t engine = index_of(b, list.engine);
        if (first < 0)
            first = engine;
        const int64_t bytes = engine != first ? workspace_of(b, list.config[i]) : 0;
        if (bytes > largest) {
            largest = bytes;
            chosen = i;
        }
    }
    if (chosen < 0 || !take_engine(b, &list, chosen, math, true))
        return CUDNN_STATUS_NOT_SUPPORTED;
    out->uses_tensor_cores = has_note(b, list.engine, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
    out->is_deterministic = true;
    return try_config(b, list.config[chosen], out);
}

static cudnnStatus_t plan_by_engine(struct builder *b, cudnnBackendDescriptor_t operations,
                                    int64_t index, struct simdev_legacy_plan *out)
{
    cudnnBackendDescriptor_t engine = make_descriptor(b, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    set_descriptor(b, engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, operations);
    set_attribute(b, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
    if (b->device)
        set_descriptor(b, engine, CUDNN_ATTR_ENGINE_DEVICEPROP, b->device);
    finalize_descriptor(b, engine);
    cudnnBackendDescriptor_t config = make_descriptor(b, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    set_descriptor(b, config, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    finalize_descriptor(b, config);
    if (b->status != CUDNN_STATUS_SUCCESS)
        return b->status;
    out->uses_tensor_cores = has_note(b, engine, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
    out->is_deterministic = !has_note(b, engine, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
    return try_config(b, config, out);
}

/* The backward ALGO_0 of cuDNN adds with atomic operations, so the same call may round differently
 * each time. */
static cudnnStatus_t plan_unordered(struct builder *b, cudnnBackendDescriptor_t operations,
                                    cudnnMathType_t math, struct simdev_legacy_plan *out)
{
    cudnnStatus_t status = plan_first(b, operations, CUDNN_HEUR_MODE_FALLBACK, math, false, out);
    if (status != CUDNN_STATUS_SUCCESS)
        status = plan_by_engine(b, operations, 0, out);
    out->is_deterministic = false;
    return status;
}

/* The algorithm for the engine with the largest workspace: cuDNN's GEMM writes the matrix of all
 * windows, and its non-fused Winograd writes every transformed tile. */
static int largest_algorithm(enum simdev_conv_kind kind)
{
    if (kind == SIMDEV_CONV_FORWARD)
        return CUDNN_CONVOLUTION_FWD_ALGO_GEMM;
    if (kind == SIMDEV_CONV_BACKWARD_DATA)
        return CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED;
    return CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED;
}

static cudnnStatus_t plan_algorithm(struct builder *b, cudnnBackendDescriptor_t operations,
                                    const struct simdev_legacy_problem *problem,
                                    struct simdev_legacy_plan *out)
{
    const cudnnMathType_t math = problem->conv.math;
    if (problem->algo == SIMDEV_ALGO_SLOW)
        return plan_by_engine(b, operations, 0, out);
    if (problem->algo == SIMDEV_ALGO_HEURISTIC)
        return plan_first(b, operations, CUDNN_HEUR_MODE_A, math, true, out);
    if (problem->algo == largest_algorithm(problem->kind))
        return plan_largest(b, operations, math, out);
    if (problem->algo != SIMDEV_ALGO_NO_WORKSPACE)
        return CUDNN_STATUS_NOT_SUPPORTED;
    return problem->kind == SIMDEV_CONV_FORWARD ? plan_by_engine(b, operations, 0, out)
                                                : plan_unordered(b, operations, math, out);
}

static void make_plan(const struct simdev_legacy_problem *problem, struct simdev_legacy_plan *out)
{
    struct builder b = {.planner = simdev_planner()};
    b.device = b.planner->device[problem->device];
    cudnnBackendDescriptor_t operations = make_graph(&b, problem);
    out->status = b.status;
    if (b.status == CUDNN_STATUS_SUCCESS)
        out->status = plan_algorithm(&b, operations, problem, out);
    destroy_made(&b, 0);
    if (out->status != CUDNN_STATUS_SUCCESS)
        return;
    /* A legacy call declares no alignment, so only the type's alignment is required. */
    for (int i = 0; i < out->program->tensors; i++)
        out->program->tensor[i].alignment =
            (int64_t)simdev_type_size(out->program->tensor[i].view.type);
}

/* Problems are zeroed before they are filled, so that equal problems are equal in every byte. */
static bool same_bytes(const void *a, const void *b, size_t size)
{
    return memcmp(a, b, size) == 0;
}

static size_t hash_bytes(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        h = (h ^ at[i]) * 1099511628211u;
    return (size_t)(h % BUCKETS);
}

const struct simdev_legacy_plan *simdev_legacy_plan(const struct simdev_legacy_problem *problem)
{
    const size_t at = hash_bytes(problem, sizeof *problem);
    pthread_mutex_lock(&lock);
    struct entry *entry = bucket[at];
    while (entry && !same_bytes(&entry->problem, problem, sizeof *problem))
        entry = entry->next;
    if (!entry) {
        entry = calloc(1, sizeof *entry);
        if (entry) {
            memcpy(&entry->problem, problem, sizeof *problem);
            make_plan(problem, &entry->plan);
            entry->next = bucket[at];
            bucket[at] = entry;
        }
    }
    pthread_mutex_unlock(&lock);
    return entry ? &entry->plan : NULL;
}

void simdev_legacy_plans_release(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < BUCKETS; i++) {
        while (bucket[i]) {
            struct entry *entry = bucket[i];
            bucket[i] = entry->next;
            simdev_program_release(entry->plan.program);
            free(entry);
        }
    }
    pthread_mutex_unlock(&lock);
}
