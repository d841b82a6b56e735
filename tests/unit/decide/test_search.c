/* Whether decisions find the tilings that an exhaustive search finds, and what that costs. */
#include "decide/search.h"

#include "fake_vendor.h"

enum {
    RANDOM_PROBLEMS = 3000,
    SEED = 20263
};

/* The tiles of a tiling if it is legal and comes under the limit, else INT64_MAX. */
static int64_t tiles_of(const struct fake *fake, const struct cs_problem *problem,
                        const struct cs_tiling *tiling, int64_t limit)
{
    static struct cs_plan plan;
    static struct cs_problem shape;
    bool fits = cs_plan_cut(problem, tiling, &plan) == CS_OK;
    for (int k = 0; fits && k < plan.shapes; k++) {
        cs_plan_problem(&plan, k, &shape);
        fits = formula(fake, &shape) <= limit - plan.staged;
    }
    return fits ? plan.tiles : INT64_MAX;
}

/* The fewest tiles over every step of an axis, asked one by one; INT64_MAX if none comes under the
 * limit. */
static int64_t exhaustive(const struct fake *fake, const struct cs_problem *problem,
                          enum cs_axis axis, int64_t limit)
{
    int64_t fewest = INT64_MAX;
    for (int64_t step = 1; step < cs_axis_extent(problem, axis); step++) {
        struct cs_tiling tiling = {.axis = {axis}, .step = {step, 1}};
        int64_t tiles = tiles_of(fake, problem, &tiling, limit);
        fewest = tiles < fewest ? tiles : fewest;
    }
    return fewest;
}

/* Over the axes of the first stage that has one. */
static int64_t exhaustive_axes(const struct fake *fake, const struct cs_problem *problem,
                               int64_t limit)
{
    static const enum cs_axis last[] = {CS_AXIS_H, CS_AXIS_W, CS_AXIS_C};
    int axis = CS_AXIS_N;
    for (int stage = 0; stage < 3; stage++) {
        int64_t fewest = INT64_MAX;
        for (; axis <= (int)last[stage]; axis++) {
            int64_t tiles = exhaustive(fake, problem, (enum cs_axis)axis, limit);
            fewest = tiles < fewest ? tiles : fewest;
        }
        if (fewest < INT64_MAX)
            return fewest;
    }
    return INT64_MAX;
}

/* Outer counts that are looked at: powers of two, and what leaves no rest. */
static bool is_looked_at(int64_t units, int64_t count)
{
    return units % count == 0 || (count & (count - 1)) == 0;
}

/* The fewest tiles of the products of two axes, with the outer counts that are looked at. */
static int64_t exhaustive_pair(const struct fake *fake, const struct cs_problem *problem,
                               const enum cs_axis pair[CS_MAX_CUTS], int64_t limit)
{
    int64_t fewest = INT64_MAX;
    int64_t unit = cs_axis_unit(problem, pair[0]), inner = cs_axis_extent(problem, pair[1]);
    int64_t units = (cs_axis_extent(problem, pair[0]) + unit - 1) / unit;
    for (int64_t count = 2; count <= 32 && count <= units; count++) {
        for (int64_t step = 1; is_looked_at(units, count) && step < inner; step++) {
            struct cs_tiling tiling = {.axis = {pair[0], pair[1]},
                                       .step = {(units + count - 1) / count * unit, step}};
            int64_t tiles = tiles_of(fake, problem, &tiling, limit);
            fewest = tiles < fewest ? tiles : fewest;
        }
    }
    return fewest;
}

