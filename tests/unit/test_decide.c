#include "check.h"
#include "convshim/policy.h"
#include "decide/decide.h"
#include "random_problem.h"
#include <math.h>

enum {
    RANDOM_PROBLEMS = 3000,
    SEED = 20263
};

/* A vendor whose workspaces follow a formula and whose kernels are counted. */
struct fake {
    int64_t fixed;                    /* bytes of every plan */
    double per_byte;                  /* bytes for each byte of x and y */
    bool erratic;                     /* workspaces without any order */
    bool refuses_one_sided;           /* padding that differs along an axis */
    bool curved;                      /* workspaces grow less and less with the size, in grains */
    int64_t refuses_below;            /* output rows */
    int64_t refuses_from, refuses_to; /* output rows, both included */
    bool refuses_all;
    int64_t nomem_at; /* the call that runs out of memory, counted from 1 */
    int64_t negative_at;
    int64_t lifeboat;      /* what the lifeboat needs */
    bool lifeboat_exceeds; /* it tells more than it was allowed */
    int64_t calls, live;
};

static int64_t formula(const struct fake *fake, const struct cs_problem *problem)
{
    int64_t x = 0, y = 0;
    if (cs_tensor_bytes(&problem->tensor[CS_X], &x) != CS_OK ||
        cs_tensor_bytes(&problem->tensor[CS_Y], &y) != CS_OK)
        return INT64_MAX;
    double bytes = (double)fake->fixed + fake->per_byte * ((double)x + (double)y);
    if (fake->curved)
        bytes = 512.0 * (double)(1 + (int64_t)(bytes * 1e4 / (bytes + 4e6)));
    if (fake->erratic) {
        struct rng rng = {(uint64_t)x * 31 + (uint64_t)y};
        bytes *= (double)rng_between(&rng, 1, 400) / 100;
    }
    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

static bool refused(const struct fake *fake, const struct cs_problem *problem)
{
    for (int i = 0; fake->refuses_one_sided && i < CS_SPATIAL; i++) {
        if (problem->pre[i] != problem->post[i])
            return true;
    }
    int64_t rows = problem->tensor[CS_Y].dims[CS_H];
    return fake->refuses_all || rows < fake->refuses_below ||
           (rows >= fake->refuses_from && rows <= fake->refuses_to);
}

static enum cs_status fake_build(void *ctx, const struct cs_problem *problem, void **kernel_p,
                                 int64_t *workspace_p)
{
    struct fake *fake = ctx;
    if (++fake->calls == fake->nomem_at)
        return CS_NOMEM;
    if (cs_problem_check(problem) != CS_OK || refused(fake, problem))
        return CS_REFUSED;
    fake->live++;
    *kernel_p = &fake->live;
    *workspace_p = fake->calls == fake->negative_at ? -1 : formula(fake, problem);
    return CS_OK;
}

static enum cs_status fake_lifeboat(void *ctx, int64_t limit, void **kernel_p, int64_t *workspace_p)
{
    struct fake *fake = ctx;
    if (++fake->calls == fake->nomem_at)
        return CS_NOMEM;
    if (fake->lifeboat > limit && !fake->lifeboat_exceeds)
        return CS_REFUSED;
    fake->live++;
    *kernel_p = &fake->live;
    *workspace_p = fake->lifeboat;
    return CS_OK;
}

static void fake_destroy(void *kernel)
{
    if (kernel)
        --*(int64_t *)kernel;
}

static struct cs_decision decide(struct fake *fake, const struct cs_problem *problem,
                                 int64_t wanted, const struct cs_policy *policy,
                                 const struct cs_limits *limits)
{
    struct cs_vendor vendor = {fake, fake_build, fake_lifeboat, fake_destroy};
    fake->calls = fake->live = 0;
    struct cs_decision decision = cs_decide(problem, wanted, policy, limits, &vendor);
    CHECK_INT(fake->live, 0);
    CHECK_INT(decision.asked, fake->calls);
    CHECK(decision.asked <= CS_MAX_ASKS);
    CHECK_INT(decision.wanted, wanted);
    if (decision.reason != CS_REASON_NONE)
        CHECK_INT(decision.told, wanted);
    return decision;
}

/* N x C x D x H x W to K channels with cubes of 3 and padding that keeps the extents; packed, f16.
 */
static struct cs_problem same(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w, int64_t k)
{
    struct cs_problem problem = {
        .compute = CS_F32,
        .spatial = d > 1 ? 3 : 2,
        .groups = 1,
        .pre = {d > 1, h > 1, w > 1},
        .post = {d > 1, h > 1, w > 1},
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1},
        .alpha = 1,
        .tensor = {{{n, c, d, h, w}, {0}, 16, CS_F16},
                   {{k, c, d > 1 ? 3 : 1, h > 1 ? 3 : 1, w > 1 ? 3 : 1}, {0}, 16, CS_F16},
                   {{n, k, d, h, w}, {0}, 16, CS_F16}},
    };
    struct rng rng = {1};
    for (int i = 0; i < CS_OPERANDS; i++)
        random_strides(&rng, CHANNELS_FIRST, problem.spatial, &problem.tensor[i]);
    CHECK_INT(cs_problem_check(&problem), CS_OK);
    return problem;
}

