/* The record of each attribute that an application sets: its value if it has the form of the
 * header, otherwise a reason not to tile. */
#include "intercept/graph/attributes.h"

#include "cudnn/plan/descriptors.h"
#include "intercept/graph/shadow.h"
#include "vendor_fixture.h"

enum {
    FORWARD = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
    STEP = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
    KIND = CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
    TENSOR = CUDNN_BACKEND_TENSOR_DESCRIPTOR,
    WINDOW = CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
    GRAPH = CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
    PACK = CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
    PLAN = CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
    CONFIGURATION = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
    DESCRIPTOR = CUDNN_TYPE_BACKEND_DESCRIPTOR,
    WRONG = CUDNN_TYPE_VOID_PTR /* a type that only packs have */
};

static char places[16][16];

static cudnnBackendDescriptor_t place(int number)
{
    return places[number];
}

/* A descriptor's note before any attribute is set. */
static struct cs_shadow *fresh(int number, int type)
{
    cs_shadow_remove(place(number));
    cs_shadow_add(place(number), (cudnnBackendDescriptorType_t)type);
    struct cs_shadow *shadow = cs_shadow_find(place(number));
    CHECK(shadow && shadow->descriptor == place(number) && (int)shadow->type == type);
    return shadow;
}

static void set(struct cs_shadow *shadow, int name, int type, int64_t count, const void *elements)
{
    cs_attribute_set(shadow, (cudnnBackendAttributeName_t)name, (cudnnBackendAttributeType_t)type,
                     count, elements);
}

static void set_number(struct cs_shadow *shadow, int name, int type, int64_t number)
{
    set(shadow, name, type, 1, &number);
}

static void set_descriptor(struct cs_shadow *shadow, int name, int number)
{
    cudnnBackendDescriptor_t descriptor = place(number);
    set(shadow, name, DESCRIPTOR, 1, &descriptor);
}

/* The notes from the first byte after the head. */
static bool same_tensor(const struct cs_shadow *shadow, const struct cs_tensor_attributes *wanted)
{
    const struct cs_tensor_attributes *a = &shadow->tensor;
    return a->dims == wanted->dims && memcmp(a->extent, wanted->extent, sizeof a->extent) == 0 &&
           memcmp(a->stride, wanted->stride, sizeof a->stride) == 0 && a->uid == wanted->uid &&
           a->alignment == wanted->alignment && a->dtype == wanted->dtype &&
           a->is_virtual == wanted->is_virtual && a->by_value == wanted->by_value &&
           a->reason == wanted->reason;
}

static void a_tensor_s_attributes_are_noted(void)
{
    static const int64_t row[] = {5, 4, 3, 2, 1, 7};
    struct cs_tensor_attributes wanted = {.alignment = 1, .uid = CS_NO_UID};
    struct cs_shadow *shadow = fresh(0, TENSOR);
    CHECK(same_tensor(shadow, &wanted));
    for (int count = 1; count <= CS_DIMS; count++) {
        set(shadow, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, count, row);
        set(shadow, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, count, row + 1);
        wanted.dims = count;
        memcpy(wanted.extent, row, (size_t)count * sizeof *row);
        memcpy(wanted.stride, row + 1, (size_t)count * sizeof *row);
        CHECK(same_tensor(shadow, &wanted));
    }
    set_number(shadow, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, -77);
    set_number(shadow, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 32);
    set_number(shadow, CUDNN_ATTR_TENSOR_VECTOR_COUNT, CUDNN_TYPE_INT64, 1);
    set_number(shadow, CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION, CUDNN_TYPE_INT64, 3);
    set_number(shadow, CUDNN_ATTR_TENSOR_REORDERING_MODE, CUDNN_TYPE_TENSOR_REORDERING_MODE,
               CUDNN_TENSOR_REORDERING_NONE);
    wanted.uid = -77;
    wanted.alignment = 32;
    CHECK(same_tensor(shadow, &wanted));
    for (int value = 0; value <= 1; value++) {
        set_number(shadow, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, value);
        set_number(shadow, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, !value);
        wanted.is_virtual = value;
        wanted.by_value = !value;
        CHECK(same_tensor(shadow, &wanted));
    }
}

