/* The attributes that are set on the backend descriptors of a problem, one by one. The first error
 * ends the sequence. */
#include "cudnn/plan/descriptors.h"

#include "cudnn/plan/fusion.h"
#include "recorded_cudnn.h"
#include "sample_problem.h"

enum {
    TENSOR = CUDNN_BACKEND_TENSOR_DESCRIPTOR,
    WINDOW = CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
    KIND = CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
    STEP = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
    FORWARD = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
    GRAPH = CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
    INT64 = CUDNN_TYPE_INT64,
    DESCRIPTOR = CUDNN_TYPE_BACKEND_DESCRIPTOR
};

static char handle[16];

static struct cs_descriptor_builder fresh(void)
{
    return (struct cs_descriptor_builder){CUDNN_STATUS_SUCCESS, 0, {NULL}};
}

static struct cs_target target_of(void *of)
{
    struct cs_target target = {.handle = (cudnnHandle_t)of};
    for (int i = 0; i < CS_MAX_TENSORS; i++)
        target.uid[i] = 100 + i;
    return target;
}

static struct cs_step step_of(int64_t mode, const int64_t operand[CS_PW_OPERANDS], int settings,
                              const struct cs_setting *setting)
{
    struct cs_pointwise pointwise = {
        .mode = mode, .precision = CUDNN_DATA_FLOAT, .settings = settings};
    struct cs_step step = {0};
    memcpy(pointwise.operand, operand, sizeof pointwise.operand);
    for (int i = 0; i < settings; i++)
        pointwise.setting[i] = setting[i];
    cs_fusion_pack(&pointwise, &step);
    return step;
}

/* A bias is added to the input before, and a ReLU comes after; four of its tensors are virtual or a
 * number. */
static struct cs_problem fused_problem(void)
{
    struct cs_problem problem = rows(CS_FORWARD, 1);
    const struct cs_setting before[] = {
        {CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_DOUBLE, 7},
        {CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_TYPE_INT64, 8},
        {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_INT64, 9}};
    const struct cs_setting behind[] = {
        {CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_INT64, 5}};
    problem.tensors = 6;
    problem.tensor[3] = problem.tensor[CS_X];
    problem.tensor[4] = problem.tensor[5] = problem.tensor[CS_Y];
    problem.tensor[4].by_value = true;
    problem.tensor[CS_X].is_virtual = problem.tensor[CS_Y].is_virtual = true;
    problem.steps = 2;
    problem.steps_before = 1;
    problem.step[0] = step_of(CUDNN_POINTWISE_ADD, (const int64_t[]){3, 4, -1, CS_X}, 3, before);
    problem.step[1] =
        step_of(CUDNN_POINTWISE_RELU_FWD, (const int64_t[]){CS_Y, -1, -1, 5}, 1, behind);
    return problem;
}

