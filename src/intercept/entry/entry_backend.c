/* The exported functions of the backend API: create, set, get, finalize, execute, populate,
 * destroy. */
#include "intercept/entry/entry.h"
#include "intercept/graph/describe_graph.h"
#include "intercept/graph/json_note.h"
#include "intercept/graph/plan_hooks.h"
#include <stdlib.h>
#include <string.h>

struct create {
    struct cs_entry_call call;
    cudnnBackendDescriptorType_t type;
    cudnnBackendDescriptor_t *descriptor;
};

static int create_replay(struct cs_entry_call *call)
{
    struct create *a = CS_ARGS(struct create, call);
    return (int)CS_REAL(cudnnBackendCreateDescriptor, a->type, a->descriptor);
}

/* Adds the shadow after cuDNN has created the descriptor, because it has no address before. No
 * other thread has the address until this returns. */
static int create_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct create *a = CS_ARGS(struct create, call);
    (void)cs;
    int status = create_replay(call);
    if (status == CUDNN_STATUS_SUCCESS)
        cs_shadow_add(*a->descriptor, a->type);
    return status;
}

CS_EXPORT cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                                     cudnnBackendDescriptor_t *descriptor)
{
    struct create a = {{create_replay, create_handle}, type, descriptor};
    return (cudnnStatus_t)cs_intercept_note(&a.call);
}

struct one {
    struct cs_entry_call call;
    cudnnBackendDescriptor_t descriptor;
};

static int destroy_replay(struct cs_entry_call *call)
{
    struct one *a = CS_ARGS(struct one, call);
    return (int)CS_REAL(cudnnBackendDestroyDescriptor, a->descriptor);
}

/* Removes the shadow first, because another thread may get the same address as soon as cuDNN has
 * destroyed the descriptor. */
static int destroy_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct one *a = CS_ARGS(struct one, call);
    (void)cs;
    cs_shadow_remove(a->descriptor);
    return destroy_replay(call);
}

CS_EXPORT cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
    struct one a = {{destroy_replay, destroy_handle}, descriptor};
    return (cudnnStatus_t)cs_intercept_note(&a.call);
}

static int initialize_replay(struct cs_entry_call *call)
{
    struct one *a = CS_ARGS(struct one, call);
    return (int)CS_REAL(cudnnBackendInitialize, a->descriptor);
}

/* Resets the shadow to that of a new descriptor. */
static int initialize_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct one *a = CS_ARGS(struct one, call);
    (void)cs;
    int status = initialize_replay(call);
    const struct cs_shadow *shadow =
        status == CUDNN_STATUS_SUCCESS ? cs_shadow_find(a->descriptor) : NULL;
    if (shadow)
        cs_shadow_add(a->descriptor, shadow->type);
    return status;
}

CS_EXPORT cudnnStatus_t cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor)
{
    struct one a = {{initialize_replay, initialize_handle}, descriptor};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

static bool refuses_plan(const struct cs_shadow *shadow)
{
    return shadow->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR && shadow->plan.verdict.refused;
}

static int finalize_replay(struct cs_entry_call *call)
{
    struct one *a = CS_ARGS(struct one, call);
    return (int)CS_REAL(cudnnBackendFinalize, a->descriptor);
}

/* Describes a graph, decides on a plan, or marks a pack. Returns CUDNN_STATUS_NOT_SUPPORTED for a
 * refused plan, so that the application takes another one. Such a plan cannot run within the
 * reported size, or option untileable refuses it. */
static int record_finalized(struct cs *cs, struct cs_shadow *shadow)
{
    switch (shadow->type) {
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        shadow->graph = cs_describe_graph(shadow);
        break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        cs_plan_hooks_finalize(cs, shadow);
        break;
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        shadow->pack.finalized = true;
        break;
    default:
        break;
    }
    return refuses_plan(shadow) ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
}

/* Lets cuDNN finalize first. cuDNN checks the attributes, so that only consistent ones are
 * described, and a plan's engine and knobs can be read only after it. */
static int finalize_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct one *a = CS_ARGS(struct one, call);
    int status = finalize_replay(call);
    struct cs_shadow *shadow =
        status == CUDNN_STATUS_SUCCESS ? cs_shadow_find(a->descriptor) : NULL;
    return shadow ? record_finalized(cs, shadow) : status;
}

CS_EXPORT cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
    struct one a = {{finalize_replay, finalize_handle}, descriptor};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

struct set {
    struct cs_entry_call call;
    cudnnBackendDescriptor_t descriptor;
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t count;
    const void *elements;
};

static int set_replay(struct cs_entry_call *call)
{
    const struct set *a = CS_ARGS(struct set, call);
    return (int)CS_REAL(cudnnBackendSetAttribute, a->descriptor, a->name, a->type, a->count,
                        a->elements);
}

/* Sets the JSON of a plan without the library's note, because cuDNN returns the text as it was set.
 * The whole text is set if memory is short. */
