/* Extents of tensors that are too large for a legacy descriptor are recorded with it. */
#include "base/lock.h"
#include "entry_fixture.h"
#include "intercept/legacy/oversized_tensor.h"
#include "legacy_fixture.h"
#include <limits.h>

static int set_ranks[4], sets, refused_set; /* this call is refused, from 1; 0: none */

static cudnnStatus_t set_nd(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type, int rank,
                            const int *extent, const int *stride)
{
    (void)descriptor, (void)type, (void)stride;
    for (int i = 0; i < rank; i++)
        CHECK_INT(extent[i], 1);
    set_ranks[sets++ % 4] = rank;
    return sets == refused_set ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
}

static struct cs_oversized_tensor_set large_set(cudnnTensorFormat_t format)
{
    static const int extent[] = {1 << 12, 64, 1 << 10, 1 << 10};
    vendor.cudnnSetTensorNdDescriptor = set_nd;
    sets = refused_set = 0;
    return (struct cs_oversized_tensor_set){.descriptor = (cudnnTensorDescriptor_t)(void *)&x,
                                            .type = CUDNN_DATA_HALF,
                                            .format = format,
                                            .rank = 4,
                                            .extent = extent};
}

static void refused_extents_are_recorded_until_they_are_set_again(void)
{
    struct cs_oversized_tensor large;
    struct cs_legacy_call call = sound(CS_FORWARD);
    struct cs_oversized_tensor_set set = large_set(CUDNN_TENSOR_NCHW);
    size_t bytes;
    CHECK_INT(cs_oversized_tensor_settle(&set, CUDNN_STATUS_NOT_SUPPORTED), CUDNN_STATUS_SUCCESS);
    CHECK_INT(sets, 2); /* the type is accepted; the rank then makes each function fail */
    CHECK_INT(set_ranks[0], 4);
    CHECK_INT(set_ranks[1], CUDNN_DIM_MAX);
    CHECK(cs_oversized_tensor_find(set.descriptor, &large));
    CHECK(cs_oversized_tensor_in(&call));
    CHECK_INT(large.extent[0], 1 << 12);
    CHECK_INT(large.stride[0], INT64_C(64) << 20);
    CHECK_INT(large.stride[1], 1 << 20);
    CHECK_INT(large.stride[3], 1);
    CHECK(cs_oversized_tensor_bytes(&large, &bytes));
    CHECK_INT(bytes, INT64_C(1) << 39);
    CHECK(!cs_oversized_tensor_find((cudnnTensorDescriptor_t)(void *)&y, &large));
    /* Another refusal leaves it; a success does not. */
    CHECK_INT(cs_oversized_tensor_settle(&set, CUDNN_STATUS_BAD_PARAM), CUDNN_STATUS_BAD_PARAM);
    CHECK(cs_oversized_tensor_find(set.descriptor, &large));
    CHECK_INT(cs_oversized_tensor_settle(&set, CUDNN_STATUS_SUCCESS), CUDNN_STATUS_SUCCESS);
    CHECK(!cs_oversized_tensor_find(set.descriptor, &large));
    CHECK(!cs_oversized_tensor_in(&call));
    set = large_set(CUDNN_TENSOR_NHWC);
    CHECK_INT(cs_oversized_tensor_settle(&set, CUDNN_STATUS_NOT_SUPPORTED), CUDNN_STATUS_SUCCESS);
    CHECK(cs_oversized_tensor_find(set.descriptor, &large));
    CHECK(large.stride[1] == 1 && large.stride[3] == 64 && large.stride[2] == 1 << 16);
    cs_oversized_tensor_drop(set.descriptor);
    CHECK(!cs_oversized_tensor_find(set.descriptor, &large));
    set = large_set(CUDNN_TENSOR_NCHW_VECT_C);
    CHECK_INT(cs_oversized_tensor_settle(&set, CUDNN_STATUS_NOT_SUPPORTED),
              CUDNN_STATUS_NOT_SUPPORTED);
}

