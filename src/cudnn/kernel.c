#include "cudnn/kernel.h"

#include "cudnn/backend.h"
#include <string.h>

enum {
    DEVICE_JSON = 4096,
    PICKS = 12 /* heuristic results looked at for a legacy call */
};

static const cudnnDataType_t vendor_dtype[CS_DTYPES] = {
    [CS_F32] = CUDNN_DATA_FLOAT, [CS_F16] = CUDNN_DATA_HALF, [CS_BF16] = CUDNN_DATA_BFLOAT16};

static enum cs_status status_of(cudnnStatus_t vendor)
{
    switch (vendor) {
    case CUDNN_STATUS_SUCCESS:
        return CS_OK;
    case CUDNN_STATUS_ALLOC_FAILED:
        return CS_NOMEM;
    default:
        return CS_REFUSED;
    }
}

/* Our five dimensions back in the client's count. */
static int gather(const int64_t values[CS_DIMS], int spatial, int64_t out[CS_DIMS])
{
    out[0] = values[CS_N];
    out[1] = values[CS_C];
    for (int i = 0; i < spatial; i++)
        out[2 + i] = values[CS_DIMS - spatial + i];
    return 2 + spatial;
}

static cudnnBackendDescriptor_t make_tensor(struct cs_bench *bench, const struct cs_tensor *tensor,
                                            int spatial, int64_t uid)
{
    int64_t dims[CS_DIMS], strides[CS_DIMS];
    int count = gather(tensor->dims, spatial, dims);
    gather(tensor->strides, spatial, strides);
    cudnnBackendDescriptor_t made = cs_bench_make(bench, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    cs_bench_set(bench, made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
                 &vendor_dtype[tensor->dtype]);
    cs_bench_set(bench, made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, count, dims);
    cs_bench_set(bench, made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, count, strides);
    cs_bench_set(bench, made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
    cs_bench_set(bench, made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1,
                 &tensor->alignment);
    cs_bench_finalize(bench, made);
    return made;
}

static cudnnBackendDescriptor_t make_conv(struct cs_bench *bench, const struct cs_problem *problem)
{
    cudnnConvolutionMode_t mode = problem->flipped ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION;
    int64_t spatial = problem->spatial;
    size_t absent = (size_t)(CS_SPATIAL - problem->spatial);
    cudnnBackendDescriptor_t made = cs_bench_make(bench, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    cs_bench_set(bench, made, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
                 &vendor_dtype[problem->compute]);
    cs_bench_set(bench, made, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1,
                 &mode);
    cs_bench_set(bench, made, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &spatial);
    cs_bench_set(bench, made, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, spatial,
                 problem->pre + absent);
    cs_bench_set(bench, made, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, spatial,
                 problem->post + absent);
    cs_bench_set(bench, made, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, spatial,
                 problem->dilation + absent);
    cs_bench_set(bench, made, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, spatial,
                 problem->stride + absent);
    cs_bench_finalize(bench, made);
    return made;
}

static void set_scale(struct cs_bench *bench, cudnnBackendDescriptor_t operation,
                      cudnnBackendAttributeName_t name, double value)
{
    float narrow = (float)value;
    if ((double)narrow == value)
        cs_bench_set(bench, operation, name, CUDNN_TYPE_FLOAT, 1, &narrow);
    else
        cs_bench_set(bench, operation, name, CUDNN_TYPE_DOUBLE, 1, &value);
}

static cudnnBackendDescriptor_t make_graph(struct cs_bench *bench, const struct cs_maker *maker,
                                           const struct cs_problem *problem)
{
    static const cudnnBackendAttributeName_t role[CS_OPERANDS] = {
        [CS_X] = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
        [CS_FILTER] = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
        [CS_Y] = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
    cudnnBackendDescriptor_t conv = make_conv(bench, problem);
    cudnnBackendDescriptor_t tensor[CS_OPERANDS];
    for (int i = 0; i < CS_OPERANDS; i++)
        tensor[i] = make_tensor(bench, &problem->tensor[i], problem->spatial, maker->uid[i]);
    cudnnBackendDescriptor_t operation =
        cs_bench_make(bench, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    for (int i = 0; i < CS_OPERANDS; i++)
        cs_bench_set(bench, operation, role[i], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensor[i]);
    cs_bench_set(bench, operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &conv);
    set_scale(bench, operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, problem->alpha);
    set_scale(bench, operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, problem->beta);
    cs_bench_finalize(bench, operation);
    cudnnBackendDescriptor_t graph = cs_bench_make(bench, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    cs_bench_set(bench, graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                 &operation);
    if (maker->handle)
        cs_bench_set(bench, graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
                     &maker->handle);
    cs_bench_finalize(bench, graph);
    return graph;
}

/* The client named its device by a handle or by properties; our descriptors name it the same way.
 */
static void set_device(struct cs_bench *bench, const struct cs_maker *maker,
                       cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name)
{
    if (!maker->handle)
        cs_bench_set(bench, descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &maker->device);
}

static cudnnBackendDescriptor_t make_engine(struct cs_bench *bench, const struct cs_maker *maker,
                                            cudnnBackendDescriptor_t graph, int64_t index)
{
    cudnnBackendDescriptor_t engine = cs_bench_make(bench, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cs_bench_set(bench, engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                 &graph);
    cs_bench_set(bench, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
    set_device(bench, maker, engine, CUDNN_ATTR_ENGINE_DEVICEPROP);
    if (maker->sm_count > 0)
        cs_bench_set(bench, engine, CUDNN_ATTR_ENGINE_SM_COUNT_TARGET, CUDNN_TYPE_INT32, 1,
                     &maker->sm_count);
    if (maker->no_clusters)
        cs_bench_set(bench, engine, CUDNN_ATTR_ENGINE_DISABLE_CLUSTER_COOPERATIVE,
                     CUDNN_TYPE_BOOLEAN, 1, &maker->no_clusters);
    cs_bench_finalize(bench, engine);
    return engine;
}

static int make_knobs(struct cs_bench *bench, const struct cs_engine *engine,
                      cudnnBackendDescriptor_t *knob)
{
    for (int i = 0; i < engine->knobs; i++) {
        cudnnBackendKnobType_t type = (cudnnBackendKnobType_t)engine->knob_type[i];
        knob[i] = cs_bench_make(bench, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
        cs_bench_set(bench, knob[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1,
                     &type);
        cs_bench_set(bench, knob[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1,
                     &engine->knob_value[i]);
        cs_bench_finalize(bench, knob[i]);
    }
    return engine->knobs;
}

static cudnnBackendDescriptor_t make_plan(struct cs_bench *bench, const struct cs_maker *maker,
                                          cudnnBackendDescriptor_t configuration)
{
    cudnnBackendDescriptor_t plan = cs_bench_make(bench, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    if (maker->handle)
        cs_bench_set(bench, plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                     &maker->handle);
    set_device(bench, maker, plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
    cs_bench_set(bench, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &configuration);
    cs_bench_finalize(bench, plan);
    return plan;
}

static int64_t workspace_of(struct cs_bench *bench, cudnnBackendDescriptor_t plan)
{
    int64_t bytes = 0;
    cs_bench_get(bench, plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                 &bytes);
    return bytes;
}

/* A plan of `engine` for `problem`, taken off the bench; cleans the bench in any case. */
static enum cs_status build_engine(const struct cs_maker *maker, const struct cs_problem *problem,
                                   const struct cs_engine *engine, void **kernel_p,
                                   int64_t *workspace_p)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    cudnnBackendDescriptor_t knob[CS_MAX_KNOBS];
    cudnnBackendDescriptor_t graph = make_graph(&bench, maker, problem);
    cudnnBackendDescriptor_t chosen = make_engine(&bench, maker, graph, engine->index);
    cudnnBackendDescriptor_t config = cs_bench_make(&bench, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    cs_bench_set(&bench, config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                 &chosen);
    if (make_knobs(&bench, engine, knob) > 0)
        cs_bench_set(&bench, config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                     CUDNN_TYPE_BACKEND_DESCRIPTOR, engine->knobs, knob);
    cs_bench_finalize(&bench, config);
    cudnnBackendDescriptor_t plan = make_plan(&bench, maker, config);
    int64_t workspace = workspace_of(&bench, plan);
    enum cs_status status = status_of(bench.status);
    if (status == CS_OK && workspace < 0)
        status = CS_REFUSED;
    if (status == CS_OK) {
        *kernel_p = cs_bench_take(&bench, plan);
        *workspace_p = workspace;
    }
    cs_bench_clear(&bench);
    return status;
}

/* The client's engine with its own knobs; where they do not fit a smaller problem, with the
 * engine's defaults. */
static enum cs_status build(void *ctx, const struct cs_problem *problem, void **kernel_p,
                            int64_t *workspace_p)
{
    const struct cs_maker *maker = ctx;
    enum cs_status status = build_engine(maker, problem, &maker->engine, kernel_p, workspace_p);
    if (status != CS_REFUSED || maker->engine.knobs == 0)
        return status;
    struct cs_engine plain = {.index = maker->engine.index};
    return build_engine(maker, problem, &plain, kernel_p, workspace_p);
}

static void destroy(void *kernel)
{
    if (kernel)
        (void)CS_REAL(cudnnBackendDestroyDescriptor, cs_kernel_plan(kernel));
}

/* Engine 0 needs no workspace and takes every convolution that we plan. */
static enum cs_status build_lifeboat(void *ctx, int64_t limit, void **kernel_p,
                                     int64_t *workspace_p)
{
    const struct cs_maker *maker = ctx;
    static const struct cs_engine engine = {.index = 0};
    void *kernel;
    int64_t workspace;
    enum cs_status status = build_engine(maker, &maker->problem, &engine, &kernel, &workspace);
    if (status != CS_OK)
        return status;
    if (workspace > limit) {
        destroy(kernel);
        return CS_REFUSED;
    }
    *kernel_p = kernel;
    *workspace_p = workspace;
    return CS_OK;
}

void cs_maker_init(struct cs_maker *maker, const struct cs_graph *graph)
{
    *maker = (struct cs_maker){.problem = graph->problem, .handle = graph->handle};
    memcpy(maker->uid, graph->uid, sizeof maker->uid);
}

void cs_maker_fini(struct cs_maker *maker)
{
    destroy(maker->device);
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
                CUDNN_TYPE_INT32, 1, &count, &maker->sm_count) != CUDNN_STATUS_SUCCESS)
        maker->sm_count = 0;
    if (CS_REAL(cudnnBackendGetAttribute, engine, CUDNN_ATTR_ENGINE_DISABLE_CLUSTER_COOPERATIVE,
                CUDNN_TYPE_BOOLEAN, 1, &count, &maker->no_clusters) != CUDNN_STATUS_SUCCESS)
        maker->no_clusters = false;
}

static void read_device(struct cs_bench *bench, struct cs_maker *maker,
                        cudnnBackendDescriptor_t engine)
{
    cudnnBackendDescriptor_t device = cs_bench_make(bench, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    cs_bench_get(bench, engine, CUDNN_ATTR_ENGINE_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                 &device);
    if (bench->status == CUDNN_STATUS_SUCCESS)
        maker->device = cs_bench_take(bench, device);
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
    if (!maker->handle)
        read_device(bench, maker, engine);
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
    char text[DEVICE_JSON];
    int64_t length = 0;
    uint64_t hash = 0xcbf29ce484222325u;
    if (CS_REAL(cudnnBackendGetAttribute, device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                CUDNN_TYPE_CHAR, sizeof text, &length, text) != CUDNN_STATUS_SUCCESS)
        return 0;
    for (int64_t i = 0; i < length && i < DEVICE_JSON; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return (int64_t)hash;
}

int64_t cs_maker_scope(const struct cs_maker *maker)
{
    return maker->handle ? (int64_t)(intptr_t)maker->handle : device_number(maker->device);
}

struct cs_vendor cs_maker_vendor(struct cs_maker *maker)
{
    return (struct cs_vendor){maker, build, build_lifeboat, destroy};
}

static unsigned notes_of(struct cs_bench *bench, cudnnBackendDescriptor_t configuration)
{
    cudnnBackendNumericalNote_t note[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    cudnnBackendDescriptor_t engine = cs_bench_make(bench, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cs_bench_get(bench, configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                 1, &engine);
    int64_t notes = cs_bench_get(bench, engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                 CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, note);
    unsigned bits = 0;
    for (int64_t i = 0; i < notes && i < CUDNN_NUMERICAL_NOTE_TYPE_COUNT; i++)
        bits |= 1u << note[i];
    return bits;
}

/* Reads the configuration's engine into the maker if it is allowed and builds. */
static bool try_pick(struct cs_maker *maker, cudnnBackendDescriptor_t configuration,
                     unsigned forbidden)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    bool allowed = (notes_of(&bench, configuration) & forbidden) == 0;
    if (allowed && bench.status == CUDNN_STATUS_SUCCESS)
        make_plan(&bench, maker, configuration);
    cs_bench_clear(&bench);
    return allowed && bench.status == CUDNN_STATUS_SUCCESS && cs_maker_read(maker, configuration);
}

bool cs_maker_pick(struct cs_maker *maker, unsigned forbidden)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    cudnnBackendDescriptor_t result[PICKS];
    cudnnBackendDescriptor_t graph = make_graph(&bench, maker, &maker->problem);
    cudnnBackendDescriptor_t heuristics =
        cs_bench_make(&bench, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    cs_bench_set(&bench, heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
    cs_bench_set(&bench, heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    set_device(&bench, maker, heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
    cs_bench_finalize(&bench, heuristics);
    for (int i = 0; i < PICKS; i++)
        result[i] = cs_bench_make(&bench, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    int64_t results = cs_bench_get(&bench, heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, PICKS, result);
    bool picked = false;
    for (int64_t i = 0; i < results && i < PICKS && !picked; i++)
        picked = try_pick(maker, result[i], forbidden);
    cs_bench_clear(&bench);
    return picked;
}
