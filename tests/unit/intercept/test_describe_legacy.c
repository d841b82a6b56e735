/* The contents of a legacy call, from descriptors and addresses, and the engines that may replace
 * its algorithm. */
#include "cudnn/plan/fusion.h"
#include "intercept/legacy/dispatch.h"

#include "flow/flow.h"
#include "legacy_fixture.h"

static struct cs_problem problem;
static struct cs_addresses addresses;

static enum cs_reason describe(const struct cs_legacy_call *call)
{
    return cs_describe_legacy(call, &problem, &addresses);
}

static void a_call_is_described_in_every_direction(void)
{
    for (enum cs_direction d = 0; d < CS_DIRECTIONS; d++) {
        struct cs_legacy_call call = sound(d);
        CHECK_INT(describe(&call), CS_REASON_NONE);
        CHECK_INT(problem.direction, d);
        CHECK_INT(problem.tensors, 3);
        CHECK_INT(problem.tensor[CS_X].dims[CS_C], 4);
        CHECK_INT(problem.tensor[CS_X].dims[CS_D], 1);
        CHECK_INT(problem.tensor[CS_FILTER].strides[CS_N], 36);
        CHECK_INT(problem.tensor[CS_FILTER].strides[CS_D], 0);
        CHECK_INT(problem.tensor[CS_Y].strides[CS_C], 64);
        CHECK(problem.pre[0] == 0 && problem.pre[1] == 1 && problem.post[2] == 1);
        CHECK(problem.stride[0] == 1 && problem.dilation[2] == 1);
        CHECK_INT(problem.groups, 1);
        for (int i = 0; i < CS_OPERANDS; i++) {
            CHECK_INT(problem.tensor[i].written, i == (int)cs_result(d));
            CHECK_INT(problem.tensor[i].side, i);
            CHECK(addresses.tensor[i] == call.execution.data[i]);
        }
        CHECK(addresses.workspace == call.execution.workspace);
    }
}

static void true_convolution_is_recognized(void)
{
    for (enum cs_direction d = 0; d < CS_DIRECTIONS; d++) {
        struct cs_legacy_call call = sound(d);
        CHECK_INT(describe(&call), CS_REASON_NONE);
        CHECK(!problem.flipped);
        conv.mode = CUDNN_CONVOLUTION;
        CHECK_INT(describe(&call), CS_REASON_NONE);
        CHECK(problem.flipped);
    }
}

/* Engines that read many bytes at once are for addresses that allow it. */
static void alignment_follows_from_the_address(void)
{
    static const struct {
        int offset, alignment;
    } cases[] = {{2, 2}, {4, 4}, {8, 8}, {6, 2}, {12, 4}, {16, 16}, {32, 16}, {0, 16}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int operand = 0; operand < CS_OPERANDS; operand++) {
            struct cs_legacy_call call = sound(CS_FORWARD);
            call.execution.data[operand] = memory + cases[i].offset;
            CHECK_INT(describe(&call), CS_REASON_NONE);
            for (int other = 0; other < CS_OPERANDS; other++)
                CHECK_INT(problem.tensor[other].alignment,
                          other == operand ? cases[i].alignment : 16);
        }
    }
    struct cs_legacy_call query = sound(CS_FORWARD);
    query.execution.data[CS_X] = NULL;
    CHECK_INT(describe(&query), CS_REASON_NONE);
    CHECK_INT(problem.tensor[CS_X].alignment, 16);
}

static void fused_operands_have_alignments(void)
{
    static const float half = 0.5F;
    struct cs_legacy_call call = fused(&half);
    fusion.bias_data = memory + 4;
    fusion.z_data = memory + 2;
    CHECK_INT(describe(&call), CS_REASON_NONE);
    CHECK_INT(problem.tensor[CS_OPERANDS].alignment, 4);
    CHECK(addresses.tensor[CS_OPERANDS] == fusion.bias_data);
    CHECK_INT(problem.tensor[CS_OPERANDS + 1].alignment, 2);
    CHECK(addresses.tensor[CS_OPERANDS + 1] == fusion.z_data);
}

/* Then callers pass any address as z, even with NaN in its memory. */
static void z_with_scale_zero_is_not_read(void)
{
    static const float half = 0.5F;
    struct cs_legacy_call call = fused(&zero);
    CHECK_INT(describe(&call), CS_REASON_NONE);
    CHECK_INT(z_reads, 0);
    CHECK_INT(problem.steps, 2); /* bias, ReLU */
    for (int i = 0; i < problem.tensors; i++)
        CHECK(addresses.tensor[i] != fusion.z_data);
    fusion.z = NULL;
    CHECK_INT(describe(&call), CS_REASON_NONE);
    call = fused(&half);
    CHECK_INT(describe(&call), CS_REASON_NONE);
    CHECK_INT(z_reads, 1);
    CHECK_INT(problem.steps, 3);
    CHECK(addresses.tensor[4] == fusion.z_data);
    fusion.z = NULL;
    CHECK_INT(describe(&call), CS_REASON_UNSEEN);
}