static void the_output_of_a_large_input(void)
{
    struct cs_legacy_call call = sound(CS_FORWARD);
    struct cs_oversized_tensor large = {.rank = 4, .extent = {3, 4, 100, 50}};
    int extent[CS_DIMS] = {0};
    conv.stride[1] = 2;
    CHECK_INT(cs_oversized_tensor_output(&large, call.conv, call.w, 4, extent),
              CUDNN_STATUS_SUCCESS);
    CHECK(extent[0] == 3 && extent[1] == 6 && extent[2] == 100 && extent[3] == 25);
    large.extent[1] = 8;
    CHECK_INT(cs_oversized_tensor_output(&large, call.conv, call.w, 4, extent),
              CUDNN_STATUS_BAD_PARAM);
    conv.groups = 2;
    CHECK_INT(cs_oversized_tensor_output(&large, call.conv, call.w, 4, extent),
              CUDNN_STATUS_SUCCESS);
    large.extent[3] = 0;
    CHECK_INT(cs_oversized_tensor_output(&large, call.conv, call.w, 4, extent),
              CUDNN_STATUS_BAD_PARAM);
    CHECK_INT(cs_oversized_tensor_output(&large, call.conv, call.w, 3, extent),
              CUDNN_STATUS_BAD_PARAM);
}

/* Number of locks taken since: the thread claims to hold a lock below the innermost, so that
 * every other one breaks the order. */
static int locks_since(int *faults)
{
    int before = *faults;
    *faults = cs_lock_faults();
    cs_locks_held = 1U << CS_RANKS;
    return *faults - before;
}

/* Descriptors are set and destroyed by any thread. */
static void notes_are_kept_under_the_lock(void)
{
    struct cs_oversized_tensor_set set = large_set(CUDNN_TENSOR_NCHW);
    struct cs_oversized_tensor large;
    int faults = 0;
    cs_oversized_tensor_drop(set.descriptor);
    locks_since(&faults);
    cs_oversized_tensor_settle(&set, CUDNN_STATUS_NOT_SUPPORTED);
    CHECK_INT(locks_since(&faults), 3); /* two of them are calls to cuDNN */
    CHECK(cs_oversized_tensor_find(set.descriptor, &large));
    CHECK_INT(locks_since(&faults), 1);
    cs_oversized_tensor_drop(set.descriptor);
    CHECK_INT(locks_since(&faults), 1);
    CHECK(!cs_oversized_tensor_find(set.descriptor, &large));
    cs_locks_held = 0;
}

static bool is_noted(const struct cs_oversized_tensor_set *set, struct cs_oversized_tensor *large)
{
    cs_oversized_tensor_drop(set->descriptor);
    int status = cs_oversized_tensor_settle(set, CUDNN_STATUS_NOT_SUPPORTED);
    bool noted = cs_oversized_tensor_find(set->descriptor, large);
    CHECK_INT(status, noted ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED);
    return noted;
}

/* Three to five dimensions, all of which have elements. */
static void valid_tensors_alone_are_recorded(void)
{
    struct cs_oversized_tensor large;
    for (int rank = 2; rank <= 6; rank++) {
        struct cs_oversized_tensor_set set = large_set(CUDNN_TENSOR_NCHW);
        const int ones[] = {7, 1, 1, 1, 1, 1}, strides[] = {11, 12, 13, 14, 15, 16};
        set.extent = ones;
        set.rank = rank;
        CHECK_INT(is_noted(&set, &large), rank >= 3 && rank <= 5);
        set.stride = strides;
        CHECK_INT(is_noted(&set, &large), rank >= 3 && rank <= 5);
        for (int i = 0; i < rank && rank >= 3 && rank <= 5; i++) {
            int extent[] = {7, 2, 3, 4, 5}, stride[] = {11, 12, 13, 14, 15};
            CHECK_INT(large.rank, rank);
            CHECK_INT(large.stride[i], strides[i]);
            set.extent = extent;
            set.stride = stride;
            for (int wrong = 0; wrong >= -1; wrong--) {
                extent[i] = wrong;
                CHECK(!is_noted(&set, &large));
                extent[i] = 1;
                CHECK(is_noted(&set, &large));
                stride[i] = wrong;
                CHECK(!is_noted(&set, &large));
                stride[i] = 1;
                CHECK(is_noted(&set, &large));
            }
            set.extent = ones;
            set.stride = strides;
        }
        set.extent = NULL;
        CHECK(!is_noted(&set, &large));
    }
}