static const int64_t MIB = 1048576;

/* 1x512x512x512, K 512: 516.5 MiB wanted, and 64 MiB of it in nine row slices. */
static struct fake vae_vendor(void)
{
    return (struct fake){.fixed = 9 * MIB / 2, .per_byte = 1};
}

static void small_asks_nothing(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    const struct cs_policy *fit = cs_policy_find("fit"), *fixed = cs_policy_find("fixed");
    const struct {
        int64_t workspace, threshold, wanted;
        bool small;
    } cases[] = {
        {64 * MIB, -1, 64 * MIB, true},
        {64 * MIB, -1, 64 * MIB + 1, false},
        {64 * MIB, 8 * MIB, 8 * MIB, true},
        {64 * MIB, 8 * MIB, 8 * MIB + 1, false},
        {64 * MIB, 99 * MIB, 64 * MIB + 1, false},
        {64 * MIB, 99 * MIB, 64 * MIB, true},
        {64 * MIB, 0, 0, true},
        {0, -1, 1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cs_limits limits = {cases[i].workspace, cases[i].threshold, 4};
        struct cs_decision decision = decide(&fake, &problem, cases[i].wanted, fit, &limits);
        CHECK_INT(decision.asked == 0, cases[i].small);
        if (cases[i].small)
            CHECK_INT(decision.reason, CS_REASON_SMALL);
    }
    struct cs_limits limits = {64 * MIB, 1, 4};
    CHECK_INT(decide(&fake, &problem, 1, fixed, &limits).reason, CS_REASON_SMALL);
    CHECK_INT(fake.calls, 0);
}

static void vae_layer_in_nine(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct cs_limits limits = {64 * MIB, -1, 4};
    int64_t wanted = formula(&fake, &problem);
    struct cs_decision decision = decide(&fake, &problem, wanted, cs_policy_find("fit"), &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.axis, CS_AXIS_H);
    CHECK_INT(decision.tiles, 9);
    CHECK_INT(decision.step, 57);
    CHECK_INT(decision.told, 9 * MIB / 2 + (59 + 57) * MIB / 2);
    CHECK_INT(decision.scratch, decision.told);
    CHECK(decision.asked <= 10);
}

/* What a decision says is so: the cut exists, is valid, and each of its kinds is granted and within
 * the told bytes. */
static void check_true(const struct fake *fake, const struct cs_problem *problem,
                       const struct cs_decision *decision)
{
    static struct cs_plan plan;
    CHECK_INT(cs_plan_cut(problem, decision->axis, decision->step, &plan), CS_OK);
    CHECK_INT(plan.tiles, decision->tiles);
    for (int k = 0; k < plan.kinds; k++) {
        CHECK(!refused(fake, &plan.kind[k].problem));
        plan.kind[k].workspace = formula(fake, &plan.kind[k].problem);
    }
    cs_plan_settle(&plan);
    CHECK_INT(plan.workspace, decision->scratch);
    CHECK_INT(cs_plan_validate(&plan, decision->told), CS_OK);
}

/* The fewest tiles over every step of an axis, asked one by one; INT64_MAX if none comes under the
 * limit. */
static int64_t exhaustive(const struct fake *fake, const struct cs_problem *problem,
                          enum cs_axis axis, int64_t limit)
{
    static struct cs_plan plan;
    int64_t fewest = INT64_MAX;
    for (int64_t step = 1; step < cs_axis_extent(problem, axis); step++) {
        bool fits = cs_plan_cut(problem, axis, step, &plan) == CS_OK && plan.tiles < fewest;
        for (int k = 0; fits && k < plan.kinds; k++)
            fits = formula(fake, &plan.kind[k].problem) <= limit;
        if (fits)
            fewest = plan.tiles;
    }
    return fewest;
}

static int64_t exhaustive_axes(const struct fake *fake, const struct cs_problem *problem,
                               int64_t limit)
{
    int64_t fewest = INT64_MAX;
    for (int axis = CS_AXIS_N; axis <= CS_AXIS_H; axis++) {
        int64_t tiles = exhaustive(fake, problem, (enum cs_axis)axis, limit);
        fewest = tiles < fewest ? tiles : fewest;
    }
    return fewest < INT64_MAX ? fewest : exhaustive(fake, problem, CS_AXIS_W, limit);
}

static struct cs_problem random_same(struct rng *rng)
{
    bool volume = rng_between(rng, 0, 1);
    return same(rng_magnitude(rng, 4), rng_magnitude(rng, 4), volume ? rng_between(rng, 2, 30) : 1,
                rng_magnitude(rng, volume ? 5 : 8), rng_between(rng, 2, volume ? 20 : 200),
                rng_magnitude(rng, 4));
}

static void fewest_as_exhaustive_search(void)
{
    struct rng rng = {SEED};
    const struct cs_policy *fit = cs_policy_find("fit");
    int64_t rewritten = 0, asked = 0, most_asked = 0, on_axis[CS_AXES] = {0};
    for (int i = 0; i < RANDOM_PROBLEMS; i++) {
        struct cs_problem problem = random_same(&rng);
        struct fake fake = {.per_byte = (double)rng_between(&rng, 1, 8) / 2};
        fake.fixed = formula(&fake, &problem) / rng_between(&rng, 4, 1000);
        fake.curved = rng_between(&rng, 0, 2) == 0;
        int64_t wanted = formula(&fake, &problem);
        struct cs_limits limits = {wanted / rng_between(&rng, 2, 40), -1, 4};
        struct cs_decision decision = decide(&fake, &problem, wanted, fit, &limits);
        int64_t want = exhaustive_axes(&fake, &problem, limits.workspace);
        CHECK_INT(decision.reason, want < INT64_MAX ? CS_REASON_NONE : CS_REASON_NO_TILING);
        if (want == INT64_MAX)
            continue;
        CHECK_INT(decision.tiles, want);
        CHECK(decision.told <= limits.workspace);
        check_true(&fake, &problem, &decision);
        rewritten++;
        on_axis[decision.axis]++;
        asked += decision.asked;
        most_asked = !fake.curved && decision.asked > most_asked ? decision.asked : most_asked;
    }
    printf("# seed %d: %lld of %d problems tiled (N %lld D %lld H %lld W %lld), "
           "asks %.1f on average, %lld at most where workspaces are linear\n",
           SEED, (long long)rewritten, RANDOM_PROBLEMS, (long long)on_axis[CS_AXIS_N],
           (long long)on_axis[CS_AXIS_D], (long long)on_axis[CS_AXIS_H],
           (long long)on_axis[CS_AXIS_W], (double)asked / (double)rewritten, (long long)most_asked);
    CHECK(rewritten > RANDOM_PROBLEMS / 3);
    for (int axis = CS_AXIS_N; axis < CS_AXES; axis++)
        CHECK(on_axis[axis] > 0);
    CHECK(asked <= 10 * rewritten);
    CHECK(most_asked <= 20);
}

/* Workspaces without order and refusals: perhaps not the fewest tiles, but never a lie, and an end.
 */
static void hostile_vendors(void)
{
    struct rng rng = {SEED};
    const struct cs_policy *fit = cs_policy_find("fit"), *fixed = cs_policy_find("fixed");
    int64_t rewritten = 0;
    for (int i = 0; i < 2 * RANDOM_PROBLEMS; i++) {
        struct cs_problem problem = i % 2 ? random_same(&rng) : random_small(&rng);
        struct fake fake = {
            .fixed = rng_between(&rng, 0, 1000),
            .per_byte = 1,
            .erratic = rng_between(&rng, 0, 1),
            .refuses_one_sided = rng_between(&rng, 0, 2) == 0,
            .refuses_below = rng_between(&rng, 0, 1) ? rng_between(&rng, 0, 9) : 0,
            .negative_at = rng_between(&rng, 0, 20),
            .lifeboat = rng_between(&rng, 0, 2000),
        };
        int64_t wanted = formula(&fake, &problem);
        struct cs_limits limits = {wanted / rng_between(&rng, 1, 30), rng_between(&rng, -1, 0),
                                   rng_between(&rng, 1, 9)};
        const struct cs_policy *policy = rng_between(&rng, 0, 3) ? fit : fixed;
        struct cs_decision decision = decide(&fake, &problem, wanted, policy, &limits);
        struct cs_decision again = decide(&fake, &problem, wanted, policy, &limits);
        CHECK_INT(again.reason, decision.reason);
        CHECK_INT(again.told, decision.told);
        CHECK_INT(again.step, decision.step);
        if (decision.reason != CS_REASON_NONE) {
            CHECK_INT(decision.axis, CS_AXIS_NONE);
            continue;
        }
        rewritten++;
        check_true(&fake, &problem, &decision);
        CHECK(decision.told <= wanted && decision.told >= fake.lifeboat);
        CHECK(policy == fixed || decision.told <= limits.workspace);
    }
    printf("# %lld of %d tiled\n", (long long)rewritten, 2 * RANDOM_PROBLEMS);
    CHECK(rewritten > RANDOM_PROBLEMS / 4);
}

static void refusals_have_reasons(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct cs_limits limits = {64 * MIB, -1, 4};
    const struct cs_policy *fit = cs_policy_find("fit");
    int64_t wanted = formula(&fake, &problem);

    fake.refuses_all = true;
    CHECK_INT(decide(&fake, &problem, wanted, fit, &limits).reason, CS_REASON_VENDOR);
    CHECK(fake.calls > 1);

    fake = vae_vendor();
    fake.fixed = 65 * MIB;
    CHECK_INT(decide(&fake, &problem, wanted, fit, &limits).reason, CS_REASON_NO_TILING);
    fake.fixed = INT64_MAX;
    CHECK_INT(decide(&fake, &problem, INT64_MAX, fit, &limits).reason, CS_REASON_NO_TILING);

    struct cs_problem dot = same(1, 512, 1, 1, 1, 512);
    CHECK_INT(decide(&fake, &dot, wanted, fit, &limits).reason, CS_REASON_NO_TILING);
    CHECK_INT(fake.calls, 0);

    /* Small problems are refused, as knobs chosen for large ones are: the rows stay above that. */
    fake = vae_vendor();
    fake.refuses_below = 40;
    struct cs_decision decision = decide(&fake, &problem, wanted, fit, &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    check_true(&fake, &problem, &decision);

    /* Just the cut that looks best is refused. */
    fake = vae_vendor();
    fake.refuses_from = 50;
    fake.refuses_to = 80;
    decision = decide(&fake, &problem, wanted, fit, &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK(decision.tiles > 9 && decision.tiles <= 12);
    check_true(&fake, &problem, &decision);
}

/* Filters that reach far make sixteen kinds of tile and each of them costs an ask: still no more
 * than allowed. */
static void asks_are_bounded(void)
{
    const struct cs_policy *fit = cs_policy_find("fit");
    struct rng rng = {SEED};
    int64_t most = 0;
    for (int i = 0; i < RANDOM_PROBLEMS; i++) {
        struct fake fake = {.per_byte = 1, .erratic = i % 2, .curved = i % 3};
        struct cs_problem problem = same(2, 8, 400, 800, 1, 8);
        for (int s = 0; s < 2; s++) {
            problem.tensor[CS_FILTER].dims[CS_D + s] = 9;
            problem.dilation[s] = rng_between(&rng, 1, 40);
            problem.pre[s] = problem.post[s] = 4 * problem.dilation[s];
        }
        CHECK_INT(cs_problem_check(&problem), CS_OK);
        int64_t wanted = formula(&fake, &problem);
        struct cs_limits limits = {wanted / rng_between(&rng, 2, 30), -1, 4};
        struct cs_decision decision = decide(&fake, &problem, wanted, fit, &limits);
        most = decision.asked > most ? decision.asked : most;
        if (decision.reason == CS_REASON_NONE)
            check_true(&fake, &problem, &decision);
    }
    printf("# asks: %lld at most\n", (long long)most);
    CHECK(most >= CS_MAX_ASKS - 2);
}

/* The n-th call runs out of memory, for every n: nothing leaks and the reason says so. */
static void memory_runs_out(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(2, 256, 1, 512, 512, 512);
    struct cs_limits limits = {64 * MIB, -1, 4};
    int64_t wanted = formula(&fake, &problem);
    int64_t calls = decide(&fake, &problem, wanted, cs_policy_find("fit"), &limits).asked;
    CHECK(calls > 4);
    for (fake.nomem_at = 1; fake.nomem_at <= calls + 1; fake.nomem_at++) {
        struct cs_decision decision =
            decide(&fake, &problem, wanted, cs_policy_find("fit"), &limits);
        CHECK_INT(decision.reason, fake.nomem_at <= calls ? CS_REASON_HOST_MEMORY : CS_REASON_NONE);
    }
}

static void lifeboats(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct cs_limits limits = {64 * MIB, -1, 4};
    const struct cs_policy *fit = cs_policy_find("fit");
    int64_t wanted = formula(&fake, &problem);
    int64_t scratch = decide(&fake, &problem, wanted, fit, &limits).told;
    CHECK(scratch < limits.workspace);

    fake.lifeboat = scratch;
    CHECK_INT(decide(&fake, &problem, wanted, fit, &limits).told, scratch);
    fake.lifeboat = scratch + 1;
    struct cs_decision raised = decide(&fake, &problem, wanted, fit, &limits);
    CHECK_INT(raised.told, scratch + 1);
    CHECK_INT(raised.scratch, scratch);
    fake.lifeboat = limits.workspace;
    CHECK_INT(decide(&fake, &problem, wanted, fit, &limits).told, limits.workspace);
    fake.lifeboat = limits.workspace + 1;
    CHECK_INT(decide(&fake, &problem, wanted, fit, &limits).reason, CS_REASON_NO_LIFEBOAT);
    fake.lifeboat_exceeds = true;
    CHECK_INT(decide(&fake, &problem, wanted, fit, &limits).reason, CS_REASON_NO_LIFEBOAT);

    /* Nothing is rewritten to need more than the client wanted, not even for a lifeboat. */
    struct cs_limits loose = {2 * wanted, 0, 4};
    fake = vae_vendor();
    fake.lifeboat = wanted + 1;
    CHECK_INT(decide(&fake, &problem, wanted, cs_policy_find("fixed"), &loose).reason,
              CS_REASON_NO_LIFEBOAT);
}

static void off_reports_what_fit_does(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct cs_limits limits = {64 * MIB, -1, 4};
    int64_t wanted = formula(&fake, &problem);
    struct cs_decision fit = decide(&fake, &problem, wanted, cs_policy_find("fit"), &limits);
    fake.lifeboat = INT64_MAX;
    struct cs_decision off = decide(&fake, &problem, wanted, cs_policy_find("off"), &limits);
    CHECK_INT(off.reason, CS_REASON_REPORT_ONLY);
    CHECK_INT(off.told, wanted);
    CHECK_INT(off.scratch, fit.scratch);
    CHECK_INT(off.axis, fit.axis);
    CHECK_INT(off.step, fit.step);
    CHECK_INT(off.tiles, fit.tiles);
}

static void fixed_takes_the_count(void)
{
    struct fake fake = {.per_byte = 1};
    const struct cs_policy *fixed = cs_policy_find("fixed");
    struct cs_limits limits = {64 * MIB, 0, 4};
    struct cs_problem problem = same(2, 8, 1, 64, 64, 8);
    int64_t wanted = formula(&fake, &problem);
    struct cs_decision decision = decide(&fake, &problem, wanted, fixed, &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.axis, CS_AXIS_H); /* a quarter is less than half of the batch */
    CHECK_INT(decision.tiles, 4);
    check_true(&fake, &problem, &decision);

    limits.tiles = 2; /* now N needs as little as H, and has no halo */
    decision = decide(&fake, &problem, wanted, fixed, &limits);
    CHECK_INT(decision.axis, CS_AXIS_N);
    CHECK_INT(decision.tiles, 2);

    limits.tiles = 5000; /* clamped to the extent */
    decision = decide(&fake, &problem, wanted, fixed, &limits);
    CHECK_INT(decision.axis, CS_AXIS_H);
    CHECK_INT(decision.tiles, 64);

    limits.tiles = 1;
    CHECK_INT(decide(&fake, &problem, wanted, fixed, &limits).reason, CS_REASON_NO_TILING);

    limits.tiles = 4;
    fake.per_byte = 0; /* nothing wanted, nothing needed: tiled all the same at threshold 0 */
    decision = decide(&fake, &problem, 0, fixed, &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.told, 0);
    fake.fixed = 1;
    CHECK_INT(decide(&fake, &problem, 0, fixed, &limits).reason, CS_REASON_NO_TILING);

    struct cs_problem line = same(1, 8, 1, 1, 64, 8);
    decision = decide(&fake, &line, 100, fixed, &limits);
    CHECK_INT(decision.axis, CS_AXIS_W);
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
    return candidate->axis == CS_AXIS_H ? -INFINITY : INFINITY;
}

/* Vetoes by NaN what it sees first, so that a comparison with NaN would keep it. */
static double cost_nan_untiled(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    (void)limits;
    return candidate->axis == CS_AXIS_NONE ? NAN : (double)candidate->workspace;
}

static double cost_same(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    (void)candidate, (void)limits;
    return 7;
}

static int listed[CS_AXES], listed_over;

static double cost_noting(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    listed[candidate->axis]++;
    listed_over += candidate->axis != CS_AXIS_NONE && candidate->workspace > limits->workspace;
    return (double)candidate->tiles;
}

static void policies_of_all_sorts(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct cs_limits limits = {64 * MIB, 1, 4};
    int64_t wanted = formula(&fake, &problem);
    struct cs_policy policy = {.name = "odd", .tiles = zero_tiles, .cost = cost_nan};
    CHECK_INT(decide(&fake, &problem, wanted, &policy, &limits).reason, CS_REASON_NO_TILING);
    policy.cost = cost_infinite;
    CHECK_INT(decide(&fake, &problem, wanted, &policy, &limits).reason, CS_REASON_NO_TILING);
    policy.cost = cost_nan_untiled;
    CHECK_INT(decide(&fake, &problem, wanted, &policy, &limits).reason, CS_REASON_NONE);
    policy.cost = cost_same; /* the untiled call is listed first */
    CHECK_INT(decide(&fake, &problem, wanted, &policy, &limits).reason, CS_REASON_NO_TILING);
    limits.workspace = 2 * wanted;
    CHECK_INT(decide(&fake, &problem, wanted, &policy, &limits).reason, CS_REASON_SMALL);

    limits.workspace = 64 * MIB;
    policy.cost = cost_noting;
    decide(&fake, &problem, wanted, &policy, &limits);
    CHECK_INT(listed[CS_AXIS_NONE], 1);
    CHECK(listed[CS_AXIS_H] >= 1);
    CHECK_INT(listed[CS_AXIS_W], 0);
    CHECK_INT(listed_over, 0);
}

int main(void)
{
    TEST(small_asks_nothing);
    TEST(vae_layer_in_nine);
    TEST(fewest_as_exhaustive_search);
    TEST(hostile_vendors);
    TEST(refusals_have_reasons);
    TEST(asks_are_bounded);
    TEST(memory_runs_out);
    TEST(lifeboats);
    TEST(off_reports_what_fit_does);
    TEST(fixed_takes_the_count);
    TEST(policies_of_all_sorts);
    return REPORT();
}
