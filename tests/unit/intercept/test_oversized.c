/* Tensors that are too large for a legacy descriptor are remembered beside it. */
#include "base/lock.h"
#include "intercept/legacy/oversized_tensor.h"
#include "legacy_fixture.h"

static int set_ranks[4], sets;

static cudnnStatus_t set_nd(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type, int rank,
                            const int *extent, const int *stride)
{
    (void)descriptor, (void)type, (void)stride;
    for (int i = 0; i < rank; i++)
        CHECK_INT(extent[i], 1);
    set_ranks[sets++ % 4] = rank;
    return CUDNN_STATUS_SUCCESS;
}

static struct cs_oversized_tensor_set large_set(cudnnTensorFormat_t format)
{
    static const int extent[] = {1 << 12, 64, 1 << 10, 1 << 10};
    vendor.cudnnSetTensorNdDescriptor = set_nd;
    sets = 0;
    return (struct cs_oversized_tensor_set){.descriptor = (cudnnTensorDescriptor_t)(void *)&x,
                                            .type = CUDNN_DATA_HALF,
                                            .format = format,
                                            .rank = 4,
                                            .extent = extent};
}

static void what_was_refused_is_remembered_until_it_is_set_again(void)
{
    struct cs_oversized_tensor large;
    struct cs_legacy_call call = sound(CS_FORWARD);
    struct cs_oversized_tensor_set set = large_set(CUDNN_TENSOR_NCHW);
    size_t bytes;
    CHECK_INT(cs_oversized_tensor_settle(&set, CUDNN_STATUS_NOT_SUPPORTED), CUDNN_STATUS_SUCCESS);
    CHECK_INT(sets, 2); /* the type is taken; then what no function takes */
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

/* How many locks were taken since: the thread says that it holds the trace's, which comes last, so
 * that every other one breaks the order. */
static int locks_since(int *faults)
{
    int before = *faults;
    *faults = cs_lock_faults();
    cs_locks_held = 1U << CS_RANK_TRACE;
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

int main(void)
{
    TEST(what_was_refused_is_remembered_until_it_is_set_again);
    TEST(the_output_of_a_large_input);
    TEST(notes_are_kept_under_the_lock);
    return REPORT();
}
