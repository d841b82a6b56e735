/* Decisions for several lanes: what the user says, what is chosen where they say nothing, and that
 * neither costs a rewriting. */
#include "decide/search.h"
#include "fake_vendor.h"

enum {
    RANDOM_PROBLEMS = 3000,
    SEED = 20271
};

static struct cs_limits limits_of(int64_t workspace, int lanes)
{
    return (struct cs_limits){.workspace = workspace, .threshold = -1, .tiles = 4, .lanes = lanes};
}

static struct cs_decision on_lanes(struct fake *fake, const struct cs_problem *problem,
                                   int64_t workspace, int lanes)
{
    struct cs_limits limits = limits_of(workspace, lanes);
    return decide(fake, problem, formula(fake, problem), cs_policy_find("fit"), &limits);
}

/* Nine tiles of 64 MiB on one lane: twice ten of half of that on two, which counts as eight. */
static void two_where_the_plan_gains(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct cs_decision one = on_lanes(&fake, &problem, 64 * MIB, 1);
    struct cs_decision two = on_lanes(&fake, &problem, 64 * MIB, 0);
    CHECK_INT(one.tiles, 9);
    CHECK_INT(two.reason, CS_REASON_NONE);
    CHECK_INT(two.tiling.lanes, 2);
    CHECK_INT(two.tiling.axis[0], CS_AXIS_H);
    CHECK(two.tiles == 19 || two.tiles == 20);
    CHECK(two.reported <= 64 * MIB);
    CHECK(two.asked <= one.asked + 12);
    check_true(&fake, &problem, &two);
}

static void one_where_it_does_not(void)
{
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct fake fake = {.fixed = 24 * MIB, .per_byte = 1}; /* half the limit is mostly that */
    CHECK_INT(on_lanes(&fake, &problem, 64 * MIB, 0).tiling.lanes, 1);
    fake.fixed = 33 * MIB; /* two of these are too much */
    CHECK_INT(on_lanes(&fake, &problem, 64 * MIB, 0).tiling.lanes, 1);
    fake = vae_vendor();
    CHECK_INT(on_lanes(&fake, &problem, 64 * MIB, 1).tiling.lanes, 1);
    fake.compiles = true;
    CHECK_INT(on_lanes(&fake, &problem, 64 * MIB, 0).tiling.lanes, 1);
    CHECK_INT(on_lanes(&fake, &problem, 64 * MIB, 4).tiling.lanes, 1);

    /* Nine seams for four: what they read again is more than a sixteenth of the operands. */
    fake = (struct fake){.per_byte = 1};
    problem = same(1, 64, 1, 64, 512, 64);
    struct cs_decision one = on_lanes(&fake, &problem, 2 * MIB, 1);
    struct cs_decision either = on_lanes(&fake, &problem, 2 * MIB, 0);
    CHECK_INT(one.reason, CS_REASON_NONE);
    CHECK_INT(either.tiling.lanes, 1);
    CHECK_INT(either.tiles, one.tiles);
}

static void as_many_as_the_user_says(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    for (int lanes = 1; lanes <= CS_MAX_LANES; lanes++) {
        struct cs_decision decision = on_lanes(&fake, &problem, 64 * MIB, lanes);
        CHECK_INT(decision.reason, CS_REASON_NONE);
        CHECK_INT(decision.tiling.lanes, lanes);
        CHECK(decision.tiles >= 9 * lanes);
        CHECK(decision.reported <= 64 * MIB);
        check_true(&fake, &problem, &decision);
    }
    fake.fixed = 20 * MIB; /* of which 64 MiB take three */
    CHECK_INT(on_lanes(&fake, &problem, 64 * MIB, 3).tiling.lanes, 3);
    CHECK_INT(on_lanes(&fake, &problem, 64 * MIB, 4).tiling.lanes, 2);
    CHECK_INT(on_lanes(&fake, &problem, 64 * MIB, 8).tiling.lanes, 2);
    fake.fixed = 40 * MIB;
    CHECK_INT(on_lanes(&fake, &problem, 64 * MIB, 8).tiling.lanes, 1);
}

