/* Properties of a program's memory that its calls show. */
#include "decide/pass.h"

#include "fake_vendor.h"

static struct cs_pass pass;

/* A convolution of 1x16xHxW to 16 channels: operands of `mib` each at MiB addresses x and y. */
static void call(int64_t mib, int x, int y, int filter, int64_t reported)
{
    struct cs_problem problem = same(1, 16, 1, 1024, 32 * mib, 16);
    struct cs_addresses addresses = {.tensor = {(void *)((uintptr_t)x << 20),
                                                (void *)((uintptr_t)filter),
                                                (void *)((uintptr_t)y << 20)}};
    const struct cs_pass_workspace workspace = {
        .reported = reported, .without = 3 * reported, .with = 2 * reported};
    cs_pass_note(&pass, (uint64_t)mib, &workspace, &problem, &addresses);
}

static int64_t beside(int64_t mib)
{
    struct cs_problem problem = same(1, 16, 1, 1024, 32 * mib, 16);
    return cs_pass_beside(&pass, &problem) / MIB;
}

static void the_record_is_operands_and_workspace(void)
{
    pass = (struct cs_pass){0};
    CHECK_INT(beside(8), 0);
    call(8, 1000, 2000, 1, 5 * MIB);
    CHECK_INT(pass.record, 21 * MIB);
    call(4, 2000, 3000, 2, 5 * MIB);
    CHECK_INT(pass.record, 21 * MIB);
    call(8, 3000, 4000, 3, 6 * MIB);
    CHECK_INT(pass.record, 22 * MIB);
}

static void peaks_are_those_of_the_calls_that_hold_most(void)
{
    pass = (struct cs_pass){0};
    call(8, 1000, 2000, 1, 0);
    call(8, 3000, 4000, 2, 5 * MIB);
    CHECK_INT(pass.peak_without, (16 + 15) * MIB);
    CHECK_INT(pass.peak_with, (16 + 10) * MIB);
    call(12, 5000, 6000, 3, MIB);
    CHECK_INT(pass.peak_without, (16 + 15) * MIB);
    CHECK_INT(pass.peak_with, (24 + 2) * MIB);
    call(8, 2000, 7000, 4, 0); /* 2000 was held during both calls */
    CHECK_INT(pass.peak_without, (24 + 15) * MIB);
    CHECK_INT(pass.peak_with, (32 + 2) * MIB);
}

/* Weights are held anyway, so their gradient alone counts. */
static void operands_include_a_gradient_of_the_filter(void)
{
    struct cs_problem problem = same(1, 16, 1, 1024, 32, 16);
    int64_t filter;
    CHECK_INT(cs_problem_tensor_bytes(&problem.tensor[CS_FILTER], &filter), CS_OK);
    CHECK_INT(cs_pass_operands(&problem), 2 * MIB);
    problem.direction = CS_BACKWARD_FILTER;
    CHECK_INT(cs_pass_operands(&problem), 2 * MIB + filter);
}

static void tensor_read_later_was_held_in_between(void)
{
    pass = (struct cs_pass){0};
    call(8, 1000, 2000, 1, 0); /* makes 2000 */
    call(8, 3000, 4000, 2, 0);
    CHECK_INT(pass.record, 16 * MIB);
    call(8, 2000, 5000, 3, 0);
    CHECK_INT(pass.record, 24 * MIB);
}

static void tensor_written_again_was_not_held(void)
{
    pass = (struct cs_pass){0};
    call(8, 1000, 2000, 1, 0);
    call(8, 3000, 4000, 2, 0);
    call(8, 5000, 2000, 3, 0);
    call(8, 2000, 6000, 4, 0);
    CHECK_INT(pass.record, 16 * MIB);
}

/* The same filter comes again: the tensor in that place is another one. */
static void earlier_pass_is_not_seen(void)
{
    pass = (struct cs_pass){0};
    call(8, 1000, 2000, 1, 0);
    call(8, 3000, 4000, 2, 0);
    call(8, 5000, 6000, 1, 0);
    call(8, 2000, 7000, 3, 0);
    CHECK_INT(pass.record, 16 * MIB);
}

static void memory_unused_since_a_call_may_be_held(void)
{
    pass = (struct cs_pass){0};
    call(8, 1000, 2000, 1, 0);
    /* One of both is the input; one more for a residual. */
    CHECK_INT(beside(8), 8 + 8);
    CHECK_INT(beside(4), 16 + 4);
    call(8, 2000, 1000, 2, 0);
    CHECK_INT(beside(8), 8 + 8);
    call(16, 1000, 3000, 3, 0); /* over the first, which is gone */
    CHECK_INT(beside(2), 16 + 16 + 8 + 2);
}

static void many_tensors_and_long_passes_are_bounded(void)
{
    pass = (struct cs_pass){0};
    for (int i = 0; i < 3 * CS_PASS_CALLS; i++)
        call(2 + i % 3, 10000 + 20 * i, 10010 + 20 * i, i + 1, MIB);
    CHECK_INT(pass.ranges, CS_PASS_RANGES);
    CHECK(pass.calls <= CS_PASS_CALLS);
    CHECK_INT(pass.record, 9 * MIB);
}

int main(void)
{
    TEST(the_record_is_operands_and_workspace);
    TEST(peaks_are_those_of_the_calls_that_hold_most);
    TEST(operands_include_a_gradient_of_the_filter);
    TEST(tensor_read_later_was_held_in_between);
    TEST(tensor_written_again_was_not_held);
    TEST(earlier_pass_is_not_seen);
    TEST(memory_unused_since_a_call_may_be_held);
    TEST(many_tensors_and_long_passes_are_bounded);
    return REPORT();
}