/* An unreadable boolean counts as true, so that the tensor counts as unknown. */
static void a_boolean_that_cannot_be_read_is_true(void)
{
    const bool no[2] = {false, false};
    for (int i = 0; i < 2; i++) {
        struct cs_shadow *shadow = fresh(0, TENSOR);
        set(shadow, CUDNN_ATTR_TENSOR_IS_VIRTUAL, i ? WRONG : CUDNN_TYPE_BOOLEAN, i ? 1 : 2, no);
        CHECK(shadow->tensor.is_virtual && !shadow->tensor.by_value);
        shadow = fresh(1, GRAPH);
        set(shadow, CUDNN_ATTR_OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED,
            i ? WRONG : CUDNN_TYPE_BOOLEAN, i ? 1 : 2, no);
        CHECK_INT(shadow->graph_note.reason, CS_REASON_DYNAMIC);
    }
}

static void each_data_type_is_recognized(void)
{
    static const struct {
        int type, dtype, reason;
    } cases[] = {{CUDNN_DATA_FLOAT, CS_F32, CS_REASON_NONE},
                 {CUDNN_DATA_HALF, CS_F16, CS_REASON_NONE},
                 {CUDNN_DATA_BFLOAT16, CS_BF16, CS_REASON_NONE},
                 {CUDNN_DATA_DOUBLE, CS_F32, CS_REASON_DTYPE},
                 {CUDNN_DATA_INT8, CS_F32, CS_REASON_DTYPE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cs_shadow *shadow = fresh(0, TENSOR), *window = fresh(1, WINDOW);
        enum cs_dtype dtype = CS_DTYPES;
        set_number(shadow, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, cases[i].type);
        set_number(window, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, cases[i].type);
        CHECK_INT(shadow->tensor.dtype, cases[i].dtype);
        CHECK_INT(shadow->tensor.reason, cases[i].reason);
        CHECK_INT(window->conv.compute, cases[i].dtype);
        CHECK_INT(window->conv.reason, cases[i].reason);
        CHECK_INT(cs_attribute_dtype((cudnnDataType_t)cases[i].type, &dtype),
                  cases[i].reason == CS_REASON_NONE);
        CHECK_INT(dtype, cases[i].reason == CS_REASON_NONE ? cases[i].dtype : (int)CS_DTYPES);
    }
}

static void a_window_s_attributes_are_noted(void)
{
    static const int64_t row[] = {5, 4, 3, 2};
    static const int names[] = {
        CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
        CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_ATTR_CONVOLUTION_DILATIONS};
    for (int name = 0; name < 4; name++) {
        for (int count = 1; count <= CS_SPATIAL; count++) {
            struct cs_shadow *shadow = fresh(0, WINDOW);
            const int64_t *rows[] = {shadow->conv.pre, shadow->conv.post, shadow->conv.stride,
                                     shadow->conv.dilation};
            set(shadow, names[name], CUDNN_TYPE_INT64, count, row);
            CHECK_INT(shadow->conv.reason, CS_REASON_NONE);
            for (int other = 0; other < 4; other++)
                for (int i = 0; i < CS_SPATIAL; i++)
                    CHECK_INT(rows[other][i], other == name && i < count ? row[i] : 0);
        }
    }
    struct cs_shadow *shadow = fresh(0, WINDOW);
    set_number(shadow, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 3);
    CHECK_INT(shadow->conv.spatial, 3);
    set_number(shadow, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
               CUDNN_CONVOLUTION);
    CHECK(shadow->conv.flipped);
    set_number(shadow, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
               CUDNN_CROSS_CORRELATION);
    CHECK(!shadow->conv.flipped);
    CHECK_INT(shadow->conv.reason, CS_REASON_NONE);
}

static enum cs_reason reason_of(const struct cs_shadow *shadow)
{
    switch ((int)shadow->type) {
    case TENSOR:
        return shadow->tensor.reason;
    case WINDOW:
        return shadow->conv.reason;
    case KIND:
        return shadow->pointwise.reason;
    case GRAPH:
        return shadow->graph_note.reason;
    default:
        return shadow->operation.reason;
    }
}

/* Another type, too few or too many of it, or a name that is not known. */
static void attribute_of_another_form_gives_a_reason(void)
{
    static const struct {
        int descriptor, name, type, most;
        enum cs_reason reason;
    } cases[] = {
        {TENSOR, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, CS_REASON_ATTRIBUTE},
        {TENSOR, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, CS_DIMS, CS_REASON_ATTRIBUTE},
        {TENSOR, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, CS_DIMS, CS_REASON_ATTRIBUTE},
        {TENSOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, CS_REASON_ATTRIBUTE},
        {TENSOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, CS_REASON_ATTRIBUTE},
        {TENSOR, CUDNN_ATTR_TENSOR_VECTOR_COUNT, CUDNN_TYPE_INT64, 1, CS_REASON_TENSOR},
        {TENSOR, CUDNN_ATTR_TENSOR_REORDERING_MODE, CUDNN_TYPE_TENSOR_REORDERING_MODE, 1,
         CS_REASON_TENSOR},
        {WINDOW, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, CS_REASON_ATTRIBUTE},
        {WINDOW, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, CS_REASON_ATTRIBUTE},
        {WINDOW, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1,
         CS_REASON_ATTRIBUTE},
        {WINDOW, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, CS_SPATIAL,
         CS_REASON_ATTRIBUTE},
        {WINDOW, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, CS_SPATIAL,
         CS_REASON_ATTRIBUTE},
        {WINDOW, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, CS_SPATIAL,
         CS_REASON_ATTRIBUTE},
        {WINDOW, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, CS_SPATIAL,
         CS_REASON_ATTRIBUTE},
        {KIND, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, CS_REASON_ATTRIBUTE},
        {KIND, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, CS_REASON_ATTRIBUTE},
        {KIND, CUDNN_ATTR_POINTWISE_ELU_ALPHA, CUDNN_TYPE_DOUBLE, 1, CS_REASON_ATTRIBUTE},
        {FORWARD, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_DOUBLE, 1,
         CS_REASON_ATTRIBUTE},
        {FORWARD, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1,
         CS_REASON_ATTRIBUTE},
        {GRAPH, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, CS_REASON_ATTRIBUTE}};
    static const int64_t row[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int count = 0; count <= 7; count++) {
            struct cs_shadow *shadow = fresh(0, cases[i].descriptor);
            bool fits = count >= 1 && count <= cases[i].most;
            set(shadow, cases[i].name, cases[i].type, count, row);
            if (!fits)
                CHECK_INT(reason_of(shadow), cases[i].reason);
            else if (cases[i].type == CUDNN_TYPE_INT64 || cases[i].type == CUDNN_TYPE_DOUBLE)
                CHECK_INT(reason_of(shadow), CS_REASON_NONE);
            shadow = fresh(0, cases[i].descriptor);
            set(shadow, cases[i].name, WRONG, count, row);
            CHECK_INT(reason_of(shadow), cases[i].reason);
        }
    }
    static const int types[] = {TENSOR, WINDOW, KIND, FORWARD, GRAPH};
    for (int i = 0; i < 5; i++) {
        struct cs_shadow *shadow = fresh(0, types[i]);
        set_number(shadow, 9999, CUDNN_TYPE_INT64, 1);
        CHECK_INT(reason_of(shadow), CS_REASON_ATTRIBUTE);
    }
    struct cs_shadow *step = fresh(0, STEP);
    set_number(step, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, CUDNN_TYPE_INT64, 1);
    CHECK_INT(step->operation.reason, CS_REASON_FUSED);
}