static void a_count_on_lanes(void)
{
    const struct cs_policy *fixed = cs_policy_find("fixed");
    struct cs_problem problem = same(2, 8, 1, 64, 64, 8);
    struct fake fake = {.per_byte = 1};
    int64_t required = formula(&fake, &problem);
    struct cs_limits limits = {.workspace = required, .threshold = 0, .tiles = 4};
    struct cs_decision decision = decide(&fake, &problem, required, fixed, &limits);
    int64_t asked = decision.asked;
    CHECK_INT(decision.tiling.lanes, 1);
    limits.lanes = 1;
    CHECK_INT(decide(&fake, &problem, required, fixed, &limits).asked, asked);
    limits.lanes = 2;
    decision = decide(&fake, &problem, required, fixed, &limits);
    CHECK_INT(decision.tiling.lanes, 2);
    CHECK_INT(decision.tiles, 4);
    CHECK(decision.reported < required);
    limits.lanes = 8; /* four lanes with a halo each are more than what is required */
    decision = decide(&fake, &problem, required, fixed, &limits);
    CHECK_INT(decision.tiling.lanes, 2);
    CHECK(decision.reported <= required);
}

/* Tiles of one gradient, added up, are never beside each other; those that write parts of it are.
 */
static void what_adds_up_has_one_lane(void)
{
    struct fake fake = {.per_byte = 1, .per_filter_byte = 0.1};
    struct cs_problem problem = towards(CS_BACKWARD_FILTER, 16, 64, 1, 64, 64, 64);
    problem.tensor[CS_FILTER].dtype = CS_F32;
    CHECK_INT(cs_problem_check(&problem), CS_OK);
    int64_t required = formula(&fake, &problem);
    for (int lanes = 0; lanes <= 4; lanes += 4) {
        struct cs_decision decision = on_lanes(&fake, &problem, required / 3, lanes);
        CHECK_INT(decision.reason, CS_REASON_NONE);
        CHECK_INT(decision.tiling.lanes, 1);
        CHECK_INT(decision.tiling.axis[0], CS_AXIS_N);
        check_true(&fake, &problem, &decision);
    }
    problem.tensor[CS_FILTER].dtype = CS_F16;
    CHECK_INT(cs_problem_check(&problem), CS_OK);
    fake = (struct fake){.per_filter_byte = 1};
    struct cs_decision decision = on_lanes(&fake, &problem, formula(&fake, &problem) - 1, 2);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.tiling.lanes, 2);
    check_true(&fake, &problem, &decision);
}

/* The library's own scratch: callers are told what the fallback plan needs. */
static void scratch_that_is_lent(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct cs_limits limits = limits_of(64 * MIB, 0);
    limits.lent = true;
    int64_t required = formula(&fake, &problem);
    const struct cs_policy *fit = cs_policy_find("fit");
    struct cs_decision decision = decide(&fake, &problem, required, fit, &limits);
    CHECK_INT(decision.reported, 0);
    CHECK(decision.scratch > 32 * MIB && decision.scratch <= 64 * MIB);
    check_true(&fake, &problem, &decision);
    fake.fallback = 3 * MIB;
    decision = decide(&fake, &problem, required, fit, &limits);
    CHECK_INT(decision.reported, 3 * MIB);
    fake.fallback = 65 * MIB;
    CHECK_INT(decide(&fake, &problem, required, fit, &limits).reason, CS_REASON_NO_FALLBACK);
}

static struct fake random_vendor(struct rng *rng, const struct cs_problem *problem)
{
    struct fake fake = {.per_byte = (double)rng_between(rng, 1, 8) / 2};
    fake.fixed = formula(&fake, problem) / rng_between(rng, 4, 1000);
    fake.curved = rng_between(rng, 0, 2) == 0;
    fake.erratic = rng_between(rng, 0, 4) == 0;
    fake.refuses_one_sided = rng_between(rng, 0, 5) == 0;
    fake.refuses_below = rng_between(rng, 0, 5) == 0 ? rng_between(rng, 1, 9) : 0;
    return fake;
}

