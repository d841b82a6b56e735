#include "fake_vendor.h"
#include <math.h>

enum {
    RANDOM_PROBLEMS = 3000,
    SEED = 20263
};

static void small_asks_nothing(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    const struct cs_policy *fit = cs_policy_find("fit"), *fixed = cs_policy_find("fixed");
    const struct {
        int64_t workspace, threshold, required;
        bool small;
    } cases[] = {
        {64 * MIB, -1, 64 * MIB, true},
        {64 * MIB, -1, 64 * MIB + 1, false},
        {64 * MIB, 8 * MIB, 8 * MIB, true},
        {64 * MIB, 8 * MIB, 8 * MIB + 1, false},
        {64 * MIB, 99 * MIB, 64 * MIB + 1, true},
        {64 * MIB, 99 * MIB, 99 * MIB, true},
        {64 * MIB, 99 * MIB, 99 * MIB + 1, false},
        {64 * MIB, 0, 0, true},
        {0, -1, 1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cs_limits limits = {.workspace = cases[i].workspace,
                                   .threshold = cases[i].threshold,
                                   .tiles = 4,
                                   .lanes = 1};
        struct cs_decision decision = decide(&fake, &problem, cases[i].required, fit, &limits);
        CHECK_INT(decision.asked == 0, cases[i].small);
        if (cases[i].small)
            CHECK_INT(decision.reason, CS_REASON_SMALL);
    }
    struct cs_limits limits = {.workspace = 64 * MIB, .threshold = 1, .tiles = 4, .lanes = 1};
    CHECK_INT(decide(&fake, &problem, 1, fixed, &limits).reason, CS_REASON_SMALL);
    CHECK_INT(fake.calls, 0);
}

static void vae_layer_in_nine(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct cs_limits limits = {.workspace = 64 * MIB, .threshold = -1, .tiles = 4, .lanes = 1};
    int64_t required = formula(&fake, &problem);
    struct cs_decision decision = decide(&fake, &problem, required, cs_policy_find("fit"), &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.tiling.axis[0], CS_AXIS_H);
    CHECK_INT(decision.tiles, 9);
    CHECK_INT(decision.tiling.axis[1], CS_AXIS_NONE);
    CHECK_INT(decision.tiling.step[0], 57);
    CHECK_INT(decision.reported, 9 * MIB / 2 + (59 + 57) * MIB / 2);
    CHECK_INT(decision.scratch, decision.reported);
    CHECK(decision.asked <= 10);
}

/* Workspaces without order and refusals: perhaps not the fewest tiles, but never a lie, and an end.
 */
static void hostile_vendors(void)
{
    struct rng rng = {SEED};
    const struct cs_policy *fit = cs_policy_find("fit"), *fixed = cs_policy_find("fixed");
    int64_t tiled_calls = 0;
    for (int i = 0; i < 2 * RANDOM_PROBLEMS; i++) {
        struct cs_problem problem = i % 2 ? random_same(&rng) : random_small(&rng);
        struct fake fake = {
            .fixed = rng_between(&rng, 0, 1000),
            .per_byte = 1,
            .erratic = rng_between(&rng, 0, 1),
            .refuses_one_sided = rng_between(&rng, 0, 2) == 0,
            .refuses_below = rng_between(&rng, 0, 1) ? rng_between(&rng, 0, 9) : 0,
            .negative_at = rng_between(&rng, 0, 20),
            .fallback = rng_between(&rng, 0, 2000),
        };
        int64_t required = formula(&fake, &problem);
        struct cs_limits limits = {.workspace = required / rng_between(&rng, 1, 30),
                                   .threshold = rng_between(&rng, -1, 0),
                                   .tiles = rng_between(&rng, 1, 9),
                                   .lanes = 1};
        const struct cs_policy *policy = rng_between(&rng, 0, 3) ? fit : fixed;
        struct cs_decision decision = decide(&fake, &problem, required, policy, &limits);
        struct cs_decision again = decide(&fake, &problem, required, policy, &limits);
        CHECK_INT(again.reason, decision.reason);
        CHECK_INT(again.reported, decision.reported);
        CHECK(cs_cut_tiling_equal(&again.tiling, &decision.tiling));
        if (decision.reason != CS_REASON_NONE) {
            CHECK_INT(decision.tiling.axis[0], CS_AXIS_NONE);
            continue;
        }
        tiled_calls++;
        check_true(&fake, &problem, &decision);
        CHECK(decision.reported <= required && decision.reported >= fake.fallback);
        CHECK(policy == fixed || decision.reported <= limits.workspace);
    }
    printf("# %lld of %d tiled\n", (long long)tiled_calls, 2 * RANDOM_PROBLEMS);
    CHECK(tiled_calls > RANDOM_PROBLEMS / 4);
}

static void refusals_have_reasons(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct cs_limits limits = {.workspace = 64 * MIB, .threshold = -1, .tiles = 4, .lanes = 1};
    const struct cs_policy *fit = cs_policy_find("fit");
    int64_t required = formula(&fake, &problem);

    fake.refuses_all = true;
    CHECK_INT(decide(&fake, &problem, required, fit, &limits).reason, CS_REASON_VENDOR);
    CHECK(fake.calls > 1);

    fake = vae_vendor();
    fake.fixed = 65 * MIB;
    CHECK_INT(decide(&fake, &problem, required, fit, &limits).reason, CS_REASON_NO_TILING);
    fake.fixed = INT64_MAX;
    CHECK_INT(decide(&fake, &problem, INT64_MAX, fit, &limits).reason, CS_REASON_NO_TILING);

    struct cs_problem dot = same(1, 512, 1, 1, 1, 512);
    dot.groups = 2; /* neither are there channels to cut */
    dot.tensor[CS_FILTER].dims[CS_C] /= 2;
    CHECK_INT(cs_problem_check(&dot), CS_OK);
    CHECK_INT(decide(&fake, &dot, required, fit, &limits).reason, CS_REASON_NO_TILING);
    CHECK_INT(fake.calls, 0);

    /* Small problems are refused, as knobs chosen for large ones are: the rows stay above that. */
    fake = vae_vendor();
    fake.refuses_below = 40;
    struct cs_decision decision = decide(&fake, &problem, required, fit, &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    check_true(&fake, &problem, &decision);

    /* Just the cut that looks best is refused. */
    fake = vae_vendor();
    fake.refuses_from = 50;
    fake.refuses_to = 80;
    decision = decide(&fake, &problem, required, fit, &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK(decision.tiles > 9 && decision.tiles <= 12);
    check_true(&fake, &problem, &decision);
}

/* The n-th call runs out of memory, for every n: nothing leaks and the reason says so. */
static void memory_runs_out(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(2, 256, 1, 512, 512, 512);
    struct cs_limits limits = {.workspace = 64 * MIB, .threshold = -1, .tiles = 4, .lanes = 1};
    int64_t required = formula(&fake, &problem);
    int64_t calls = decide(&fake, &problem, required, cs_policy_find("fit"), &limits).asked;
    CHECK(calls > 4);
    for (fake.nomem_at = 1; fake.nomem_at <= calls + 1; fake.nomem_at++) {
        struct cs_decision decision =
            decide(&fake, &problem, required, cs_policy_find("fit"), &limits);
        CHECK_INT(decision.reason, fake.nomem_at <= calls ? CS_REASON_HOST_MEMORY : CS_REASON_NONE);
    }
}

static void fallbacks(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct cs_limits limits = {.workspace = 64 * MIB, .threshold = -1, .tiles = 4, .lanes = 1};
    const struct cs_policy *fit = cs_policy_find("fit");
    int64_t required = formula(&fake, &problem);
    int64_t scratch = decide(&fake, &problem, required, fit, &limits).reported;
    CHECK(scratch < limits.workspace);

    fake.fallback = scratch;
    CHECK_INT(decide(&fake, &problem, required, fit, &limits).reported, scratch);
    fake.fallback = scratch + 1;
    struct cs_decision raised = decide(&fake, &problem, required, fit, &limits);
    CHECK_INT(raised.reported, scratch + 1);
    CHECK_INT(raised.scratch, scratch);
    fake.fallback = limits.workspace;
    CHECK_INT(decide(&fake, &problem, required, fit, &limits).reported, limits.workspace);
    fake.fallback = limits.workspace + 1;
    CHECK_INT(decide(&fake, &problem, required, fit, &limits).reason, CS_REASON_NO_FALLBACK);
    fake.fallback_exceeds = true;
    CHECK_INT(decide(&fake, &problem, required, fit, &limits).reason, CS_REASON_NO_FALLBACK);

    /* Nothing is tiled to need more than the application required, not even for a fallback plan. */
    struct cs_limits loose = {.workspace = 2 * required, .threshold = 0, .tiles = 4, .lanes = 1};
    fake = vae_vendor();
    fake.fallback = required + 1;
    CHECK_INT(decide(&fake, &problem, required, cs_policy_find("fixed"), &loose).reason,
              CS_REASON_NO_FALLBACK);
}

static void off_reports_what_fit_does(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct cs_limits limits = {.workspace = 64 * MIB, .threshold = -1, .tiles = 4, .lanes = 1};
    int64_t required = formula(&fake, &problem);
    struct cs_decision fit = decide(&fake, &problem, required, cs_policy_find("fit"), &limits);
    fake.fallback = INT64_MAX;
    struct cs_decision off = decide(&fake, &problem, required, cs_policy_find("off"), &limits);
    CHECK_INT(off.reason, CS_REASON_REPORT_ONLY);
    CHECK_INT(off.reported, required);
    CHECK_INT(off.scratch, fit.scratch);
    CHECK_INT(off.tiling.axis[0], fit.tiling.axis[0]);
    CHECK_INT(off.tiling.step[0], fit.tiling.step[0]);
    CHECK_INT(off.tiles, fit.tiles);
}

static void fixed_takes_the_count(void)
{
    struct fake fake = {.per_byte = 1};
    const struct cs_policy *fixed = cs_policy_find("fixed");
    struct cs_limits limits = {.workspace = 64 * MIB, .threshold = 0, .tiles = 4, .lanes = 1};
    struct cs_problem problem = same(2, 8, 1, 64, 64, 8);
    int64_t required = formula(&fake, &problem);
    struct cs_decision decision = decide(&fake, &problem, required, fixed, &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.tiling.axis[0], CS_AXIS_H); /* a quarter is less than half of the batch */
    CHECK_INT(decision.tiles, 4);
    check_true(&fake, &problem, &decision);

    limits.tiles = 2; /* now N needs as little as H, and has no halo */
    decision = decide(&fake, &problem, required, fixed, &limits);
    CHECK_INT(decision.tiling.axis[0], CS_AXIS_N);
    CHECK_INT(decision.tiles, 2);

    limits.tiles = 5000; /* clamped to the extent */
    decision = decide(&fake, &problem, required, fixed, &limits);
    CHECK_INT(decision.tiling.axis[0], CS_AXIS_H);
    CHECK_INT(decision.tiles, 64);

    limits.tiles = 1;
    CHECK_INT(decide(&fake, &problem, required, fixed, &limits).reason, CS_REASON_NO_TILING);

    limits.tiles = 4;
    fake.per_byte = 0; /* nothing required, nothing needed: tiled all the same at threshold 0 */
    decision = decide(&fake, &problem, 0, fixed, &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.reported, 0);
    fake.fixed = 1;
    CHECK_INT(decide(&fake, &problem, 0, fixed, &limits).reason, CS_REASON_NO_TILING);

    struct cs_problem line = same(1, 8, 1, 1, 64, 8);
    decision = decide(&fake, &line, 100, fixed, &limits);
    CHECK_INT(decision.tiling.axis[0], CS_AXIS_W);
    CHECK_INT(decision.tiles, 4);
}

static int64_t zero_tiles(const struct cs_limits *limits)
{
    (void)limits;
    return 0;
}

static double cost_nan(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    (void)candidate, (void)limits;
    return NAN;
}

static double cost_infinite(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    (void)limits;
    return candidate->tiling.axis[0] == CS_AXIS_H ? -INFINITY : INFINITY;
}

/* Vetoes by NaN what it sees first, so that a comparison with NaN would keep it. */
static double cost_nan_untiled(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    (void)limits;
    return candidate->tiling.axis[0] == CS_AXIS_NONE ? NAN : (double)candidate->workspace;
}

static double cost_same(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    (void)candidate, (void)limits;
    return 7;
}

static int listed[CS_AXES], listed_over;

static double cost_noting(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    listed[candidate->tiling.axis[0]]++;
    listed_over +=
        candidate->tiling.axis[0] != CS_AXIS_NONE && candidate->workspace > limits->workspace;
    return (double)candidate->tiles;
}

static void policies_of_all_sorts(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct cs_limits limits = {.workspace = 64 * MIB, .threshold = 1, .tiles = 4, .lanes = 1};
    int64_t required = formula(&fake, &problem);
    struct cs_policy policy = {.name = "odd", .tiles = zero_tiles, .cost = cost_nan};
    CHECK_INT(decide(&fake, &problem, required, &policy, &limits).reason, CS_REASON_NO_GAIN);
    policy.cost = cost_infinite;
    CHECK_INT(decide(&fake, &problem, required, &policy, &limits).reason, CS_REASON_NO_GAIN);
    policy.cost = cost_nan_untiled;
    CHECK_INT(decide(&fake, &problem, required, &policy, &limits).reason, CS_REASON_NONE);
    policy.cost = cost_same; /* the untiled call is listed first */
    CHECK_INT(decide(&fake, &problem, required, &policy, &limits).reason, CS_REASON_NO_GAIN);
    limits.workspace = 2 * required;
    CHECK_INT(decide(&fake, &problem, required, &policy, &limits).reason, CS_REASON_SMALL);

    limits.workspace = 64 * MIB;
    policy.cost = cost_noting;
    decide(&fake, &problem, required, &policy, &limits);
    CHECK_INT(listed[CS_AXIS_NONE], 2); /* to pick, and to show what was picked among */
    CHECK(listed[CS_AXIS_H] >= 1);
    CHECK_INT(listed[CS_AXIS_W] + listed[CS_AXIS_K] + listed[CS_AXIS_C], 0);
    CHECK_INT(listed_over, 0);
}

/* Slices with the application's knobs want as much as the whole: the engine's own knobs are next,
 * then another engine for the whole. */
static void other_knobs_and_engines(void)
{
    const struct cs_policy *fit = cs_policy_find("fit"), *fixed = cs_policy_find("fixed");
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct cs_limits limits = {.workspace = 64 * MIB, .threshold = -1, .tiles = 4, .lanes = 1};
    struct fake fake = vae_vendor();
    int64_t required = formula(&fake, &problem);
    fake.stubborn = required;

    fake.helps = CS_DEFAULT_KNOBS;
    struct cs_decision decision = decide(&fake, &problem, required, fit, &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.tiling.relaxation, CS_DEFAULT_KNOBS);
    CHECK_INT(decision.tiles, 9);
    check_true(&fake, &problem, &decision);

    fake.helps = CS_SIMILAR_ENGINE;
    fake.alike = 3 * MIB;
    decision = decide(&fake, &problem, required, fit, &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.tiling.relaxation, CS_SIMILAR_ENGINE);
    CHECK_INT(decision.tiling.axis[0], CS_AXIS_NONE);
    CHECK_INT(decision.reported, 3 * MIB);
    check_true(&fake, &problem, &decision);

    fake.alike = 64 * MIB + 1;
    CHECK_INT(decide(&fake, &problem, required, fit, &limits).reason, CS_REASON_NO_TILING);
    fake.alike = 3 * MIB;
    CHECK_INT(decide(&fake, &problem, required, fixed, &limits).tiling.relaxation, CS_SAME_KNOBS);
    fake.compiles = true;
    CHECK_INT(decide(&fake, &problem, required, fit, &limits).reason, CS_REASON_NO_TILING);
}

int main(void)
{
    TEST(small_asks_nothing);
    TEST(vae_layer_in_nine);
    TEST(hostile_vendors);
    TEST(refusals_have_reasons);
    TEST(memory_runs_out);
    TEST(fallbacks);
    TEST(off_reports_what_fit_does);
    TEST(fixed_takes_the_count);
    TEST(policies_of_all_sorts);
    TEST(other_knobs_and_engines);
    return REPORT();
}
