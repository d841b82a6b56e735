/* Added calls are always found. Other calls are usually rejected, without reading a descriptor if
 * their algorithm was never added. */
#include "intercept/legacy/dispatch.h"

#include "legacy_fixture.h"

static int reads;
static cudnnStatus_t answer;
static int given_rank;

static cudnnStatus_t read_tensor(cudnnTensorDescriptor_t descriptor, int most,
                                 cudnnDataType_t *type, int *rank, int *extent, int *stride)
{
    reads++;
    CHECK_INT(most, CUDNN_DIM_MAX);
    if (answer != CUDNN_STATUS_SUCCESS)
        return answer;
    get_tensor(descriptor, most, type, rank, extent, stride);
    *rank = given_rank;
    return CUDNN_STATUS_SUCCESS;
}

static struct cs_legacy_call call_of(enum cs_direction direction, int algorithm)
{
    struct cs_legacy_call call = sound(direction);
    vendor.cudnnGetTensorNdDescriptor = read_tensor;
    call.algorithm = algorithm;
    answer = CUDNN_STATUS_SUCCESS;
    given_rank = x.rank;
    reads = 0;
    return call;
}

static void new_filter_is_empty(void)
{
    for (enum cs_direction d = 0; d < CS_DIRECTIONS; d++) {
        for (int algorithm = 0; algorithm < 33; algorithm++) {
            struct cs_legacy_call call = call_of(d, algorithm);
            CHECK(!cs_query_filter_has(&call));
            CHECK_INT(reads, 0);
        }
    }
}

/* Direction, algorithm, type, extents and strides, as many as the tensor has. */
static void calls_that_differ_in_any_property_are_separate(void)
{
    struct cs_legacy_call call = call_of(CS_FORWARD, 1), other;
    cs_query_filter_add(&call);
    CHECK(cs_query_filter_has(&call));
    CHECK_INT(reads, 2);
    other = call_of(CS_BACKWARD_DATA, 1);
    CHECK(!cs_query_filter_has(&other));
    other = call_of(CS_FORWARD, 2);
    CHECK(!cs_query_filter_has(&other));
    CHECK_INT(reads, 0);
    call = call_of(CS_FORWARD, 1);
    x.type = CUDNN_DATA_FLOAT;
    CHECK(!cs_query_filter_has(&call));
    for (int i = 0; i < CUDNN_DIM_MAX; i++) {
        call = call_of(CS_FORWARD, 1);
        x.extent[i] += 5;
        CHECK(cs_query_filter_has(&call) == (i >= 4));
        call = call_of(CS_FORWARD, 1);
        x.stride[i] += 5;
        CHECK(cs_query_filter_has(&call) == (i >= 4));
    }
    call = call_of(CS_FORWARD, 1);
    given_rank = 3;
    CHECK(!cs_query_filter_has(&call));
}

/* A tensor of no dimension and one of as many as there are differ from others, too. */
static void each_rank_is_separate(void)
{
    for (int rank = 0; rank <= CUDNN_DIM_MAX; rank += CUDNN_DIM_MAX) {
        struct cs_legacy_call call = call_of(CS_BACKWARD_FILTER, 3);
        given_rank = rank;
        CHECK(!cs_query_filter_has(&call));
        cs_query_filter_add(&call);
        CHECK(cs_query_filter_has(&call));
        given_rank = 5;
        CHECK(!cs_query_filter_has(&call));
    }
}

/* Numbers from 32 on share the bits of lower ones: the descriptor is read, and differs. */
static void every_algorithm_has_a_bit(void)
{
    for (int algorithm = 0; algorithm < 64; algorithm++) {
        struct cs_legacy_call call = call_of(CS_BACKWARD_DATA, algorithm);
        CHECK(!cs_query_filter_has(&call));
        CHECK_INT(reads, algorithm >= 32);
        cs_query_filter_add(&call);
        CHECK(cs_query_filter_has(&call));
    }
}

/* Of a thousand inputs none is lost, and one in sixteen others is found. */
static void few_others_are_found(void)
{
    int found = 0;
    struct cs_legacy_call call = call_of(CS_FORWARD, 1);
    for (int i = 0; i < 3000; i++) {
        x.extent[2] = 100 + i;
        if (i < 1000)
            cs_query_filter_add(&call);
        else
            found += cs_query_filter_has(&call);
    }
    for (int i = 0; i < 1000; i++) {
        x.extent[2] = 100 + i;
        CHECK(cs_query_filter_has(&call));
    }
    CHECK(found > 60 && found < 190);
}

/* One that cannot be read may be any of those that were added. */
static void unreadable_descriptor_passes_the_filter(void)
{
    static const int ranks[] = {-1, CUDNN_DIM_MAX + 1};
    struct cs_legacy_call call = call_of(CS_FORWARD, 1);
    for (int i = 0; i < 2; i++) {
        given_rank = ranks[i];
        CHECK(cs_query_filter_has(&call));
    }
    answer = CUDNN_STATUS_BAD_PARAM;
    CHECK(cs_query_filter_has(&call));
    call.algorithm = 5;
    CHECK(!cs_query_filter_has(&call));
}

/* And then any may be it. */
static void one_that_cannot_be_read_is_never_lost(void)
{
    struct cs_legacy_call call = call_of(CS_FORWARD, 1);
    answer = CUDNN_STATUS_BAD_PARAM;
    cs_query_filter_add(&call);
    answer = CUDNN_STATUS_SUCCESS;
    for (int i = 0; i < 3000; i++) {
        x.extent[3] = x.stride[3] = i; /* some of them in every word of the filter */
        CHECK(cs_query_filter_has(&call));
    }
}

int main(void)
{
    TEST(new_filter_is_empty);
    TEST(calls_that_differ_in_any_property_are_separate);
    TEST(each_rank_is_separate);
    TEST(every_algorithm_has_a_bit);
    TEST(few_others_are_found);
    TEST(unreadable_descriptor_passes_the_filter);
    TEST(one_that_cannot_be_read_is_never_lost);
    return REPORT();
}