static bool same_tiling(const struct cs_decision *a, const struct cs_decision *b)
{
    return cs_cut_tiling_equal(&a->tiling, &b->tiling) && a->reported == b->reported;
}

static int64_t rounds_of(const struct cs_decision *decision)
{
    return (decision->tiles + decision->tiling.lanes - 1) / decision->tiling.lanes;
}

/* Whoever is tiled on one lane is tiled, and where lanes do not fit, exactly as on one. */
static void lanes_cost_no_rewriting(void)
{
    struct rng rng = {SEED};
    int64_t tiled[CS_MAX_LANES + 1] = {0}, beside[CS_MAX_LANES + 1] = {0};
    for (int i = 0; i < RANDOM_PROBLEMS; i++) {
        struct cs_problem problem = random_towards(&rng, (enum cs_direction)(i % CS_DIRECTIONS));
        struct fake fake = random_vendor(&rng, &problem);
        int64_t limit = formula(&fake, &problem) / rng_between(&rng, 2, 40);
        int lanes = (int)rng_between(&rng, 0, CS_MAX_LANES);
        struct cs_decision one = on_lanes(&fake, &problem, limit, 1);
        struct cs_decision many = on_lanes(&fake, &problem, limit, lanes);
        struct cs_decision again = on_lanes(&fake, &problem, limit, lanes);
        CHECK(many.reason == again.reason && same_tiling(&many, &again));
        CHECK(one.reason != CS_REASON_NONE || many.reason == CS_REASON_NONE);
        if (many.reason != CS_REASON_NONE)
            continue;
        check_true(&fake, &problem, &many);
        CHECK(many.reported <= limit);
        CHECK(many.tiling.lanes >= 1 && many.tiling.lanes <= (lanes ? lanes : 2));
        if (one.reason == CS_REASON_NONE && many.tiling.lanes == 1)
            CHECK(same_tiling(&one, &many));
        if (lanes == 0)
            CHECK(4 * rounds_of(&many) <= 5 * one.tiles);
        tiled[lanes]++;
        beside[lanes] += many.tiling.lanes > 1;
    }
    printf("# seed %d: on more than one lane, auto and by number:", SEED);
    for (int lanes = 0; lanes <= CS_MAX_LANES; lanes++)
        printf(" %lld/%lld", (long long)beside[lanes], (long long)tiled[lanes]);
    printf("\n");
    CHECK_INT(beside[1], 0);
    for (int lanes = 0; lanes <= CS_MAX_LANES; lanes++)
        CHECK(lanes == 1 || beside[lanes] > 0);
}

static void memory_runs_out(void)
{
    struct cs_problem problem = same(2, 256, 1, 512, 512, 512);
    for (int lanes = 0; lanes <= 4; lanes += 4) {
        struct fake fake = vae_vendor();
        int64_t calls = on_lanes(&fake, &problem, 64 * MIB, lanes).asked;
        for (fake.nomem_at = 1; fake.nomem_at <= calls + 1; fake.nomem_at++)
            CHECK_INT(on_lanes(&fake, &problem, 64 * MIB, lanes).reason,
                      fake.nomem_at <= calls ? CS_REASON_HOST_MEMORY : CS_REASON_NONE);
    }
}

int main(void)
{
    TEST(two_where_the_plan_gains);
    TEST(one_where_it_does_not);
    TEST(as_many_as_the_user_says);
    TEST(a_count_on_lanes);
    TEST(what_adds_up_has_one_lane);
    TEST(scratch_that_is_lent);
    TEST(lanes_cost_no_rewriting);
    TEST(memory_runs_out);
    return REPORT();
}