static void packed_strides_are_those_of_the_format(void)
{
    static const struct {
        cudnnTensorFormat_t format;
        int rank;
        int64_t stride[CS_DIMS];
    } cases[] = {{CUDNN_TENSOR_NCHW, 3, {35, 7, 1}},
                 {CUDNN_TENSOR_NCHW, 4, {385, 77, 11, 1}},
                 {CUDNN_TENSOR_NCHW, 5, {5005, 1001, 143, 13, 1}},
                 {CUDNN_TENSOR_NHWC, 3, {35, 1, 5}},
                 {CUDNN_TENSOR_NHWC, 4, {385, 1, 55, 5}},
                 {CUDNN_TENSOR_NHWC, 5, {5005, 1, 715, 65, 5}}};
    static const int extent[] = {3, 5, 7, 11, 13}, widest[] = {INT_MAX, INT_MAX, INT_MAX, 3, 1};
    struct cs_oversized_tensor large;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cs_oversized_tensor_set set = large_set(cases[i].format);
        set.extent = extent;
        set.rank = cases[i].rank;
        CHECK(is_noted(&set, &large));
        for (int j = 0; j < set.rank; j++)
            CHECK_INT(large.stride[j], cases[i].stride[j]);
        set.extent = widest; /* 64 bits do not do for the first stride */
        CHECK(set.rank < 4 || !is_noted(&set, &large));
    }
}

/* Its type cannot be noted, or its descriptor not be made useless for everything else. */
static void extents_refused_for_another_reason_are_not_recorded(void)
{
    struct cs_oversized_tensor large;
    for (int at = 1; at <= 2; at++) {
        struct cs_oversized_tensor_set set = large_set(CUDNN_TENSOR_NCHW);
        cs_oversized_tensor_drop(set.descriptor);
        refused_set = at;
        CHECK(!is_noted(&set, &large));
        CHECK_INT(sets, at);
    }
}

/* Set again they take no more room. */
static void number_of_records_is_limited(void)
{
    enum {
        MANY = 4096
    };
    static char descriptors[MANY + 1];
    struct cs_oversized_tensor_set set = large_set(CUDNN_TENSOR_NCHW);
    struct cs_oversized_tensor large;
    cs_oversized_tensor_drop(set.descriptor);
    for (int i = 0; i < MANY; i++) {
        set.descriptor = (cudnnTensorDescriptor_t)(void *)&descriptors[i];
        CHECK(i % 64 != 0 || is_noted(&set, &large));
        CHECK_INT(cs_oversized_tensor_settle(&set, CUDNN_STATUS_NOT_SUPPORTED),
                  CUDNN_STATUS_SUCCESS);
    }
    CHECK_INT(cs_oversized_tensor_settle(&set, CUDNN_STATUS_NOT_SUPPORTED), CUDNN_STATUS_SUCCESS);
    set.descriptor = (cudnnTensorDescriptor_t)(void *)&descriptors[MANY];
    CHECK_INT(cs_oversized_tensor_settle(&set, CUDNN_STATUS_NOT_SUPPORTED),
              CUDNN_STATUS_NOT_SUPPORTED);
    cs_oversized_tensor_drop((cudnnTensorDescriptor_t)(void *)&descriptors[7]);
    CHECK_INT(cs_oversized_tensor_settle(&set, CUDNN_STATUS_NOT_SUPPORTED), CUDNN_STATUS_SUCCESS);
    for (int i = 0; i <= MANY; i++) {
        set.descriptor = (cudnnTensorDescriptor_t)(void *)&descriptors[i];
        CHECK_INT(cs_oversized_tensor_find(set.descriptor, &large), i != 7);
        cs_oversized_tensor_drop(set.descriptor);
        CHECK(!cs_oversized_tensor_find(set.descriptor, &large));
    }
}

/* Any of a call's tensors, but z only where it has one. */
static void a_call_with_any_of_them_is_known(void)
{
    struct cs_legacy_call plain = sound(CS_FORWARD), whole = fused(&zero);
    struct {
        void *tensor;
        bool plain, fused;
    } cases[] = {{&x, true, true}, {&y, true, true}, {&z, false, true}, {&bias, false, false}};
    for (int i = 0; i < 4; i++) {
        struct cs_oversized_tensor_set set = large_set(CUDNN_TENSOR_NCHW);
        set.descriptor = (cudnnTensorDescriptor_t)cases[i].tensor;
        CHECK(!cs_oversized_tensor_in(&plain) && !cs_oversized_tensor_in(&whole));
        cs_oversized_tensor_settle(&set, CUDNN_STATUS_NOT_SUPPORTED);
        CHECK_INT(cs_oversized_tensor_in(&plain), cases[i].plain);
        CHECK_INT(cs_oversized_tensor_in(&whole), cases[i].fused);
        cs_oversized_tensor_drop(set.descriptor);
    }
}