static void vectorized_reordered_and_ragged_tensors_are_not_planned(void)
{
    struct cs_shadow *shadow = fresh(0, TENSOR);
    set_number(shadow, CUDNN_ATTR_TENSOR_VECTOR_COUNT, CUDNN_TYPE_INT64, 4);
    CHECK_INT(shadow->tensor.reason, CS_REASON_TENSOR);
    shadow = fresh(0, TENSOR);
    set_number(shadow, CUDNN_ATTR_TENSOR_REORDERING_MODE, CUDNN_TYPE_TENSOR_REORDERING_MODE,
               CUDNN_TENSOR_REORDERING_INT8x32);
    CHECK_INT(shadow->tensor.reason, CS_REASON_TENSOR);
    shadow = fresh(0, TENSOR);
    set_descriptor(shadow, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, 1);
    CHECK_INT(shadow->tensor.reason, CS_REASON_TENSOR);
}

/* By the number of their bytes: eight or four. */
static void settings_are_recorded_unchanged(void)
{
    static const struct {
        int type;
        int64_t bits;
    } cases[] = {{CUDNN_TYPE_INT64, -2},
                 {CUDNN_TYPE_DOUBLE, -2},
                 {CUDNN_TYPE_FLOAT, 0xfffffffe},
                 {CUDNN_TYPE_NAN_PROPOGATION, 0xfffffffe},
                 {CUDNN_TYPE_BOOLEAN, -1}};
    static const int names[] = {CUDNN_ATTR_POINTWISE_NAN_PROPAGATION,
                                CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP,
                                CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP,
                                CUDNN_ATTR_POINTWISE_ELU_ALPHA,
                                CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE,
                                CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA,
                                CUDNN_ATTR_POINTWISE_SWISH_BETA};
    struct cs_shadow *kind = fresh(0, KIND);
    for (int i = 0; i < 7; i++)
        set_number(kind, names[i], CUDNN_TYPE_INT64, 10 + i);
    set_number(kind, names[3], CUDNN_TYPE_DOUBLE, 99); /* once more: in its place */
    CHECK_INT(kind->pointwise.settings, 7);
    for (int i = 0; i < 7; i++) {
        CHECK_INT(kind->pointwise.setting[i].name, names[i]);
        CHECK_INT(kind->pointwise.setting[i].type, i == 3 ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_INT64);
        CHECK_INT(kind->pointwise.setting[i].bits, i == 3 ? 99 : 10 + i);
    }
    CHECK_INT(kind->pointwise.reason, CS_REASON_NONE);
    for (int i = 0; i < 5; i++) {
        kind = fresh(0, KIND);
        set_number(kind, names[0], cases[i].type, -2);
        CHECK_INT(kind->pointwise.settings, cases[i].bits != -1);
        CHECK_INT(kind->pointwise.reason,
                  cases[i].bits == -1 ? CS_REASON_ATTRIBUTE : CS_REASON_NONE);
        if (cases[i].bits != -1)
            CHECK_INT(kind->pointwise.setting[0].bits, cases[i].bits);
    }
    set_number(kind, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, CUDNN_POINTWISE_MUL);
    set_number(kind, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_HALF);
    CHECK_INT(kind->pointwise.mode, CUDNN_POINTWISE_MUL);
    CHECK_INT(kind->pointwise.precision, CUDNN_DATA_HALF);
}

