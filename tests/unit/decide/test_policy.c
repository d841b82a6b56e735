#include "check.h"
#include "convshim/policy.h"
#include "random_problem.h"
#include <math.h>

enum {
    PAIRS = 100000,
    SEED = 20265
};

static const int64_t KIB = 1024;

static struct cs_candidate random_candidate(struct rng *rng)
{
    struct cs_candidate candidate = {
        .tiling = {.axis = {(enum cs_axis)rng_between(rng, CS_AXIS_N, CS_AXIS_C)},
                   .step = {rng_between(rng, 1, 100), 1},
                   .lanes = (int)rng_between(rng, 0, 1) * (int)rng_between(rng, 0, CS_MAX_LANES)},
        .tiles = rng_between(rng, 2, rng_between(rng, 0, 1) ? 4 : CS_MAX_TILES),
        .shapes = rng_between(rng, 1, CS_MAX_TILE_SHAPES),
        .workspace = rng_between(rng, 0, 3) * rng_magnitude(rng, 40),
        .halo = rng_between(rng, 0, 3) ? KIB * rng_magnitude(rng, 36) : 0,
        .seconds = (double)rng_magnitude(rng, 30) * 1e-6,
    };
    candidate.required = candidate.workspace + rng_magnitude(rng, 36);
    return candidate;
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static void registry(void)
{
    int count = 0;
    for (; cs_policies[count]; count++) {
        const struct cs_policy *policy = cs_policies[count];
        CHECK(cs_policy_find(policy->name) == policy);
        CHECK(cs_policy_names[count] && strcmp(cs_policy_names[count], policy->name) == 0);
        CHECK(policy->tiles && policy->cost);
        CHECK(policy->summary && strlen(policy->summary) > 10 && !strchr(policy->summary, '\n'));
    }
    CHECK(count >= 4 && !cs_policy_names[count]);
    CHECK(cs_policy_find("fit") && cs_policy_find("off") && cs_policy_find("fixed"));
    CHECK(cs_policy_find("fi") == NULL);
    CHECK(cs_policy_find("") == NULL);
    CHECK(cs_policy_find("fast") && !cs_policy_find("fast")->report_only);
    CHECK(cs_policy_find("off")->report_only);
    CHECK(cs_policy_find("peak")->watches && !cs_policy_find("fit")->watches);
    CHECK(!cs_policy_find("fit")->report_only && !cs_policy_find("fixed")->report_only);
}

/* Whatever it is given, a policy of ours says a number or infinity, the same one each time. */
static void costs_are_numbers(void)
{
    struct rng rng = {SEED};
    for (int i = 0; i < PAIRS; i++) {
        struct cs_candidate candidate = random_candidate(&rng);
        struct cs_limits limits = {.workspace = rng_magnitude(&rng, 40),
                                   .threshold = -1,
                                   .tiles = rng_between(&rng, 1, 1024),
                                   .min_saving = rng_magnitude(&rng, 36),
                                   .lanes = 1};
        for (int p = 0; cs_policies[p]; p++) {
            double cost = cs_policies[p]->cost(&candidate, &limits);
            double again = cs_policies[p]->cost(&candidate, &limits);
            CHECK(!isnan(cost) && (cost >= 0) && !(cost < again) && !(cost > again));
        }
    }
}

/* Tiles one behind the other, of which several lanes save a fifth. */
static int64_t fit_rounds(const struct cs_candidate *candidate)
{
    int64_t rounds = 0, saved = 0;
    if (candidate->tiling.lanes < 2)
        return candidate->tiles;
    for (int64_t tile = 0; tile < candidate->tiles; tile += candidate->tiling.lanes)
        saved += ++rounds % 5 == 0;
    return rounds - saved;
}

/* fit is exactly: under the limit, then rounds, then halo, then kinds. */
static void fit_orders(void)
{
    struct rng rng = {SEED};
    const struct cs_policy *fit = cs_policy_find("fit");
    struct cs_limits limits = {
        .workspace = INT64_C(1) << 38, .threshold = -1, .tiles = 4, .lanes = 1};
    CHECK_INT(fit->tiles(&limits), 0);
    for (int i = 0; i < PAIRS; i++) {
        struct cs_candidate a = random_candidate(&rng), b = random_candidate(&rng);
        if (rng_between(&rng, 0, 1)) {
            b.tiles = a.tiles;
            b.tiling.lanes = a.tiling.lanes;
        }
        if (rng_between(&rng, 0, 1))
            b.halo = a.halo;
        double cost_a = fit->cost(&a, &limits), cost_b = fit->cost(&b, &limits);
        CHECK_INT(isinf(cost_a) != 0, a.workspace > limits.workspace);
        if (isinf(cost_a) || isinf(cost_b))
            continue;
        int want = compare(fit_rounds(&a), fit_rounds(&b));
        want = want ? want : compare(a.halo, b.halo);
        want = want ? want : compare(a.shapes, b.shapes);
        CHECK_INT((cost_a > cost_b) - (cost_a < cost_b), want);
    }
    struct cs_candidate untiled = {.tiles = 1, .shapes = 1, .workspace = limits.workspace};
    struct cs_candidate halves = {.tiling = {.axis = {CS_AXIS_N}}, .tiles = 2, .shapes = 1};
    CHECK(fit->cost(&untiled, &limits) < fit->cost(&halves, &limits));
}

static void costs_what_fit_costs(const char *name)
{
    struct rng rng = {SEED};
    const struct cs_policy *fit = cs_policy_find("fit"), *other = cs_policy_find(name);
    struct cs_limits limits = {
        .workspace = INT64_C(1) << 36, .threshold = -1, .tiles = 4, .lanes = 1};
    CHECK_INT(other->tiles(&limits), fit->tiles(&limits));
    for (int i = 0; i < PAIRS; i++) {
        struct cs_candidate candidate = random_candidate(&rng);
        double a = fit->cost(&candidate, &limits), b = other->cost(&candidate, &limits);
        CHECK(!(a < b) && !(a > b));
    }
}

static void others_cost_what_fit_costs(void)
{
    costs_what_fit_costs("off");
    costs_what_fit_costs("peak");
    costs_what_fit_costs("budget");
    costs_what_fit_costs("measure");
}

/* What each of them has the core do; a letter for each flag. */
static void what_policies_are_for(void)
{
    static const struct {
        const char *name, *flags;
        int contenders;
    } rows[] = {{"fit", "", 0},     {"off", "r", 0},    {"fixed", "", 0}, {"fast", "p", 0},
                {"measure", "", 4}, {"budget", "d", 0}, {"peak", "w", 0}};
    int count = 0;
    for (; cs_policies[count]; count++)
        continue;
    CHECK_INT(count, sizeof rows / sizeof *rows);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct cs_policy *policy = cs_policy_find(rows[i].name);
        char flags[5];
        snprintf(flags, sizeof flags, "%s%s%s%s", policy->report_only ? "r" : "",
                 policy->predicts ? "p" : "", policy->divides ? "d" : "",
                 policy->watches ? "w" : "");
        CHECK_STR(flags, rows[i].flags);
        CHECK_INT(policy->contenders, rows[i].contenders);
    }
}