static void check_tensor(int nth, const struct cs_problem *problem, int spatial)
{
    const struct recorded *made = nth_of(TENSOR, nth);
    const struct cs_tensor *tensor = &problem->tensor[nth];
    int64_t extent[CS_DIMS] = {tensor->dims[0], tensor->dims[1]};
    int64_t stride[CS_DIMS] = {tensor->strides[0], tensor->strides[1]};
    for (int i = 0; i < spatial; i++) {
        extent[2 + i] = tensor->dims[5 - spatial + i];
        stride[2 + i] = tensor->strides[5 - spatial + i];
    }
    CHECK(made->finalized);
    CHECK_INT(made->attributes, 5 + tensor->is_virtual + tensor->by_value);
    CHECK_SET(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE,
              tensor->dtype == CS_F32   ? CUDNN_DATA_FLOAT
              : tensor->dtype == CS_F16 ? CUDNN_DATA_HALF
                                        : CUDNN_DATA_BFLOAT16);
    check_values(made, CUDNN_ATTR_TENSOR_DIMENSIONS, INT64, 2 + spatial, extent);
    check_values(made, CUDNN_ATTR_TENSOR_STRIDES, INT64, 2 + spatial, stride);
    CHECK_SET(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, INT64, 100 + nth);
    CHECK_SET(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, INT64, tensor->alignment);
    if (tensor->is_virtual)
        CHECK_SET(made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
    if (tensor->by_value)
        CHECK_SET(made, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true);
}

static void check_window(const struct cs_problem *problem)
{
    const struct recorded *made = nth_of(WINDOW, 0);
    int spatial = problem->spatial, from = CS_SPATIAL - spatial;
    CHECK(made->finalized);
    CHECK_INT(made->attributes, 7);
    CHECK_SET(made, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    CHECK_SET(made, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
              problem->flipped ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION);
    CHECK_SET(made, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, INT64, spatial);
    check_values(made, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, INT64, spatial, problem->pre + from);
    check_values(made, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, INT64, spatial, problem->post + from);
    check_values(made, CUDNN_ATTR_CONVOLUTION_DILATIONS, INT64, spatial, problem->dilation + from);
    check_values(made, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, INT64, spatial,
                 problem->stride + from);
}

static void graph_has_the_properties_of_the_problem(void)
{
    for (int spatial = 1; spatial <= CS_SPATIAL; spatial++) {
        struct cs_problem problem = awkward(CS_FORWARD);
        struct cs_target target = target_of(handle);
        struct cs_descriptor_builder builder = fresh();
        recorded_start();
        problem.spatial = spatial;
        problem.flipped = spatial == 2;
        problem.tensor[0].dtype = CS_F16;
        problem.tensor[1].dtype = CS_BF16;
        problem.alpha = 0.5;
        problem.beta = 0.1; /* no float */
        struct recorded *graph = cs_descriptors_graph(&builder, &target, &problem);
        CHECK_INT(builder.status, CUDNN_STATUS_SUCCESS);
        CHECK_INT(cudnn.made, 6);
        for (int i = 0; i < CS_OPERANDS; i++)
            check_tensor(i, &problem, spatial);
        check_window(&problem);
        const struct recorded *operation = nth_of(FORWARD, 0);
        CHECK(operation->finalized);
        CHECK_INT(operation->attributes, 6);
        CHECK_SET(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, DESCRIPTOR, 0);
        CHECK_SET(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, DESCRIPTOR, 1);
        CHECK_SET(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, DESCRIPTOR, 2);
        CHECK_SET(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, DESCRIPTOR,
                  nth_of(WINDOW, 0)->number);
        check_number(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT,
                     0.5);
        check_number(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_DOUBLE,
                     0.1);
        CHECK(graph->type == GRAPH && graph->finalized);
        CHECK_INT(graph->attributes, 2);
        CHECK_SET(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, DESCRIPTOR, operation->number);
        CHECK_SET(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE,
                  (int64_t)(intptr_t)handle);
        cs_descriptor_builder_clear(&builder);
        CHECK_INT(cudnn.alive, 0);
    }
}

static void gradients_use_their_own_attribute_names(void)
{
    static const struct {
        int type, operand[CS_OPERANDS], conv, alpha, beta;
    } rows_of[CS_DIRECTIONS] = {
        [CS_FORWARD] = {FORWARD,
                        {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
                        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
        [CS_BACKWARD_DATA] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                              {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
        [CS_BACKWARD_FILTER] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                                {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};
    for (enum cs_direction d = 0; d < CS_DIRECTIONS; d++) {
        struct cs_problem problem = rows(d, 1);
        struct cs_target target = target_of(handle);
        struct cs_descriptor_builder builder = fresh();
        recorded_start();
        problem.alpha = 2;
        problem.beta = 3;
        cs_descriptors_graph(&builder, &target, &problem);
        const struct recorded *operation = nth_of(rows_of[d].type, 0);
        CHECK_INT(operation->attributes, 6);
        for (int i = 0; i < CS_OPERANDS; i++)
            CHECK_SET(operation, rows_of[d].operand[i], DESCRIPTOR, i);
        CHECK_SET(operation, rows_of[d].conv, DESCRIPTOR, nth_of(WINDOW, 0)->number);
        check_number(operation, rows_of[d].alpha, CUDNN_TYPE_FLOAT, 2);
        check_number(operation, rows_of[d].beta, CUDNN_TYPE_FLOAT, 3);
        cs_descriptor_builder_clear(&builder);
    }
}

/* In the application's order, each with the settings of its two descriptors. */
static void steps_are_before_and_after_the_convolution(void)
{
    struct cs_problem problem = fused_problem();
    struct cs_target target = target_of(handle);
    struct cs_descriptor_builder builder = fresh();
    recorded_start();
    const struct recorded *graph = cs_descriptors_graph(&builder, &target, &problem);
    const struct recorded *add = nth_of(STEP, 0), *relu = nth_of(STEP, 1);
    const struct recorded *add_kind = nth_of(KIND, 0), *relu_kind = nth_of(KIND, 1);
    for (int i = 0; i < problem.tensors; i++)
        check_tensor(i, &problem, 2);
    CHECK_INT(made_of(TENSOR), 6);
    CHECK_SET(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, DESCRIPTOR, add->number,
              nth_of(FORWARD, 0)->number, relu->number);
    CHECK(add->finalized && add_kind->finalized && relu->finalized && relu_kind->finalized);
    CHECK_INT(add_kind->attributes, 3);
    CHECK_SET(add_kind, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, CUDNN_POINTWISE_ADD);
    CHECK_SET(add_kind, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    CHECK_SET(add_kind, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, INT64, 8);
    CHECK_INT(add->attributes, 6);
    CHECK_SET(add, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, DESCRIPTOR, add_kind->number);
    CHECK_INT(add->attribute[5].name, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    CHECK_INT(add->attribute[5].value[0], 9);
    CHECK_SET(add, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, DESCRIPTOR, 3);
    CHECK_SET(add, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, DESCRIPTOR, 4);
    CHECK_SET(add, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, DESCRIPTOR, 0);
    CHECK(attribute_of(add, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1) != NULL);
    CHECK_INT(relu_kind->attributes, 3);
    CHECK_SET(relu_kind, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE,
              CUDNN_POINTWISE_RELU_FWD);
    CHECK_SET(relu_kind, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, INT64, 5);
    CHECK_INT(relu->attributes, 3);
    CHECK_SET(relu, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, DESCRIPTOR, 2);
    CHECK_SET(relu, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, DESCRIPTOR, 5);
    cs_descriptor_builder_clear(&builder);
    CHECK_INT(cudnn.alive, 0);
}

/* A device by its handle, or by its description: each of them is set, never both. */
static void the_device_is_named_as_the_application_named_it(void)
{
    for (int described = 0; described <= 1; described++) {
        struct cs_descriptor_builder builder = fresh();
        struct cs_problem problem = rows(CS_FORWARD, 1);
        recorded_start();
        cudnn.offers[1] = 1;
        struct recorded *device = cs_descriptor_make(&builder, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
        struct cs_target target = target_of(described ? NULL : handle);
        target.device = device;
        cudnnBackendDescriptor_t configuration[2];
        CHECK_INT(cs_descriptors_heuristics(&builder, &target, &problem, CUDNN_HEUR_MODE_B,
                                            configuration, 2),
                  1);
        struct recorded *graph = (struct recorded *)(void *)nth_of(GRAPH, 0);
        struct recorded *engine = cs_descriptors_engine(&builder, &target, graph, 34);
        struct recorded *plan = cs_descriptors_plan(&builder, &target, configuration[0]);
        const struct recorded *asked = nth_of(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, 0);
        CHECK_INT(graph->attributes, 2 - described);
        CHECK(asked->finalized && engine->finalized && plan->finalized);
        CHECK_INT(asked->attributes, 2 + described);
        CHECK_SET(asked, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, DESCRIPTOR, graph->number);
        CHECK_SET(asked, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_B);
        CHECK_INT(engine->attributes, 2 + described);
        CHECK_SET(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, DESCRIPTOR, graph->number);
        CHECK_SET(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, INT64, 34);
        CHECK_INT(plan->attributes, 2);
        CHECK_SET(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, DESCRIPTOR,
                  ((struct recorded *)configuration[0])->number);
        if (described) {
            CHECK_SET(asked, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, DESCRIPTOR, device->number);
            CHECK_SET(engine, CUDNN_ATTR_ENGINE_DEVICEPROP, DESCRIPTOR, device->number);
            CHECK_SET(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, DESCRIPTOR, device->number);
        } else {
            CHECK_SET(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
                      (int64_t)(intptr_t)handle);
        }
        cs_descriptor_builder_clear(&builder);
        CHECK_INT(cudnn.alive, 0);
    }
}

/* A setting that the application did not make is not set. */
static void settings_of_an_engine_are_set_again(void)
{
    for (int which = 0; which < 4; which++) {
        struct cs_descriptor_builder builder = fresh();
        struct cs_problem problem = rows(CS_FORWARD, 1);
        struct cs_target target = target_of(handle);
        recorded_start();
        target.settings.sm_count = which == 1;
        target.settings.shared_memory = which == 2;
        target.settings.no_clusters = which == 3;
        struct recorded *graph = cs_descriptors_graph(&builder, &target, &problem);
        struct recorded *engine = cs_descriptors_engine(&builder, &target, graph, 1);
        CHECK_INT(engine->attributes, 2 + (which > 0));
        if (which == 1)
            CHECK_SET(engine, CUDNN_ATTR_ENGINE_SM_COUNT_TARGET, CUDNN_TYPE_INT32, 1);
        if (which == 2)
            CHECK_SET(engine, 1309, CUDNN_TYPE_INT32, 1);
        if (which == 3)
            CHECK_SET(engine, 1308, CUDNN_TYPE_BOOLEAN, 1);
        cs_descriptor_builder_clear(&builder);
    }
}

static void a_configuration_has_the_engines_knobs(void)
{
    for (int knobs = 0; knobs <= 3; knobs++) {
        struct cs_descriptor_builder builder = fresh();
        const struct cs_engine engine = {
            .knobs = knobs, .knob_type = {4, 11, 2}, .knob_value = {128, -3, 1}};
        recorded_start();
        struct recorded *chosen = cs_descriptor_make(&builder, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
        struct recorded *made = cs_descriptors_configuration(&builder, chosen, &engine);
        CHECK(made->finalized);
        CHECK_INT(made->type, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
        CHECK_INT(made->attributes, 1 + (knobs > 0));
        CHECK_SET(made, CUDNN_ATTR_ENGINECFG_ENGINE, DESCRIPTOR, chosen->number);
        CHECK_INT(made_of(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR), knobs);
        for (int i = 0; i < knobs; i++) {
            const struct recorded *knob = nth_of(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, i);
            const struct attribute_set *all = attribute_of(made, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
            CHECK(knob->finalized);
            CHECK_SET(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
                      engine.knob_type[i]);
            CHECK_SET(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, INT64, engine.knob_value[i]);
            CHECK(all && all->count == knobs && all->value[i] == knob->number);
        }
        cs_descriptor_builder_clear(&builder);
    }
}

/* At most the capacity, for any number that cuDNN reports. */
static void heuristics_results_are_limited_by_the_capacity(void)
{
    static const struct {
        int64_t told;
        int capacity, results;
    } cases[] = {{2, 3, 2}, {3, 3, 3}, {4, 3, 3}, {1, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cs_descriptor_builder builder = fresh();
        struct cs_problem problem = rows(CS_FORWARD, 1);
        struct cs_target target = target_of(handle);
        cudnnBackendDescriptor_t configuration[3];
        recorded_start();
        cudnn.offers[0] = 3;
        cudnn.told_results = cases[i].told;
        CHECK_INT(cs_descriptors_heuristics(&builder, &target, &problem, CUDNN_HEUR_MODE_A,
                                            configuration, cases[i].capacity),
                  cases[i].results);
        CHECK_INT(made_of(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR), cases[i].capacity);
        CHECK_INT(cudnn.asked_capacity, cases[i].capacity);
        for (int j = 0; j < cases[i].results; j++)
            CHECK(((struct recorded *)configuration[j])->offer == &cudnn.offer[0][j]);
        cs_descriptor_builder_clear(&builder);
    }
}

static void notes_index_and_workspace_are_read(void)
{
    struct cs_descriptor_builder builder = fresh();
    struct cs_target target = target_of(handle);
    recorded_start();
    cudnn.offer[0][0] = (struct offer){.engine.index = 34,
                                       .numerical = 1u << 31 | 1u << 5 | 1,
                                       .behaviour = 1u << 30 | 1u << 2,
                                       .workspace = 1234};
    struct recorded *configuration =
        cs_descriptor_make(&builder, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    configuration->offer = &cudnn.offer[0][0];
    struct cs_engine_notes notes = cs_descriptors_notes(&builder, configuration);
    CHECK_INT(notes.numerical, 1u << 31 | 1u << 5 | 1);
    CHECK_INT(notes.behaviour, 1u << 30 | 1u << 2);
    CHECK_INT(cs_descriptors_index(&builder, configuration), 34);
    cudnnBackendDescriptor_t plan = cs_descriptors_plan(&builder, &target, configuration);
    CHECK_INT(cs_descriptors_workspace(&builder, plan), 1234);
    CHECK_INT(builder.status, CUDNN_STATUS_SUCCESS);
    cudnn.offer[0][0].numerical = cudnn.offer[0][0].behaviour = UINT32_MAX; /* all there can be */
    notes = cs_descriptors_notes(&builder, configuration);
    CHECK(notes.numerical == UINT32_MAX && notes.behaviour == UINT32_MAX);
    cs_descriptor_builder_clear(&builder);
    CHECK_INT(cudnn.alive, 0);
}

static int listed; /* number of notes that cuDNN reports, of the number below */
static int unknown_note;

static cudnnStatus_t list_unknown(const cudnnBackendDescriptor_t descriptor,
                                  cudnnBackendAttributeName_t name,
                                  cudnnBackendAttributeType_t type, int64_t most, int64_t *count_p,
                                  void *elements)
{
    if (name != CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && name != CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE)
        return recorded_get(descriptor, name, type, most, count_p, elements);
    CHECK_INT(most, 32);
    for (int i = 0; i < 32; i++)
        ((int *)elements)[i] = unknown_note;
    *count_p = listed;
    return CUDNN_STATUS_SUCCESS;
}

/* The loaded cuDNN may have more of them than the headers. */
static void unknown_notes_are_left_out(void)
{
    for (unknown_note = 30; unknown_note <= 40; unknown_note++) {
        for (listed = 0; listed <= 100; listed += 50) {
            struct cs_descriptor_builder builder = fresh();
            recorded_start();
            vendor.cudnnBackendGetAttribute = list_unknown;
            struct recorded *configuration =
                cs_descriptor_make(&builder, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
            struct cs_engine_notes notes = cs_descriptors_notes(&builder, configuration);
            unsigned known = listed > 0 && unknown_note < 32 ? 1u << unknown_note : 0;
            CHECK_INT(notes.numerical, known);
            CHECK_INT(notes.behaviour, known);
            cs_descriptor_builder_clear(&builder);
        }
    }
}

/* Everything that is built, in one go. */
static void build_all(struct cs_descriptor_builder *builder)
{
    struct cs_problem problem = fused_problem();
    struct cs_target target = target_of(handle);
    cudnnBackendDescriptor_t configuration[2];
    const struct cs_engine engine = {.knobs = 1, .knob_type = {4}, .knob_value = {128}};
    cudnnBackendDescriptor_t graph = cs_descriptors_graph(builder, &target, &problem);
    cs_descriptors_configuration(builder, cs_descriptors_engine(builder, &target, graph, 3),
                                 &engine);
    int results =
        cs_descriptors_heuristics(builder, &target, &problem, CUDNN_HEUR_MODE_A, configuration, 2);
    CHECK_INT(results, builder->status == CUDNN_STATUS_SUCCESS ? 2 : 0);
    cudnnBackendDescriptor_t plan = cs_descriptors_plan(builder, &target, configuration[0]);
    CHECK_INT(cs_descriptors_workspace(builder, plan),
              builder->status == CUDNN_STATUS_SUCCESS ? 77 : 0);
}

static void offer_two(void)
{
    recorded_start();
    cudnn.offers[0] = 2;
    cudnn.offer[0][0].workspace = cudnn.offer[0][1].workspace = 77;
    cudnn.failure = CUDNN_STATUS_INTERNAL_ERROR;
}

/* Its status is kept, no further call is made, and all objects are destroyed. */
static void the_first_error_ends_it(void)
{
    struct cs_descriptor_builder builder = fresh();
    offer_two();
    build_all(&builder);
    int calls = cudnn.calls;
    CHECK_INT(builder.status, CUDNN_STATUS_SUCCESS);
    CHECK_INT(builder.made, cudnn.made);
    cs_descriptor_builder_clear(&builder);
    CHECK_INT(builder.made, 0);
    CHECK_INT(cudnn.alive, 0);
    CHECK(calls > 60);
    for (int at = 1; at <= calls; at++) {
        builder = fresh();
        offer_two();
        cudnn.fails_at = at;
        build_all(&builder);
        CHECK_INT(builder.status, cudnn.failure);
        CHECK_INT(cudnn.calls, at);
        cs_descriptor_builder_clear(&builder);
        CHECK_INT(cudnn.alive, 0);
    }
}

static void number_of_descriptors_is_limited(void)
{
    struct cs_descriptor_builder builder = fresh();
    recorded_start();
    for (int i = 0; i < CS_DESCRIPTORS_MADE; i++)
        CHECK(cs_descriptor_make(&builder, CUDNN_BACKEND_TENSOR_DESCRIPTOR) != NULL);
    CHECK_INT(builder.status, CUDNN_STATUS_SUCCESS);
    CHECK_INT(builder.made, CS_DESCRIPTORS_MADE);
    CHECK(cs_descriptor_make(&builder, CUDNN_BACKEND_TENSOR_DESCRIPTOR) == NULL);
    CHECK_INT(builder.status, CUDNN_STATUS_ALLOC_FAILED);
    CHECK_INT(cudnn.made, CS_DESCRIPTORS_MADE);
    /* Taken ones are the caller's, be it the first, the last or one between. */
    cudnnBackendDescriptor_t taken[] = {builder.descriptor[0], builder.descriptor[5],
                                        builder.descriptor[CS_DESCRIPTORS_MADE - 1]};
    for (int i = 0; i < 3; i++)
        CHECK(cs_descriptor_take(&builder, taken[i]) == taken[i]);
    cs_descriptor_builder_clear(&builder);
    CHECK_INT(cudnn.alive, 3);
    for (int i = 0; i < 3; i++)
        CHECK(!((struct recorded *)taken[i])->destroyed);
    CHECK(((struct recorded *)taken[0])[1].destroyed);
    CHECK(((struct recorded *)taken[1])[1].destroyed);
}

int main(void)
{
    TEST(graph_has_the_properties_of_the_problem);
    TEST(gradients_use_their_own_attribute_names);
    TEST(steps_are_before_and_after_the_convolution);
    TEST(the_device_is_named_as_the_application_named_it);
    TEST(settings_of_an_engine_are_set_again);
    TEST(a_configuration_has_the_engines_knobs);
    TEST(heuristics_results_are_limited_by_the_capacity);
    TEST(notes_index_and_workspace_are_read);
    TEST(unknown_notes_are_left_out);
    TEST(the_first_error_ends_it);
    TEST(number_of_descriptors_is_limited);
    return REPORT();
}