/* The operation's own settings come after the descriptor's, in any order of the calls; eight are
 * kept. */
static void an_operation_has_its_own_settings(void)
{
    for (int own = 0; own <= 2; own++) {
        for (int first = 0; first <= 1; first++) {
            struct cs_shadow *kind = fresh(0, KIND), *step = fresh(1, STEP);
            const int names[] = {CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1,
                                 CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2};
            set_number(kind, CUDNN_ATTR_POINTWISE_ELU_ALPHA, CUDNN_TYPE_INT64, 3);
            set_number(kind, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 7);
            for (int i = 0; i < own && first; i++)
                set_number(step, names[i], CUDNN_TYPE_INT64, 50 + i);
            set_descriptor(step, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 0);
            for (int i = 0; i < own && !first; i++)
                set_number(step, names[i], CUDNN_TYPE_INT64, 50 + i);
            const struct cs_pointwise_attributes *a = &step->operation.pointwise;
            CHECK_INT(a->mode, 7);
            CHECK_INT(a->settings, 1 + own);
            CHECK_INT(a->setting[0].bits, 3);
            for (int i = 0; i < own; i++) {
                CHECK_INT(a->setting[1 + i].name, names[i]);
                CHECK_INT(a->setting[1 + i].type, CUDNN_TYPE_INT64);
                CHECK_INT(a->setting[1 + i].bits, 50 + i);
            }
            CHECK_INT(a->reason, CS_REASON_NONE);
        }
    }
    struct cs_shadow *step = fresh(1, STEP);
    step->operation.pointwise.settings = CS_MAX_SETTINGS;
    set_number(step, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_INT64, 50);
    CHECK_INT(step->operation.pointwise.settings, CS_MAX_SETTINGS);
    CHECK_INT(step->operation.pointwise.reason, CS_REASON_ATTRIBUTE);
}

