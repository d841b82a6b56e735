/* The backend API (cuDNN Backend API, Graph library): the planner keeps the descriptors,
 * cudnn_run.c executes plans. */
#include <stdlib.h>
#include <string.h>

#include "cudnn_internal.h"

/* The backend API. Every descriptor wraps one of the planner's. The planner has no handles, so a
 * handle is kept here and replaced by the properties of its device. */

struct pack {
    int64_t pointers, uids;
    void **pointer;
    int64_t *uid;
    void *workspace;
    bool is_strange; /* an attribute was set that changes the result of the plan */
};

/* A descriptor of the planner. Plans share that of their engine configuration. */
struct owned {
    atomic_int references;
    cudnnBackendDescriptor_t it;
};

struct descriptor {
    cudnnBackendDescriptorType_t type;
    struct owned *own;
    bool finalized;
    bool has_handle, has_device;
    cudnnHandle_t handle;
    int device; /* of its handle, otherwise of the descriptors that it was made from */
    bool has_global_index;
    struct pack pack;
    struct owned *config;           /* of a plan */
    struct simdev_program *program; /* of a finalized plan */
    bool is_deferred;               /* a plan that is finalized here, but not by the planner */
};

/* Guards `is_deferred` and the building of deferred plans. */
static pthread_mutex_t deferred_lock = PTHREAD_MUTEX_INITIALIZER;

enum {
    ON_STACK = 64
};

/* The attribute that replaces a handle in this type of descriptor. -1 if it needs none. */
static int device_attribute(const struct descriptor *descriptor)
{
    switch (descriptor->type) {
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        return CUDNN_ATTR_ENGINEHEUR_DEVICEPROP;
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
        return descriptor->has_global_index ? CUDNN_ATTR_ENGINE_DEVICEPROP : -1;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        return CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP;
    default:
        return -1;
    }
}

static bool is_handle(cudnnBackendAttributeName_t name)
{
    return name == CUDNN_ATTR_OPERATIONGRAPH_HANDLE || name == CUDNN_ATTR_EXECUTION_PLAN_HANDLE;
}

static bool owns_handle(const struct descriptor *descriptor, cudnnBackendAttributeName_t name)
{
    return descriptor->type == (name == CUDNN_ATTR_OPERATIONGRAPH_HANDLE
                                    ? CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR
                                    : CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
}

static cudnnStatus_t create_owned(cudnnBackendDescriptorType_t type, struct owned **out)
{
    struct owned *own = calloc(1, sizeof *own);
    if (!own)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    atomic_init(&own->references, 1);
    const cudnnStatus_t status = simdev_planner()->create(type, &own->it);
    if (status == CUDNN_STATUS_SUCCESS)
        *out = own;
    else
        free(own);
    return status;
}

static cudnnStatus_t release_owned(struct owned *own)
{
    if (!own || atomic_fetch_sub(&own->references, 1) > 1)
        return CUDNN_STATUS_SUCCESS;
    const cudnnStatus_t status = simdev_planner()->destroy(own->it);
    free(own);
    return status;
}

/* Replaces `*held`. */
static void share_owned(struct owned **held, struct owned *own)
{
    atomic_fetch_add(&own->references, 1);
    (void)release_owned(*held);
    *held = own;
}

SIMDEV_EXPORT cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                                         cudnnBackendDescriptor_t *out)
{
    if (!out)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    struct descriptor *descriptor = calloc(1, sizeof *descriptor);
    if (!descriptor)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    descriptor->type = type;
    const cudnnStatus_t status = create_owned(type, &descriptor->own);
    if (status != CUDNN_STATUS_SUCCESS) {
        free(descriptor);
        return status;
    }
    *out = descriptor;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t release_parts(struct descriptor *descriptor)
{
    simdev_program_release(descriptor->program);
    free(descriptor->pack.pointer);
    free(descriptor->pack.uid);
    (void)release_owned(descriptor->config);
    return release_owned(descriptor->own);
}

SIMDEV_EXPORT cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t opaque)
{
    struct descriptor *descriptor = opaque;
    if (!descriptor)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    const cudnnStatus_t status = release_parts(descriptor);
    free(descriptor);
    return status;
}

