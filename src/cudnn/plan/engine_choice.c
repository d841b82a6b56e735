#include "cudnn/plan/engine_choice.h"

#include "cudnn/bind/new_attributes.h"
#include <stdatomic.h>
#include <string.h>

enum {
    PICKS = 12 /* heuristic results looked at for a legacy call */
};

static _Atomic uint64_t retired; /* handles destroyed so far */

void cs_maker_init(struct cs_maker *maker, const struct cs_problem *problem,
                   const int64_t uid[CS_MAX_TENSORS], cudnnHandle_t handle)
{
    *maker = (struct cs_maker){.problem = *problem, .target.handle = handle};
    memcpy(maker->target.uid, uid, sizeof maker->target.uid);
}

void cs_maker_fini(struct cs_maker *maker)
{
    if (maker->target.device)
        (void)CS_REAL(cudnnBackendDestroyDescriptor, maker->target.device);
}

static void read_knobs(struct cs_bench *bench, cudnnBackendDescriptor_t configuration,
                       struct cs_engine *engine)
{
    cudnnBackendDescriptor_t knob[CS_MAX_KNOBS];
    for (int i = 0; i < CS_MAX_KNOBS; i++)
        knob[i] = cs_bench_make(bench, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    /* With a count of 0 cuDNN does not say how many there are: ask for as many as we hold. */
    int64_t knobs = cs_bench_get(bench, configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, CS_MAX_KNOBS, knob);
    if (knobs > CS_MAX_KNOBS)
        bench->status = CUDNN_STATUS_NOT_SUPPORTED;
    engine->knobs = (int)knobs;
    for (int i = 0; i < engine->knobs && bench->status == CUDNN_STATUS_SUCCESS; i++) {
        cudnnBackendKnobType_t type = CUDNN_KNOB_TYPE_COUNTS;
        cs_bench_get(bench, knob[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1,
                     &type);
        cs_bench_get(bench, knob[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1,
                     &engine->knob_value[i]);
        engine->knob_type[i] = type;
    }
}

/* Settings that older cuDNNs do not have: what cannot be read was not set. */
static void read_settings(struct cs_maker *maker, cudnnBackendDescriptor_t engine)
{
    int64_t count;
    if (CS_REAL(cudnnBackendGetAttribute, engine, CUDNN_ATTR_ENGINE_SM_COUNT_TARGET,
                CUDNN_TYPE_INT32, 1, &count, &maker->target.sm_count) != CUDNN_STATUS_SUCCESS)
        maker->target.sm_count = 0;
    if (CS_REAL(cudnnBackendGetAttribute, engine, CS_ATTR_ENGINE_NO_CLUSTERS, CUDNN_TYPE_BOOLEAN, 1,
                &count, &maker->target.no_clusters) != CUDNN_STATUS_SUCCESS)
        maker->target.no_clusters = false;
    if (CS_REAL(cudnnBackendGetAttribute, engine, CS_ATTR_ENGINE_SHARED_MEMORY, CUDNN_TYPE_INT32, 1,
                &count, &maker->target.shared_memory) != CUDNN_STATUS_SUCCESS)
        maker->target.shared_memory = 0;
}

static void read_device(struct cs_bench *bench, struct cs_maker *maker,
                        cudnnBackendDescriptor_t engine)
{
    cudnnBackendDescriptor_t device = cs_bench_make(bench, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    cs_bench_get(bench, engine, CUDNN_ATTR_ENGINE_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                 &device);
    if (bench->status == CUDNN_STATUS_SUCCESS)
        maker->target.device = cs_bench_take(bench, device);
}

static void read_configuration(struct cs_bench *bench, struct cs_maker *maker,
                               cudnnBackendDescriptor_t configuration)
{
    cudnnBackendDescriptor_t engine = cs_bench_make(bench, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cs_bench_get(bench, configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                 1, &engine);
    cs_bench_get(bench, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                 &maker->engine.index);
    read_knobs(bench, configuration, &maker->engine);
    if (bench->status == CUDNN_STATUS_SUCCESS)
        read_settings(maker, engine);
    if (!maker->target.handle)
        read_device(bench, maker, engine);
    maker->notes = cs_parts_notes(bench, configuration);
    maker->known = bench->status == CUDNN_STATUS_SUCCESS;
}

bool cs_maker_read(struct cs_maker *maker, cudnnBackendDescriptor_t configuration)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    read_configuration(&bench, maker, configuration);
    cs_bench_clear(&bench);
    return bench.status == CUDNN_STATUS_SUCCESS;
}

bool cs_maker_read_plan(struct cs_maker *maker, cudnnBackendDescriptor_t plan)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    cudnnBackendDescriptor_t configuration =
        cs_bench_make(&bench, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    cs_bench_get(&bench, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &configuration);
    read_configuration(&bench, maker, configuration);
    cs_bench_clear(&bench);
    return bench.status == CUDNN_STATUS_SUCCESS;
}

static int64_t device_number(cudnnBackendDescriptor_t device)
{
    char text[CS_DEVICE_JSON];
    uint64_t hash = 0xcbf29ce484222325u;
    size_t length = cs_profile_json(device, text);
    if (length == 0)
        return 0;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return (int64_t)hash;
}

/* A handle stands for its device, until it is destroyed and its address is handed out again. */
static int64_t handle_number(cudnnHandle_t handle)
{
    uint64_t generation = atomic_load_explicit(&retired, memory_order_relaxed);
    return (int64_t)((uintptr_t)handle ^ generation << 48);
}

/* What a plan needs may depend on these settings of its engine as on the device. */
static int64_t settings_number(const struct cs_target *target)
{
    uint64_t settings = (uint64_t)(uint32_t)target->sm_count << 33 |
                        (uint64_t)(uint32_t)target->shared_memory << 1 | target->no_clusters;
    return (int64_t)(settings * UINT64_C(0x9e3779b97f4a7c15));
}

int64_t cs_maker_scope(const struct cs_maker *maker)
{
    int64_t device = maker->target.handle ? handle_number(maker->target.handle)
                                          : device_number(maker->target.device);
    return device ^ settings_number(&maker->target);
}

void cs_maker_retire(void)
{
    atomic_fetch_add_explicit(&retired, 1, memory_order_relaxed);
}

/* Reads the configuration's engine into the maker if it is allowed and its plan is built. */
static bool try_pick(struct cs_maker *maker, cudnnBackendDescriptor_t configuration,
                     unsigned forbidden)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    struct cs_notes notes = cs_parts_notes(&bench, configuration);
    bool allowed = (notes.numerical & forbidden) == 0;
    if (allowed)
        cs_parts_plan(&bench, &maker->target, configuration);
    cs_bench_clear(&bench);
    return allowed && bench.status == CUDNN_STATUS_SUCCESS && cs_maker_read(maker, configuration);
}

bool cs_maker_pick(struct cs_maker *maker, unsigned forbidden)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    cudnnBackendDescriptor_t configuration[PICKS];
    int results = cs_parts_heuristics(&bench, &maker->target, &maker->problem, CUDNN_HEUR_MODE_A,
                                      configuration, PICKS);
    bool picked = false;
    for (int i = 0; i < results && !picked; i++)
        picked = try_pick(maker, configuration[i], forbidden);
    cs_bench_clear(&bench);
    return picked;
}
