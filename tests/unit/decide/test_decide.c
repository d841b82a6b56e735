/* Promises of a decision, for all answers of the vendor: it can be run, it costs at most the price
 * of the untiled call, it follows the configured limits, and equal requests get equal decisions. */
#include "decide/by_rules.h"
#include "decide/cost.h"
#include "fake_vendor.h"

#include <math.h>

enum {
    PROBLEMS = 200,
    SEED = 733
};

static const struct cs_profile h200 = {.name = "NVIDIA H200", .capability = 900};

static struct fake random_fake(struct rng *rng)
{
    struct fake fake = {.fixed = rng_magnitude(rng, 22),
                        .per_byte = (double)rng_between(rng, 1, 20) / 10,
                        .per_filter_byte = (double)rng_between(rng, 0, 4),
                        .erratic = rng_between(rng, 0, 7) == 0,
                        .curved = rng_between(rng, 0, 7) == 0,
                        .compiles = rng_between(rng, 0, 7) == 0,
                        .refuses_one_sided = rng_between(rng, 0, 5) == 0,
                        .refuses_below = rng_between(rng, 0, 3) ? 0 : rng_between(rng, 1, 64),
                        .profile = rng_between(rng, 0, 3) ? &h200 : NULL};
    return fake;
}

static struct cs_problem large(struct rng *rng)
{
    return towards((enum cs_direction)rng_between(rng, 0, 2), rng_between(rng, 1, 4),
                   rng_between(rng, 16, 256), rng_between(rng, 0, 4) ? 1 : 8,
                   rng_between(rng, 64, 512), rng_between(rng, 64, 512), rng_between(rng, 16, 256));
}

static double seconds_of(const struct fake *fake, const struct cs_problem *problem,
                         const struct cs_tiling *tiling)
{
    static const struct cs_profile typical;
    static struct cs_plan plan;
    CHECK_INT(cs_plan_cut(problem, tiling, &plan), CS_OK);
    for (int k = 0; k < plan.shapes; k++) {
        struct cs_problem shape;
        cs_plan_problem(&plan, k, &shape);
        plan.shape[k].workspace = formula_at(fake, &shape, plan.shape[k].relaxation);
    }
    cs_plan_settle(&plan);
    return cs_cost_of(&plan, formula_at(fake, problem, CS_SAME_KNOBS),
                      fake->profile ? fake->profile : &typical)
        .decided;
}

static double cost_of(const struct fake *fake, const struct cs_problem *problem,
                      const struct cs_tiling *tiling, int64_t scratch, int64_t free)
{
    static const struct cs_profile typical;
    double byte = 15 / cs_cost_bandwidth(fake->profile ? fake->profile : &typical);
    double beyond = (double)(scratch > free ? scratch - free : 0);
    return seconds_of(fake, problem, tiling) + byte * beyond;
}

/* The predicted extra time and the price of a raised peak are added. */
static void no_decision_costs_more_than_the_untiled_call(void)
{
    static const struct cs_tiling untiled = {.step = {1, 1}};
    const struct cs_policy *fit = default_policy();
    struct rng rng = {SEED};
    int tiled = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        struct fake fake = random_fake(&rng);
        struct cs_problem problem = large(&rng);
        struct cs_limits limits = automatic;
        int64_t required = formula(&fake, &problem);
        limits.free = rng_between(&rng, 0, 3) ? 16 << 20 : required / 2;
        struct cs_decision decision = decide(&fake, &problem, required, fit, &limits);
        struct cs_decision again = decide(&fake, &problem, required, fit, &limits);
        CHECK_INT(again.reported, decision.reported);
        CHECK(cs_cut_tiling_equal(&again.tiling, &decision.tiling));
        if (decision.reason != CS_REASON_NONE)
            continue;
        tiled++;
        check_true(&fake, &problem, &decision);
        CHECK(decision.reported < required);
        CHECK(cost_of(&fake, &problem, &decision.tiling, decision.scratch, limits.free) <=
              cost_of(&fake, &problem, &untiled, required, limits.free) * (1 + 1e-9));
    }
    CHECK(tiled > PROBLEMS / 4);
}

/* Winograd's transforms of some engines take whole batches, so slices along N need as much as a
 * batch. The rows still save. */