static int64_t exhaustive_products(const struct fake *fake, const struct cs_problem *problem,
                                   int64_t limit)
{
    static const enum cs_axis pairs[][CS_MAX_CUTS] = {
        {CS_AXIS_N, CS_AXIS_D}, {CS_AXIS_N, CS_AXIS_H}, {CS_AXIS_D, CS_AXIS_H},
        {CS_AXIS_H, CS_AXIS_W}, {CS_AXIS_K, CS_AXIS_N}, {CS_AXIS_K, CS_AXIS_H},
        {CS_AXIS_K, CS_AXIS_C}, {CS_AXIS_C, CS_AXIS_N}, {CS_AXIS_C, CS_AXIS_H},
        {CS_AXIS_N, CS_AXIS_W}, {CS_AXIS_D, CS_AXIS_W}, {CS_AXIS_K, CS_AXIS_W},
        {CS_AXIS_C, CS_AXIS_W}, {CS_AXIS_K, CS_AXIS_D}, {CS_AXIS_C, CS_AXIS_D}};
    int64_t fewest = INT64_MAX;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && fewest == INT64_MAX; i++)
        fewest = exhaustive_pair(fake, problem, pairs[i], limit);
    return fewest;
}

struct tally {
    int64_t tiled_calls, none, products, missed, tiles, fewest, asked, most_asked;
    int64_t on_axis[CS_AXES];
};

/* One axis: exactly the fewest tiles. Products: some if there are any. */
static void decide_and_compare(struct rng *rng, enum cs_direction direction, struct tally *tally)
{
    struct cs_problem problem = random_towards(rng, direction);
    struct fake fake = {.per_byte = (double)rng_between(rng, 1, 8) / 2};
    fake.fixed = formula(&fake, &problem) / rng_between(rng, 4, 1000);
    fake.curved = rng_between(rng, 0, 2) == 0;
    int64_t required = formula(&fake, &problem);
    struct cs_limits limits = {
        .workspace = required / rng_between(rng, 2, 40), .threshold = -1, .tiles = 4, .lanes = 1};
    struct cs_decision decision = decide(&fake, &problem, required, cs_policy_find("fit"), &limits);
    int64_t want = exhaustive_axes(&fake, &problem, limits.workspace);
    int64_t most = tally->most_asked;
    if (want == INT64_MAX) {
        int64_t fewest = exhaustive_products(&fake, &problem, limits.workspace);
        bool found = decision.reason == CS_REASON_NONE;
        CHECK(!found || (fewest < INT64_MAX && decision.tiling.axis[1] != CS_AXIS_NONE));
        tally->missed += fewest < INT64_MAX && !found;
        tally->none += fewest == INT64_MAX;
        tally->products += found;
        tally->tiles += found ? decision.tiles : 0;
        tally->fewest += found ? fewest : 0;
        if (found)
            check_true(&fake, &problem, &decision);
        return;
    }
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.tiles, want);
    CHECK_INT(decision.tiling.axis[1], CS_AXIS_NONE);
    CHECK(decision.reported <= limits.workspace);
    check_true(&fake, &problem, &decision);
    tally->tiled_calls++;
    tally->on_axis[decision.tiling.axis[0]]++;
    tally->asked += decision.asked;
    tally->most_asked = !fake.curved && decision.asked > most ? decision.asked : most;
}

static void fewest_as_exhaustive_search(void)
{
    struct rng rng = {SEED};
    for (int direction = 0; direction < CS_DIRECTIONS; direction++) {
        struct tally tally = {0};
        for (int i = 0; i < RANDOM_PROBLEMS; i++)
            decide_and_compare(&rng, (enum cs_direction)direction, &tally);
        printf("# %s, seed %d: of %d problems tiled",
               cs_problem_direction_name((enum cs_direction)direction), SEED, RANDOM_PROBLEMS);
        for (int axis = CS_AXIS_N; axis < CS_AXES; axis++)
            printf(" %s %lld,", cs_axis_name((enum cs_axis)axis), (long long)tally.on_axis[axis]);
        printf(" not %lld\n#   asks %.1f on average, %lld at most where workspaces are linear\n"
               "#   products %lld, missed %lld, tiles %.2f of the fewest\n",
               (long long)tally.none, (double)tally.asked / (double)tally.tiled_calls,
               (long long)tally.most_asked, (long long)tally.products, (long long)tally.missed,
               (double)tally.tiles / (double)tally.fewest);
        CHECK(tally.tiled_calls > RANDOM_PROBLEMS / 5);
        for (int axis = CS_AXIS_N; axis <= CS_AXIS_W; axis++)
            CHECK(tally.on_axis[axis] > 0);
        CHECK(tally.asked <= 10 * tally.tiled_calls);
        CHECK(tally.most_asked <= 20);
        CHECK(tally.products > 50 && tally.missed <= tally.products / 20);
        CHECK(tally.tiles <= tally.fewest + tally.fewest / 10);
    }
}

