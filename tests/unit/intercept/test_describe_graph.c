/* Graphs that can be cut into tiles: each property that a tile would compute wrongly is refused
 * with its reason, and so is each variant pack with more than addresses. */
#include "check.h"
#include "sample_problem.h"
#include "sound_graph.h"

static void start(void)
{
    for (int i = 0; i < SLOTS; i++)
        cs_shadow_add(descriptor[i], kind[i].type);
    set_sound();
}

static void stop(void)
{
    for (int i = 0; i < SLOTS; i++)
        cs_shadow_remove(descriptor[i]);
}

static struct cs_graph *described(bool fused)
{
    link_all(fused);
    return cs_describe_graph(cs_shadow_find(descriptor[GRAPH]));
}

/* Why the graph is refused, as it has been set up since start(). */
static enum cs_reason reason_of(bool fused)
{
    struct cs_graph *graph = described(fused);
    enum cs_reason reason = graph ? graph->reason : CS_REASON_HOST_MEMORY;
    CHECK(graph && graph->convolution);
    cs_graph_drop(graph);
    return reason;
}

/* The reason after one more attribute is set, on a tensor of the given kind of graph. */
static enum cs_reason with(enum slot slot, int name, cudnnBackendAttributeType_t type,
                           const void *value, bool fused)
{
    start();
    set(slot, name, type, 1, value);
    enum cs_reason reason = reason_of(fused);
    stop();
    return reason;
}

static enum cs_reason with_number(enum slot slot, int name, int64_t value, bool fused)
{
    return with(slot, name, CUDNN_TYPE_INT64, &value, fused);
}

static void sound_graphs_are_described(void)
{
    for (int fused = 0; fused < 2; fused++) {
        start();
        struct cs_graph *graph = described(fused);
        CHECK_INT(graph->reason, CS_REASON_NONE);
        CHECK_INT(graph->problem.tensors, fused ? 5 : 3);
        CHECK_INT(graph->problem.steps, fused);
        CHECK_INT(graph->problem.tensor[CS_X].dims[CS_C], 4);
        CHECK_INT(graph->problem.tensor[CS_FILTER].dims[CS_N], 6);
        CHECK_INT(graph->problem.tensor[CS_Y].strides[CS_N], 384);
        CHECK_INT(graph->problem.groups, 1);
        CHECK(!graph->problem.flipped);
        cs_graph_drop(graph);
        stop();
    }
}