/* No tile is started without an address: cuDNN reports the error. */
static void fused_operands_need_addresses(void)
{
    static const float half = 0.5F;
    struct cs_legacy_call call = fused(&half);
    fusion.z_data = NULL;
    CHECK_INT(describe(&call), CS_REASON_ARGUMENTS);
    call = fused(&zero);
    fusion.z_data = NULL;
    CHECK_INT(describe(&call), CS_REASON_NONE);
    fusion.bias_data = NULL;
    CHECK_INT(describe(&call), CS_REASON_ARGUMENTS);
}

static void known_activations_alone_are_fused(void)
{
    struct cs_legacy_call call = fused(&zero);
    activation = CUDNN_ACTIVATION_IDENTITY;
    CHECK_INT(describe(&call), CS_REASON_NONE);
    CHECK_INT(problem.steps, 1);
    activation = CUDNN_ACTIVATION_TANH;
    CHECK_INT(describe(&call), CS_REASON_FUSED);
}

/* Whether a ReLU lets NaN through is part of the problem: tiles do as the whole. */
static void nan_propagation_of_a_relu_is_kept(void)
{
    static const cudnnNanPropagation_t settings[] = {CUDNN_NOT_PROPAGATE_NAN, CUDNN_PROPAGATE_NAN};
    for (int i = 0; i < 2; i++) {
        struct cs_legacy_call call = fused(&zero);
        struct cs_pointwise relu;
        nan_setting = settings[i];
        CHECK_INT(describe(&call), CS_REASON_NONE);
        cs_fusion_unpack(&problem.step[problem.steps - 1], &relu);
        CHECK_INT(relu.mode, CUDNN_POINTWISE_RELU_FWD);
        CHECK_INT(relu.settings, 1);
        CHECK_INT(relu.setting[0].name, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION);
        CHECK_INT(relu.setting[0].type, CUDNN_TYPE_NAN_PROPOGATION);
        CHECK_INT(relu.setting[0].bits, settings[i]);
    }
}

static void unplannable_calls_are_refused(void)
{
    struct cs_legacy_call call = sound(CS_FORWARD);
    x.type = CUDNN_DATA_INT8;
    CHECK_INT(describe(&call), CS_REASON_DTYPE);
    call = sound(CS_FORWARD);
    conv.compute = CUDNN_DATA_DOUBLE;
    CHECK_INT(describe(&call), CS_REASON_DTYPE);
    call = sound(CS_FORWARD);
    w.format = CUDNN_TENSOR_NCHW_VECT_C;
    CHECK_INT(describe(&call), CS_REASON_TENSOR);
    call = sound(CS_FORWARD);
    x.rank = 6;
    CHECK_INT(describe(&call), CS_REASON_ATTRIBUTE);
    call = sound(CS_FORWARD);
    w.rank = 5;
    w.extent[4] = 1;
    CHECK_INT(describe(&call), CS_REASON_ATTRIBUTE);
    call = sound(CS_FORWARD);
    call.x = NULL;
    CHECK_INT(describe(&call), CS_REASON_UNSEEN);
}

/* Whose own error it is gets cuDNN's answer. */
static void groups_that_contradict_the_extents_are_refused(void)
{
    struct cs_legacy_call call = sound(CS_FORWARD);
    conv.groups = 2;
    CHECK_INT(describe(&call), CS_REASON_ARGUMENTS);
    x = packed(2, 8, 8, 8);
    CHECK_INT(describe(&call), CS_REASON_NONE);
    CHECK_INT(problem.groups, 2);
}

/* An image has one to three dimensions in addition to samples and channels. */
static void filters_of_other_dimensions(void)
{
    struct cs_legacy_call call = sound(CS_FORWARD);
    CHECK_INT(describe(&call), CS_REASON_NONE);
    for (int i = 0; i < 4; i++) {
        w.rank = (int[]){1, 2, 6, 7}[i];
        CHECK_INT(describe(&call), CS_REASON_ATTRIBUTE);
    }
}

static void channels_last_filters_are_packed_so(void)
{
    struct cs_legacy_call call = sound(CS_FORWARD);
    w.format = CUDNN_TENSOR_NHWC;
    CHECK_INT(describe(&call), CS_REASON_NONE);
    CHECK_INT(problem.tensor[CS_FILTER].strides[CS_C], 1);
    CHECK_INT(problem.tensor[CS_FILTER].strides[CS_W], 4);
    CHECK_INT(problem.tensor[CS_FILTER].strides[CS_H], 12);
    CHECK_INT(problem.tensor[CS_FILTER].strides[CS_N], 36);
}

#define NOTE(name) (1u << CUDNN_NUMERICAL_NOTE_##name)

static unsigned forbidden(enum cs_direction direction, int algorithm, cudnnMathType_t math,
                          enum cs_dtype compute)
{
    struct cs_legacy_call call = {.direction = direction, .algorithm = algorithm, .math = math};
    return cs_legacy_call_forbidden(&call, compute);
}

