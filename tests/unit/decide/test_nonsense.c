/* The policies of tests/policies: for any result of a policy, a decision can be run, within the
 * required size and the limits. The example does as its first lines describe. */
#include "fake_vendor.h"

enum {
    PROBLEMS = 300,
    SEED = 4106
};

struct question {
    struct fake fake;
    struct cs_problem problem;
    int64_t required;
    struct cs_limits limits;
};

static struct question random_question(struct rng *rng)
{
    struct question question = {
        .fake = {.fixed = rng_magnitude(rng, 16),
                 .per_byte = (double)rng_between(rng, 1, 40) / 10,
                 .erratic = rng_between(rng, 0, 5) == 0,
                 .fallback = rng_between(rng, 0, 2) ? 0 : rng_magnitude(rng, 16)},
        .problem = random_towards(rng, (enum cs_direction)rng_between(rng, 0, 2))};
    question.required = formula(&question.fake, &question.problem);
    question.limits = (struct cs_limits){.workspace = rng_between(rng, 1, question.required),
                                         .threshold = rng_between(rng, -1, 1),
                                         .tiles = rng_between(rng, 1, 16),
                                         .lanes = (int)rng_between(rng, 0, CS_MAX_LANES),
                                         .provided = rng_between(rng, 0, 2) == 0};
    return question;
}

static struct cs_decision answer(struct question *question, const struct cs_policy *policy)
{
    return decide(&question->fake, &question->problem, question->required, policy,
                  &question->limits);
}

/* How many of the problems the policy tiled. */
static int ask(const struct cs_policy *policy, bool counts)
{
    struct rng rng = {SEED};
    int tiled = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        struct question question = random_question(&rng);
        struct cs_decision decision = answer(&question, policy);
        if (decision.reason != CS_REASON_NONE)
            continue;
        tiled++;
        check_true(&question.fake, &question.problem, &decision);
        CHECK(decision.tiles > 1);
        CHECK(decision.scratch <= question.required && decision.reported <= question.required);
        if ((!counts && !decision.raised) || question.limits.provided)
            CHECK(decision.reported <= question.limits.workspace);
    }
    return tiled;
}

static void policies_that_accept_nothing_change_nothing(void)
{
    static const char *const names[] = {"nan", "veto", "infinite"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        CHECK_INT(ask(cs_policy_find(names[i]), false), 0);
}

static void costs_of_any_sign_and_counts_of_any_size(void)
{
    CHECK(ask(cs_policy_find("below"), false) > PROBLEMS / 4);
    CHECK(ask(cs_policy_find("beyond"), true) > PROBLEMS / 4);
    CHECK(ask(cs_policy_find("minus"), false) > PROBLEMS / 4);
    CHECK(ask(cs_policy_find("fickle"), true) > PROBLEMS / 10);
}

static void the_example_is_a_policy(void)
{
    const struct cs_policy *example = cs_policy_find("example"), *fit = cs_policy_find("fit");
    struct rng rng = {SEED};
    int tiled = 0;
    CHECK(ask(example, false) > PROBLEMS / 4);
    for (int i = 0; i < PROBLEMS; i++) {
        struct question question = random_question(&rng);
        question.limits.lanes = 1;
        struct cs_decision ours = answer(&question, example), theirs = answer(&question, fit);
        CHECK_INT(ours.reason, theirs.reason);
        if (ours.reason == CS_REASON_NONE && !ours.raised)
            CHECK(ours.tiles <= theirs.tiles && ours.tiling.lanes < 2);
        tiled += ours.reason == CS_REASON_NONE;
        question.limits.lanes = 0;
        ours = answer(&question, example);
        CHECK(ours.tiling.lanes < 2);
    }
    CHECK(tiled > PROBLEMS / 4);
}

int main(void)
{
    TEST(policies_that_accept_nothing_change_nothing);
    TEST(costs_of_any_sign_and_counts_of_any_size);
    TEST(the_example_is_a_policy);
    return REPORT();
}
