/* Decisions by predicted time. */
#include "decide/cost.h"
#include "fake_vendor.h"

enum {
    ROUNDS = 1500,
    SEED = 606
};

static const struct cs_profile h200 = {.capability = 900};
static const struct cs_profile rtx4090 = {.name = "NVIDIA GeForce RTX 4090", .capability = 890};

static double predicted(const struct fake *fake, const struct cs_problem *problem,
                        const struct cs_decision *decision)
{
    static struct cs_plan plan;
    static struct cs_problem shape;
    CHECK_INT(cs_plan_cut(problem, &decision->tiling, &plan), CS_OK);
    for (int64_t i = 0; i < plan.shapes; i++) {
        cs_plan_problem(&plan, i, &shape);
        plan.shape[i].workspace = formula(fake, &shape);
    }
    cs_plan_settle(&plan);
    return cs_cost_of(&plan, fake->profile).seconds;
}

/* Of the same candidates fast takes none that is predicted to take longer than fit's. */
static void never_predicted_slower_than_fit(void)
{
    struct rng rng = {SEED};
    const struct cs_policy *fit = cs_policy_find("fit"), *fast = cs_policy_find("fast");
    int tiled_calls = 0, other = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct cs_problem problem =
            random_towards(&rng, (enum cs_direction)rng_between(&rng, 0, 2));
        struct fake fake = {.fixed = rng_magnitude(&rng, 12),
                            .per_byte = (double)rng_between(&rng, 1, 200) / 100,
                            .per_filter_byte = (double)rng_between(&rng, 0, 2),
                            .profile = rng_between(&rng, 0, 1) ? &h200 : &rtx4090};
        int64_t required = formula(&fake, &problem);
        struct cs_limits limits = {.workspace = required / rng_between(&rng, 1, 40) + 1,
                                   .threshold = rng_between(&rng, 0, 1) ? required / 41 : -1,
                                   .tiles = 4,
                                   .lanes = (int)rng_between(&rng, 1, 2)};
        struct cs_decision a = decide(&fake, &problem, required, fit, &limits);
        struct cs_decision b = decide(&fake, &problem, required, fast, &limits);
        CHECK_INT(b.asked > 0, a.asked > 0);
        CHECK_INT(a.reason == CS_REASON_NO_TILING, b.reason == CS_REASON_NO_TILING);
        if (a.reason != CS_REASON_NONE && b.reason != CS_REASON_NONE)
            continue;
        check_true(&fake, &problem, &b);
        CHECK(predicted(&fake, &problem, &b) <= predicted(&fake, &problem, &a));
        tiled_calls += b.reason == CS_REASON_NONE;
        other += a.tiles != b.tiles || a.tiling.axis[0] != b.tiling.axis[0];
    }
    CHECK(tiled_calls > ROUNDS / 4);
    CHECK(other > 0);
}

/* Within the limit the untiled call stands beside tiles, and the faster of the two is taken. */
static void tiles_for_speed_alone(void)
{
    struct cs_problem problem = same(16, 64, 1, 256, 256, 64);
    struct fake fake = {.per_byte = 1, .per_filter_byte = 1, .profile = &rtx4090};
    const struct cs_policy *fast = cs_policy_find("fast");
    int64_t required = formula(&fake, &problem);
    struct cs_limits limits = {.workspace = required / 2, .threshold = 0, .tiles = 4, .lanes = 1};
    struct cs_decision decision = decide(&fake, &problem, required, fast, &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK(decision.tiling.axis[0] != CS_AXIS_NONE);
    limits.workspace = 2 * required;
    decision = decide(&fake, &problem, required, fast, &limits);
    struct cs_decision untiled = {.tiling = {.step = {1, 1}}};
    bool gains = predicted(&fake, &problem, &decision) < predicted(&fake, &problem, &untiled);
    CHECK_INT(decision.reason, gains ? CS_REASON_NONE : CS_REASON_SMALL);
}

/* What saves too little is left alone, for a reason of its own. */
static void little_is_not_worth_it(void)
{
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct fake fake = vae_vendor();
    fake.profile = &h200;
    const struct cs_policy *fast = cs_policy_find("fast");
    int64_t required = formula(&fake, &problem);
    struct cs_limits limits = {.workspace = 64 * MIB,
                               .threshold = -1,
                               .tiles = 4,
                               .min_saving = required - 64 * MIB,
                               .lanes = 1};
    CHECK_INT(decide(&fake, &problem, required, fast, &limits).reason, CS_REASON_NONE);
    limits.min_saving = required;
    CHECK_INT(decide(&fake, &problem, required, fast, &limits).reason, CS_REASON_NO_GAIN);
    CHECK_INT(decide(&fake, &problem, required, cs_policy_find("fit"), &limits).reason,
              CS_REASON_NONE);
}

/* Without a device the decision is fit's. */
static void unknown_device(void)
{
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct fake fake = vae_vendor();
    int64_t required = formula(&fake, &problem);
    struct cs_limits limits = {.workspace = 64 * MIB, .threshold = -1, .tiles = 4};
    struct cs_decision a = decide(&fake, &problem, required, cs_policy_find("fit"), &limits);
    struct cs_decision b = decide(&fake, &problem, required, cs_policy_find("fast"), &limits);
    CHECK_INT(b.reason, CS_REASON_NONE);
    CHECK_INT(b.tiles, a.tiles);
    CHECK_INT(b.scratch, a.scratch);
}

int main(void)
{
    TEST(never_predicted_slower_than_fit);
    TEST(tiles_for_speed_alone);
    TEST(little_is_not_worth_it);
    TEST(unknown_device);
    return REPORT();
}
