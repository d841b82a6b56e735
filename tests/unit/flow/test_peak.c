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

static void a_record_is_the_largest_of_its_context(void)
{
    struct cs_problem problem = problem_of(1);
    const int64_t operands = cs_pass_operands(&problem);
    cs_peak_init(&peak);
    CHECK_INT(cs_peak_record(&peak, 1), 0);
    CHECK_INT(cs_peak_level(&peak, 1, &problem).record, 0);
    CHECK_INT(cs_peak_record(&peak, 1), operands);
    cs_peak_begin(&peak, 1, operands - 1);
    CHECK_INT(cs_peak_record(&peak, 1), operands);
    cs_peak_begin(&peak, 1, operands + 1);
    CHECK_INT(cs_peak_level(&peak, 1, &problem).record, operands + 1);
    CHECK_INT(cs_peak_record(&peak, 2), 0);
}

/* As a server that resets its device again and again. */
static void context_after_many_others_has_a_record_and_the_used_one_keeps_its_own(void)
{
    memset(&peak, 0, sizeof peak);
    cs_peak_init(&peak);
    cs_peak_begin(&peak, 1, 1001);
    for (uint64_t context = 2; context < 4 * CS_PEAK_DEVICES; context++) {
        cs_peak_begin(&peak, context, (int64_t)(1000 + context));
        CHECK_INT(cs_peak_record(&peak, context), 1000 + context);
        CHECK_INT(cs_peak_record(&peak, 1), 1001);
    }
    CHECK_INT(cs_peak_record(&peak, 2), 0);
}

int main(void)
{
    TEST(a_record_is_the_largest_of_its_context);
    TEST(context_after_many_others_has_a_record_and_the_used_one_keeps_its_own);
    return REPORT();
}