/* Where 32-bit products were demanded, no tensor cores: they would compute in TF32. */
static void fma_math_forbids_tensor_cores(void)
{
    static const struct {
        cudnnMathType_t math;
        bool cores, conversion; /* forbidden */
    } cases[] = {{CUDNN_FMA_MATH, true, true},
                 {CUDNN_DEFAULT_MATH, false, true},
                 {CUDNN_TENSOR_OP_MATH, false, true},
                 {CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION, false, false}};
    for (enum cs_direction d = 0; d < CS_DIRECTIONS; d++) {
        for (int i = 0; i < 4; i++) {
            unsigned notes = forbidden(d, 1, cases[i].math, CS_F32);
            CHECK_INT((notes & NOTE(TENSOR_CORE)) != 0, cases[i].cores);
            CHECK_INT((notes & NOTE(DOWN_CONVERT_INPUTS)) != 0, cases[i].conversion);
        }
    }
}

static void only_loose_algorithms_may_be_nondeterministic(void)
{
    static const unsigned loose[CS_DIRECTIONS] = {0, 1u << CUDNN_CONVOLUTION_BWD_DATA_ALGO_0,
                                                  1u << CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 |
                                                      1u << CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3};
    for (enum cs_direction d = 0; d < CS_DIRECTIONS; d++)
        for (int algorithm = 0; algorithm < 8; algorithm++) {
            unsigned notes = forbidden(d, algorithm, CUDNN_DEFAULT_MATH, CS_F32);
            CHECK_INT((notes & NOTE(NONDETERMINISTIC)) != 0, !(loose[d] >> algorithm & 1));
        }
}

static void sums_of_32_bits_are_not_reduced_in_less(void)
{
    for (enum cs_direction d = 0; d < CS_DIRECTIONS; d++) {
        CHECK(forbidden(d, 1, CUDNN_DEFAULT_MATH, CS_F32) & NOTE(REDUCED_PRECISION_REDUCTION));
        CHECK(!(forbidden(d, 1, CUDNN_DEFAULT_MATH, CS_F16) & NOTE(REDUCED_PRECISION_REDUCTION)));
    }
}

static void transforms_are_for_algorithms_that_name_them(void)
{
    static const struct {
        enum cs_direction direction;
        int algorithm;
        bool fft, winograd; /* allowed */
    } cases[] = {
        {CS_FORWARD, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, false, false},
        {CS_FORWARD, CUDNN_CONVOLUTION_FWD_ALGO_FFT, true, false},
        {CS_FORWARD, CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING, true, false},
        {CS_FORWARD, CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, false, true},
        {CS_FORWARD, CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, false, true},
        {CS_BACKWARD_DATA, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, false, false},
        {CS_BACKWARD_DATA, CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, true, false},
        {CS_BACKWARD_DATA, CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING, true, false},
        {CS_BACKWARD_DATA, CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, false, true},
        {CS_BACKWARD_DATA, CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, false, true},
        {CS_BACKWARD_FILTER, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, false, false},
        {CS_BACKWARD_FILTER, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, true, false},
        {CS_BACKWARD_FILTER, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING, true, false},
        {CS_BACKWARD_FILTER, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD, false, true},
        {CS_BACKWARD_FILTER, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, false, true},
        {CS_FORWARD, -1, false, false},
        {CS_FORWARD, 32, false, false}};
    static const unsigned winograd = NOTE(WINOGRAD) | NOTE(WINOGRAD_TILE_4x4) |
                                     NOTE(WINOGRAD_TILE_6x6) | NOTE(WINOGRAD_TILE_13x13);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned notes =
            forbidden(cases[i].direction, cases[i].algorithm, CUDNN_DEFAULT_MATH, CS_F32);
        CHECK_INT(notes & NOTE(FFT), cases[i].fft ? 0 : NOTE(FFT));
        CHECK_INT(notes & winograd, cases[i].winograd ? 0 : winograd);
    }
}

int main(void)
{
    TEST(a_call_is_described_in_every_direction);
    TEST(true_convolution_is_recognized);
    TEST(alignment_follows_from_the_address);
    TEST(fused_operands_have_alignments);
    TEST(z_with_scale_zero_is_not_read);
    TEST(fused_operands_need_addresses);
    TEST(known_activations_alone_are_fused);
    TEST(nan_propagation_of_a_relu_is_kept);
    TEST(unplannable_calls_are_refused);
    TEST(groups_that_contradict_the_extents_are_refused);
    TEST(filters_of_other_dimensions);
    TEST(channels_last_filters_are_packed_so);
    TEST(fma_math_forbids_tensor_cores);
    TEST(only_loose_algorithms_may_be_nondeterministic);
    TEST(sums_of_32_bits_are_not_reduced_in_less);
    TEST(transforms_are_for_algorithms_that_name_them);
    return REPORT();
}