/* Like real cuDNN 9.19, clears everything that was set. */
SIMDEV_EXPORT cudnnStatus_t cudnnBackendInitialize(cudnnBackendDescriptor_t opaque)
{
    struct descriptor *descriptor = opaque;
    struct owned *own = NULL;
    if (!descriptor)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    const cudnnStatus_t status = create_owned(descriptor->type, &own);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    (void)release_parts(descriptor);
    *descriptor = (struct descriptor){.type = descriptor->type, .own = own};
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t set_handle(struct descriptor *descriptor, cudnnBackendAttributeName_t name,
                                cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    if (!owns_handle(descriptor, name) || descriptor->finalized || count != 1 || !values)
        return simdev_fail(CUDNN_STATUS_BAD_PARAM, "a handle cannot be set here");
    if (type != CUDNN_TYPE_HANDLE)
        return simdev_fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "not a handle");
    cudnnHandle_t handle;
    memcpy(&handle, values, sizeof handle);
    if (!handle)
        return simdev_fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no handle");
    descriptor->handle = handle;
    descriptor->device = handle->device;
    descriptor->has_handle = true;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t get_handle(const struct descriptor *descriptor,
                                cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                int64_t requested, int64_t *count, void *values)
{
    if (!owns_handle(descriptor, name))
        return simdev_fail(CUDNN_STATUS_BAD_PARAM, "this attribute is not a handle");
    if (!descriptor->finalized)
        return simdev_fail(CUDNN_STATUS_NOT_INITIALIZED, "not finalized");
    if (type != CUDNN_TYPE_HANDLE)
        return simdev_fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "not a handle");
    if (!descriptor->has_handle)
        return simdev_fail(CUDNN_STATUS_NOT_SUPPORTED, "no handle was set");
    if (values && requested > 0)
        memcpy(values, &descriptor->handle, sizeof descriptor->handle);
    if (count)
        *count = 1;
    return CUDNN_STATUS_SUCCESS;
}

/* Records the values that the planner accepted for a variant pack. */
static cudnnStatus_t note_pack(struct pack *pack, cudnnBackendAttributeName_t name, int64_t count,
                               const void *values)
{
    const size_t bytes = (size_t)count * sizeof(void *);
    if (name == CUDNN_ATTR_VARIANT_PACK_WORKSPACE) {
        memcpy(&pack->workspace, values, sizeof pack->workspace);
        return CUDNN_STATUS_SUCCESS;
    }
    if (name != CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS &&
        name != CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) {
        pack->is_strange = true;
        return CUDNN_STATUS_SUCCESS;
    }
    void *copy = malloc(bytes ? bytes : 1);
    if (!copy)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    memcpy(copy, values, bytes);
    if (name == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS) {
        free(pack->pointer);
        pack->pointer = copy;
        pack->pointers = count;
    } else {
        free(pack->uid);
        pack->uid = copy;
        pack->uids = count;
    }
    return CUDNN_STATUS_SUCCESS;
}

/* The planner's descriptors for an array of descriptors of the program. Uses `stack` if they fit,
 * otherwise memory that the caller frees. */
static cudnnBackendDescriptor_t *unwrap_descriptors(const void *values, int64_t count,
                                                    cudnnBackendDescriptor_t *stack)
{
    struct descriptor *const *ours = values;
    cudnnBackendDescriptor_t *own = count <= ON_STACK ? stack : malloc((size_t)count * sizeof *own);
    for (int64_t i = 0; own && i < count; i++)
        own[i] = ours[i] ? ours[i]->own->it : NULL;
    return own;
}

static cudnnStatus_t set_descriptors(struct descriptor *descriptor,
                                     cudnnBackendAttributeName_t name, int64_t count,
                                     const void *values)
{
    cudnnBackendDescriptor_t stack[ON_STACK];
    cudnnBackendDescriptor_t *own = unwrap_descriptors(values, count, stack);
    if (!own)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    const cudnnStatus_t status =
        simdev_planner()->set(descriptor->own->it, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, own);
    const struct descriptor *part = *(struct descriptor *const *)values;
    if (part && !descriptor->has_handle)
        descriptor->device = part->device;
    if (own != stack)
        free(own);
    return status;
}