/* To the end of the last element, in its type's size. */
static void bytes_by_type_and_strides(void)
{
    static const struct {
        cudnnDataType_t type;
        int rank, extent[CS_DIMS];
        int64_t stride[CS_DIMS];
        int64_t bytes; /* -1: none */
    } cases[] = {{CUDNN_DATA_FLOAT, 3, {1, 1, 1}, {1, 1, 1}, 4},
                 {CUDNN_DATA_HALF, 3, {1, 1, 1}, {1, 1, 1}, 2},
                 {CUDNN_DATA_BFLOAT16, 3, {1, 1, 1}, {1, 1, 1}, 2},
                 {CUDNN_DATA_DOUBLE, 3, {1, 1, 1}, {1, 1, 1}, 8},
                 {CUDNN_DATA_INT8, 3, {1, 1, 1}, {1, 1, 1}, -1},
                 {CUDNN_DATA_HALF, 3, {2, 3, 4}, {100, 10, 1}, 2 * (100 + 20 + 3 + 1)},
                 {CUDNN_DATA_HALF, 2, {2, 3, 4}, {100, 10, 1}, 2 * (100 + 20 + 1)},
                 {CUDNN_DATA_FLOAT, 3, {2, 1, 1}, {(INT64_MAX / 4) - 1, 1, 1}, INT64_MAX / 4 * 4},
                 {CUDNN_DATA_FLOAT, 3, {2, 1, 1}, {INT64_MAX / 4, 1, 1}, -1},
                 {CUDNN_DATA_HALF, 3, {2, 2, 1}, {INT64_MAX - 1, 2, 1}, -1},
                 {CUDNN_DATA_HALF, 3, {3, 1, 1}, {INT64_MAX / 2 + 1, 1, 1}, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cs_oversized_tensor large = {.type = cases[i].type, .rank = cases[i].rank};
        size_t bytes = 5;
        memcpy(large.extent, cases[i].extent, sizeof large.extent);
        memcpy(large.stride, cases[i].stride, sizeof large.stride);
        CHECK_INT(cs_oversized_tensor_bytes(&large, &bytes), cases[i].bytes >= 0);
        CHECK_INT(bytes, cases[i].bytes >= 0 ? cases[i].bytes : 5);
    }
}

/* Along one dimension: padding on both sides, stride, dilation, and the range of an int. */
static void the_window_decides_the_output(void)
{
    static const struct {
        int in, filter, pad, stride, dilation, out; /* 0: none */
    } cases[] = {{10, 3, 0, 1, 1, 8},
                 {10, 3, 1, 1, 1, 10},
                 {10, 3, 1, 2, 1, 5},
                 {10, 3, 2, 3, 2, 4},
                 {3, 3, 0, 1, 1, 1},
                 {2, 3, 0, 1, 1, 0},
                 {5, 3, 0, 1, 2, 1},
                 {4, 3, 0, 1, 2, 0},
                 {INT_MAX, 1, 0, 1, 1, INT_MAX},
                 {INT_MAX, 1, 1, 1, 1, 0},
                 {INT_MAX, 2, 1, 2, 1, 1 << 30}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int spatial = 1; spatial <= 3; spatial++) {
            struct cs_legacy_call call = sound(CS_FORWARD);
            struct cs_oversized_tensor large = {.rank = 2 + spatial, .extent = {3, 4, 1, 1, 1}};
            int extent[CS_DIMS] = {0};
            w.rank = 2 + spatial;
            conv.spatial = spatial;
            for (int j = 0; j < spatial; j++) {
                w.extent[2 + j] = conv.stride[j] = conv.dilation[j] = 1;
                conv.pad[j] = 0;
            }
            large.extent[1 + spatial] = cases[i].in;
            w.extent[1 + spatial] = cases[i].filter;
            conv.pad[spatial - 1] = cases[i].pad;
            conv.stride[spatial - 1] = cases[i].stride;
            conv.dilation[spatial - 1] = cases[i].dilation;
            int status = cs_oversized_tensor_output(&large, call.conv, call.w, 2 + spatial, extent);
            CHECK_INT(status, cases[i].out ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM);
            CHECK(extent[0] == 3 && extent[1] == 6);
            CHECK_INT(extent[1 + spatial], cases[i].out);
            CHECK(spatial == 1 || extent[2] == 1);
        }
    }
}

