/* Decisions that weigh what tiles cost: workspace raised for max_slowdown, less of it where that is
 * cheap, other axes where one reads much again, the least where nothing fits. */
#include "decide/by_rules.h"
#include "decide/cost.h"
#include "decide/guess.h"
#include "decide/price.h"
#include "fake_vendor.h"

enum {
    ROUNDS = 1500,
    SEED = 1015
};

static const struct cs_profile h200 = {.capability = 900};
static const struct cs_profile t4 = {.capability = 750};
static const struct cs_profile rtx4090 = {.name = "NVIDIA GeForce RTX 4090", .capability = 890};

static struct cs_plan plan;

/* The decision's plan with its workspaces, in `plan`. */
static void plan_of(const struct fake *fake, const struct cs_problem *problem,
                    const struct cs_tiling *tiling)
{
    static struct cs_problem shape;
    CHECK_INT(cs_plan_cut(problem, tiling, &plan), CS_OK);
    for (int64_t i = 0; i < plan.shapes; i++) {
        cs_plan_problem(&plan, i, &shape);
        plan.shape[i].workspace = formula_at(fake, &shape, plan.shape[i].relaxation);
    }
    cs_plan_settle(&plan);
}

/* Times the untiled call: the larger of seconds and of bytes. */
static double price(const struct fake *fake, const struct cs_problem *problem,
                    const struct cs_tiling *tiling)
{
    static const struct cs_tiling untiled = {.step = {1, 1}};
    plan_of(fake, problem, &untiled);
    double before = cs_cost_of(&plan, fake->profile).seconds;
    plan_of(fake, problem, tiling);
    double time = cs_cost_of(&plan, fake->profile).seconds / before;
    double bytes = 1 + (double)plan.halo / cs_search_size(problem);
    return time > bytes ? time : bytes;
}

static struct cs_problem large(struct rng *rng)
{
    enum cs_direction direction = (enum cs_direction)rng_between(rng, 0, 2);
    bool volume = rng_between(rng, 0, 3) == 0;
    struct cs_problem problem =
        towards(direction, rng_magnitude(rng, 6), 8 * rng_magnitude(rng, 7),
                volume ? rng_between(rng, 16, 64) : 1, rng_between(rng, 16, 600),
                rng_between(rng, 16, 600), 8 * rng_magnitude(rng, 7));
    if (rng_between(rng, 0, 1)) {
        int64_t dilation = rng_between(rng, 2, 36);
        for (int i = CS_SPATIAL - problem.spatial; i < CS_SPATIAL; i++)
            if (problem.tensor[CS_FILTER].dims[CS_D + i] == 3)
                problem.dilation[i] = problem.pre[i] = problem.post[i] = dilation;
        CHECK_INT(cs_problem_check(&problem), CS_OK);
    }
    if (direction == CS_BACKWARD_FILTER && rng_between(rng, 0, 1)) {
        problem.tensor[CS_FILTER].dtype = CS_F32;
        CHECK_INT(cs_problem_check(&problem), CS_OK);
    }
    return problem;
}

static struct fake random_vendor(struct rng *rng)
{
    static const struct cs_profile *const profiles[] = {&h200, &t4, &rtx4090};
    return (struct fake){.fixed = rng_magnitude(rng, 12),
                         .per_byte = (double)rng_between(rng, 50, 200) / 100,
                         .per_filter_byte = (double)rng_between(rng, 0, 2),
                         .refuses_one_sided = rng_between(rng, 0, 9) == 0,
                         .profile = profiles[rng_between(rng, 0, 2)]};
}

/* As the command and the library decide, with these options and no rule. */
static struct cs_decision decide_by(struct fake *fake, const struct cs_problem *problem,
                                    int64_t required, const struct cs_limits *limits)
{
    const struct cs_settings settings = {
        .policy = cs_policy_find("fit"), .limits = *limits, .most = INT64_MAX};
    const struct cs_decide_call call = {.problem = problem, .required = required, .engine = 1};
    struct cs_vendor vendor = {.ctx = fake,
                               .compiles = fake->compiles,
                               .rigid = fake->stubborn == 0,
                               .build = fake_build,
                               .fallback = fake_fallback,
                               .destroy = fake_destroy,
                               .profile = fake_profile};
    fake->calls = fake->live = 0;
    struct cs_decision decision = cs_decide_by_rules(&settings, &call, &vendor, NULL);
    CHECK_INT(fake->live, 0);
    CHECK_INT(decision.asked, fake->calls);
    CHECK(decision.asked <= CS_MAX_ASKS);
    return decision;
}