static void images_that_need_a_batch_are_tiled_along_the_rows(void)
{
    struct fake fake = {.per_byte = 2, .batch = 16, .profile = &h200};
    struct cs_problem problem = towards(CS_FORWARD, 16, 64, 1, 256, 256, 64);
    int64_t required = formula(&fake, &problem);
    struct cs_decision decision = decide(&fake, &problem, required, default_policy(), &automatic);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK(decision.tiling.axis[0] == CS_AXIS_H || decision.tiling.axis[1] == CS_AXIS_H);
    CHECK(decision.scratch < required);
}

/* A number for workspace is kept, unless no tiling can. */
static void a_written_workspace_is_a_limit(void)
{
    const struct cs_policy *fit = default_policy();
    struct rng rng = {SEED};
    int within = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        struct fake fake = random_fake(&rng);
        struct cs_problem problem = large(&rng);
        int64_t required = formula(&fake, &problem);
        struct cs_limits limits = {.workspace = required / rng_between(&rng, 2, 20),
                                   .price = 15000,
                                   .threshold = -1,
                                   .provided = rng_between(&rng, 0, 1) == 1};
        struct cs_decision decision = decide(&fake, &problem, required, fit, &limits);
        if (decision.reason != CS_REASON_NONE)
            continue;
        check_true(&fake, &problem, &decision);
        CHECK(decision.scratch <= limits.workspace || (decision.raised && !limits.provided));
        within += decision.scratch <= limits.workspace;
    }
    CHECK(within > PROBLEMS / 2);
}

/* No tile needs less than 8 MiB. A number that cannot be met may cost half of the time, and one
 * that can three times as much. */
static void a_limit_below_every_tiling_is_given_up_quickly(void)
{
    static const struct cs_tiling untiled = {.step = {1, 1}};
    struct rng rng = {SEED};
    int raised = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        struct cs_problem problem = large(&rng);
        struct fake fake = {.fixed = 8 * MIB, .per_byte = 1, .profile = &h200};
        const int64_t required = formula(&fake, &problem);
        const struct cs_limits limits = {
            .workspace = 1024, .price = 15000, .max_slowdown = 3000, .threshold = -1};
        struct cs_decision decision = decide(&fake, &problem, required, default_policy(), &limits);
        if (decision.reason != CS_REASON_NONE)
            continue;
        raised++;
        CHECK(decision.raised && decision.scratch < required);
        CHECK(seconds_of(&fake, &problem, &decision.tiling) <=
              1.5 * seconds_of(&fake, &problem, &untiled) * (1 + 1e-9));
    }
    CHECK(raised > 0);
}

/* Images of one channel, whose copies have eight. cuDNN makes them in four parts, so tiles of a
 * quarter need no less workspace. */
static void a_limit_is_met_although_workspaces_do_not_shrink_at_first(void)
{
    const enum cs_direction directions[] = {CS_FORWARD, CS_BACKWARD_DATA};
    for (size_t i = 0; i < sizeof directions / sizeof *directions; i++) {
        struct cs_problem problem = towards(directions[i], 1024, 1, 1, 1024, 1024, 1);
        struct fake fake = {.per_byte = 8, .filled = 8192 * MIB, .profile = &h200};
        const struct cs_limits limits = {
            .workspace = 64 * MIB, .price = 15000, .max_slowdown = 3000, .threshold = -1};
        struct cs_decision decision =
            decide(&fake, &problem, fake.filled, default_policy(), &limits);
        CHECK_INT(decision.reason, CS_REASON_NONE);
        CHECK(decision.reported <= limits.workspace);
    }
}

static void written_slowdown_is_a_bound(void)
{
    static const struct cs_tiling untiled = {.step = {1, 1}};
    const struct cs_policy *fit = default_policy();
    struct rng rng = {SEED};
    int tiled = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        struct fake fake = random_fake(&rng);
        struct cs_problem problem = large(&rng);
        struct cs_limits limits = automatic;
        limits.max_slowdown = 1020;
        struct cs_decision decision =
            decide(&fake, &problem, formula(&fake, &problem), fit, &limits);
        if (decision.reason != CS_REASON_NONE)
            continue;
        tiled++;
        CHECK(seconds_of(&fake, &problem, &decision.tiling) <=
              1.02 * seconds_of(&fake, &problem, &untiled) * (1 + 1e-9));
    }
    CHECK(tiled > 0);
}