/* Copied bytes count as those that are read again, by the KiB; beyond 2^37 KiB all are as many. */
static void fit_counts_copies(void)
{
    const struct cs_policy *fit = cs_policy_find("fit");
    const int64_t most = (INT64_C(1) << 37) - 1;
    static const struct {
        int64_t halo, copied, kib;
    } rows[] = {{0, 0, 0},
                {1023, 1023, 0},
                {1024, 0, 1},
                {0, 1024, 1},
                {3 << 10, 2 << 10, 5},
                {1, INT64_MAX, -1},
                {INT64_MAX, INT64_MAX, -1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t kib = rows[i].kib < 0 ? most : rows[i].kib;
        struct cs_limits limits = {.workspace = 100};
        struct cs_candidate candidate = {.tiles = 3, .shapes = 2, .workspace = 100};
        candidate.halo = rows[i].halo;
        candidate.copied = rows[i].copied;
        CHECK(fit->cost(&candidate, &limits) == (double)((3 * (most + 1) + kib) * 32 + 2));
        candidate.workspace++;
        CHECK(isinf(fit->cost(&candidate, &limits)));
    }
    for (int64_t kib = most - 1; kib <= most + 1; kib++) {
        struct cs_limits limits = {.workspace = 100};
        struct cs_candidate candidate = {.tiles = 0, .shapes = 1, .halo = kib * 1024};
        CHECK(fit->cost(&candidate, &limits) == (double)((kib < most ? kib : most) * 32 + 1));
    }
}

static void fixed_counts_copies(void)
{
    const struct cs_policy *fixed = cs_policy_find("fixed");
    struct cs_limits limits = {.workspace = 0};
    struct cs_candidate candidate = {.tiling = {.axis = {CS_AXIS_N}}, .workspace = 100};
    CHECK(fixed->cost(&candidate, &limits) == 100);
    candidate.copied = 1 << 30;
    CHECK(fixed->cost(&candidate, &limits) == 100.5);
    candidate.halo = INT64_C(2) << 30;
    CHECK(fixed->cost(&candidate, &limits) == 100.75);
    candidate.copied = 0;
    candidate.halo = 1 << 30;
    CHECK(fixed->cost(&candidate, &limits) == 100.5);
}

/* fixed never leaves a call whole; least workspace, then least halo, whatever the limit. */
static void fixed_orders(void)
{
    struct rng rng = {SEED};
    const struct cs_policy *fixed = cs_policy_find("fixed");
    struct cs_limits limits = {.workspace = KIB, .threshold = -1, .tiles = 17, .lanes = 1};
    struct cs_candidate untiled = {.tiles = 1, .shapes = 1};
    CHECK_INT(fixed->tiles(&limits), 17);
    CHECK(isinf(fixed->cost(&untiled, &limits)));
    for (int i = 0; i < PAIRS; i++) {
        struct cs_candidate a = random_candidate(&rng), b = random_candidate(&rng);
        if (rng_between(&rng, 0, 1))
            b.workspace = a.workspace;
        a.workspace %= 1 << 30;
        b.workspace %= 1 << 30;
        a.halo %= 1 << 20;
        b.halo %= 1 << 20;
        double cost_a = fixed->cost(&a, &limits), cost_b = fixed->cost(&b, &limits);
        int want = compare(a.workspace, b.workspace);
        want = want ? want : compare(a.halo, b.halo);
        CHECK(isfinite(cost_a) && isfinite(cost_b));
        CHECK_INT((cost_a > cost_b) - (cost_a < cost_b), want);
    }
}

/* fast is exactly: under the limit and saving enough, then predicted time. */
static void fast_orders(void)
{
    struct rng rng = {SEED};
    const struct cs_policy *fast = cs_policy_find("fast");
    struct cs_limits limits = {.workspace = INT64_C(1) << 38,
                               .threshold = -1,
                               .tiles = 4,
                               .min_saving = INT64_C(1) << 20,
                               .lanes = 1};
    CHECK_INT(fast->tiles(&limits), 0);
    for (int i = 0; i < PAIRS; i++) {
        struct cs_candidate a = random_candidate(&rng), b = random_candidate(&rng);
        double cost_a = fast->cost(&a, &limits), cost_b = fast->cost(&b, &limits);
        bool saves = a.required - a.workspace >= limits.min_saving;
        CHECK_INT(isinf(cost_a) != 0, a.workspace > limits.workspace || !saves);
        if (isfinite(cost_a) && isfinite(cost_b))
            CHECK_INT((cost_a > cost_b) - (cost_a < cost_b),
                      (a.seconds > b.seconds) - (a.seconds < b.seconds));
    }
}

/* To leave a call as it is saves nothing and need not; another engine for the whole must. */
static void fast_weighs_what_is_saved(void)
{
    const struct cs_policy *fast = cs_policy_find("fast");
    struct cs_limits limits = {.workspace = 100 * KIB, .min_saving = 10 * KIB};
    struct cs_candidate untiled = {
        .tiles = 1, .shapes = 1, .workspace = 100 * KIB, .required = 100 * KIB, .seconds = 2};
    struct cs_candidate halves = {.tiling = {.axis = {CS_AXIS_N}},
                                  .tiles = 2,
                                  .shapes = 1,
                                  .workspace = 90 * KIB,
                                  .required = 100 * KIB,
                                  .seconds = 1};
    CHECK(fast->cost(&halves, &limits) < fast->cost(&untiled, &limits));
    halves.seconds = 3;
    CHECK(fast->cost(&halves, &limits) > fast->cost(&untiled, &limits));
    halves.workspace++;
    CHECK(isinf(fast->cost(&halves, &limits)));
    struct cs_candidate other = untiled;
    other.workspace = 91 * KIB;
    CHECK(isinf(fast->cost(&other, &limits)));
    other.tiling.relaxation = CS_TILE_HEURISTICS; /* calls that want nothing save nothing */
    CHECK(isfinite(fast->cost(&other, &limits)));
    other.tiling.relaxation = CS_SIMILAR_ENGINE;
    CHECK(isinf(fast->cost(&other, &limits)));
    other.workspace = 90 * KIB;
    CHECK(isfinite(fast->cost(&other, &limits)));
    limits.provided = true;
    CHECK(isfinite(fast->cost(&halves, &limits)));
    limits.workspace = 99 * KIB;
    CHECK(isinf(fast->cost(&untiled, &limits)));
}

/* Without a prediction the order is fit's, among what saves enough. */
static void fast_without_device_is_fit(void)
{
    struct rng rng = {SEED};
    const struct cs_policy *fit = cs_policy_find("fit"), *fast = cs_policy_find("fast");
    struct cs_limits limits = {.workspace = INT64_C(1) << 36, .threshold = -1, .tiles = 4};
    for (int i = 0; i < PAIRS; i++) {
        struct cs_candidate candidate = random_candidate(&rng);
        candidate.seconds = 0;
        double a = fit->cost(&candidate, &limits), b = fast->cost(&candidate, &limits);
        CHECK(!(a < b) && !(a > b));
    }
}

int main(void)
{
    TEST(registry);
    TEST(costs_are_numbers);
    TEST(fit_orders);
    TEST(others_cost_what_fit_costs);
    TEST(what_policies_are_for);
    TEST(fit_counts_copies);
    TEST(fixed_counts_copies);
    TEST(fixed_orders);
    TEST(fast_orders);
    TEST(fast_weighs_what_is_saved);
    TEST(fast_without_device_is_fit);
    return REPORT();
}