/* True if some even cut of one axis on one lane stays within a price and so much scratch. */
static bool is_had(const struct fake *fake, const struct cs_problem *problem, double most,
                   int64_t bytes)
{
    for (enum cs_axis axis = CS_AXIS_N; axis <= CS_AXIS_C; axis++) {
        int64_t extent = cs_axis_extent(problem, axis);
        for (int64_t step = (extent + 1) / 2; step > extent / 40 && step > 0; step--) {
            struct cs_tiling tiling = {.axis = {axis}, .step = {step, 1}};
            if (cs_plan_cut(problem, &tiling, &plan) != CS_OK)
                continue;
            bool granted = true;
            for (int64_t i = 0; i < plan.shapes && granted; i++) {
                static struct cs_problem shape;
                cs_plan_problem(&plan, i, &shape);
                granted = !refused(fake, &shape);
            }
            if (granted && price(fake, problem, &tiling) <= most && plan.workspace <= bytes)
                return true;
        }
    }
    return false;
}

/* What a convolution is reported at least whose output is much smaller or larger than its input;
 * 0: no such one. */
static int64_t beside_output(const struct cs_problem *problem)
{
    int64_t input = 0, output = 0;
    CHECK_INT(cs_problem_tensor_bytes(&problem->tensor[CS_X], &input), CS_OK);
    CHECK_INT(cs_problem_tensor_bytes(&problem->tensor[CS_Y], &output), CS_OK);
    if (problem->direction != CS_FORWARD)
        return 0;
    if (output >= 4 * input)
        return output;
    return output <= input / 2 ? output + (2 << 20) : 0;
}

/* Nothing is taken that costs more; what is left untiled, or raised, has no cheaper way that saves
 * far more: guesses may miss a little. */
static void never_above_max_slowdown(void)
{
    struct rng rng = {SEED};
    int tiled = 0, raised = 0, dear = 0, missed = 0, below = 0;
    int64_t asked = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct cs_problem problem = large(&rng);
        struct fake fake = random_vendor(&rng);
        int64_t required = formula(&fake, &problem);
        if (required <= CS_AUTO_WORKSPACE || required > INT64_C(1) << 36)
            continue;
        struct cs_decision decision = decide_by(&fake, &problem, required, &automatic);
        int64_t part = (int64_t)(0.03 * cs_search_size(&problem)) + 1;
        int64_t limit = part > CS_AUTO_WORKSPACE ? part : CS_AUTO_WORKSPACE;
        int64_t beside = beside_output(&problem);
        CHECK_INT(decision.limit, beside > limit ? beside : limit);
        if (required <= decision.limit) {
            CHECK_INT(decision.reason, CS_REASON_SMALL);
            continue;
        }
        asked += decision.asked;
        CHECK(!decision.raised || decision.reason == CS_REASON_NONE);
        CHECK_INT(decision.raised,
                  decision.scratch > decision.limit && decision.reason == CS_REASON_NONE);
        if (decision.reason == CS_REASON_NONE) {
            check_true(&fake, &problem, &decision);
            CHECK(price(&fake, &problem, &decision.tiling) <= 1.15);
            CHECK(!decision.raised || required - decision.scratch > automatic.min_saving);
            tiled++;
            raised += decision.raised;
            below += decision.scratch < decision.limit / 2;
        } else {
            CHECK(decision.reason == CS_REASON_DEAR || decision.reason == CS_REASON_NO_TILING);
            dear += decision.reason == CS_REASON_DEAR;
        }
        if (decision.raised || decision.reason != CS_REASON_NONE) {
            int64_t less = (decision.scratch - automatic.min_saving) * 3 / 4;
            missed += is_had(&fake, &problem, 1.10, less);
        }
    }
    printf("# %d tiled, of them %d raised, %d below half of the limit; %d dear; %d missed; %.1f "
           "asks\n",
           tiled, raised, below, dear, missed, (double)asked / (tiled + dear + 1));
    CHECK(tiled > 100 && raised > 20 && dear > 20 && below > 20);
    CHECK(missed * 40 <= raised + dear);
}

