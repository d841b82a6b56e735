/* Which of all ways to tile is guessed to be the best for a goal. */
#include "decide/forms.h"

#include "fake_vendor.h"

static const double any = 1e300;

/* The best way for a goal where every tile needs `fixed` bytes, and the rest with its size. */
static enum cs_grade best_of(const struct cs_goal *goal, double fixed, struct cs_guess *best)
{
    static const struct cs_forms forms = {.lanes = 1};
    struct cs_problem problem = same(1, 64, 1, 256, 256, 64);
    struct cs_question question = {.problem = &problem, .required = 32 * MIB};
    struct cs_guesser guesser;
    int form;
    cs_guess_start(&guesser, &question);
    guesser.fixed = fixed;
    return cs_forms_best(&guesser, goal, &forms, best, &form);
}

/* The least scratch beyond the limit; of what is about as little, the cheapest: here as few tiles
 * as there can be. */
static void beyond_the_limit_no_finer_than_helps(void)
{
    const double fixed = 10000.0 * (double)MIB;
    const struct cs_goal goal = {.limit = fixed / 2, .most = any, .cheap = 1, .dear = any};
    struct cs_guess best;
    CHECK_INT(best_of(&goal, fixed, &best), CS_GRADE_RAISED);
    CHECK_INT(best.tiles, 2);
    CHECK(best.workspace > goal.limit);
}

static void beyond_the_limit_as_little_as_there_is(void)
{
    const struct cs_goal goal = {.limit = 1, .most = any, .cheap = 1, .dear = any};
    struct cs_guess best;
    CHECK_INT(best_of(&goal, 0, &best), CS_GRADE_RAISED);
    CHECK(best.tiles > 100);
    CHECK(best.workspace < (double)MIB);
}

static void within_the_limit_where_that_is_possible(void)
{
    const struct cs_goal goal = {
        .limit = 4 * (double)MIB, .aim = 1, .most = any, .cheap = 1, .dear = any};
    struct cs_guess best;
    CHECK_INT(best_of(&goal, 0, &best), CS_GRADE_WITHIN);
    CHECK(best.workspace <= goal.limit);
    const struct cs_goal none = {.limit = 1, .most = 1, .cheap = 1, .dear = any};
    CHECK_INT(best_of(&none, 0, &best), CS_GRADE_NONE);
}

int main(void)
{
    TEST(beyond_the_limit_no_finer_than_helps);
    TEST(beyond_the_limit_as_little_as_there_is);
    TEST(within_the_limit_where_that_is_possible);
    return REPORT();
}
