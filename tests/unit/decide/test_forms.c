/* Which of all ways to tile is guessed to be the best for a goal. */
#include "decide/forms.h"

#include "fake_vendor.h"

enum {
    ROUNDS = 400,
    SEED = 1118,
    EXTENT = 14 /* below 16 every count is looked at */
};

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

/* Better than the best in the one number that goals within the limit are compared by. */
static bool is_better(const struct cs_goal *goal, const struct cs_guess *guess,
                      const struct cs_guess *best)
{
    double bytes = guess->workspace > goal->aim ? guess->workspace : goal->aim;
    double other = best->workspace > goal->aim ? best->workspace : goal->aim;
    return cs_forms_grade(goal, guess->workspace, guess->price) == CS_GRADE_WITHIN &&
           guess->price + goal->worth * bytes < best->price + goal->worth * other;
}

/* What the bytes alone say of the price, which is given up on. */
static double least_price(struct cs_guesser *guesser, const struct cs_tiling *tiling)
{
    struct cs_guess guess;
    CHECK(cs_guess_size(guesser, tiling, &guess));
    cs_guess_bytes(guesser, &guess);
    double price = 1 + guess.read_again / cs_guess_whole(guesser);
    CHECK(guess.price <= price && guess.price >= 1);
    cs_guess_seconds(guesser, &guess);
    double time = guess.seconds / guesser->seconds;
    CHECK(guess.price == (time > price ? time : price));
    return price;
}

/* How many cuts of one axis within the limit are guessed whole; none may be better. */
static int64_t check_all_counts(struct cs_guesser *guesser, const struct cs_goal *goal,
                                enum cs_grade grade, const struct cs_guess *best)
{
    int64_t within = 0;
    for (enum cs_axis axis = CS_AXIS_N; axis <= CS_AXIS_C; axis++) {
        int64_t extent = cs_axis_extent(guesser->question->problem, axis);
        for (int64_t count = 2; count <= extent && extent <= EXTENT; count++) {
            struct cs_tiling tiling = {
                .axis = {axis}, .step = {(extent + count - 1) / count, 1}, .lanes = 1};
            struct cs_guess guess;
            if (!cs_guess_tiles(guesser, &tiling, &guess) || guess.uneven)
                continue;
            CHECK(least_price(guesser, &tiling) <= guess.price);
            CHECK(grade == CS_GRADE_WITHIN || guess.workspace > goal->limit ||
                  guess.price > goal->dear);
            CHECK(grade != CS_GRADE_WITHIN || !is_better(goal, &guess, best));
            within += guess.workspace <= goal->limit && guess.price <= goal->dear;
        }
    }
    return within;
}

/* Most guesses are given up before they are priced: the best is the best of all of them still, and
 * its figures are those of a guess on its own. */
static void nothing_better_is_passed_over(void)
{
    static const struct cs_profile h200 = {.capability = 900};
    static const struct cs_forms all = {.lanes = 1, .all = true};
    struct rng rng = {SEED};
    int64_t within = 0;
    for (int round = 0; round < ROUNDS; round++) {
        enum cs_direction direction = (enum cs_direction)rng_between(&rng, 0, 2);
        struct cs_problem problem =
            towards(direction, rng_between(&rng, 1, EXTENT), 8 * rng_between(&rng, 1, 4), 1,
                    rng_between(&rng, 2, EXTENT), rng_between(&rng, 2, EXTENT),
                    8 * rng_between(&rng, 1, 4));
        struct cs_question question = {.problem = &problem,
                                       .profile = &h200,
                                       .required = rng_between(&rng, 1, 64) * (int64_t)MIB};
        const double limit = (double)question.required / (double)rng_between(&rng, 2, 8);
        const struct cs_goal goal = {.limit = limit,
                                     .aim = limit / (double)rng_between(&rng, 1, 4),
                                     .most = limit * (double)rng_between(&rng, 1, 2),
                                     .worth = (double)rng_between(&rng, 0, 4) / limit / 4,
                                     .dear = (double)rng_between(&rng, 11, 200) / 10};
        struct cs_guesser guesser;
        struct cs_guess best, again;
        int form;
        cs_guess_start(&guesser, &question);
        enum cs_grade grade = cs_forms_best(&guesser, &goal, &all, &best, &form);
        within += check_all_counts(&guesser, &goal, grade, &best);
        if (grade == CS_GRADE_NONE)
            continue;
        CHECK(cs_guess_tiles(&guesser, &best.tiling, &again));
        CHECK(again.workspace == best.workspace && again.seconds == best.seconds);
        CHECK(again.price == best.price && again.read_again == best.read_again);
    }
    CHECK(within > ROUNDS);
}

int main(void)
{
    TEST(beyond_the_limit_no_finer_than_helps);
    TEST(beyond_the_limit_as_little_as_there_is);
    TEST(within_the_limit_where_that_is_possible);
    TEST(as_fine_as_it_is_worth);
    TEST(nothing_better_is_passed_over);
    return REPORT();
}
