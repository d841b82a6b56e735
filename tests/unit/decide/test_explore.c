/* Tilings beyond the fewest: what policies that explore get to see, and what they make of it. */
#include "decide/cost.h"
#include "fake_vendor.h"

enum {
    SEED = 20282,
    RANDOM_PROBLEMS = 3000
};

/* An H200. */
static const struct cs_profile h200 = {.name = "NVIDIA H200",
                                       .capability = 900,
                                       .multiprocessors = 132,
                                       .clock = 1980000,
                                       .memory_clock = 3201000,
                                       .bus_width = 6144,
                                       .l2 = 62914560};

static struct cs_limits limits_of(int64_t workspace, int lanes)
{
    return (struct cs_limits){.workspace = workspace, .threshold = -1, .tiles = 4, .lanes = lanes};
}

static double seconds_of(const struct fake *fake, const struct cs_problem *problem,
                         const struct cs_decision *decision)
{
    static struct cs_plan plan;
    CHECK_INT(cs_plan_cut(problem, &decision->tiling, &plan), CS_OK);
    for (int64_t i = 0; i < plan.shapes; i++) {
        struct cs_problem shape;
        cs_plan_problem(&plan, i, &shape);
        plan.shape[i].workspace = formula_at(fake, &shape, plan.shape[i].relaxation);
    }
    cs_plan_settle(&plan);
    return cs_cost_of(&plan, fake->profile).seconds;
}

/* Whatever fit rewrites, fast rewrites, and predicts no more time for it. */
static void fast_is_never_slower_than_fit(void)
{
    struct rng rng = {SEED};
    const struct cs_policy *fit = cs_policy_find("fit"), *fast = cs_policy_find("fast");
    int tiled_calls = 0, other = 0, runs = 0;
    for (int i = 0; i < RANDOM_PROBLEMS; i++) {
        struct cs_problem problem = random_towards(&rng, (enum cs_direction)(i % CS_DIRECTIONS));
        struct fake fake = {.fixed = rng_between(&rng, 0, 4096),
                            .per_byte = (double)rng_between(&rng, 5, 30) / 10,
                            .curved = rng_between(&rng, 0, 3) == 0,
                            .profile = &h200};
        int64_t required = formula(&fake, &problem);
        struct cs_limits limits =
            limits_of(required / rng_between(&rng, 2, 30) + 1, (int)rng_between(&rng, 0, 2));
        struct cs_decision least = decide(&fake, &problem, required, fit, &limits);
        struct cs_decision quick = decide(&fake, &problem, required, fast, &limits);
        CHECK(least.reason != CS_REASON_NONE || quick.reason == CS_REASON_NONE);
        if (quick.reason != CS_REASON_NONE || least.reason != CS_REASON_NONE)
            continue;
        check_true(&fake, &problem, &quick);
        CHECK(quick.reported <= limits.workspace);
        CHECK(seconds_of(&fake, &problem, &quick) <=
              seconds_of(&fake, &problem, &least) * (1 + 1e-12));
        tiled_calls++;
        other += !cs_cut_tiling_equal(&quick.tiling, &least.tiling);
        runs += quick.tiling.runs > 0;
    }
    printf("# %d of %d rewritten by both, %d otherwise than fit, %d in tiles of several sizes\n",
           tiled_calls, RANDOM_PROBLEMS, other, runs);
    CHECK(tiled_calls > RANDOM_PROBLEMS / 10 && other > tiled_calls / 20 && runs > 0);
}

static double cost_of_many(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    return candidate->workspace > limits->workspace ? __builtin_inf()
                                                    : 1.0 / (double)candidate->tiles;
}

static int64_t fewest(const struct cs_limits *limits)
{
    (void)limits;
    return 0;
}

/* A policy that likes many tiles is shown more of them if it predicts, and only then. */
static void policies_say_whether_to_look_further(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct cs_limits limits = limits_of(64 * MIB, 1);
    struct cs_policy policy = {.name = "many", .tiles = fewest, .cost = cost_of_many};
    int64_t required = formula(&fake, &problem);
    struct cs_decision plain = decide(&fake, &problem, required, &policy, &limits);
    policy.predicts = true;
    struct cs_decision explored = decide(&fake, &problem, required, &policy, &limits);
    CHECK_INT(plain.reason, CS_REASON_NONE);
    CHECK_INT(explored.reason, CS_REASON_NONE);
    CHECK(explored.tiles >= 4 * plain.tiles);
    CHECK(explored.asked <= plain.asked + CS_EXPLORE_ASKS);
}

/* Memory that runs out at any ask is told as such. */
static void out_of_memory_at_any_ask(void)
{
    struct fake fake = vae_vendor();
    fake.profile = &h200;
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct cs_limits limits = limits_of(64 * MIB, 0);
    const struct cs_policy *fast = cs_policy_find("fast");
    int64_t required = formula(&fake, &problem);
    int64_t asked = decide(&fake, &problem, required, fast, &limits).asked;
    for (int64_t i = 1; i <= asked; i++) {
        fake.nomem_at = i;
        CHECK_INT(decide(&fake, &problem, required, fast, &limits).reason, CS_REASON_HOST_MEMORY);
    }
}

int main(void)
{
    TEST(fast_is_never_slower_than_fit);
    TEST(policies_say_whether_to_look_further);
    TEST(out_of_memory_at_any_ask);
    return REPORT();
}