/* Problems that no single axis brings under 64 MiB. */
static void products_where_one_axis_is_not_enough(void)
{
    static const struct {
        enum cs_direction direction;
        int64_t n, c, d, h, w, k;
        double per_byte, per_filter_byte;
        enum cs_axis axis[CS_MAX_CUTS];
    } layers[] = {
        {CS_FORWARD, 1, 16, 248, 248, 248, 16, 10, 0, {CS_AXIS_D, CS_AXIS_H}},
        {CS_FORWARD, 48, 64, 40, 112, 112, 64, 3, 1, {CS_AXIS_N, CS_AXIS_D}},
        {CS_FORWARD, 32, 2048, 1, 64, 64, 2048, 3, 0, {CS_AXIS_N, CS_AXIS_H}},
        {CS_FORWARD, 1, 7168, 1, 400, 400, 16, 4, 1, {CS_AXIS_H, CS_AXIS_W}},
        {CS_FORWARD, 64, 2048, 1, 1, 512, 2048, 1, 3, {CS_AXIS_K, CS_AXIS_N}},
        {CS_BACKWARD_DATA, 1, 2048, 1, 512, 64, 2048, 1, 3, {CS_AXIS_C, CS_AXIS_H}},
        {CS_FORWARD, 64, 65536, 1, 1, 512, 8, 4, 0, {CS_AXIS_N, CS_AXIS_W}},
        {CS_FORWARD, 1, 8192, 1, 1, 4096, 8192, 1, 3, {CS_AXIS_K, CS_AXIS_W}},
        {CS_BACKWARD_DATA, 1, 8192, 1, 1, 4096, 8192, 1, 3, {CS_AXIS_C, CS_AXIS_W}},
    };
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        struct fake fake = {.per_byte = layers[i].per_byte,
                            .per_filter_byte = layers[i].per_filter_byte};
        struct cs_problem problem = towards(layers[i].direction, layers[i].n, layers[i].c,
                                            layers[i].d, layers[i].h, layers[i].w, layers[i].k);
        struct cs_limits limits = {.workspace = 64 * MIB, .threshold = -1, .tiles = 4, .lanes = 1};
        int64_t required = formula(&fake, &problem);
        struct cs_decision decision =
            decide(&fake, &problem, required, cs_policy_find("fit"), &limits);
        CHECK_INT(exhaustive_axes(&fake, &problem, limits.workspace), INT64_MAX);
        CHECK_INT(decision.reason, CS_REASON_NONE);
        if (decision.reason != CS_REASON_NONE)
            continue;
        CHECK_INT(decision.tiling.axis[0], layers[i].axis[0]);
        CHECK_INT(decision.tiling.axis[1], layers[i].axis[1]);
        CHECK(decision.reported <= limits.workspace);
        check_true(&fake, &problem, &decision);
        int64_t fewest = exhaustive_pair(&fake, &problem, layers[i].axis, limits.workspace);
        printf("# %s x %lld, fewest %lld, %lld asks\n", cs_axis_tiling_name(&decision.tiling),
               (long long)decision.tiles, (long long)fewest, (long long)decision.asked);
        CHECK(decision.tiles <= fewest + fewest / 4);
    }
}

/* The product that looks best is refused, and all that have as few rows a tile, spare ones or not.
 */
