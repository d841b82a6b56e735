#include "cudnn/parts.h"

static const cudnnDataType_t vendor_dtype[CS_DTYPES] = {
    [CS_F32] = CUDNN_DATA_FLOAT, [CS_F16] = CUDNN_DATA_HALF, [CS_BF16] = CUDNN_DATA_BFLOAT16};

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

cudnnBackendDescriptor_t cs_parts_graph(struct cs_bench *bench, const struct cs_target *target,
                                        const struct cs_problem *problem)
{
    static const cudnnBackendAttributeName_t role[CS_OPERANDS] = {
        [CS_X] = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
        [CS_FILTER] = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
        [CS_Y] = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
    cudnnBackendDescriptor_t conv = make_conv(bench, problem);
    cudnnBackendDescriptor_t tensor[CS_OPERANDS];
    for (int i = 0; i < CS_OPERANDS; i++)
        tensor[i] = make_tensor(bench, &problem->tensor[i], problem->spatial, target->uid[i]);
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
    if (target->handle)
        cs_bench_set(bench, graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
                     &target->handle);
    cs_bench_finalize(bench, graph);
    return graph;
}

/* The client named its device by a handle or by properties; our descriptors name it the same way.
 */
static void set_device(struct cs_bench *bench, const struct cs_target *target,
                       cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name)
{
    if (!target->handle)
        cs_bench_set(bench, descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &target->device);
}

static cudnnBackendDescriptor_t make_engine(struct cs_bench *bench, const struct cs_target *target,
                                            cudnnBackendDescriptor_t graph, int64_t index)
{
    cudnnBackendDescriptor_t engine = cs_bench_make(bench, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cs_bench_set(bench, engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                 &graph);
    cs_bench_set(bench, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
    set_device(bench, target, engine, CUDNN_ATTR_ENGINE_DEVICEPROP);
    if (target->sm_count > 0)
        cs_bench_set(bench, engine, CUDNN_ATTR_ENGINE_SM_COUNT_TARGET, CUDNN_TYPE_INT32, 1,
                     &target->sm_count);
    if (target->no_clusters)
        cs_bench_set(bench, engine, CUDNN_ATTR_ENGINE_DISABLE_CLUSTER_COOPERATIVE,
                     CUDNN_TYPE_BOOLEAN, 1, &target->no_clusters);
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

cudnnBackendDescriptor_t cs_parts_plan(struct cs_bench *bench, const struct cs_target *target,
                                       cudnnBackendDescriptor_t configuration)
{
    cudnnBackendDescriptor_t plan = cs_bench_make(bench, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    if (target->handle)
        cs_bench_set(bench, plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                     &target->handle);
    set_device(bench, target, plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
    cs_bench_set(bench, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &configuration);
    cs_bench_finalize(bench, plan);
    return plan;
}

int64_t cs_parts_workspace(struct cs_bench *bench, cudnnBackendDescriptor_t plan)
{
    int64_t bytes = 0;
    cs_bench_get(bench, plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                 &bytes);
    return bytes;
}

cudnnBackendDescriptor_t cs_parts_configuration(struct cs_bench *bench,
                                                const struct cs_target *target,
                                                cudnnBackendDescriptor_t graph,
                                                const struct cs_engine *engine)
{
    cudnnBackendDescriptor_t knob[CS_MAX_KNOBS];
    cudnnBackendDescriptor_t chosen = make_engine(bench, target, graph, engine->index);
    cudnnBackendDescriptor_t made = cs_bench_make(bench, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    cs_bench_set(bench, made, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                 &chosen);
    if (make_knobs(bench, engine, knob) > 0)
        cs_bench_set(bench, made, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                     engine->knobs, knob);
    cs_bench_finalize(bench, made);
    return made;
}

int cs_parts_heuristics(struct cs_bench *bench, const struct cs_target *target,
                        const struct cs_problem *problem, cudnnBackendDescriptor_t *configuration,
                        int capacity)
{
    cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    cudnnBackendDescriptor_t graph = cs_parts_graph(bench, target, problem);
    cudnnBackendDescriptor_t made = cs_bench_make(bench, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    cs_bench_set(bench, made, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                 1, &graph);
    cs_bench_set(bench, made, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    set_device(bench, target, made, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
    cs_bench_finalize(bench, made);
    for (int i = 0; i < capacity; i++)
        configuration[i] = cs_bench_make(bench, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    int64_t results = cs_bench_get(bench, made, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, capacity, configuration);
    return results < capacity ? (int)results : capacity;
}

struct cs_notes cs_parts_notes(struct cs_bench *bench, cudnnBackendDescriptor_t configuration)
{
    cudnnBackendNumericalNote_t numerical[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    cudnnBackendBehaviorNote_t behaviour[CUDNN_BEHAVIOR_NOTE_TYPE_COUNT];
    struct cs_notes notes = {0, 0};
    cudnnBackendDescriptor_t engine = cs_bench_make(bench, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cs_bench_get(bench, configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                 1, &engine);
    int64_t found =
        cs_bench_get(bench, engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                     CUDNN_NUMERICAL_NOTE_TYPE_COUNT, numerical);
    for (int64_t i = 0; i < found && i < CUDNN_NUMERICAL_NOTE_TYPE_COUNT; i++)
        notes.numerical |= 1u << numerical[i];
    found = cs_bench_get(bench, engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                         CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, behaviour);
    for (int64_t i = 0; i < found && i < CUDNN_BEHAVIOR_NOTE_TYPE_COUNT; i++)
        notes.behaviour |= 1u << behaviour[i];
    return notes;
}