/* Two tensors without ids could not be distinguished. */
static void a_tensor_without_a_name_is_refused(void)
{
    for (enum slot slot = TENSOR_X; slot <= TENSOR_Y; slot++)
        CHECK_INT(with_number(slot, CUDNN_ATTR_TENSOR_UNIQUE_ID, CS_NO_UID, false),
                  CS_REASON_ATTRIBUTE);
    cs_shadow_add(descriptor[TENSOR_X], CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    CHECK_INT(cs_shadow_find(descriptor[TENSOR_X])->tensor.uid, CS_NO_UID);
    cs_shadow_remove(descriptor[TENSOR_X]);
}

/* Among them shapes that change, operands that the description has no place for, and numbers over
 * the whole tensor, which would begin again in a tile. */
static void one_attribute_decides(void)
{
    enum {
        TENSORS = SLOTS /* x, w and y, one after the other */
    };
    static const int none = CUDNN_TENSOR_REORDERING_NONE, int8x32 = CUDNN_TENSOR_REORDERING_INT8x32,
                     int8 = CUDNN_DATA_INT8, wide = CUDNN_DATA_DOUBLE, add = CUDNN_POINTWISE_ADD,
                     index = CUDNN_POINTWISE_GEN_INDEX;
    static const int64_t one = 1, four = 4;
    static const bool yes = true, no = false;
    static const float number = 1;
    const void *operand = descriptor[TENSOR_B];
    const struct {
        int slot, name;
        cudnnBackendAttributeType_t type;
        const void *value;
        enum cs_reason reason;
        bool fused;
    } rows[] = {
        {TENSORS, CUDNN_ATTR_TENSOR_VECTOR_COUNT, CUDNN_TYPE_INT64, &one, CS_REASON_NONE, false},
        {TENSORS, CUDNN_ATTR_TENSOR_VECTOR_COUNT, CUDNN_TYPE_INT64, &four, CS_REASON_TENSOR, false},
        {TENSORS, CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION, CUDNN_TYPE_INT64, &one, CS_REASON_NONE,
         false},
        {TENSORS, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &operand,
         CS_REASON_TENSOR, false},
        {TENSORS, CUDNN_ATTR_TENSOR_REORDERING_MODE, CUDNN_TYPE_TENSOR_REORDERING_MODE, &none,
         CS_REASON_NONE, false},
        {TENSORS, CUDNN_ATTR_TENSOR_REORDERING_MODE, CUDNN_TYPE_TENSOR_REORDERING_MODE, &int8x32,
         CS_REASON_TENSOR, false},
        {TENSORS, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &int8, CS_REASON_DTYPE, false},
        {CONV, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &wide, CS_REASON_DTYPE,
         false},
        {TENSORS, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_FLOAT, &number, CS_REASON_ATTRIBUTE,
         false},
        {TENSORS, 999, CUDNN_TYPE_INT64, &one, CS_REASON_ATTRIBUTE, false},
        {CONV, 999, CUDNN_TYPE_INT64, &one, CS_REASON_ATTRIBUTE, false},
        {OPERATION, 999, CUDNN_TYPE_INT64, &one, CS_REASON_ATTRIBUTE, false},
        {GRAPH, 999, CUDNN_TYPE_INT64, &one, CS_REASON_ATTRIBUTE, false},
        {POINTWISE, 999, CUDNN_TYPE_INT64, &one, CS_REASON_ATTRIBUTE, true},
        {GRAPH, CUDNN_ATTR_OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED, CUDNN_TYPE_BOOLEAN, &no,
         CS_REASON_NONE, false},
        {GRAPH, CUDNN_ATTR_OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED, CUDNN_TYPE_BOOLEAN, &yes,
         CS_REASON_DYNAMIC, false},
        {GRAPH, 805, CUDNN_TYPE_BOOLEAN, &yes, CS_REASON_DYNAMIC, false}, /* new shapes, 9.21 */
        {POINTWISE, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, &add, CS_REASON_NONE,
         true},
        {POINTWISE, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, &index, CS_REASON_FUSED,
         true},
        {ADDITION, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &operand,
         CS_REASON_FUSED, true},
        {ADDITION, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &operand,
         CS_REASON_FUSED, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int first = rows[i].slot == TENSORS ? TENSOR_X : rows[i].slot;
        int last = rows[i].slot == TENSORS ? TENSOR_Y : rows[i].slot;
        for (int slot = first; slot <= last; slot++) {
            CASE("row %zu, slot %d", i, slot);
            CHECK_INT(
                with((enum slot)slot, rows[i].name, rows[i].type, rows[i].value, rows[i].fused),
                rows[i].reason);
        }
    }
}

/* One id names one tensor. With two sets of strides, one of them would be lost. */
static void one_name_for_two_tensors_is_refused(void)
{
    static const int64_t name = TENSOR_Y, packed[] = {384, 64, 8, 1}, wider[] = {768, 128, 16, 1},
                         image[] = {2, 6, 8, 8}, narrower[] = {1, 6, 8, 8};
    static const int single = CUDNN_DATA_FLOAT;
    const struct {
        int name;
        cudnnBackendAttributeType_t type;
        int count;
        const void *value;
        enum cs_reason reason;
    } cases[] = {
        {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, packed, CS_REASON_NONE},
        {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, wider, CS_REASON_ATTRIBUTE},
        {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, narrower, CS_REASON_ATTRIBUTE},
        {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &single, CS_REASON_ATTRIBUTE},
        {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &packed[2], CS_REASON_ATTRIBUTE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start();
        /* The sum that is added is the output itself, by another descriptor. */
        set(TENSOR_B, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &name);
        set(TENSOR_B, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, image);
        set(TENSOR_B, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, packed);
        set(TENSOR_B, cases[i].name, cases[i].type, cases[i].count, cases[i].value);
        CHECK_INT(reason_of(true), cases[i].reason);
        stop();
    }
}

static void unseen_descriptor_is_refused(void)
{
    const void *unknown = descriptor[SLOTS];
    start();
    link_all(false);
    set(OPERATION, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
        &unknown);
    const void *operation = descriptor[OPERATION];
    set(GRAPH, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &operation);
    struct cs_graph *graph = cs_describe_graph(cs_shadow_find(descriptor[GRAPH]));
    CHECK_INT(graph->reason, CS_REASON_UNSEEN);
    cs_graph_drop(graph);
    stop();
}

static void true_convolution_is_distinguished_from_correlation(void)
{
    static const int modes[] = {CUDNN_CROSS_CORRELATION, CUDNN_CONVOLUTION};
    for (int i = 0; i < 2; i++) {
        start();
        set(CONV, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &modes[i]);
        struct cs_graph *graph = described(false);
        CHECK_INT(graph->reason, CS_REASON_NONE);
        CHECK_INT(graph->problem.flipped, i);
        cs_graph_drop(graph);
        stop();
    }
}

/* Sums of 16 bits are another result than those of 32. */
static void accumulation_type_is_read(void)
{
    static const struct {
        int type;
        enum cs_dtype dtype;
    } types[] = {
        {CUDNN_DATA_FLOAT, CS_F32}, {CUDNN_DATA_HALF, CS_F16}, {CUDNN_DATA_BFLOAT16, CS_BF16}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        start();
        set(CONV, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &types[i].type);
        struct cs_graph *graph = described(false);
        CHECK_INT(graph->reason, CS_REASON_NONE);
        CHECK_INT(graph->problem.compute, types[i].dtype);
        cs_graph_drop(graph);
        stop();
    }
}

static void scales_and_windows_are_read(void)
{
    static const int64_t pre[] = {2, 3}, post[] = {0, 1}, stride[] = {3, 2}, dilation[] = {2, 1};
    static const float alpha = 0.5F;
    static const double beta = -2;
    static const int64_t image[] = {2, 6, 2, 5}, packed[] = {60, 10, 5, 1};
    start();
    set(CONV, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, pre);
    set(CONV, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, post);
    set(CONV, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, stride);
    set(CONV, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dilation);
    set(TENSOR_Y, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, image);
    set(TENSOR_Y, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, packed);
    set(OPERATION, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, &alpha);
    set(OPERATION, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_DOUBLE, 1, &beta);
    struct cs_graph *graph = described(false);
    CHECK_INT(graph->reason, CS_REASON_NONE);
    const struct cs_problem *p = &graph->problem;
    CHECK(p->pre[1] == 2 && p->pre[2] == 3 && p->post[1] == 0 && p->post[2] == 1);
    CHECK(p->pre[0] == 0 && p->post[0] == 0);
    CHECK(p->stride[0] == 1 && p->stride[1] == 3 && p->stride[2] == 2);
    CHECK(p->dilation[0] == 1 && p->dilation[1] == 2 && p->dilation[2] == 1);
    CHECK(p->alpha == 0.5 && p->beta == -2);
    cs_graph_drop(graph);
    stop();
}

/* The pack as a finalized one. */
static const struct cs_shadow *finished_pack(void)
{
    struct cs_shadow *pack = cs_shadow_find(descriptor[PACK]);
    pack->pack.finalized = true;
    return pack;
}

/* A pack of all operands, with one attribute more if `name` is not 0. */
static bool pack_understood(int name, cudnnBackendAttributeType_t type, const void *value)
{
    static const int64_t uids[] = {TENSOR_W, TENSOR_Y, TENSOR_X};
    static char memory[4];
    void *const pointers[] = {&memory[0], &memory[1], &memory[2]}, *workspace = &memory[3];
    struct cs_addresses addresses;
    start();
    struct cs_graph *graph = described(false);
    set(PACK, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers);
    set(PACK, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, uids);
    set(PACK, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    if (name)
        set(PACK, name, type, 1, value);
    CHECK(!cs_describe_pack(cs_shadow_find(descriptor[PACK]), graph, &addresses));
    bool understood = cs_describe_pack(finished_pack(), graph, &addresses);
    if (understood) {
        CHECK(addresses.tensor[CS_X] == pointers[2]);
        CHECK(addresses.tensor[CS_FILTER] == pointers[0]);
        CHECK(addresses.tensor[CS_Y] == pointers[1]);
        CHECK(addresses.workspace == workspace);
    }
    cs_graph_drop(graph);
    stop();
    return understood;
}

static void pack_with_more_than_addresses_is_not_understood(void)
{
    static const int64_t number = 1;
    static char memory;
    void *const pointer = &memory;
    CHECK(pack_understood(0, CUDNN_TYPE_INT64, NULL));
    CHECK(!pack_understood(CUDNN_ATTR_VARIANT_PACK_INTERMEDIATES, CUDNN_TYPE_VOID_PTR, &pointer));
    CHECK(!pack_understood(999, CUDNN_TYPE_INT64,
                           &number)); /* overridden shapes and later attributes */
    CHECK(!pack_understood(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_INT64, &number));
    CHECK(!pack_understood(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, &number));
}

/* Programs may have one pack for several graphs. */
static void a_pack_may_name_more_tensors_than_the_graph_has(void)
{
    enum {
        NAMES = 3 * CS_MAX_TENSORS
    };
    static char memory[NAMES];
    int64_t uids[NAMES];
    void *pointers[NAMES];
    struct cs_addresses addresses;
    start();
    struct cs_graph *graph = described(false);
    for (int i = 0; i < NAMES; i++) {
        uids[i] = 1000 + i;
        pointers[i] = &memory[i];
    }
    uids[NAMES - 1] = TENSOR_W;
    uids[NAMES - 2] = TENSOR_Y;
    uids[0] = TENSOR_X;
    set(PACK, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, NAMES, pointers);
    set(PACK, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, NAMES, uids);
    CHECK(cs_describe_pack(finished_pack(), graph, &addresses));
    CHECK(addresses.tensor[CS_X] == pointers[0]);
    CHECK(addresses.tensor[CS_FILTER] == pointers[NAMES - 1]);
    CHECK(addresses.tensor[CS_Y] == pointers[NAMES - 2]);
    cs_graph_drop(graph);
    stop();
}

/* As when a program sets an address again. */
static void last_address_of_a_repeated_tensor_counts(void)
{
    static const int64_t uids[] = {TENSOR_X, TENSOR_W, TENSOR_Y, TENSOR_X};
    static char memory[4];
    void *const pointers[] = {&memory[0], &memory[1], &memory[2], &memory[3]};
    struct cs_addresses addresses;
    start();
    struct cs_graph *graph = described(false);
    set(PACK, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 4, pointers);
    set(PACK, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 4, uids);
    CHECK(cs_describe_pack(finished_pack(), graph, &addresses));
    CHECK(addresses.tensor[CS_X] == pointers[3]);
    cs_graph_drop(graph);
    stop();
}

/* A filter of a single number is also the first operand of the addition. The sum goes with the
 * convolution's result, not with the filter, which no cut of the result divides. */
static void scalar_operand_has_no_side(void)
{
    static const int64_t dims[][4] = {{2, 1, 8, 8}, {1, 1, 1, 1}, {2, 1, 10, 10}};
    static const int64_t strides[][4] = {{64, 64, 8, 1}, {1, 1, 1, 1}, {100, 100, 10, 1}};
    const void *operations[] = {descriptor[OPERATION], descriptor[ADDITION]};
    start();
    for (int i = TENSOR_X; i <= TENSOR_V; i++) {
        int like = i < TENSOR_Y ? i : TENSOR_Y;
        set((enum slot)i, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims[like]);
        set((enum slot)i, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides[like]);
    }
    link_all(true);
    link_one(ADDITION, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, TENSOR_W);
    link_one(ADDITION, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, TENSOR_V);
    set(GRAPH, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 2, operations);
    struct cs_graph *graph = cs_describe_graph(cs_shadow_find(descriptor[GRAPH]));
    CHECK_INT(graph->reason, CS_REASON_NONE);
    CHECK(graph->problem.tensors == 4 && graph->uid[3] == TENSOR_Y);
    CHECK_INT(graph->problem.tensor[3].side, CS_Y);
    cs_graph_drop(graph);
    stop();
}

/* A convolution to which `alpha2` times an image is added, for which the pack has no address. */
static bool absent_side_input_understood(float alpha2, const int64_t *strides)
{
    static const int64_t uids[] = {TENSOR_X, TENSOR_W, TENSOR_Y}, image[] = {2, 6, 8, 8};
    static char memory[3];
    void *const pointers[] = {&memory[0], &memory[1], &memory[2]};
    struct cs_addresses addresses;
    start();
    set(TENSOR_B, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, image);
    set(TENSOR_B, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
    set(ADDITION, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, 1, &alpha2);
    struct cs_graph *graph = described(true);
    CHECK_INT(graph->reason, CS_REASON_NONE);
    set(PACK, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers);
    set(PACK, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, uids);
    bool understood = cs_describe_pack(finished_pack(), graph, &addresses);
    for (int i = 0; understood && i < graph->problem.tensors; i++)
        if (graph->uid[i] == TENSOR_B)
            CHECK(addresses.tensor[i] == pointers[2]);
    cs_graph_drop(graph);
    stop();
    return understood;
}

/* The result replaces it, unless tiles of the input would be elsewhere. */
static void a_side_input_that_is_scaled_by_0_needs_no_address(void)
{
    static const int64_t packed[] = {384, 64, 8, 1}, wider[] = {768, 128, 16, 1};
    CHECK(absent_side_input_understood(0, packed));
    CHECK(!absent_side_input_understood(0.5F, packed));
    CHECK(!absent_side_input_understood(0, wider));
}

/* Tiles overlap on the side of the input, so that nothing may be written there. */
static void a_tensor_is_written_on_the_results_side_alone(void)
{
    for (enum cs_direction direction = 0; direction < CS_DIRECTIONS; direction++) {
        const struct cs_problem sound = rows(direction, 1);
        const enum cs_operand result = cs_result(direction);
        CHECK_INT(cs_describe_check(&sound), CS_REASON_NONE);
        for (int side = 0; side < CS_OPERANDS; side++) {
            struct cs_problem problem = sound;
            problem.tensor[problem.tensors] = problem.tensor[side];
            problem.tensor[problem.tensors].written = true;
            problem.tensors++;
            CASE("direction %d, side %d", (int)direction, side);
            enum cs_reason reason = cs_describe_check(&problem);
            CHECK(side == (int)result ? reason != CS_REASON_FUSED : reason == CS_REASON_FUSED);
        }
        struct cs_problem problem = sound;
        problem.tensor[result].is_virtual = true;
        CHECK_INT(cs_describe_check(&problem), CS_REASON_TENSOR);
    }
}

int main(void)
{
    TEST(a_side_input_that_is_scaled_by_0_needs_no_address);
    TEST(sound_graphs_are_described);
    TEST(a_tensor_is_written_on_the_results_side_alone);
    TEST(a_tensor_without_a_name_is_refused);
    TEST(one_attribute_decides);
    TEST(one_name_for_two_tensors_is_refused);
    TEST(unseen_descriptor_is_refused);
    TEST(true_convolution_is_distinguished_from_correlation);
    TEST(accumulation_type_is_read);
    TEST(scales_and_windows_are_read);
    TEST(pack_with_more_than_addresses_is_not_understood);
    TEST(a_pack_may_name_more_tensors_than_the_graph_has);
    TEST(last_address_of_a_repeated_tensor_counts);
    TEST(scalar_operand_has_no_side);
    return REPORT();
}