/* Another engine for the whole is predicted to be slower, and counts like tiles. */
static void another_engine_has_its_price(void)
{
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct fake fake = {.per_byte = 1, .profile = &h200};
    const struct cs_limits written = {.workspace = 64 * MIB, .threshold = -1, .lanes = 1};
    int64_t required = formula(&fake, &problem);
    fake.stubborn = required;
    fake.helps = CS_SIMILAR_ENGINE;
    fake.alike = 60 * MIB;
    fake.refuses_below = problem.tensor[CS_Y].dims[CS_H];
    struct cs_decision decision = decide_by(&fake, &problem, required, &written);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.tiling.axis[0], CS_AXIS_NONE);
    CHECK_INT(decision.reported, 60 * MIB);
    CHECK(price(&fake, &problem, &decision.tiling) > 1.15);
    CHECK_INT(decide_by(&fake, &problem, required, &automatic).reason, CS_REASON_DEAR);
}

/* A number that is written is what it was; with max_slowdown written, too, it may be raised. */
/* What costs just what it may is not dear. */
static void a_price_is_allowed_up_to_itself(void)
{
    static struct cs_search search;
    static const int64_t allowed[] = {1250, 1500, 2000};
    struct cs_problem problem = same(1, 8, 1, 64, 64, 8);
    struct cs_question question = {.problem = &problem, .thorough = true};
    int64_t size = (int64_t)cs_search_size(&problem);
    search = (struct cs_search){.question = &question, .list = {.count = 2}};
    search.list.candidate[1] = (struct cs_candidate){.tiling = {.axis = {CS_AXIS_H}}};
    CHECK_INT(size % 4, 0);
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        const struct cs_limits limits = {.max_slowdown = allowed[i]};
        int64_t halo = size / 4 * ((allowed[i] - 1000) / 250);
        for (int64_t more = -1; more <= 1; more++) {
            search.list.candidate[1].halo = halo + more;
            cs_price_mark(&search, &limits);
            CHECK_INT(search.list.candidate[1].dear, more > 0);
        }
    }
}

/* Where the untiled call has no time, nothing is known of the tiles' either: bytes alone count. */
static void without_a_time_bytes_count(void)
{
    static struct cs_search search;
    struct cs_problem problem = same(1, 8, 1, 64, 64, 8);
    struct cs_question question = {.problem = &problem, .thorough = true};
    search = (struct cs_search){.question = &question, .list = {.count = 2}};
    const struct cs_candidate tiled = {.tiling = {.axis = {CS_AXIS_H}},
                                       .seconds = 2,
                                       .halo = (int64_t)cs_search_size(&problem) / 4};
    CHECK(cs_price_of(&search, &tiled) == 1.25);
    search.list.candidate[0].seconds = 1;
    CHECK(cs_price_of(&search, &tiled) == 2);
}

static void a_written_number_is_plain(void)
{
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct fake fake = vae_vendor();
    fake.profile = &h200;
    int64_t required = formula(&fake, &problem);
    struct cs_limits limits = automatic;
    limits.workspace = 8 * MIB;
    struct cs_decision plain = decide_by(&fake, &problem, required, &limits);
    CHECK_INT(plain.reason, CS_REASON_NONE);
    CHECK(plain.scratch <= 8 * MIB && !plain.raised);
    CHECK(price(&fake, &problem, &plain.tiling) > 1.5);
    limits.max_slowdown = 1150;
    struct cs_decision priced = decide_by(&fake, &problem, required, &limits);
    CHECK_INT(priced.reason, CS_REASON_NONE);
    CHECK(priced.raised && priced.scratch > 8 * MIB && priced.scratch < required / 2);
    CHECK(price(&fake, &problem, &priced.tiling) <= 1.15);
    limits.max_slowdown = 1500;
    struct cs_decision slower = decide_by(&fake, &problem, required, &limits);
    CHECK(slower.scratch < priced.scratch);
    CHECK_INT(slower.limit, 8 * MIB);

    /* Nothing that saves less than that; nothing beyond what there may be. */
    limits.max_slowdown = 1150;
    limits.min_saving = required - priced.scratch;
    CHECK_INT(decide_by(&fake, &problem, required, &limits).reason, CS_REASON_DEAR);
    limits.min_saving = 0;
    limits.most = priced.scratch - 1;
    CHECK_INT(decide_by(&fake, &problem, required, &limits).reason, CS_REASON_DEAR);
    limits.most = priced.scratch;
    CHECK_INT(decide_by(&fake, &problem, required, &limits).reason, CS_REASON_NONE);

    /* Without max_slowdown auto is the limit alone. */
    limits = automatic;
    limits.max_slowdown = 0;
    struct cs_decision whatever = decide_by(&fake, &problem, required, &limits);
    CHECK(whatever.scratch <= CS_AUTO_WORKSPACE && !whatever.raised);
}

