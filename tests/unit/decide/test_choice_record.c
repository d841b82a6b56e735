/* The candidates that a decision keeps for people. */
#include "fake_vendor.h"
#include <math.h>

enum {
    ROUNDS = 1500,
    SEED = 733
};

static int least_tiles_vetoed; /* costs of candidates with fewer tiles are NaN */

static int64_t no_count(const struct cs_limits *limits)
{
    (void)limits;
    return 0;
}

static double least_tiles(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    (void)limits;
    return candidate->tiles < least_tiles_vetoed ? NAN : -(double)candidate->tiles;
}

static double nothing(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    (void)limits;
    return candidate->tiles % 2 ? INFINITY : -INFINITY;
}

/* Checks the properties that all choices share. Returns the picked one, or NULL. */
static const struct cs_choice *check_choices(const struct cs_choices *choices, int64_t required)
{
    const struct cs_choice *picked = NULL;
    int untiled = 0;
    bool vetoed = false;
    CHECK(choices->count <= CS_MAX_CHOICES && choices->count <= choices->listed);
    CHECK(choices->count == CS_MAX_CHOICES || choices->count == choices->listed);
    for (int i = 0; i < choices->count; i++) {
        const struct cs_choice *choice = &choices->choice[i];
        CHECK(choice->tiles >= 1 && choice->lanes >= 1);
        CHECK(!picked || !choice->picked);
        if (choice->picked)
            picked = choice;
        untiled += choice->tiles == 1 && choice->relaxation == CS_SAME_KNOBS &&
                   choice->workspace == required;
        CHECK(!vetoed || !isfinite(choice->score));
        vetoed |= !isfinite(choice->score);
        if (i > 0 && isfinite(choice->score))
            CHECK(choice->score >= choices->choice[i - 1].score);
    }
    CHECK_INT(untiled, 1);
    return picked;
}

/* The decision is one of its candidates, under every policy. */
static void the_decision_is_among_its_candidates(void)
{
    struct rng rng = {SEED};
    static const struct cs_profile h200 = {.capability = 900};
    int tiled_calls = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct cs_problem problem =
            random_towards(&rng, (enum cs_direction)rng_between(&rng, 0, 2));
        struct fake fake = {.fixed = rng_magnitude(&rng, 12),
                            .per_byte = (double)rng_between(&rng, 1, 200) / 100,
                            .erratic = rng_between(&rng, 0, 3) == 0,
                            .profile = &h200};
        int64_t required = formula(&fake, &problem);
        struct cs_limits limits = {.workspace = required / rng_between(&rng, 1, 40) + 1,
                                   .threshold = 0,
                                   .tiles = 3,
                                   .lanes = (int)rng_between(&rng, 0, 3)};
        for (int p = 0; cs_policies[p]; p++) {
            struct cs_decision decision =
                decide(&fake, &problem, required, cs_policies[p], &limits);
            const struct cs_choices *choices = &decision.choices;
            if (choices->listed == 0) {
                CHECK_INT(decision.asked, 0);
                CHECK_INT(decision.reason, CS_REASON_SMALL);
                continue;
            }
            const struct cs_choice *picked = check_choices(choices, required);
            if (decision.reason != CS_REASON_NONE && decision.reason != CS_REASON_REPORT_ONLY)
                continue;
            tiled_calls++;
            CHECK(picked != NULL);
            if (!picked)
                continue;
            CHECK_INT(picked->tiles, decision.tiles);
            CHECK_INT(picked->workspace, decision.scratch);
            CHECK_INT(picked->axis[0], decision.tiling.axis[0]);
            CHECK_INT(picked->step[0], decision.tiling.step[0]);
            CHECK_INT(picked->step[1], decision.tiling.step[1]);
        }
    }
    CHECK(tiled_calls > ROUNDS);
}

/* By policies that like the untiled call least, or nothing at all, too. */
static void the_untiled_call_is_always_shown(void)
{
    struct rng rng = {SEED};
    static const struct cs_profile h200 = {.capability = 900};
    struct cs_policy policy = {.name = "odd", .tiles = no_count};
    for (int i = 0; i < ROUNDS; i++) {
        struct cs_problem problem = random_same(&rng);
        struct fake fake = {.fixed = 1000, .per_byte = 1, .profile = &h200};
        int64_t required = formula(&fake, &problem);
        struct cs_limits limits = {.workspace = required / 3, .threshold = 0, .lanes = 1};
        least_tiles_vetoed = (int)rng_between(&rng, 0, 9);
        policy.cost = least_tiles;
        struct cs_decision decision = decide(&fake, &problem, required, &policy, &limits);
        check_choices(&decision.choices, required);
        policy.cost = nothing;
        decision = decide(&fake, &problem, required, &policy, &limits);
        CHECK(check_choices(&decision.choices, required) == NULL);
        CHECK(decision.reason != CS_REASON_NONE);
    }
}

int main(void)
{
    TEST(the_decision_is_among_its_candidates);
    TEST(the_untiled_call_is_always_shown);
    return REPORT();
}