/* A device, given by number or by handle, is a simulated one, which its profile describes. */
static cudnnStatus_t set_own_device(const struct descriptor *descriptor,
                                    cudnnBackendAttributeName_t name,
                                    cudnnBackendAttributeType_t type, int64_t count,
                                    const void *values)
{
    const bool by_handle = name == CUDNN_ATTR_DEVICEPROP_HANDLE;
    cudnnHandle_t handle = NULL;
    int32_t number = 0;
    if (descriptor->type != CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR || descriptor->finalized ||
        count != 1 || !values)
        return simdev_fail(CUDNN_STATUS_BAD_PARAM, "a device cannot be set here");
    if (type != (by_handle ? CUDNN_TYPE_HANDLE : CUDNN_TYPE_INT32))
        return simdev_fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "neither a device nor a handle");
    if (by_handle)
        memcpy(&handle, values, sizeof handle);
    else
        memcpy(&number, values, sizeof number);
    const char *text = simdev_profile_text(handle ? handle->device : number);
    if (!text)
        return simdev_fail(CUDNN_STATUS_BAD_PARAM, "no such device");
    return simdev_planner()->set(descriptor->own->it, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                 CUDNN_TYPE_CHAR, (int64_t)strlen(text) + 1, text);
}

SIMDEV_EXPORT cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t opaque,
                                                     cudnnBackendAttributeName_t name,
                                                     cudnnBackendAttributeType_t type,
                                                     int64_t count, const void *values)
{
    struct descriptor *descriptor = opaque;
    cudnnStatus_t status;
    if (!descriptor)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (descriptor->is_deferred)
        return simdev_fail(CUDNN_STATUS_BAD_PARAM, "the plan is finalized");
    if (is_handle(name))
        return set_handle(descriptor, name, type, count, values);
    if (name == CUDNN_ATTR_DEVICEPROP_DEVICE_ID || name == CUDNN_ATTR_DEVICEPROP_HANDLE)
        return set_own_device(descriptor, name, type, count, values);
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR && values && count > 0)
        status = set_descriptors(descriptor, name, count, values);
    else
        status = simdev_planner()->set(descriptor->own->it, name, type, count, values);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if ((int)name == device_attribute(descriptor) || name == CUDNN_ATTR_ENGINE_DEVICEPROP)
        descriptor->has_device = true;
    if (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX)
        descriptor->has_global_index = true;
    if (name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG && values)
        share_owned(&descriptor->config, ((struct descriptor *const *)values)[0]->own);
    if (descriptor->type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR && values)
        return note_pack(&descriptor->pack, name, count, values);
    return CUDNN_STATUS_SUCCESS;
}

/* cuDNN fills descriptors that the client created. The client's array keeps its wrappers, and the
 * planner fills the wrapped descriptors. */
static cudnnStatus_t get_descriptors(const struct descriptor *descriptor,
                                     cudnnBackendAttributeName_t name, int64_t requested,
                                     int64_t *count, void *values)
{
    struct descriptor *const *ours = values;
    cudnnBackendDescriptor_t stack[ON_STACK];
    int64_t filled = 0;
    cudnnBackendDescriptor_t *own = unwrap_descriptors(values, requested, stack);
    if (!own)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    const cudnnStatus_t status = simdev_planner()->get(
        descriptor->own->it, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, requested, &filled, own);
    for (int64_t i = 0; status == CUDNN_STATUS_SUCCESS && i < filled && i < requested; i++)
        if (ours[i]) {
            ours[i]->finalized = true;
            ours[i]->device = descriptor->device;
        }
    if (count)
        *count = filled;
    if (own != stack)
        free(own);
    return status;
}

/* The attributes of a plan that was not built. Sets `*found` if the attribute is one of those. For
 * any other attribute, the plan is built. */