/* Policies that weigh tilings themselves keep within max_slowdown as well. */
static void policies_that_predict(void)
{
    struct rng rng = {SEED};
    int tiled = 0, raised = 0;
    for (int i = 0; i < ROUNDS / 4; i++) {
        struct cs_problem problem = large(&rng);
        struct fake fake = random_vendor(&rng);
        int64_t required = formula(&fake, &problem);
        struct cs_limits limits = {.workspace = required / rng_between(&rng, 4, 60) + 1,
                                   .threshold = -1,
                                   .max_slowdown = 1100,
                                   .lanes = (int)rng_between(&rng, 0, 3)};
        struct cs_decision decision =
            decide(&fake, &problem, required, cs_policy_find("fast"), &limits);
        if (decision.reason != CS_REASON_NONE)
            continue;
        check_true(&fake, &problem, &decision);
        CHECK(price(&fake, &problem, &decision.tiling) <= 1.1);
        tiled++;
        raised += decision.raised;
    }
    CHECK(tiled > 50 && raised > 10);
}

/* Strips of two rows read half of the tensors again; on a device that is slow enough to feel that,
 * blocks of rows and columns are taken. */
static void another_axis_where_one_reads_much_again(void)
{
    struct cs_problem problem = same(1, 64, 1, 4096, 4096, 64);
    struct fake fake = {.per_byte = 1, .profile = &t4};
    int64_t required = formula(&fake, &problem);
    struct cs_limits limits = {.workspace = 5 * MIB, .threshold = -1, .lanes = 1};
    struct cs_decision decision = decide(&fake, &problem, required, cs_policy_find("fit"), &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    check_true(&fake, &problem, &decision);
    CHECK_STR(cs_axis_tiling_name(&decision.tiling), "HW");
    double both = price(&fake, &problem, &decision.tiling);
    CHECK((double)plan.halo < 0.1 * cs_search_size(&problem));

    /* Not where nobody can tell what it costs. */
    fake.profile = NULL;
    decision = decide(&fake, &problem, required, cs_policy_find("fit"), &limits);
    CHECK_STR(cs_axis_tiling_name(&decision.tiling), "H");
    fake.profile = &t4;
    CHECK(price(&fake, &problem, &decision.tiling) > both);
    CHECK((double)plan.halo > 0.2 * cs_search_size(&problem));
}

/* The least of all even cuts of one axis and of two. */
static int64_t least_of_all(const struct fake *fake, const struct cs_problem *problem)
{
    int64_t least = INT64_MAX;
    for (enum cs_axis a = CS_AXIS_N; a <= CS_AXIS_C; a++)
        for (enum cs_axis b = CS_AXIS_NONE; b <= CS_AXIS_C; b++)
            for (int64_t i = 2; i <= CS_MAX_TILES; i *= 2)
                for (int64_t j = b == CS_AXIS_NONE ? 1 : 2; j <= CS_MAX_TILES / i; j *= 2) {
                    int64_t x = cs_axis_extent(problem, a);
                    int64_t y = b == CS_AXIS_NONE ? 1 : cs_axis_extent(problem, b);
                    struct cs_tiling tiling = {.axis = {a, b},
                                               .step = {(x + i - 1) / i, (y + j - 1) / j}};
                    if (cs_plan_cut(problem, &tiling, &plan) == CS_OK) {
                        plan_of(fake, problem, &tiling);
                        least = plan.workspace < least ? plan.workspace : least;
                    }
                    if (b == CS_AXIS_NONE)
                        break;
                }
    return least;
}

/* Every plan needs some bytes whatever its size: nothing comes under the limit, and the least is
 * taken all the same if that saves enough. */
static void the_least_where_nothing_fits(void)
{
    struct rng rng = {SEED};
    int taken = 0, far = 0;
    double worst[2] = {1, 1}; /* undilated, dilated */
    for (int i = 0; i < 200; i++) {
        struct cs_problem problem = large(&rng);
        bool dilated = problem.dilation[CS_SPATIAL - 1] > 1;
        struct fake fake = {.fixed = rng_between(&rng, 2, 8) * MIB,
                            .per_byte = (double)rng_between(&rng, 50, 200) / 100,
                            .per_filter_byte = (double)rng_between(&rng, 0, 1),
                            .profile = &h200};
        int64_t required = formula(&fake, &problem);
        struct cs_limits limits = {
            .workspace = MIB, .threshold = -1, .lanes = 1, .min_saving = 16 * MIB};
        const struct cs_policy *fit = cs_policy_find("fit");
        if (required <= 64 * MIB || required > INT64_C(1) << 36)
            continue;
        CHECK_INT(decide(&fake, &problem, required, fit, &limits).reason, CS_REASON_NO_TILING);
        limits.exceeds = true;
        struct cs_decision decision = decide(&fake, &problem, required, fit, &limits);
        int64_t least = least_of_all(&fake, &problem);
        if (decision.reason != CS_REASON_NONE) {
            CHECK_INT(decision.reason, CS_REASON_NO_TILING);
            far += least < required - 24 * MIB;
            continue;
        }
        check_true(&fake, &problem, &decision);
        CHECK(decision.raised && decision.reported > limits.workspace);
        CHECK(decision.scratch < required - limits.min_saving);
        double ratio = (double)decision.scratch / (double)least;
        worst[dilated] = ratio > worst[dilated] ? ratio : worst[dilated];
        taken++;
    }
    printf("# %d taken, at most %.2f times the least of all even cuts, dilated %.2f; %d left\n",
           taken, worst[false], worst[true], far);
    CHECK(taken > 50);
    CHECK(far == 0);
    CHECK(worst[false] < 1.25 && worst[true] < 1.6);
}

/* Where more than the limit cannot be had, or is somebody else's. */
static void never_more_than_there_is(void)
{
    struct cs_problem problem = same(1, 64, 1, 128, 128, 64);
    struct fake fake = {.per_byte = 2, .fixed = 3 * MIB};
    int64_t required = formula(&fake, &problem);
    const struct cs_policy *fit = cs_policy_find("fit");
    struct cs_limits limits = {
        .workspace = 2 * MIB, .threshold = -1, .tiles = 4, .lanes = 1, .exceeds = true};
    struct cs_decision decision = decide(&fake, &problem, required, fit, &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK(decision.raised && decision.reported < 4 * MIB);
    limits.most = 3 * MIB;
    CHECK_INT(decide(&fake, &problem, required, fit, &limits).reason, CS_REASON_NO_TILING);
    limits.most = 0;
    limits.provided = true;
    CHECK_INT(decide(&fake, &problem, required, fit, &limits).reason, CS_REASON_NO_TILING);
    limits.provided = false;
    fake.fallback = 2 * decision.reported;
    CHECK_INT(decide(&fake, &problem, required, fit, &limits).reason, CS_REASON_NO_FALLBACK);
    fake.fallback = 0;

    /* What the caller has provided, and shares of a total, whatever the options say. */
    const struct cs_decide_call call = {
        .problem = &problem, .required = required, .engine = 1, .provided = 2 * MIB};
    struct cs_settings settings = {.policy = fit, .limits = automatic, .most = INT64_MAX};
    struct cs_vendor vendor = {.ctx = &fake,
                               .rigid = true,
                               .build = fake_build,
                               .fallback = fake_fallback,
                               .destroy = fake_destroy};
    CHECK_INT(cs_decide_by_rules(&settings, &call, &vendor, NULL).reason, CS_REASON_NO_TILING);
    const struct cs_decide_call asks = {.problem = &problem, .required = required, .engine = 1};
    settings.policy = cs_policy_find("budget");
    settings.limits.workspace = 2 * MIB;
    settings.limits.threshold = 0;
    CHECK_INT(cs_decide_by_rules(&settings, &asks, &vendor, NULL).reason, CS_REASON_NO_TILING);
}

/* A tile from the middle is what most tiles of the plan are. */
static void guesses_are_near_the_plan(void)
{
    struct rng rng = {SEED};
    static struct cs_problem tile, shape;
    int legal = 0, phases = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct cs_problem problem = large(&rng);
        struct cs_tiling tiling = {.step = {1, 1}};
        int64_t tiles;
        tiling.axis[0] = (enum cs_axis)rng_between(&rng, 1, CS_AXES - 1);
        tiling.step[0] = rng_between(&rng, 1, cs_axis_extent(&problem, tiling.axis[0]));
        tiling.axis[1] = (enum cs_axis)rng_between(&rng, 0, CS_AXES - 1);
        if (tiling.axis[1] != CS_AXIS_NONE)
            tiling.step[1] = rng_between(&rng, 1, cs_axis_extent(&problem, tiling.axis[1]));
        tile = problem;
        if (cs_plan_cut(&problem, &tiling, &plan) != CS_OK)
            continue;
        legal++;
        CHECK_INT(cs_typical_tile(&problem, &tiling, &tile, &tiles), CS_OK);
        CHECK_INT(tiles, plan.tiles);
        bool found = false;
        phases += cs_axis_tiling_by_phase(&tiling);
        for (int64_t k = 0; k < plan.shapes && !found; k++) {
            cs_plan_problem(&plan, k, &shape);
            found = true;
            for (int t = 0; t < CS_OPERANDS; t++)
                for (int dim = 0; dim < CS_DIMS; dim++)
                    found = found && shape.tensor[t].dims[dim] == tile.tensor[t].dims[dim];
        }
        CHECK(found);
    }
    CHECK(legal > ROUNDS / 5 && phases > ROUNDS / 20);
}

/* As much of an axis as there is, or more, is no division of it. */
static void a_typical_tile_is_less_than_the_whole(void)
{
    struct cs_problem problem = same(2, 12, 8, 9, 9, 3), tile;
    problem.dilation[1] = problem.dilation[2] = 4;
    problem.pre[1] = problem.post[1] = problem.pre[2] = problem.post[2] = 4;
    int64_t tiles;
    CHECK_INT(cs_problem_check(&problem), CS_OK);
    for (int axis = 1; axis < CS_AXES; axis++) {
        int64_t extent = cs_axis_extent(&problem, (enum cs_axis)axis);
        for (int64_t step = extent; step <= extent + 1; step++) {
            struct cs_tiling tiling = {.axis = {(enum cs_axis)axis}, .step = {step, 1}};
            tile = problem;
            CHECK_INT(cs_typical_tile(&problem, &tiling, &tile, &tiles), CS_ILLEGAL);
        }
    }
}

static int64_t eight_mib(void *ctx, const struct cs_policy *policy, const struct cs_limits *limits)
{
    (void)ctx, (void)policy, (void)limits;
    return 8 * MIB;
}

/* Of a total: a share is never raised. What max_slowdown says counts if it is written, and then the
 * call is left alone rather than cut beyond it; auto is off, for a total is a written limit. */
static void a_share_keeps_to_a_written_price(void)
{
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct fake fake = vae_vendor();
    fake.profile = &h200;
    struct cs_vendor vendor = {.ctx = &fake,
                               .build = fake_build,
                               .fallback = fake_fallback,
                               .destroy = fake_destroy,
                               .profile = fake_profile};
    const struct cs_decide_help help = {.share = eight_mib};
    const struct cs_decide_call call = {
        .problem = &problem, .required = formula(&fake, &problem), .engine = -1};
    struct cs_settings settings = {
        .program = "", .policy = cs_policy_find("budget"), .limits = automatic, .most = INT64_MAX};
    settings.limits.max_slowdown = -1;
    settings.limits.threshold = 0;
    struct cs_decision cut = cs_decide_by_rules(&settings, &call, &vendor, &help);
    CHECK_INT(cut.reason, CS_REASON_NONE);
    CHECK(cut.reported <= 8 * MIB && price(&fake, &problem, &cut.tiling) > 1.5);
    settings.limits.max_slowdown = 1150;
    struct cs_decision left = cs_decide_by_rules(&settings, &call, &vendor, &help);
    CHECK_INT(left.reason, CS_REASON_DEAR);
    CHECK_INT(left.reported, call.required);
    settings.limits.max_slowdown = 20000;
    struct cs_decision cheap = cs_decide_by_rules(&settings, &call, &vendor, &help);
    CHECK_INT(cheap.reason, CS_REASON_NONE);
    CHECK(cheap.reported <= 8 * MIB && !cheap.raised);
    CHECK_INT(fake.live, 0);
}

int main(void)
{
    TEST(never_above_max_slowdown);
    TEST(another_engine_has_its_price);
    TEST(a_price_is_allowed_up_to_itself);
    TEST(without_a_time_bytes_count);
    TEST(a_written_number_is_plain);
    TEST(a_share_keeps_to_a_written_price);
    TEST(policies_that_predict);
    TEST(another_axis_where_one_reads_much_again);
    TEST(the_least_where_nothing_fits);
    TEST(never_more_than_there_is);
    TEST(a_typical_tile_is_less_than_the_whole);
    TEST(guesses_are_near_the_plan);
    return REPORT();
}
