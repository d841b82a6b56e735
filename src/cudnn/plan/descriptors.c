/* Builds the backend descriptors of a problem: tensors, operation, graph, heuristics, engine
 * configuration, plan. */
#include "cudnn/plan/descriptors.h"

#include "cudnn/bind/new_attributes.h"
#include "cudnn/plan/fusion.h"

enum {
    NOTES = 32 /* bits of struct cs_engine_notes */
};

static const cudnnDataType_t data_types[CS_DTYPES] = {
    [CS_F32] = CUDNN_DATA_FLOAT, [CS_F16] = CUDNN_DATA_HALF, [CS_BF16] = CUDNN_DATA_BFLOAT16};

/* Converts five dimensions to the application's dimensions. Returns their number. */
static int gather_spatial(const int64_t values[CS_DIMS], int spatial, int64_t out[CS_DIMS])
{
    out[0] = values[CS_N];
    out[1] = values[CS_C];
    for (int i = 0; i < spatial; i++)
        out[2 + i] = values[CS_DIMS - spatial + i];
    return 2 + spatial;
}

static cudnnBackendDescriptor_t make_tensor(struct cs_descriptor_builder *builder,
                                            const struct cs_tensor *tensor, int spatial,
                                            int64_t uid)
{
    int64_t dims[CS_DIMS], strides[CS_DIMS];
    int count = gather_spatial(tensor->dims, spatial, dims);
    gather_spatial(tensor->strides, spatial, strides);
    cudnnBackendDescriptor_t made = cs_descriptor_make(builder, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    cs_descriptor_set(builder, made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
                      &data_types[tensor->dtype]);
    cs_descriptor_set(builder, made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, count, dims);
    cs_descriptor_set(builder, made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, count, strides);
    cs_descriptor_set(builder, made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
    cs_descriptor_set(builder, made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1,
                      &tensor->alignment);
    if (tensor->is_virtual)
        cs_descriptor_set(builder, made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1,
                          &tensor->is_virtual);
    if (tensor->by_value)
        cs_descriptor_set(builder, made, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1,
                          &tensor->by_value);
    cs_descriptor_finalize(builder, made);
    return made;
}

static cudnnBackendDescriptor_t make_conv_descriptor(struct cs_descriptor_builder *builder,
                                                     const struct cs_problem *problem)
{
    cudnnConvolutionMode_t mode = problem->flipped ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION;
    int64_t spatial = problem->spatial;
    size_t absent = (size_t)(CS_SPATIAL - problem->spatial);
    cudnnBackendDescriptor_t made =
        cs_descriptor_make(builder, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    cs_descriptor_set(builder, made, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
                      &data_types[problem->compute]);
    cs_descriptor_set(builder, made, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                      1, &mode);
    cs_descriptor_set(builder, made, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1,
                      &spatial);
    cs_descriptor_set(builder, made, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, spatial,
                      problem->pre + absent);
    cs_descriptor_set(builder, made, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64,
                      spatial, problem->post + absent);
    cs_descriptor_set(builder, made, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, spatial,
                      problem->dilation + absent);
    cs_descriptor_set(builder, made, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64,
                      spatial, problem->stride + absent);
    cs_descriptor_finalize(builder, made);
    return made;
}

/* Sets a scale as float if that is exact, else as double. */
static void set_scale(struct cs_descriptor_builder *builder, cudnnBackendDescriptor_t operation,
                      cudnnBackendAttributeName_t name, double value)
{
    float narrow = (float)value;
    if ((double)narrow == value)
        cs_descriptor_set(builder, operation, name, CUDNN_TYPE_FLOAT, 1, &narrow);
    else
        cs_descriptor_set(builder, operation, name, CUDNN_TYPE_DOUBLE, 1, &value);
}

static cudnnBackendDescriptor_t make_conv_operation(struct cs_descriptor_builder *builder,
                                                    const struct cs_problem *problem,
                                                    const cudnnBackendDescriptor_t *tensor)
{
    const struct cs_operation_names *names = &cs_operation_names[problem->direction];
    cudnnBackendDescriptor_t conv = make_conv_descriptor(builder, problem);
    cudnnBackendDescriptor_t operation = cs_descriptor_make(builder, names->type);
    for (int i = 0; i < CS_OPERANDS; i++)
        cs_descriptor_set(builder, operation, names->operand[i], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                          &tensor[i]);
    cs_descriptor_set(builder, operation, names->conv, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &conv);
    set_scale(builder, operation, names->alpha, problem->alpha);
    set_scale(builder, operation, names->beta, problem->beta);
    cs_descriptor_finalize(builder, operation);
    return operation;
}

/* Sets the settings of a pointwise operation, or those of its pointwise descriptor. The attribute's
 * number shows to which of the two a setting belongs. */
static void set_settings(struct cs_descriptor_builder *builder, cudnnBackendDescriptor_t descriptor,
                         const struct cs_pointwise *pointwise, bool of_operation)
{
    for (int i = 0; i < pointwise->settings; i++) {
        const struct cs_setting *setting = &pointwise->setting[i];
        bool is_operation = setting->name >= CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR;
        if (is_operation == of_operation)
            cs_descriptor_set(builder, descriptor, (cudnnBackendAttributeName_t)setting->name,
                              (cudnnBackendAttributeType_t)setting->type, 1, &setting->bits);
    }
}

/* Makes a pointwise operation. */
static cudnnBackendDescriptor_t make_step(struct cs_descriptor_builder *builder,
                                          const struct cs_step *step,
                                          const cudnnBackendDescriptor_t *tensor)
{
    static const cudnnBackendAttributeName_t role[CS_PW_OPERANDS] = {
        [CS_PW_X] = CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
        [CS_PW_B] = CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
        [CS_PW_T] = CUDNN_ATTR_OPERATION_POINTWISE_TDESC,
        [CS_PW_Y] = CUDNN_ATTR_OPERATION_POINTWISE_YDESC};
    struct cs_pointwise pointwise;
    cs_fusion_unpack(step, &pointwise);
    cudnnPointwiseMode_t mode = (cudnnPointwiseMode_t)pointwise.mode;
    cudnnDataType_t precision = (cudnnDataType_t)pointwise.precision;
    cudnnBackendDescriptor_t kind = cs_descriptor_make(builder, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    cs_descriptor_set(builder, kind, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1,
                      &mode);
    cs_descriptor_set(builder, kind, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1,
                      &precision);
    set_settings(builder, kind, &pointwise, false);
    cs_descriptor_finalize(builder, kind);
    cudnnBackendDescriptor_t operation =
        cs_descriptor_make(builder, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    cs_descriptor_set(builder, operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
                      CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &kind);
    for (int i = 0; i < CS_PW_OPERANDS; i++)
        if (pointwise.operand[i] >= 0)
            cs_descriptor_set(builder, operation, role[i], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                              &tensor[pointwise.operand[i]]);
    set_settings(builder, operation, &pointwise, true);
    cs_descriptor_finalize(builder, operation);
    return operation;
}

/* Makes all operations in the application's order. Returns their number. */
static int make_operations(struct cs_descriptor_builder *builder, const struct cs_problem *problem,
                           const cudnnBackendDescriptor_t *tensor,
                           cudnnBackendDescriptor_t operation[CS_MAX_STEPS + 1])
{
    int made = 0;
    for (int i = 0; i < problem->steps_before; i++)
        operation[made++] = make_step(builder, &problem->step[i], tensor);
    operation[made++] = make_conv_operation(builder, problem, tensor);
    for (int i = problem->steps_before; i < problem->steps; i++)
        operation[made++] = make_step(builder, &problem->step[i], tensor);
    return made;
}

cudnnBackendDescriptor_t cs_descriptors_graph(struct cs_descriptor_builder *builder,
                                              const struct cs_target *target,
                                              const struct cs_problem *problem)
{
    cudnnBackendDescriptor_t tensor[CS_MAX_TENSORS], operation[CS_MAX_STEPS + 1];
    for (int i = 0; i < problem->tensors; i++)
        tensor[i] = make_tensor(builder, &problem->tensor[i], problem->spatial, target->uid[i]);
    int operations = make_operations(builder, problem, tensor, operation);
    cudnnBackendDescriptor_t graph =
        cs_descriptor_make(builder, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    cs_descriptor_set(builder, graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                      operations, operation);
    if (target->handle)
        cs_descriptor_set(builder, graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
                          &target->handle);
    cs_descriptor_finalize(builder, graph);
    return graph;
}

/* Names the device by its properties in a descriptor, if the application has named it so instead of
 * by a handle. */
static void set_device(struct cs_descriptor_builder *builder, const struct cs_target *target,
                       cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name)
{
    if (!target->handle)
        cs_descriptor_set(builder, descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                          &target->device);
}

cudnnBackendDescriptor_t cs_descriptors_engine(struct cs_descriptor_builder *builder,
                                               const struct cs_target *target,
                                               cudnnBackendDescriptor_t graph, int64_t index)
{
    cudnnBackendDescriptor_t engine = cs_descriptor_make(builder, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cs_descriptor_set(builder, engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH,
                      CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
    cs_descriptor_set(builder, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
    set_device(builder, target, engine, CUDNN_ATTR_ENGINE_DEVICEPROP);
    if (target->settings.sm_count > 0)
        cs_descriptor_set(builder, engine, CUDNN_ATTR_ENGINE_SM_COUNT_TARGET, CUDNN_TYPE_INT32, 1,
                          &target->settings.sm_count);
    if (target->settings.no_clusters)
        cs_descriptor_set(builder, engine, CS_ATTR_ENGINE_NO_CLUSTERS, CUDNN_TYPE_BOOLEAN, 1,
                          &target->settings.no_clusters);
    if (target->settings.shared_memory > 0)
        cs_descriptor_set(builder, engine, CS_ATTR_ENGINE_SHARED_MEMORY, CUDNN_TYPE_INT32, 1,
                          &target->settings.shared_memory);
    cs_descriptor_finalize(builder, engine);
    return engine;
}

/* Makes the knob choices of an engine. Returns their number. */
static int make_knobs(struct cs_descriptor_builder *builder, const struct cs_engine *engine,
                      cudnnBackendDescriptor_t *knob)
{
    for (int i = 0; i < engine->knobs; i++) {
        cudnnBackendKnobType_t type = (cudnnBackendKnobType_t)engine->knob_type[i];
        knob[i] = cs_descriptor_make(builder, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
        cs_descriptor_set(builder, knob[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
                          1, &type);
        cs_descriptor_set(builder, knob[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1,
                          &engine->knob_value[i]);
        cs_descriptor_finalize(builder, knob[i]);
    }
    return engine->knobs;
}

cudnnBackendDescriptor_t cs_descriptors_plan(struct cs_descriptor_builder *builder,
                                             const struct cs_target *target,
                                             cudnnBackendDescriptor_t configuration)
{
    cudnnBackendDescriptor_t plan =
        cs_descriptor_make(builder, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    if (target->handle)
        cs_descriptor_set(builder, plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                          &target->handle);
    set_device(builder, target, plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
    cs_descriptor_set(builder, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                      CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &configuration);
    cs_descriptor_finalize(builder, plan);
    return plan;
}

int64_t cs_descriptors_workspace(struct cs_descriptor_builder *builder,
                                 cudnnBackendDescriptor_t plan)
{
    int64_t bytes = 0;
    cs_descriptor_get(builder, plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                      &bytes);
    return bytes;
}

cudnnBackendDescriptor_t cs_descriptors_configuration(struct cs_descriptor_builder *builder,
                                                      cudnnBackendDescriptor_t chosen,
                                                      const struct cs_engine *engine)
{
    cudnnBackendDescriptor_t knob[CS_MAX_KNOBS];
    cudnnBackendDescriptor_t made = cs_descriptor_make(builder, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    cs_descriptor_set(builder, made, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                      &chosen);
    if (make_knobs(builder, engine, knob) > 0)
        cs_descriptor_set(builder, made, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                          CUDNN_TYPE_BACKEND_DESCRIPTOR, engine->knobs, knob);
    cs_descriptor_finalize(builder, made);
    return made;
}

int cs_descriptors_heuristics(struct cs_descriptor_builder *builder, const struct cs_target *target,
                              const struct cs_problem *problem, cudnnBackendHeurMode_t mode,
                              cudnnBackendDescriptor_t *configuration, int capacity)
{
    cudnnBackendDescriptor_t graph = cs_descriptors_graph(builder, target, problem);
    cudnnBackendDescriptor_t made =
        cs_descriptor_make(builder, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    cs_descriptor_set(builder, made, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                      CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
    cs_descriptor_set(builder, made, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    set_device(builder, target, made, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
    cs_descriptor_finalize(builder, made);
    for (int i = 0; i < capacity; i++)
        configuration[i] = cs_descriptor_make(builder, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    int64_t results = cs_descriptor_get(builder, made, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                        CUDNN_TYPE_BACKEND_DESCRIPTOR, capacity, configuration);
    return results < capacity ? (int)results : capacity;
}

int64_t cs_descriptors_index(struct cs_descriptor_builder *builder,
                             cudnnBackendDescriptor_t configuration)
{
    int64_t index = -1;
    cudnnBackendDescriptor_t engine = cs_descriptor_make(builder, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cs_descriptor_get(builder, configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
                      CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine);
    cs_descriptor_get(builder, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
    return index;
}

static unsigned bit_of(unsigned note)
{
    return note < NOTES ? 1u << note : 0;
}

struct cs_engine_notes cs_descriptors_notes(struct cs_descriptor_builder *builder,
                                            cudnnBackendDescriptor_t configuration)
{
    /* Not CUDNN_..._NOTE_TYPE_COUNT: the loaded cuDNN may have more notes than the headers. */
    cudnnBackendNumericalNote_t numerical[NOTES];
    cudnnBackendBehaviorNote_t behaviour[NOTES];
    struct cs_engine_notes notes = {0, 0};
    cudnnBackendDescriptor_t engine = cs_descriptor_make(builder, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cs_descriptor_get(builder, configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
                      CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine);
    int64_t found = cs_descriptor_get(builder, engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                      CUDNN_TYPE_NUMERICAL_NOTE, NOTES, numerical);
    for (int64_t i = 0; i < found && i < NOTES; i++)
        notes.numerical |= bit_of(numerical[i]);
    found = cs_descriptor_get(builder, engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                              CUDNN_TYPE_BEHAVIOR_NOTE, NOTES, behaviour);
    for (int64_t i = 0; i < found && i < NOTES; i++)
        notes.behaviour |= bit_of(behaviour[i]);
    return notes;
}

cudnnStatus_t cs_descriptors_pack(int count, void *const *pointer, const int64_t *uid,
                                  void *workspace, cudnnBackendDescriptor_t *pack_p)
{
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    cudnnBackendDescriptor_t pack =
        cs_descriptor_make(&builder, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    cs_descriptor_set(&builder, pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                      count, pointer);
    cs_descriptor_set(&builder, pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count,
                      uid);
    cs_descriptor_set(&builder, pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                      &workspace);
    cs_descriptor_finalize(&builder, pack);
    if (builder.status == CUDNN_STATUS_SUCCESS)
        *pack_p = cs_descriptor_take(&builder, pack);
    cs_descriptor_builder_clear(&builder);
    return builder.status;
}