static void operation_copies_the_tensors_it_refers_to(void)
{
    static const int names[] = {
        CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
        CUDNN_ATTR_OPERATION_POINTWISE_TDESC, CUDNN_ATTR_OPERATION_POINTWISE_YDESC};
    struct cs_shadow *tensor = fresh(0, TENSOR), *step, *operation;
    set_number(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 42);
    for (int i = 0; i < CS_PW_OPERANDS; i++) {
        step = fresh(1, STEP);
        set_descriptor(step, names[i], 0);
        for (int j = 0; j < CS_PW_OPERANDS; j++)
            CHECK_INT(step->operation.tensor[j].uid, i == j ? 42 : 0);
        set_descriptor(step, names[i], 9); /* never seen */
        CHECK_INT(step->operation.tensor[i].reason, CS_REASON_UNSEEN);
    }
    for (enum cs_direction d = 0; d < CS_DIRECTIONS; d++) {
        const struct cs_operation_names *of = &cs_operation_names[d];
        operation = fresh(1, (int)of->type);
        CHECK(operation->operation.alpha == 1 && operation->operation.beta == 0);
        CHECK_INT(operation->operation.type, of->type);
        for (int i = 0; i < CS_OPERANDS; i++) {
            set_descriptor(operation, (int)of->operand[i], 0);
            CHECK_INT(operation->operation.tensor[i].uid, 42);
        }
        double wide = 0.1;
        float narrow = 0.5F;
        set(operation, (int)of->alpha, CUDNN_TYPE_DOUBLE, 1, &wide);
        set(operation, (int)of->beta, CUDNN_TYPE_FLOAT, 1, &narrow);
        CHECK(operation->operation.alpha == 0.1 && operation->operation.beta == 0.5);
        struct cs_shadow *window = fresh(2, WINDOW);
        set_number(window, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 2);
        set_descriptor(operation, (int)of->conv, 2);
        CHECK_INT(operation->operation.conv.spatial, 2);
        CHECK_INT(operation->operation.conv.reason, CS_REASON_NONE);
        CHECK_INT(operation->operation.reason, CS_REASON_NONE);
        set_descriptor(operation, (int)of->conv, 0); /* no window's descriptor */
        CHECK_INT(operation->operation.conv.reason, CS_REASON_UNSEEN);
        set_descriptor(operation, (int)of->operand[0], 2); /* and no tensor's */
        CHECK_INT(operation->operation.tensor[0].reason, CS_REASON_UNSEEN);
    }
    /* One descriptor, of that type. */
    cudnnBackendDescriptor_t two[] = {place(0), place(0)};
    for (int i = 0; i < 2; i++) {
        step = fresh(1, STEP);
        set(step, names[0], i ? DESCRIPTOR : WRONG, i ? 2 : 1, two);
        CHECK_INT(step->operation.tensor[CS_PW_X].reason, CS_REASON_UNSEEN);
        CHECK_INT(step->operation.tensor[CS_PW_X].uid, 0);
    }
    step = fresh(1, STEP);
    set_descriptor(step, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 0);
    CHECK_INT(step->operation.pointwise.reason, CS_REASON_UNSEEN);
}

static void set_operations(struct cs_shadow *graph, int count, const int *numbers)
{
    cudnnBackendDescriptor_t row[16];
    for (int i = 0; i < count; i++)
        row[i] = place(numbers[i]);
    set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, DESCRIPTOR, count, row);
}

static void a_graph_has_its_operations(void)
{
    struct cs_shadow *graph = fresh(0, GRAPH);
    int many[CS_GRAPH_OPS + 1];
    fresh(1, FORWARD)->operation.alpha = 2;
    fresh(2, STEP);
    fresh(3, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    set_operations(graph, 2, (const int[]){2, 1});
    CHECK_INT(graph->graph_note.operations, 2);
    CHECK(graph->graph_note.convolution);
    CHECK_INT(graph->graph_note.operation[0].type, STEP);
    CHECK_INT(graph->graph_note.operation[1].type, FORWARD);
    CHECK(graph->graph_note.operation[1].alpha == 2);
    CHECK_INT(graph->graph_note.reason, CS_REASON_NONE);
    set_operations(graph, 1, (const int[]){2}); /* once more */
    CHECK_INT(graph->graph_note.operations, 1);
    CHECK(!graph->graph_note.convolution);
    set_operations(graph, 2, (const int[]){1, 3});
    CHECK_INT(graph->graph_note.reason, CS_REASON_FUSED);
    CHECK(graph->graph_note.convolution);
    graph = fresh(0, GRAPH);
    set_operations(graph, 2, (const int[]){1, 9});
    CHECK_INT(graph->graph_note.reason, CS_REASON_UNSEEN);
    CHECK_INT(graph->graph_note.operations, 1);
    for (int i = 0; i <= CS_GRAPH_OPS; i++)
        many[i] = i == 0 ? 1 : 2;
    for (int more = 0; more <= 1; more++) {
        graph = fresh(0, GRAPH);
        set_operations(graph, CS_GRAPH_OPS + more, many);
        CHECK_INT(graph->graph_note.operations, CS_GRAPH_OPS);
        CHECK_INT(graph->graph_note.reason, more ? CS_REASON_FUSED : CS_REASON_NONE);
    }
    cudnnBackendDescriptor_t one = place(1);
    graph = fresh(0, GRAPH);
    set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, WRONG, 1, &one);
    CHECK_INT(graph->graph_note.reason, CS_REASON_ATTRIBUTE);
    CHECK(graph->graph_note.operations == 0 && !graph->graph_note.convolution);
}