static void products_beside_refused_ones(void)
{
    struct cs_problem problem = same(32, 2048, 1, 64, 64, 2048);
    struct cs_limits limits = {.workspace = 64 * MIB, .threshold = -1, .tiles = 4, .lanes = 1};
    struct fake fake = {.per_byte = 3};
    int64_t required = formula(&fake, &problem);
    const struct cs_policy *fit = cs_policy_find("fit");
    struct cs_decision first = decide(&fake, &problem, required, fit, &limits);
    CHECK_INT(first.tiling.axis[1], CS_AXIS_H);
    fake.refuses_from = first.tiling.step[1];
    fake.refuses_to = first.tiling.step[1] + 1;
    struct cs_decision second = decide(&fake, &problem, required, fit, &limits);
    CHECK_INT(second.reason, CS_REASON_NONE);
    CHECK(second.tiling.step[1] != first.tiling.step[1]);
    CHECK(second.tiles >= first.tiles && second.tiles < 3 * first.tiles);
    check_true(&fake, &problem, &second);
}

/* What is kept for products is theirs alone, until something is found. */
static void asks_are_kept_for_products(void)
{
    static struct cs_search search;
    static const struct cs_mode mode;
    struct cs_problem problem = same(32, 2048, 1, 64, 64, 2048);
    struct fake fake = {.per_byte = 3};
    struct cs_vendor vendor = {.ctx = &fake, .build = fake_build, .destroy = fake_destroy};
    struct cs_question question = {.problem = &problem,
                                   .vendor = &vendor,
                                   .required = formula(&fake, &problem),
                                   .limit = 64 * MIB};
    search = (struct cs_search){
        .question = &question, .purse = {.left = 30, .kept = 29}, .list = {.count = 1}};
    CHECK_INT(cs_search_fewest(&search, mode, CS_AXIS_H, INT64_MAX), CS_OK);
    CHECK_INT(search.purse.asked, 1);
    CHECK_INT(cs_product_search(&search, mode), CS_OK);
    CHECK(search.purse.asked > 1 && !cs_shortlist_empty(&search.list));

    int further = 0;
    fake.curved = true;
    for (int64_t limit = MIB; limit < 5 * MIB; limit += MIB / 32) {
        question.required = formula(&fake, &problem);
        question.limit = limit;
        search.purse = (struct cs_purse){.left = 30, .kept = 24};
        cs_shortlist_clear(&search.list);
        CHECK_INT(cs_search_fewest(&search, mode, CS_AXIS_H, INT64_MAX), CS_OK);
        CHECK(search.purse.asked <= 6 || !cs_shortlist_empty(&search.list));
        further += search.purse.asked > 6;
    }
    CHECK(further > 0);
}

static struct cs_search search;

/* A search of nothing yet, for what a vendor answers. */
static void begin(struct cs_question *question, const struct cs_problem *problem,
                  const struct cs_vendor *vendor, int64_t required, int64_t limit)
{
    *question = (struct cs_question){
        .problem = problem, .vendor = vendor, .required = required, .limit = limit, .copies = true};
    search = (struct cs_search){.question = question, .purse = {.left = 60}, .list = {.count = 1}};
}

/* Where no more than two may be looked at. */
static void two_tiles_are_found(void)
{
    static const struct cs_mode mode;
    struct cs_problem problem = same(1, 64, 1, 256, 256, 64);
    struct fake fake = {.per_byte = 1};
    struct cs_vendor vendor = {.ctx = &fake, .build = fake_build, .destroy = fake_destroy};
    struct cs_question question;
    int64_t required = formula(&fake, &problem);
    for (int most = 1; most <= 2; most++) {
        begin(&question, &problem, &vendor, required, required / 10 * 6);
        CHECK_INT(cs_search_fewest(&search, mode, CS_AXIS_H, most), CS_OK);
        CHECK_INT(search.list.count, most == 1 ? 1 : 2);
        CHECK_INT(search.list.candidate[1].tiles, most == 1 ? 0 : 2);
        CHECK_INT(search.purse.asked > 0, most > 1);
    }
}

/* What no engine takes otherwise is asked for with equal padding at once from then on; but not
 * where that was no help. */