/* No limit applies, so none may be blamed. */
static void fixed_tiles_without_a_legal_cut_are_the_policys_reason(void)
{
    struct cs_problem problem = same(1, 1, 1, 1, 1, 1);
    struct fake fake = {.fixed = 100 * MIB, .profile = &h200};
    struct cs_decision decision =
        decide(&fake, &problem, formula(&fake, &problem), policy_with_tiles(), &automatic);
    CHECK_INT(decision.reason, CS_REASON_NO_GAIN);
}

static double refuse_tiles(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    (void)limits;
    return candidate->tiles > 1 ? INFINITY : 1;
}

/* Tiles that take longer are not worth this price, or exceed this slowdown. */
static void slow_tiles_are_the_reason(void)
{
    static const struct {
        int64_t price, max_slowdown;
    } rows[] = {{1, 0}, {15000, 1}};
    struct cs_problem problem = same(1, 128, 1, 256, 256, 128);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fake fake = vae_vendor();
        struct cs_limits limits = automatic;
        fake.profile = &h200;
        limits.price = rows[i].price;
        limits.max_slowdown = rows[i].max_slowdown;
        struct cs_decision decision =
            decide(&fake, &problem, formula(&fake, &problem), default_policy(), &limits);
        CASE("row %zu", i);
        CHECK_INT(decision.reason, CS_REASON_SLOW);
    }
}

static void a_policy_that_refuses_all_tilings_is_the_reason(void)
{
    struct cs_policy policy = *default_policy();
    policy.cost = refuse_tiles;
    struct rng rng = {SEED};
    struct fake fake = random_fake(&rng);
    struct cs_problem problem = large(&rng);
    struct cs_decision decision = decide(&fake, &problem, 4096 * MIB, &policy, &automatic);
    CHECK_INT(decision.reason, CS_REASON_NO_GAIN);
}

/* Engines that copy parts of images, but use whole images in place. Answers about one kind of tiles
 * do not change the guesses about the other kind. */
static void tiles_of_whole_images_are_found_if_parts_cost_more(void)
{
    const struct cs_policy *fit = default_policy();
    struct rng rng = {SEED};
    for (int i = 0; i < PROBLEMS; i++) {
        struct cs_problem problem = same(rng_between(&rng, 8, 64), rng_between(&rng, 16, 256), 1,
                                         rng_between(&rng, 32, 256), rng_between(&rng, 32, 256),
                                         rng_between(&rng, 16, 256));
        const int64_t images = problem.tensor[CS_X].dims[CS_N];
        struct fake fake = {
            .per_byte = 0.5, .whole_rows = problem.tensor[CS_Y].dims[CS_H], .profile = &h200};
        int64_t required = formula(&fake, &problem);
        struct cs_limits limits = automatic;
        limits.free = 16 * MIB;
        struct cs_decision decision = decide(&fake, &problem, required, fit, &limits);
        double best = 1e9;
        for (int64_t tiles = 2; tiles <= images; tiles++) { /* tilings divide an axis evenly */
            const int64_t n = cs_ceil_div(images, tiles);
            const struct cs_tiling tiling = {.axis = {CS_AXIS_N}, .step = {n, 1}};
            double cost = cost_of(&fake, &problem, &tiling, required * n / images, limits.free);
            best = cost < best ? cost : best;
        }
        CHECK(cost_of(&fake, &problem, &decision.tiling, decision.scratch, limits.free) <=
              1.03 * best);
    }
}

/* --- by options and rules --------------------------------------------------------------------- */

static struct cs_decision decide_ruled(struct fake *fake, const struct cs_problem *problem,
                                       const struct cs_policy *policy)
{
    const struct cs_vendor vendor = {.ctx = fake,
                                     .rigid = true,
                                     .build = fake_build,
                                     .fallback = fake_fallback,
                                     .destroy = fake_destroy,
                                     .profile = fake_profile};
    const struct cs_settings settings = {
        .program = "", .policy = policy, .limits = automatic, .most = INT64_MAX};
    const struct cs_decide_call call = {
        .problem = problem, .required = formula(fake, problem), .engine = 1};
    fake->calls = 0;
    return cs_decide_by_rules(&settings, &call, &vendor);
}