static cudnnStatus_t get_deferred(struct descriptor *plan, cudnnBackendAttributeName_t name,
                                  cudnnBackendAttributeType_t type, int64_t requested,
                                  int64_t *count, void *values, bool *found)
{
    const int64_t workspace = (int64_t)plan->program->workspace;
    const bool has_room = values && requested > 0;
    *found = true;
    if (count)
        *count = 1;
    if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64) {
        if (has_room)
            memcpy(values, &workspace, sizeof workspace);
        return CUDNN_STATUS_SUCCESS;
    }
    if (name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG && type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        struct descriptor *config = has_room ? *(struct descriptor *const *)values : NULL;
        if (config) {
            share_owned(&config->own, plan->config);
            config->finalized = true;
            config->device = plan->device;
        }
        return CUDNN_STATUS_SUCCESS;
    }
    *found = false;
    const cudnnStatus_t status = simdev_planner()->finalize(plan->own->it);
    plan->is_deferred = status != CUDNN_STATUS_SUCCESS;
    return status;
}

SIMDEV_EXPORT cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const opaque,
                                                     cudnnBackendAttributeName_t name,
                                                     cudnnBackendAttributeType_t type,
                                                     int64_t requested, int64_t *count,
                                                     void *values)
{
    struct descriptor *descriptor = opaque;
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    bool found = false;
    if (!descriptor)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (is_handle(name))
        return get_handle(descriptor, name, type, requested, count, values);
    pthread_mutex_lock(&deferred_lock);
    if (descriptor->is_deferred)
        status = get_deferred(descriptor, name, type, requested, count, values, &found);
    pthread_mutex_unlock(&deferred_lock);
    if (found || status != CUDNN_STATUS_SUCCESS)
        return status;
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR && values && requested > 0)
        return get_descriptors(descriptor, name, requested, count, values);
    return simdev_planner()->get(descriptor->own->it, name, type, requested, count, values);
}

/* Engines that compile their kernel load it when their plan is finalized. True if a capture forbids
 * that. */
static bool may_not_load(const struct descriptor *plan)
{
    bool is_compiled = false;
    return plan->config &&
           simdev_config_has_note(plan->config->it, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION,
                                  &is_compiled) == CUDNN_STATUS_SUCCESS &&
           is_compiled && simdev_capture_refuse_unsafe() != cudaSuccess;
}

SIMDEV_EXPORT cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t opaque)
{
    struct descriptor *descriptor = opaque;
    const struct simdev_planner *planner = simdev_planner();
    if (!descriptor)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    const bool is_plan = descriptor->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
    if (is_plan && simdev_should_fail("cudnnBackendFinalize"))
        return simdev_fail(CUDNN_STATUS_NOT_SUPPORTED, "failure on request");
    if (is_plan && !descriptor->finalized && may_not_load(descriptor))
        return simdev_fail(CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED, "a stream is capturing");
    const int attribute = device_attribute(descriptor);
    const cudnnBackendDescriptor_t device = planner->device[descriptor->device];
    if (!descriptor->finalized && device && attribute >= 0 && !descriptor->has_device) {
        const cudnnStatus_t set =
            planner->set(descriptor->own->it, (cudnnBackendAttributeName_t)attribute,
                         CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &device);
        if (set != CUDNN_STATUS_SUCCESS)
            return set;
        descriptor->has_device = true;
    }
    if (is_plan && descriptor->config && !descriptor->finalized) {
        descriptor->program = simdev_deferred_program(descriptor->config->it, device);
        descriptor->finalized = descriptor->is_deferred = descriptor->program != NULL;
    }
    if (descriptor->is_deferred)
        return CUDNN_STATUS_SUCCESS;
    const cudnnStatus_t status = planner->finalize(descriptor->own->it);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    descriptor->finalized = true;
    return is_plan ? simdev_plan_program(descriptor->own->it, &descriptor->program) : status;
}