static int set_json(const struct set *a)
{
    const int64_t length = a->elements ? cs_json_note_begin(a->elements, a->count) : a->count;
    char *json = length < a->count ? malloc((size_t)length + 1) : NULL;
    struct set without = *a;
    if (json) {
        memcpy(json, a->elements, (size_t)length);
        json[length] = '\0';
        without.elements = json;
        without.count = length;
    }
    int status = set_replay(&without.call);
    free(json);
    return status;
}

static bool is_json(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type)
{
    return name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION && type == CUDNN_TYPE_CHAR;
}

/* Records an attribute that cuDNN has accepted, because cuDNN has no query for all attributes.
 * Refused ones are not recorded: the record must match the descriptor. */
static int set_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct set *a = CS_ARGS(struct set, call);
    (void)cs;
    int status = is_json(a->name, a->type) ? set_json(a) : set_replay(call);
    struct cs_shadow *shadow =
        status == CUDNN_STATUS_SUCCESS ? cs_shadow_find(a->descriptor) : NULL;
    if (shadow)
        cs_attribute_set(shadow, a->name, a->type, a->count, a->elements);
    return status;
}

CS_EXPORT cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                                 cudnnBackendAttributeName_t name,
                                                 cudnnBackendAttributeType_t type, int64_t count,
                                                 const void *elements)
{
    struct set a = {{set_replay, set_handle}, descriptor, name, type, count, elements};
    return (cudnnStatus_t)cs_intercept_note(&a.call);
}

/* Finds a finalized plan of a graph with a convolution. NULL for all other plans, which are not
 * counted. */
static const struct cs_shadow *counted_plan(cudnnBackendDescriptor_t plan)
{
    const struct cs_shadow *shadow = cs_shadow_find(plan);
    return shadow && shadow->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR && shadow->plan.counted
               ? shadow
               : NULL;
}

/* True if a smaller size was reported for this plan than it requires, or if it was refused. Such a
 * plan is handled for every caller, because cuDNN itself never receives it. A call that looks like
 * one of cuDNN's own may come from a coroutine that runs inside another one's call, or after a
 * longjmp out of one. */
static bool is_rewritten(cudnnBackendDescriptor_t descriptor)
{
    const struct cs_shadow *plan = cs_instance_made() ? counted_plan(descriptor) : NULL;
    return plan && (plan->plan.verdict.rewrite || plan->plan.verdict.refused);
}

struct get {
    struct cs_entry_call call;
    cudnnBackendDescriptor_t descriptor;
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t requested;
    int64_t *count;
    void *elements;
};

static int get_replay(struct cs_entry_call *call)
{
    struct get *a = CS_ARGS(struct get, call);
    return (int)CS_REAL(cudnnBackendGetAttribute, a->descriptor, a->name, a->type, a->requested,
                        a->count, a->elements);
}

/* Replaces cuDNN's size by the reported one. For a plan this is the size that its finalization has
 * decided. For an engine configuration it is the size that a plan of it will get. Frameworks query
 * configurations before they make plans. */
static void replace_size(struct cs *cs, const struct cs_shadow *shadow,
                         cudnnBackendAttributeName_t name, void *element)
{
    int64_t bytes;
    memcpy(&bytes, element, sizeof bytes);
    if (shadow->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR &&
        name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && shadow->plan.verdict.rewrite)
        bytes = shadow->plan.verdict.reported;
    if (shadow->type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR &&
        name == CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE)
        bytes = cs_plan_hooks_reported(cs, shadow, bytes);
    memcpy(element, &bytes, sizeof bytes);
}

/* Handles values that cuDNN has filled in. Descriptors inherit the graph of the queried one,
 * because heuristics fill engine configurations that the application has not set up. Sizes are
 * replaced by reported ones. The count that cuDNN returns may be that of the available elements
 * instead of the filled ones. */
static void handle_results(struct cs *cs, struct cs_shadow *shadow, const struct get *a)
{
    int64_t filled = a->count && *a->count < a->requested ? *a->count : a->requested;
    if (filled < 1 || !a->elements)
        return;
    if (a->type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        cs_attribute_got(shadow, a->name, filled, a->elements);
    if (a->type == CUDNN_TYPE_INT64)
        replace_size(cs, shadow, a->name, a->elements);
}

/* Appends the note with the reported size to the JSON of a tiled plan (json_note.h). If the buffer
 * has no room for the note, it contains cuDNN's text alone. */
static void add_note(const struct cs_shadow *plan, const struct get *a, int64_t length)
{
    const int64_t reported = plan->plan.verdict.reported;
    const int64_t note = cs_json_note_length(plan->graph, reported);
    if (a->elements && length > 0 && a->requested - length >= note)
        cs_json_note_write(plan->graph, reported, a->elements, length);
    if (!a->elements || a->requested - length >= note)
        *a->count = length + note;
}

static int get_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct get *a = CS_ARGS(struct get, call);
    int status = get_replay(call);
    struct cs_shadow *shadow =
        status == CUDNN_STATUS_SUCCESS ? cs_shadow_find(a->descriptor) : NULL;
    if (shadow && a->count && is_json(a->name, a->type) && is_rewritten(a->descriptor))
        add_note(shadow, a, *a->count);
    else if (shadow)
        handle_results(cs, shadow, a);
    return status;
}

