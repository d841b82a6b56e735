/* A decision made from an example with other knobs equals the result of a search, or a search
 * follows. */
#include "decide/example.h"

#include "decide/by_rules.h"
#include "fake_vendor.h"

enum {
    ROUNDS = 300,
    SEED = 1807
};

static const struct cs_profile h200 = {.capability = 900};

static struct cs_vendor vendor_of(struct fake *fake)
{
    return (struct cs_vendor){.ctx = fake,
                              .rigid = true,
                              .build = fake_build,
                              .fallback = fake_fallback,
                              .destroy = fake_destroy,
                              .profile = fake_profile};
}

static struct cs_decision search(struct fake *fake, const struct cs_problem *problem,
                                 int64_t required, const char *policy)
{
    const struct cs_settings settings = {
        .policy = cs_policy_find(policy), .limits = automatic, .most = INT64_MAX};
    const struct cs_decide_call call = {.problem = problem, .required = required, .engine = 1};
    const struct cs_vendor vendor = vendor_of(fake);
    fake->calls = 0;
    return cs_decide_by_rules(&settings, &call, &vendor, NULL);
}

static bool follow(struct fake *fake, const struct cs_decision *example,
                   const struct cs_problem *problem, struct cs_decision *decision)
{
    const struct cs_vendor vendor = vendor_of(fake);
    fake->calls = 0;
    bool followed = cs_decide_by_example(example, problem, &vendor, decision);
    CHECK_INT(fake->live, 0);
    return followed;
}

static void check_same(const struct cs_decision *a, const struct cs_decision *b)
{
    CHECK_INT(a->reason, b->reason);
    CHECK(cs_cut_tiling_equal(&a->tiling, &b->tiling));
    CHECK_INT(a->tiles, b->tiles);
    CHECK_INT(a->required, b->required);
    CHECK_INT(a->reported, b->reported);
    CHECK_INT(a->scratch, b->scratch);
    CHECK_INT(a->limit, b->limit);
    CHECK_INT(a->raised, b->raised);
}

/* Knobs of which tiles need a little more or less than the example's. */
static void decision_by_example_equals_a_search(void)
{
    struct rng rng = {SEED};
    int followed = 0, searched = 0, refused = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct cs_problem problem =
            towards((enum cs_direction)rng_between(&rng, 0, 2), rng_between(&rng, 1, 8),
                    rng_between(&rng, 16, 256), 1, rng_between(&rng, 64, 800),
                    rng_between(&rng, 64, 800), rng_between(&rng, 16, 256));
        struct fake first = {.fixed = rng_between(&rng, 0, MIB),
                             .per_byte = 1,
                             .per_filter_byte = 1,
                             .profile = &h200},
                    other = first;
        int64_t required = formula(&first, &problem);
        other.fixed += rng_between(&rng, -1, 1) * 65536;
        other.fixed = other.fixed < 0 ? 0 : other.fixed;
        struct cs_decision example = search(&first, &problem, required, "fit"), decision;
        struct cs_decision found = search(&other, &problem, required, "fit");
        if (example.reason != CS_REASON_NONE)
            continue;
        CHECK(example.exemplary);
        if (!follow(&other, &example, &problem, &decision)) {
            searched++;
            CHECK(other.fixed > first.fixed || example.asked > 2);
            continue;
        }
        followed++;
        check_same(&decision, &found);
        CHECK_INT(decision.asked, other.calls);
        CHECK(other.calls < found.asked);
        other.refuses_all = true;
        refused += !follow(&other, &example, &problem, &decision);
    }
    CHECK(followed > ROUNDS / 10);
    CHECK(searched > 0);
    CHECK_INT(refused, followed);
}

static void larger_needs_do_not_follow_an_example(void)
{
    struct cs_problem problem = same(1, 256, 1, 1024, 1024, 256);
    struct fake fake = {.per_byte = 1, .profile = &h200}, more = fake, less = fake;
    int64_t required = formula(&fake, &problem);
    struct cs_decision example = search(&fake, &problem, required, "fit"), decision;
    CHECK_INT(example.reason, CS_REASON_NONE);
    CHECK(follow(&fake, &example, &problem, &decision));
    more.fixed = 1;
    CHECK(!follow(&more, &example, &problem, &decision));
    less.per_byte = 0.99;
    CHECK(follow(&less, &example, &problem, &decision));
    CHECK(decision.scratch < example.scratch);
    CHECK_INT(decision.reported, decision.scratch);
    CHECK(cs_decide_is_better_example(&example, &decision));
    CHECK(!cs_decide_is_better_example(&decision, &example));
    /* A second answer may have led to the tiling. */
    example.asked++;
    CHECK(!follow(&fake, &example, &problem, &decision));
    example.asked--;
    example.reason = CS_REASON_NO_TILING;
    CHECK(!follow(&fake, &example, &problem, &decision));
    CHECK_INT(fake.calls, 0);
}

/* The fallback plan of a fused problem depends on the limit, which less scratch would lower. */
static void fused_problem_follows_an_example_only_within_the_same_scratch(void)
{
    struct cs_problem problem = same(1, 256, 1, 1024, 1024, 256);
    struct fake fake = {.per_byte = 1, .profile = &h200},
                less = {.per_byte = 0.99, .profile = &h200};
    problem.steps = 1;
    problem.step[0].words = 1;
    struct cs_decision example = search(&fake, &problem, formula(&fake, &problem), "fit"), decision;
    CHECK_INT(example.reason, CS_REASON_NONE);
    example.asked = 1;
    CHECK(follow(&fake, &example, &problem, &decision));
    CHECK(!follow(&less, &example, &problem, &decision));
}

static void fixed_number_of_tiles_sets_no_example(void)
{
    struct cs_problem problem = same(1, 256, 1, 1024, 1024, 256);
    struct fake fake = {.per_byte = 1, .profile = &h200};
    CHECK(!search(&fake, &problem, formula(&fake, &problem), "fixed").exemplary);
}

int main(void)
{
    TEST(decision_by_example_equals_a_search);
    TEST(larger_needs_do_not_follow_an_example);
    TEST(fused_problem_follows_an_example_only_within_the_same_scratch);
    TEST(fixed_number_of_tiles_sets_no_example);
    return REPORT();
}
