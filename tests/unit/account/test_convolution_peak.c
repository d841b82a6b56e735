/* The peak of convolutions that their calls show. */
#include "account/convolution_peak.h"

#include "fake_vendor.h"

static struct cs_convolution_peak *peak;

static void begin(void)
{
    free(peak);
    peak = calloc(1, sizeof *peak);
    if (!peak) {
        printf("Bail out! out of memory\n");
        exit(1);
    }
    cs_convolution_peak_init(peak);
}

/* A convolution of 1x16xHxW to 16 channels: operands of `mib` each at MiB addresses x and y. Its
 * workspace is 3 times `scratch` without convshim, and twice that with it. */
static void call_in(uint64_t context, int64_t mib, int x, int y, int filter, int64_t scratch)
{
    struct cs_problem problem = same(1, 16, 1, 1024, 32 * mib, 16);
    struct cs_addresses addresses = {.tensor = {(void *)((uintptr_t)x << 20),
                                                (void *)((uintptr_t)filter),
                                                (void *)((uintptr_t)y << 20)}};
    const struct cs_call_scratch needed = {.without = 3 * scratch, .with = 2 * scratch};
    cs_convolution_peak_add(peak, context, (uint64_t)mib, &needed, &problem, &addresses);
}

static void call(int64_t mib, int x, int y, int filter, int64_t scratch)
{
    call_in(1, mib, x, y, filter, scratch);
}

static void check(int64_t without, int64_t with)
{
    const struct cs_call_scratch highest = cs_convolution_peak_read(peak);
    CHECK_INT(highest.without, without * MIB);
    CHECK_INT(highest.with, with * MIB);
}

static void peaks_are_those_of_the_calls_that_hold_most(void)
{
    begin();
    check(0, 0);
    call(8, 1000, 2000, 1, 0);
    check(16, 16);
    call(8, 3000, 4000, 2, 5 * MIB);
    check(16 + 15, 16 + 10);
    call(12, 5000, 6000, 3, MIB);
    check(16 + 15, 24 + 2);
    call(8, 2000, 7000, 4, 0); /* 2000 was held during both calls */
    check(24 + 15, 32 + 2);
}

static void tensor_written_again_was_not_held(void)
{
    begin();
    call(8, 1000, 2000, 1, 0);
    call(8, 3000, 4000, 2, 0);
    call(8, 5000, 2000, 3, 0);
    call(8, 2000, 6000, 4, 0);
    check(16, 16);
}

/* The same filter comes again: the tensor in that place is another one. */
static void earlier_pass_is_not_seen(void)
{
    begin();
    call(8, 1000, 2000, 1, 0);
    call(8, 3000, 4000, 2, 0);
    call(8, 5000, 6000, 1, 0);
    call(8, 2000, 7000, 3, 0);
    check(16, 16);
}

static void each_context_has_separate_passes(void)
{
    begin();
    call_in(1, 8, 1000, 2000, 1, 0);
    call_in(2, 8, 3000, 4000, 2, 0);
    call_in(2, 8, 2000, 5000, 3, 0); /* not the first context's */
    check(16, 16);
}

/* As a server that resets its device again and again. */
static void context_after_many_others_replaces_the_one_unused_for_longest(void)
{
    begin();
    call_in(1, 8, 1000, 2000, 1, 0);
    call_in(1, 8, 3000, 4000, 2, 0);
    for (uint64_t context = 2; context <= CS_PEAK_CONTEXTS + 1; context++)
        call_in(context, 8, 1000, 2000, 1, 0);
    call_in(1, 8, 2000, 5000, 3, 0); /* the pass of context 1 is gone */
    check(16, 16);
    call_in(CS_PEAK_CONTEXTS + 1, 8, 3000, 4000, 2, 0);
    call_in(CS_PEAK_CONTEXTS + 1, 8, 2000, 5000, 3, 0);
    check(24, 24);
}

static void many_tensors_and_long_passes_are_bounded(void)
{
    begin();
    for (int i = 0; i < 3 * CS_PASS_CALLS; i++)
        call(2 + i % 3, 10000 + 20 * i, 10010 + 20 * i, i + 1, MIB);
    CHECK_INT(peak->pass[0]->ranges, CS_PASS_RANGES);
    CHECK(peak->pass[0]->calls <= CS_PASS_CALLS);
    check(8 + 3, 8 + 2);
}

int main(void)
{
    TEST(peaks_are_those_of_the_calls_that_hold_most);
    TEST(tensor_written_again_was_not_held);
    TEST(earlier_pass_is_not_seen);
    TEST(each_context_has_separate_passes);
    TEST(context_after_many_others_replaces_the_one_unused_for_longest);
    TEST(many_tensors_and_long_passes_are_bounded);
    free(peak);
    return REPORT();
}