static void graph_attributes_give_their_reasons(void)
{
    static const struct {
        int name;
        bool value;
        enum cs_reason reason;
    } cases[] = {{CUDNN_ATTR_OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED, true, CS_REASON_DYNAMIC},
                 {CUDNN_ATTR_OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED, false, CS_REASON_NONE},
                 {805, true, CS_REASON_DYNAMIC},
                 {805, false, CS_REASON_NONE},
                 {806, true, CS_REASON_NONE},
                 {CUDNN_ATTR_OPERATIONGRAPH_IS_SAME_TOPOLOGY, true, CS_REASON_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cs_shadow *graph = fresh(0, GRAPH);
        set(graph, cases[i].name, CUDNN_TYPE_BOOLEAN, 1, &cases[i].value);
        CHECK_INT(graph->graph_note.reason, cases[i].reason);
    }
    struct cs_shadow *graph = fresh(0, GRAPH);
    void *handle = places[5];
    set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    CHECK((void *)graph->graph_note.handle == handle);
}

static void a_pack_has_its_rows(void)
{
    static int64_t row[CS_PACK_TENSORS + 1];
    static const int counts[] = {0, 1, CS_PACK_TENSORS, CS_PACK_TENSORS + 1, -1};
    for (int i = 0; i <= CS_PACK_TENSORS; i++)
        row[i] = 1000 + i;
    for (int i = 0; i < 5; i++) {
        int noted = counts[i] <= CS_PACK_TENSORS ? counts[i] : -1;
        struct cs_shadow *pack = fresh(0, PACK);
        CHECK(pack->pack.pointers == 0 && pack->pack.uids == 0 && !pack->pack.workspace);
        set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, counts[i], row);
        set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, counts[i], row);
        CHECK_INT(pack->pack.pointers, noted);
        CHECK_INT(pack->pack.uids, noted);
        for (int j = 0; j < noted; j++) {
            CHECK_INT((intptr_t)pack->pack.pointer[j], 1000 + j);
            CHECK_INT(pack->pack.uid[j], 1000 + j);
        }
        set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_INT64, 1, row);
        set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_VOID_PTR, 1, row);
        CHECK(pack->pack.pointers == -1 && pack->pack.uids == -1);
        CHECK(!pack->pack.overridden);
    }
    void *workspace = places[3];
    struct cs_shadow *pack = fresh(0, PACK);
    set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    CHECK(pack->pack.workspace == workspace && !pack->pack.overridden);
    set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_INT64, 1, &workspace);
    CHECK(pack->pack.overridden);
    pack = fresh(0, PACK);
    set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 2, row);
    CHECK(pack->pack.overridden);
    pack = fresh(0, PACK);
    set(pack, CUDNN_ATTR_VARIANT_PACK_INTERMEDIATES, CUDNN_TYPE_VOID_PTR, 1, row);
    CHECK(pack->pack.overridden);
}

static struct cs_graph *new_graph(void)
{
    struct cs_graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        exit(1);
    atomic_init(&graph->references, 1);
    return graph;
}

