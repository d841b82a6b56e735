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
    const struct cs_goal goal = {.limit = fixed / 2, .most = any, .dear = any};
    struct cs_guess best;
    CHECK_INT(best_of(&goal, fixed, &best), CS_GRADE_RAISED);
    CHECK_INT(best.tiles, 2);
    CHECK(best.workspace > goal.limit);
}

static void beyond_the_limit_as_little_as_there_is(void)
{
    const struct cs_goal goal = {.limit = 1, .most = any, .dear = any};
    struct cs_guess best;
    CHECK_INT(best_of(&goal, 0, &best), CS_GRADE_RAISED);
    CHECK(best.tiles > 100);
    CHECK(best.workspace < (double)MIB);
}

static void within_the_limit_where_that_is_possible(void)
{
    const struct cs_goal goal = {.limit = 4 * (double)MIB, .aim = 1, .most = any, .dear = any};
    struct cs_guess best;
    CHECK_INT(best_of(&goal, 0, &best), CS_GRADE_WITHIN);
    CHECK(best.workspace <= goal.limit);
    const struct cs_goal none = {.limit = 1, .most = 1, .dear = any};
    CHECK_INT(best_of(&none, 0, &best), CS_GRADE_NONE);
}

/* Finer tiles as long as the bytes saved are worth the price, and none that save what nobody asks
 * for. */
static void as_fine_as_it_is_worth(void)
{
    struct cs_goal goal = {.limit = 16 * (double)MIB, .aim = 1, .most = any, .dear = any};
    struct cs_guess cheapest, finer, aimed, finest;
    CHECK_INT(best_of(&goal, 0, &cheapest), CS_GRADE_WITHIN);
    goal.worth = 4 / (32 * (double)MIB);
    CHECK_INT(best_of(&goal, 0, &finer), CS_GRADE_WITHIN);
    CHECK(finer.workspace < cheapest.workspace && finer.price > cheapest.price);
    CHECK(finer.price - cheapest.price <= goal.worth * (cheapest.workspace - finer.workspace));
    goal.aim = goal.limit;
    CHECK_INT(best_of(&goal, 0, &aimed), CS_GRADE_WITHIN);
    CHECK(aimed.price <= cheapest.price && aimed.workspace > finer.workspace);
    goal = (struct cs_goal){.limit = goal.limit, .most = any, .least = true, .dear = any};
    CHECK_INT(best_of(&goal, 0, &finest), CS_GRADE_WITHIN);
    CHECK(finest.workspace < finer.workspace && finest.price > finer.price);
}

int main(void)
{
    TEST(beyond_the_limit_no_finer_than_helps);
    TEST(beyond_the_limit_as_little_as_there_is);
    TEST(within_the_limit_where_that_is_possible);
    TEST(as_fine_as_it_is_worth);
    return REPORT();
}