/* No size depends on a file of the user's. */
static void measured_constants_change_no_decision(void)
{
    struct cs_profile slow = h200, fast = h200;
    struct rng rng = {SEED};
    int tiled = 0;
    slow.ladder = (struct cs_ladder){.known = true, .kernel_us = 50};
    fast.ladder = (struct cs_ladder){.known = true, .kernel_us = 0.1, .lane_gain = 1};
    for (int i = 0; i < PROBLEMS; i++) {
        struct fake fake = random_fake(&rng);
        struct cs_problem problem = large(&rng);
        const struct cs_profile *profile[] = {&h200, &slow, &fast};
        struct cs_decision decision[3];
        for (int p = 0; p < 3; p++) {
            fake.profile = profile[p];
            decision[p] = decide_ruled(&fake, &problem, default_policy());
            CHECK_INT(decision[p].reported, decision[0].reported);
            CHECK(cs_cut_tiling_equal(&decision[p].tiling, &decision[0].tiling));
        }
        tiled += decision[0].reason == CS_REASON_NONE;
    }
    CHECK(tiled > PROBLEMS / 8);
}

static void off_decides_as_fit(void)
{
    struct rng rng = {SEED};
    int tiled = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        struct fake fake = random_fake(&rng);
        struct cs_problem problem = large(&rng);
        struct cs_decision fit = decide_ruled(&fake, &problem, default_policy());
        struct cs_decision off = decide_ruled(&fake, &problem, report_only_policy());
        CHECK_INT(off.reason, fit.reason == CS_REASON_NONE ? CS_REASON_REPORT_ONLY : fit.reason);
        CHECK(cs_cut_tiling_equal(&off.tiling, &fit.tiling));
        CHECK_INT(off.scratch, fit.scratch);
        CHECK_INT(off.reported, fit.reported);
        tiled += fit.reason == CS_REASON_NONE;
    }
    CHECK(tiled > PROBLEMS / 8);
}

static void memory_that_runs_out_is_a_reason(void)
{
    const struct cs_policy *fit = default_policy();
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct fake fake = vae_vendor();
    int64_t required = formula(&fake, &problem);
    int64_t calls = decide(&fake, &problem, required, fit, &automatic).queries;
    CHECK(calls > 1);
    for (int64_t n = 1; n <= calls; n++) {
        fake.nomem_at = n;
        CHECK_INT(decide(&fake, &problem, required, fit, &automatic).reason, CS_REASON_HOST_MEMORY);
    }
}

static void few_plans_are_queried(void)
{
    const struct cs_policy *fit = default_policy();
    struct rng rng = {SEED};
    int64_t asked = 0;
    int tiled = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        struct fake fake = {.fixed = rng_magnitude(&rng, 20), .per_byte = 1, .profile = &h200};
        struct cs_problem problem = large(&rng);
        struct cs_decision decision =
            decide(&fake, &problem, formula(&fake, &problem), fit, &automatic);
        asked += decision.reason == CS_REASON_NONE ? decision.queries : 0;
        tiled += decision.reason == CS_REASON_NONE;
    }
    printf("# %.1f plans for a decision to tile\n", (double)asked / tiled);
    CHECK(asked <= 6 * tiled);
}

int main(void)
{
    TEST(no_decision_costs_more_than_the_untiled_call);
    TEST(images_that_need_a_batch_are_tiled_along_the_rows);
    TEST(a_written_workspace_is_a_limit);
    TEST(a_limit_below_every_tiling_is_given_up_quickly);
    TEST(a_limit_is_met_although_workspaces_do_not_shrink_at_first);
    TEST(written_slowdown_is_a_bound);
    TEST(fixed_tiles_without_a_legal_cut_are_the_policys_reason);
    TEST(slow_tiles_are_the_reason);
    TEST(a_policy_that_refuses_all_tilings_is_the_reason);
    TEST(tiles_of_whole_images_are_found_if_parts_cost_more);
    TEST(measured_constants_change_no_decision);
    TEST(off_decides_as_fit);
    TEST(memory_that_runs_out_is_a_reason);
    TEST(few_plans_are_queried);
    return REPORT();
}