static cudnnStatus_t refuse_groups(cudnnConvolutionDescriptor_t descriptor, int *groups)
{
    (void)descriptor;
    *groups = 1;
    return CUDNN_STATUS_INTERNAL_ERROR;
}

/* Everything must agree, and everything must be known. */
static void an_output_needs_all_of_it(void)
{
    for (int wrong = 0; wrong < 8; wrong++) {
        struct cs_legacy_call call = sound(CS_FORWARD);
        struct cs_oversized_tensor large = {.rank = 4, .extent = {3, 4, 100, 50}};
        int extent[CS_DIMS];
        int rank = wrong == 1 ? 3 : 4, status = CUDNN_STATUS_BAD_PARAM;
        w.rank = wrong == 2 ? 3 : 4;
        conv.spatial = wrong == 3 ? 1 : 2;
        large.rank = wrong == 4 ? 3 : 4;
        large.extent[1] = wrong == 5 ? 5 : 4;
        if (wrong == 6)
            vendor.cudnnGetConvolutionNdDescriptor = NULL;
        if (wrong == 7)
            vendor.cudnnGetFilterNdDescriptor = NULL;
        status = wrong == 0   ? CUDNN_STATUS_SUCCESS
                 : wrong >= 6 ? CUDNN_STATUS_NOT_SUPPORTED
                              : status;
        CHECK_INT(cs_oversized_tensor_output(&large, call.conv, call.w, rank, extent), status);
        CHECK(wrong != 0 || cs_oversized_tensor_output(&large, call.conv, call.w, rank, NULL) ==
                                CUDNN_STATUS_BAD_PARAM);
        vendor.cudnnGetConvolutionGroupCount = refuse_groups;
        CHECK_INT(cs_oversized_tensor_output(&large, call.conv, call.w, rank, extent),
                  wrong == 6 ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_INTERNAL_ERROR);
    }
}

/* Arrays of any size, with guards behind the elements that were requested. */
static void as_many_extents_as_requested_are_written(void)
{
    static const int requests[] = {0, 2, 4, CUDNN_DIM_MAX};
    struct cs_oversized_tensor_set set = large_set(CUDNN_TENSOR_NHWC);
    CHECK_INT(cs_oversized_tensor_settle(&set, CUDNN_STATUS_NOT_SUPPORTED), CUDNN_STATUS_SUCCESS);
    for (int i = 0; i < 4; i++) {
        int extent[CUDNN_DIM_MAX], rank = 0;
        cudnnDataType_t type;
        memset(extent, 0xff, sizeof extent);
        CHECK_INT(
            cudnnGetTensorNdDescriptor(set.descriptor, requests[i], &type, &rank, extent, NULL),
            CUDNN_STATUS_SUCCESS);
        CHECK_INT(rank, 4);
        CHECK_INT(type, CUDNN_DATA_HALF);
        for (int k = 0; k < CUDNN_DIM_MAX; k++)
            CHECK_INT(extent[k], k < requests[i] && k < 4 ? set.extent[k] : -1);
    }
    cs_oversized_tensor_drop(set.descriptor);
}

static void the_notes_are_held_across_a_fork(void)
{
    cs_oversized_tensor_fork(true);
    CHECK_INT(cs_locks_held, 1U << CS_RANK_OVERSIZED);
    cs_oversized_tensor_fork(false);
    CHECK_INT(cs_locks_held, 0);
}

int main(void)
{
    TEST(refused_extents_are_recorded_until_they_are_set_again);
    TEST(the_output_of_a_large_input);
    TEST(notes_are_kept_under_the_lock);
    TEST(valid_tensors_alone_are_recorded);
    TEST(packed_strides_are_those_of_the_format);
    TEST(extents_refused_for_another_reason_are_not_recorded);
    TEST(number_of_records_is_limited);
    TEST(a_call_with_any_of_them_is_known);
    TEST(bytes_by_type_and_strides);
    TEST(the_window_decides_the_output);
    TEST(an_output_needs_all_of_it);
    TEST(as_many_extents_as_requested_are_written);
    TEST(the_notes_are_held_across_a_fork);
    return REPORT();
}