CS_EXPORT cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t descriptor,
                                                 cudnnBackendAttributeName_t name,
                                                 cudnnBackendAttributeType_t type,
                                                 int64_t requested, int64_t *count, void *elements)
{
    struct get a = {{get_replay, get_handle}, descriptor, name, type, requested, count, elements};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

struct execute {
    struct cs_entry_call call;
    cudnnHandle_t handle;
    cudnnBackendDescriptor_t plan;
    cudnnBackendDescriptor_t pack;
};

static int execute_real(const struct execute *a)
{
    return (int)CS_REAL(cudnnBackendExecute, a->handle, a->plan, a->pack);
}

static int execute_replay(struct cs_entry_call *call)
{
    const struct execute *a = CS_ARGS(struct execute, call);
    return is_rewritten(a->plan) ? cs_intercept_always(call) : execute_real(a);
}

/* Returns the status for an execution of a plan that could not be finalized, and counts it as
 * failed. */
static int status_of_refused(struct cs *cs, const struct cs_shadow *plan)
{
    cs_account_failed(&cs->account, &plan->plan.verdict.site);
    return CUDNN_STATUS_NOT_SUPPORTED;
}

/* Refuses, tiles or passes on an execution, as the plan was decided. */
static int execute_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct execute *a = CS_ARGS(struct execute, call);
    const struct cs_shadow *plan = counted_plan(a->plan);
    if (!plan || !a->handle || !a->pack) /* cuDNN reports NULL arguments */
        return execute_real(a);
    if (refuses_plan(plan))
        return status_of_refused(cs, plan);
    if (plan->plan.verdict.rewrite)
        return cs_plan_hooks_run(cs, plan, a->handle, a->pack);
    cs_plan_hooks_pass(cs, plan, a->pack);
    return execute_real(a);
}

CS_EXPORT cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                            cudnnBackendDescriptor_t pack)
{
    struct execute a = {{execute_replay, execute_handle}, handle, plan, pack};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

struct graph {
    struct cs_entry_call call;
    cudnnHandle_t handle;
    cudnnBackendDescriptor_t plan;
    cudnnBackendDescriptor_t pack;
    cudaGraph_t graph;
};

static int populate_real(const struct graph *a)
{
    return (int)CS_REAL(cudnnBackendPopulateCudaGraph, a->handle, a->plan, a->pack, a->graph);
}

static int populate_replay(struct cs_entry_call *call)
{
    const struct graph *a = CS_ARGS(struct graph, call);
    return is_rewritten(a->plan) ? cs_intercept_always(call) : populate_real(a);
}

static int update_real(const struct graph *a)
{
    return (int)CS_REAL(cudnnBackendUpdateCudaGraph, a->handle, a->plan, a->pack, a->graph);
}

static int update_replay(struct cs_entry_call *call)
{
    const struct graph *a = CS_ARGS(struct graph, call);
    return is_rewritten(a->plan) ? cs_intercept_always(call) : update_real(a);
}

/* The counted plan of a call. NULL also if another argument is NULL: cuDNN reports that. */
static const struct cs_shadow *populated_plan(const struct graph *a)
{
    return a->handle && a->pack && a->graph ? counted_plan(a->plan) : NULL;
}

/* Refuses, tiles or passes on a plan that is added to a CUDA graph, as the plan was decided. */
static int populate_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct graph *a = CS_ARGS(struct graph, call);
    const struct cs_shadow *plan = populated_plan(a);
    if (plan && refuses_plan(plan))
        return status_of_refused(cs, plan);
    if (plan && plan->plan.verdict.rewrite)
        return cs_populate(cs, plan, a->handle, a->pack, a->graph);
    if (plan)
        cs_account_passed(&cs->account, &plan->plan.verdict.site, plan->plan.verdict.reason);
    return populate_real(a);
}

static int update_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct graph *a = CS_ARGS(struct graph, call);
    const struct cs_shadow *plan = populated_plan(a);
    if (plan && refuses_plan(plan))
        return status_of_refused(cs, plan);
    return plan && plan->plan.verdict.rewrite
               ? cs_populate_update(cs, plan, a->handle, a->pack, a->graph)
               : update_real(a);
}

CS_EXPORT cudnnStatus_t cudnnBackendPopulateCudaGraph(cudnnHandle_t handle,
                                                      cudnnBackendDescriptor_t plan,
                                                      cudnnBackendDescriptor_t pack,
                                                      cudaGraph_t graph)
{
    struct graph a = {{populate_replay, populate_handle}, handle, plan, pack, graph};
    return (cudnnStatus_t)cs_intercept(&a.call);
}

CS_EXPORT cudnnStatus_t cudnnBackendUpdateCudaGraph(cudnnHandle_t handle,
                                                    cudnnBackendDescriptor_t plan,
                                                    cudnnBackendDescriptor_t pack,
                                                    cudaGraph_t graph)
{
    struct graph a = {{update_replay, update_handle}, handle, plan, pack, graph};
    return (cudnnStatus_t)cs_intercept(&a.call);
}