/* From the graph over heuristics, engine and configuration to the plan; nowhere else. */
static void descriptors_made_from_a_graph_refer_to_it(void)
{
    static const struct {
        int type, name;
        bool derives;
    } cases[] = {{CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, true},
                 {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, false},
                 {CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, true},
                 {CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_DEVICEPROP, false},
                 {CONFIGURATION, CUDNN_ATTR_ENGINECFG_ENGINE, true},
                 {CONFIGURATION, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, false},
                 {PLAN, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, true},
                 {PLAN, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, false},
                 {CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_ATTR_ENGINECFG_ENGINE, false}};
    struct cs_graph *graph = new_graph();
    struct cs_shadow *from = fresh(0, CONFIGURATION);
    cs_shadow_origin(from, graph);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int listed = 0; listed <= 1; listed++) {
            struct cs_shadow *shadow = fresh(1, cases[i].type);
            from->listed = listed;
            CHECK(!shadow->graph && !shadow->listed);
            set_descriptor(shadow, cases[i].name, 0);
            CHECK(shadow->graph == (cases[i].derives ? graph : NULL));
            CHECK_INT(shadow->listed, listed && cases[i].type == (int)PLAN && cases[i].derives);
            CHECK_INT(graph->references, 2 + cases[i].derives);
            set_descriptor(shadow, cases[i].name, 9); /* never seen: no longer */
            CHECK(shadow->graph == NULL);
            CHECK(!shadow->listed);
        }
    }
    cs_shadow_remove(place(1));
    cs_shadow_remove(place(0));
    CHECK_INT(graph->references, 1);
    cs_graph_drop(graph);
}

static void a_plan_s_handle_and_origin_are_noted(void)
{
    void *handles[] = {places[7], places[8]};
    struct cs_shadow *plan = fresh(0, PLAN);
    set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_VOID_PTR, 1, handles);
    set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 2, handles);
    set(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_HANDLE, 1, handles);
    CHECK(plan->plan.handle == NULL && plan->plan.reason == CS_REASON_NONE);
    set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, handles);
    CHECK((void *)plan->plan.handle == handles[0]);
    set(plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 2, "{}");
    CHECK_INT(plan->plan.reason, CS_REASON_FROM_JSON);
}

/* Descriptors returned by heuristics and others belong to their graph. If there are several, one
 * was listed. */
static void returned_descriptors_refer_to_their_graph(void)
{
    static const struct {
        int name;
        bool derives;
    } cases[] = {{CUDNN_ATTR_ENGINEHEUR_RESULTS, true},
                 {CUDNN_ATTR_ENGINECFG_ENGINE, true},
                 {CUDNN_ATTR_ENGINE_OPERATION_GRAPH, true},
                 {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, true},
                 {CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int count = 0; count <= 3; count++) {
            struct cs_graph *graph = new_graph();
            struct cs_shadow *from = fresh(0, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR), *to[3];
            cudnnBackendDescriptor_t row[] = {place(1), place(9), place(3)};
            cs_shadow_origin(from, graph);
            to[0] = fresh(1, CONFIGURATION);
            to[2] = fresh(3, CONFIGURATION);
            to[0]->listed = to[2]->listed = true;
            cs_attribute_got(from, (cudnnBackendAttributeName_t)cases[i].name, count, row);
            for (int j = 0; j < 3; j += 2) {
                bool filled = cases[i].derives && j < count;
                CHECK(to[j]->graph == (filled ? graph : NULL));
                CHECK_INT(to[j]->listed, !filled || (i == 0 && count > 1));
            }
            for (int j = 0; j < 4; j++)
                cs_shadow_remove(place(j));
            CHECK_INT(graph->references, 1);
            cs_graph_drop(graph);
        }
    }
}

int main(void)
{
    TEST(a_tensor_s_attributes_are_noted);
    TEST(a_boolean_that_cannot_be_read_is_true);
    TEST(each_data_type_is_recognized);
    TEST(a_window_s_attributes_are_noted);
    TEST(attribute_of_another_form_gives_a_reason);
    TEST(vectorized_reordered_and_ragged_tensors_are_not_planned);
    TEST(settings_are_recorded_unchanged);
    TEST(an_operation_has_its_own_settings);
    TEST(operation_copies_the_tensors_it_refers_to);
    TEST(a_graph_has_its_operations);
    TEST(graph_attributes_give_their_reasons);
    TEST(a_pack_has_its_rows);
    TEST(descriptors_made_from_a_graph_refer_to_it);
    TEST(a_plan_s_handle_and_origin_are_noted);
    TEST(returned_descriptors_refer_to_their_graph);
    return REPORT();
}