static void equal_padding_is_remembered(void)
{
    static const struct cs_mode mode;
    static const struct cs_tiling first = {.axis = {CS_AXIS_H}, .step = {32, 1}},
                                  second = {.axis = {CS_AXIS_H}, .step = {16, 1}};
    struct cs_problem problem = same(1, 64, 1, 256, 256, 64);
    struct fake fake = {.per_byte = 1, .refuses_one_sided = true};
    struct cs_vendor vendor = {.ctx = &fake, .build = fake_build, .destroy = fake_destroy};
    struct cs_question question;
    enum cs_probed probed;
    int64_t bytes;
    begin(&question, &problem, &vendor, 1 << 30, 1 << 29);
    CHECK_INT(cs_search_probe(&search, mode, &first, &probed, &bytes), CS_OK);
    CHECK_INT(probed, CS_FITS);
    CHECK(search.equal_padding && search.unequal == 0);
    int64_t asked = search.purse.asked, answered = search.purse.answered;
    CHECK(asked > answered);
    CHECK_INT(cs_search_probe(&search, mode, &second, &probed, &bytes), CS_OK);
    CHECK_INT(probed, CS_FITS);
    CHECK_INT(search.purse.asked - asked, search.purse.answered - answered);
    CHECK(search.list.candidate[2].tiling.equal_padding);

    fake.refuses_all = true;
    begin(&question, &problem, &vendor, 1 << 30, 1 << 29);
    CHECK_INT(cs_search_probe(&search, mode, &first, &probed, &bytes), CS_OK);
    CHECK_INT(probed, CS_HOLE);
    CHECK(!search.equal_padding);
}

/* The first question about a product. */
static struct cs_problem first_asked;
static int asks;

static enum cs_status note_and_want_much(void *ctx, const struct cs_problem *problem,
                                         enum cs_relaxation relaxation, void **execution_plan_p,
                                         int64_t *workspace_p)
{
    (void)ctx, (void)relaxation;
    if (asks++ == 0)
        first_asked = *problem;
    *execution_plan_p = &asks;
    *workspace_p = INT64_C(1) << 40;
    return CS_OK;
}

static void destroy_nothing(void *execution_plan)
{
    CHECK(execution_plan == &asks);
}

/* Where nothing seems to fit, the smallest tiles are asked about: as many images in each as leave
 * no rest, so that there are rows enough for the others. */
static void the_smallest_tiles_are_asked_about_first(void)
{
    static const struct cs_mode mode;
    struct cs_problem problem = same(40, 64, 1, 4096, 64, 64);
    struct cs_vendor vendor = {.build = note_and_want_much, .destroy = destroy_nothing};
    struct cs_question question;
    asks = 0;
    begin(&question, &problem, &vendor, INT64_C(1) << 40, 1);
    CHECK_INT(cs_product_search(&search, mode), CS_OK);
    CHECK(asks > 0 && cs_shortlist_empty(&search.list));
    CHECK_INT(first_asked.tensor[CS_Y].dims[CS_N], 2);
    CHECK_INT(first_asked.tensor[CS_Y].dims[CS_H], (4096 + 50) / (CS_MAX_TILES / 20));
}

static enum cs_status want_nothing(void *ctx, const struct cs_problem *problem,
                                   enum cs_relaxation relaxation, void **execution_plan_p,
                                   int64_t *workspace_p)
{
    (void)ctx, (void)problem, (void)relaxation;
    *execution_plan_p = &asks;
    *workspace_p = 0;
    return CS_OK;
}

/* Copies that equal padding needs are known without asking: no tiles are asked about whose copies
 * alone are too large. */
static void copies_of_equal_padding_are_foreseen(void)
{
    static const struct cs_mode mode;
    struct cs_problem problem = same(4, 64, 1, 256, 256, 64);
    struct cs_vendor vendor = {.build = want_nothing, .destroy = destroy_nothing};
    struct cs_question question;
    int64_t fitted = 0;
    begin(&question, &problem, &vendor, 1, 3 * MIB);
    search.equal_padding = true;
    CHECK_INT(cs_product_search(&search, mode), CS_OK);
    CHECK(!cs_shortlist_empty(&search.list));
    for (int i = 1; i < search.list.count; i++) {
        const struct cs_candidate *candidate = &search.list.candidate[i];
        CHECK(candidate->tiling.equal_padding);
        CHECK(candidate->workspace > 0 && candidate->workspace <= 3 * MIB);
        fitted += candidate->shapes;
    }
    CHECK_INT(search.purse.asked, fitted);
}

