/* Records of memory by context. */
#include "flow/peak.h"

#include "check.h"
#include "random_problem.h"

static struct cs_peak peak;

static struct cs_problem problem_of(uint64_t seed)
{
    struct rng rng = {seed};
    return random_large(&rng);
}

/* The record before `problem` counts. */
static int64_t record_of(uint64_t context, const struct cs_problem *problem)
{
    return cs_peak_level(&peak, context, problem).record;
}

static void a_record_is_the_largest_of_its_context(void)
{
    struct cs_problem one = problem_of(1), two = problem_of(2);
    const int64_t bytes = cs_pass_operands(&one), others = cs_pass_operands(&two);
    const int64_t largest = bytes > others ? bytes : others;
    cs_peak_init(&peak);
    CHECK(bytes != others);
    CHECK_INT(record_of(1, &one), 0);
    CHECK_INT(record_of(1, &two), bytes);
    CHECK_INT(record_of(1, &one), largest);
    CHECK_INT(record_of(1, &one), largest);
    CHECK_INT(record_of(2, &one), 0);
}

/* As a server that resets its device again and again. */
static void context_after_many_others_has_a_record_and_the_used_one_keeps_its_own(void)
{
    struct cs_problem problem = problem_of(1);
    const int64_t bytes = cs_pass_operands(&problem);
    memset(&peak, 0, sizeof peak);
    cs_peak_init(&peak);
    CHECK_INT(record_of(1, &problem), 0);
    for (uint64_t context = 2; context < 4 * CS_PEAK_DEVICES; context++) {
        CHECK_INT(record_of(context, &problem), 0);
        CHECK_INT(record_of(context, &problem), bytes);
        CHECK_INT(record_of(1, &problem), bytes);
    }
    CHECK_INT(record_of(2, &problem), 0);
}

int main(void)
{
    TEST(a_record_is_the_largest_of_its_context);
    TEST(context_after_many_others_has_a_record_and_the_used_one_keeps_its_own);
    return REPORT();
}