/* The checks of the plan and the pack that the three calls which run a plan share. */
static cudnnStatus_t bind_plan(cudnnHandle_t handle, const struct descriptor *plan,
                               const struct descriptor *pack, struct simdev_binding *binding)
{
    if (!handle || !plan || !pack || plan->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
        pack->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
        return simdev_fail(CUDNN_STATUS_BAD_PARAM, "not a handle, a plan and a variant pack");
    if (!plan->program || !pack->finalized)
        return simdev_fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "not finalized");
    if (pack->pack.is_strange)
        return simdev_fail(CUDNN_STATUS_NOT_SUPPORTED, "the variant pack overrides the plan");
    *binding = (struct simdev_binding){
        .count =
            (int)(pack->pack.uids < pack->pack.pointers ? pack->pack.uids : pack->pack.pointers),
        .uid = pack->pack.uid,
        .pointer = pack->pack.pointer,
        .workspace = pack->pack.workspace,
    };
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle,
                                                cudnnBackendDescriptor_t executionPlan,
                                                cudnnBackendDescriptor_t variantPack)
{
    const struct descriptor *plan = executionPlan;
    struct simdev_binding binding;
    if (simdev_should_fail("cudnnBackendExecute"))
        return simdev_fail(CUDNN_STATUS_EXECUTION_FAILED, "failure on request");
    const cudnnStatus_t status = bind_plan(handle, plan, variantPack, &binding);
    return status == CUDNN_STATUS_SUCCESS
               ? simdev_program_launch(plan->program, atomic_load(&handle->stream), &binding)
               : status;
}

/* ---- graph population ---- */

/* A plan that was read from a text has no configuration of the program's. */
static cudnnStatus_t config_has_note(const struct descriptor *plan, bool *native)
{
    const cudnnBackendBehaviorNote_t note = CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API;
    cudnnBackendDescriptor_t config;
    if (plan->config)
        return simdev_config_has_note(plan->config->it, note, native);
    cudnnStatus_t status =
        simdev_planner_child(plan->own->it, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                             CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    status = simdev_config_has_note(config, note, native);
    (void)simdev_planner()->destroy(config);
    return status;
}

/* Checks that the plan's engine can be a graph node. As in the real cuDNN, only engines whose notes
 * allow it can, unless SIMDEV_NATIVE_GRAPHS=1. */
static cudnnStatus_t check_native(const struct descriptor *plan)
{
    const char *wish = getenv("SIMDEV_NATIVE_GRAPHS");
    bool native = wish && strcmp(wish, "1") == 0;
    if (native)
        return CUDNN_STATUS_SUCCESS;
    cudnnStatus_t status = config_has_note(plan, &native);
    if (status == CUDNN_STATUS_SUCCESS && !native)
        status = simdev_fail(CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API,
                             "the engine does not support graph nodes");
    return status;
}

typedef cudnnStatus_t put_in_graph(struct simdev_program *program, cudaGraph_t graph,
                                   const struct simdev_binding *binding);

static cudnnStatus_t to_graph(const char *function, cudnnHandle_t handle,
                              const struct descriptor *plan, const struct descriptor *pack,
                              cudaGraph_t graph, put_in_graph *put)
{
    struct simdev_binding binding;
    if (simdev_should_fail(function))
        return simdev_fail(CUDNN_STATUS_EXECUTION_FAILED, "failure on request");
    if (!graph)
        return simdev_fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no graph");
    cudnnStatus_t status = bind_plan(handle, plan, pack, &binding);
    if (status == CUDNN_STATUS_SUCCESS)
        status = check_native(plan);
    return status == CUDNN_STATUS_SUCCESS ? put(plan->program, graph, &binding) : status;
}

SIMDEV_EXPORT cudnnStatus_t cudnnBackendPopulateCudaGraph(cudnnHandle_t handle,
                                                          cudnnBackendDescriptor_t plan,
                                                          cudnnBackendDescriptor_t pack,
                                                          cudaGraph_t graph)
{
    return to_graph(__func__, handle, plan, pack, graph, simdev_program_populate);
}

SIMDEV_EXPORT cudnnStatus_t cudnnBackendUpdateCudaGraph(cudnnHandle_t handle,
                                                        cudnnBackendDescriptor_t plan,
                                                        cudnnBackendDescriptor_t pack,
                                                        cudaGraph_t graph)
{
    return to_graph(__func__, handle, plan, pack, graph, simdev_program_update);
}
