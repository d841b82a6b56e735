/* Reads the engine, knobs and settings that the application chose, and the scope in which a
 * decision about them is valid. */
#include "cudnn/plan/engine_choice.h"

#include "base/hash.h"
#include "cudnn/bind/new_attributes.h"
#include <string.h>

enum {
    PICKS = 12 /* heuristic results that are examined for a legacy call */
};

void cs_engine_choice_init(struct cs_engine_choice *choice, const struct cs_problem *problem,
                           const int64_t uid[CS_MAX_TENSORS], cudnnHandle_t handle,
                           struct cs_handle_id id)
{
    *choice = (struct cs_engine_choice){.problem = *problem, .target.handle = handle, .id = id};
    memcpy(choice->target.uid, uid, sizeof choice->target.uid);
}

void cs_engine_choice_fini(struct cs_engine_choice *choice)
{
    if (choice->target.device)
        (void)CS_REAL(cudnnBackendDestroyDescriptor, choice->target.device);
}

/* Reads the knobs of a configuration. Too many of them are an error of the builder. */
static void read_knobs(struct cs_descriptor_builder *builder,
                       cudnnBackendDescriptor_t configuration, struct cs_engine *engine)
{
    cudnnBackendDescriptor_t knob[CS_MAX_KNOBS];
    for (int i = 0; i < CS_MAX_KNOBS; i++)
        knob[i] = cs_descriptor_make(builder, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    /* With a count of 0 cuDNN does not return the number of knobs, so the whole array is requested.
     */
    int64_t knobs = cs_descriptor_get(builder, configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                      CUDNN_TYPE_BACKEND_DESCRIPTOR, CS_MAX_KNOBS, knob);
    if (knobs > CS_MAX_KNOBS)
        builder->status = CUDNN_STATUS_NOT_SUPPORTED;
    engine->knobs = (int)knobs;
    for (int i = 0; i < engine->knobs && builder->status == CUDNN_STATUS_SUCCESS; i++) {
        cudnnBackendKnobType_t type = CUDNN_KNOB_TYPE_COUNTS;
        cs_descriptor_get(builder, knob[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
                          1, &type);
        cs_descriptor_get(builder, knob[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1,
                          &engine->knob_value[i]);
        engine->knob_type[i] = type;
    }
}

/* Reads the engine's number and knobs. The builder owns the returned descriptor of the engine. */
static cudnnBackendDescriptor_t read_engine(struct cs_descriptor_builder *builder,
                                            cudnnBackendDescriptor_t configuration,
                                            struct cs_engine *engine)
{
    cudnnBackendDescriptor_t made = cs_descriptor_make(builder, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cs_descriptor_get(builder, configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
                      CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &made);
    cs_descriptor_get(builder, made, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                      &engine->index);
    read_knobs(builder, configuration, engine);
    return made;
}

bool cs_engine_choice_engine_of(cudnnBackendDescriptor_t configuration, struct cs_engine *engine)
{
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    read_engine(&builder, configuration, engine);
    cs_descriptor_builder_clear(&builder);
    return builder.status == CUDNN_STATUS_SUCCESS;
}

/* Reads the settings of an engine. One that cannot be read counts as not set, because older cuDNNs
 * lack some. */
static void read_settings(struct cs_engine_choice *choice, cudnnBackendDescriptor_t engine)
{
    int64_t count;
    if (CS_REAL(cudnnBackendGetAttribute, engine, CUDNN_ATTR_ENGINE_SM_COUNT_TARGET,
                CUDNN_TYPE_INT32, 1, &count,
                &choice->target.settings.sm_count) != CUDNN_STATUS_SUCCESS)
        choice->target.settings.sm_count = 0;
    if (CS_REAL(cudnnBackendGetAttribute, engine, CS_ATTR_ENGINE_NO_CLUSTERS, CUDNN_TYPE_BOOLEAN, 1,
                &count, &choice->target.settings.no_clusters) != CUDNN_STATUS_SUCCESS)
        choice->target.settings.no_clusters = false;
    if (CS_REAL(cudnnBackendGetAttribute, engine, CS_ATTR_ENGINE_SHARED_MEMORY, CUDNN_TYPE_INT32, 1,
                &count, &choice->target.settings.shared_memory) != CUDNN_STATUS_SUCCESS)
        choice->target.settings.shared_memory = 0;
}

static void read_device(struct cs_descriptor_builder *builder, struct cs_engine_choice *choice,
                        cudnnBackendDescriptor_t engine)
{
    cudnnBackendDescriptor_t device =
        cs_descriptor_make(builder, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    cs_descriptor_get(builder, engine, CUDNN_ATTR_ENGINE_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                      1, &device);
    if (builder->status == CUDNN_STATUS_SUCCESS)
        choice->target.device = cs_descriptor_take(builder, device);
}

/* Reads the engine, its settings and notes and, without a handle, the device. */
static void read_configuration(struct cs_descriptor_builder *builder,
                               struct cs_engine_choice *choice,
                               cudnnBackendDescriptor_t configuration)
{
    cudnnBackendDescriptor_t engine = read_engine(builder, configuration, &choice->engine);
    if (builder->status == CUDNN_STATUS_SUCCESS)
        read_settings(choice, engine);
    if (!choice->target.handle)
        read_device(builder, choice, engine);
    choice->notes = cs_descriptors_notes(builder, configuration);
    choice->known = builder->status == CUDNN_STATUS_SUCCESS;
}

bool cs_engine_choice_read(struct cs_engine_choice *choice, cudnnBackendDescriptor_t configuration)
{
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    read_configuration(&builder, choice, configuration);
    cs_descriptor_builder_clear(&builder);
    return builder.status == CUDNN_STATUS_SUCCESS;
}

bool cs_engine_choice_read_plan(struct cs_engine_choice *choice, cudnnBackendDescriptor_t plan)
{
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    cudnnBackendDescriptor_t configuration =
        cs_descriptor_make(&builder, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    cs_descriptor_get(&builder, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                      CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &configuration);
    read_configuration(&builder, choice, configuration);
    cs_descriptor_builder_clear(&builder);
    return builder.status == CUDNN_STATUS_SUCCESS;
}

static int64_t device_number(cudnnBackendDescriptor_t device)
{
    char text[CS_DEVICE_JSON];
    size_t length = cs_device_profile_json(device, text);
    return length > 0 ? (int64_t)cs_hash_bytes(CS_HASH_START, text, length) : 0;
}

/* A number for the engine's settings. The workspace of a plan may depend on them as on the device.
 */
static int64_t settings_number(const struct cs_target *target)
{
    uint64_t settings = (uint64_t)(uint32_t)target->settings.sm_count << 33 |
                        (uint64_t)(uint32_t)target->settings.shared_memory << 1 |
                        target->settings.no_clusters;
    return (int64_t)cs_hash_spread(settings);
}

int64_t cs_engine_choice_scope(const struct cs_engine_choice *choice)
{
    int64_t device = choice->target.handle ? choice->id.gpu : device_number(choice->target.device);
    return device ^ settings_number(&choice->target);
}

/* Reads the configuration's engine into `choice` if the engine is allowed and its plan can be
 * built. */
static bool try_pick(struct cs_engine_choice *choice, cudnnBackendDescriptor_t configuration,
                     unsigned forbidden)
{
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    struct cs_engine_notes notes = cs_descriptors_notes(&builder, configuration);
    bool allowed = (notes.numerical & forbidden) == 0;
    if (allowed)
        cs_descriptors_plan(&builder, &choice->target, configuration);
    cs_descriptor_builder_clear(&builder);
    return allowed && builder.status == CUDNN_STATUS_SUCCESS &&
           cs_engine_choice_read(choice, configuration);
}

bool cs_engine_choice_pick(struct cs_engine_choice *choice, unsigned forbidden)
{
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    cudnnBackendDescriptor_t configuration[PICKS];
    int results = cs_descriptors_heuristics(&builder, &choice->target, &choice->problem,
                                            CUDNN_HEUR_MODE_A, configuration, PICKS);
    bool picked = false;
    for (int i = 0; i < results && !picked; i++)
        picked = try_pick(choice, configuration[i], forbidden);
    cs_descriptor_builder_clear(&builder);
    return picked;
}