/* Gradients of 16 bits are summed inside one launch: no axis but the filter's own. */
static void filters_of_16_bits(void)
{
    struct fake fake = {.per_byte = 1, .per_filter_byte = 2};
    struct cs_problem problem = towards(CS_BACKWARD_FILTER, 8, 512, 1, 64, 64, 512);
    int64_t required = formula(&fake, &problem);
    const struct cs_policy *fit = cs_policy_find("fit");
    struct cs_limits limits = {
        .workspace = required * 3 / 4, .threshold = -1, .tiles = 4, .lanes = 1};
    struct cs_decision decision = decide(&fake, &problem, required, fit, &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.tiling.axis[0], CS_AXIS_K);
    CHECK_INT(decision.tiling.axis[1], CS_AXIS_NONE);
    check_true(&fake, &problem, &decision);

    limits.workspace = required / 8;
    decision = decide(&fake, &problem, required, fit, &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.tiling.axis[0], CS_AXIS_K);
    CHECK_INT(decision.tiling.axis[1], CS_AXIS_C);
    CHECK_INT(decision.tiling.step[0] % 8, 0);
    CHECK_INT(decision.tiling.step[1] % 8, 0);
    check_true(&fake, &problem, &decision);

    struct cs_policy const *fixed = cs_policy_find("fixed");
    limits = (struct cs_limits){.workspace = required, .threshold = 0, .tiles = 3, .lanes = 1};
    decision = decide(&fake, &problem, required, fixed, &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK(decision.tiling.axis[0] == CS_AXIS_K || decision.tiling.axis[0] == CS_AXIS_C);
    CHECK_INT(decision.tiles, 3);
    problem.groups = 2;
    problem.tensor[CS_FILTER].dims[CS_C] /= 2;
    CHECK_INT(cs_problem_check(&problem), CS_OK);
    CHECK_INT(decide(&fake, &problem, required, fixed, &limits).reason, CS_REASON_NO_TILING);
    CHECK_INT(fake.calls, 0);

    /* A gradient of 32 bits may be added up by images. */
    problem = towards(CS_BACKWARD_FILTER, 8, 512, 1, 64, 64, 512);
    problem.tensor[CS_FILTER].dtype = CS_F32;
    limits = (struct cs_limits){.workspace = required / 2, .threshold = -1, .tiles = 4, .lanes = 1};
    decision = decide(&fake, &problem, required, fit, &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.tiling.axis[0], CS_AXIS_N);
    check_true(&fake, &problem, &decision);
}

/* Where the workspace is the filter's, a data gradient is cut along its own channels. */
static void data_gradients_of_large_filters(void)
{
    struct fake fake = {.per_byte = 0.01, .per_filter_byte = 3};
    struct cs_problem problem = towards(CS_BACKWARD_DATA, 8, 512, 1, 16, 16, 512);
    int64_t required = formula(&fake, &problem);
    const struct cs_policy *fit = cs_policy_find("fit");
    struct cs_limits limits = {.workspace = required / 4, .threshold = -1, .tiles = 4, .lanes = 1};
    struct cs_decision decision = decide(&fake, &problem, required, fit, &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.tiling.axis[0], CS_AXIS_C);
    CHECK_INT(decision.tiling.axis[1], CS_AXIS_NONE);
    CHECK_INT(decision.tiling.step[0] % 8, 0);
    CHECK_INT(decision.tiles, exhaustive(&fake, &problem, CS_AXIS_C, limits.workspace));
    check_true(&fake, &problem, &decision);

    problem.groups = 2;
    problem.tensor[CS_FILTER].dims[CS_C] /= 2;
    CHECK_INT(cs_problem_check(&problem), CS_OK);
    required = formula(&fake, &problem);
    limits.workspace = required / 4;
    CHECK_INT(decide(&fake, &problem, required, fit, &limits).reason, CS_REASON_NO_TILING);

    /* Nothing but channels to cut. */
    problem = towards(CS_BACKWARD_DATA, 1, 24, 1, 1, 1, 512);
    required = formula(&fake, &problem);
    limits = (struct cs_limits){.workspace = required, .threshold = 0, .tiles = 3, .lanes = 1};
    decision = decide(&fake, &problem, required, cs_policy_find("fixed"), &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.tiling.axis[0], CS_AXIS_C);
    CHECK_INT(decision.tiles, 3);
    check_true(&fake, &problem, &decision);
}

/* 96 channels are 12 units of 8: only tiles of one unit on both axes are small enough. */
static void counts_that_are_no_power_of_two(void)
{
    struct fake fake = {.per_byte = 0.01, .per_filter_byte = 300};
    struct cs_problem problem = towards(CS_BACKWARD_FILTER, 4, 192, 1, 48, 48, 96);
    int64_t required = formula(&fake, &problem);
    struct cs_limits limits = {
        .workspace = required / 250, .threshold = -1, .tiles = 4, .lanes = 1};
    struct cs_decision decision = decide(&fake, &problem, required, cs_policy_find("fit"), &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.tiling.axis[0], CS_AXIS_K);
    CHECK_INT(decision.tiling.axis[1], CS_AXIS_C);
    CHECK_INT(decision.tiling.step[0], 8);
    CHECK_INT(decision.tiling.step[1], 8);
    check_true(&fake, &problem, &decision);
}

/* An engine that is compiled for every plan is not asked for more than a few. */
static void compiled_engines_are_asked_little(void)
{
    struct rng rng = {SEED};
    int64_t tiled_calls = 0;
    for (int i = 0; i < RANDOM_PROBLEMS; i++) {
        struct cs_problem problem =
            random_towards(&rng, (enum cs_direction)rng_between(&rng, 0, CS_DIRECTIONS - 1));
        struct fake fake = {.per_byte = 1, .compiles = true};
        int64_t required = formula(&fake, &problem);
        struct cs_limits limits = {.workspace = required / rng_between(&rng, 2, 8),
                                   .threshold = -1,
                                   .tiles = 4,
                                   .lanes = 1};
        struct cs_decision decision =
            decide(&fake, &problem, required, cs_policy_find("fit"), &limits);
        CHECK(decision.asked <= 8 + 2); /* fallback plans are not compiled */
        tiled_calls += decision.reason == CS_REASON_NONE;
        if (decision.reason == CS_REASON_NONE)
            check_true(&fake, &problem, &decision);
    }
    printf("# %lld of %d tiled\n", (long long)tiled_calls, RANDOM_PROBLEMS);
    CHECK(tiled_calls > RANDOM_PROBLEMS / 2);
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
        int64_t required = formula(&fake, &problem);
        struct cs_limits limits = {.workspace = required / rng_between(&rng, 2, 30),
                                   .threshold = -1,
                                   .tiles = 4,
                                   .lanes = 1};
        struct cs_decision decision = decide(&fake, &problem, required, fit, &limits);
        most = decision.asked > most ? decision.asked : most;
        if (decision.reason == CS_REASON_NONE)
            check_true(&fake, &problem, &decision);
    }
    printf("# asks: %lld at most\n", (long long)most);
    CHECK(most >= CS_MAX_ASKS - CS_PRICE_ASKS - CS_LEAST_ASKS - CS_RELAXATION_ASKS - CS_LANE_ASKS -
                      -CS_STAGED_ASKS - 2);
    CHECK(most <= CS_MAX_ASKS);
}

int main(void)
{
    TEST(fewest_as_exhaustive_search);
    TEST(products_where_one_axis_is_not_enough);
    TEST(products_beside_refused_ones);
    TEST(asks_are_kept_for_products);
    TEST(two_tiles_are_found);
    TEST(equal_padding_is_remembered);
    TEST(the_smallest_tiles_are_asked_about_first);
    TEST(copies_of_equal_padding_are_foreseen);
    TEST(filters_of_16_bits);
    TEST(data_gradients_of_large_filters);
    TEST(counts_that_are_no_power_of_two);
    TEST(compiled_engines_are_asked_little);
    TEST(asks_are_bounded);
    return REPORT();
}
