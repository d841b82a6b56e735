/* What is decided about a list of convolutions, under many settings and for vendors whose
 * workspaces are formulas, as it stands in tests/golden: whoever changes a decision sees which ones
 * move. When and how the files are written anew is told in tests/README.md, Decisions. */
#include "decide/by_rules.h"
#include "decide/cost.h"
#include "decide/offers.h"
#include "fake_vendor.h"
#include "golden_lines.h"
#include "listed_problems.h"

static const struct cs_profile h100 = {.name = "NVIDIA H100", .capability = 900},
                               rtx4090 = {.name = "NVIDIA GeForce RTX 4090",
                                          .capability = 890,
                                          .engine = {.known = true, .tensor_cores = true}};

/* The settings and the vendor of one decision about each problem. */
struct situation {
    const char *name;
    const char *policy;
    struct cs_limits limits; /* threshold: as written, so that 0 is none */
    struct fake fake;
    int64_t required; /* 0: what the vendor's formula says of the whole */
    int64_t provided;
    int64_t share, room; /* 0: nobody knows */
    bool judged;
};

#define AUTO                                                                                       \
    .workspace = -1, .max_slowdown = -1, .threshold = -1, .tiles = 4, .min_saving = 16 << 20,      \
    .exceeds = true
#define WRITTEN(bytes, saving)                                                                     \
    .workspace = (bytes), .max_slowdown = -1, .threshold = -1, .tiles = 4, .min_saving = (saving)
#define M (INT64_C(1) << 20)
#define PLAIN .fixed = 9 * M / 2, .per_byte = 1
#define FILTERS .fixed = 70000, .per_byte = 0.4, .per_filter_byte = 3
#define CURVED .fixed = 4096, .per_byte = 1.5, .per_filter_byte = 1, .curved = true

/* The first few are for every problem, of the others one in five. */
enum {
    FOR_ALL = 3
};
static const struct situation situation[] = {
    {"auto", "fit", {AUTO}, .fake = {PLAIN}},
    {"auto H100 filters", "fit", {AUTO}, .fake = {FILTERS, .profile = &h100}},
    {"fast 64M H100", "fast", {WRITTEN(64 * M, 16 * M)}, .fake = {PLAIN, .profile = &h100}},
    {"3M curved", "fit", {WRITTEN(3 * M, M / 2), .exceeds = true}, .fake = {CURVED}},
    {"8M", "fit", {WRITTEN(8 * M, 16 * M), .exceeds = true}, .fake = {PLAIN}},
    {"1M filters", "fit", {WRITTEN(M, 0), .exceeds = true}, .fake = {FILTERS}},
    {"8M slowdown 2000 4090",
     "fit",
     {.workspace = 8 * M, .max_slowdown = 2000, .threshold = -1, .min_saving = M},
     .fake = {FILTERS, .profile = &rtx4090}},
    {"auto slowdown 1020 most 200M",
     "fit",
     {.workspace = -1, .max_slowdown = 1020, .threshold = -1, .most = 200 * M},
     .fake = {FILTERS, .profile = &rtx4090}},
    {"fast auto 4090 filters", "fast", {AUTO}, .fake = {FILTERS, .profile = &rtx4090}},
    {"fast 32M 3 lanes erratic",
     "fast",
     {WRITTEN(32 * M, 16 * M), .lanes = 3},
     .fake = {PLAIN, .erratic = true, .profile = &h100}},
    {"fast 4M no device", "fast", {WRITTEN(4 * M, 0), .exceeds = true}, .fake = {CURVED}},
    {"budget 24M", "budget", {AUTO}, .fake = {PLAIN}, .share = 24 * M},
    {"budget 24M slowdown 1500",
     "budget",
     {.workspace = 90 * M, .max_slowdown = 1500, .threshold = -1},
     .fake = {FILTERS, .profile = &h100},
     .share = 24 * M},
    {"fixed 4", "fixed", {WRITTEN(64 * M, 16 * M)}, .fake = {PLAIN}},
    {"fixed 7 on 3 lanes",
     "fixed",
     {.workspace = 64 * M, .threshold = 0, .tiles = 7, .lanes = 3},
     .fake = {FILTERS}},
    {"measure auto", "measure", {AUTO}, .fake = {PLAIN, .profile = &h100}, .judged = true},
    {"measure 48M curved",
     "measure",
     {WRITTEN(48 * M, 16 * M)},
     .fake = {CURVED, .profile = &rtx4090},
     .judged = true},
    {"off auto", "off", {AUTO}, .fake = {PLAIN, .profile = &h100}},
    {"peak room 300M", "peak", {AUTO}, .fake = {PLAIN}, .room = 300 * M},
    {"peak room 300M lent",
     "peak",
     {AUTO, .lent = true},
     .fake = {PLAIN, .fallback = 20 * M},
     .room = 300 * M},
    {"64M 4 lanes", "fit", {WRITTEN(64 * M, 16 * M), .lanes = 4}, .fake = {FILTERS}},
    {"8M 8 lanes curved", "fit", {WRITTEN(8 * M, 16 * M), .lanes = 8}, .fake = {CURVED}},
    {"64M staged",
     "fit",
     {WRITTEN(64 * M, 16 * M), .staging = CS_STAGING_ALWAYS},
     .fake = {FILTERS}},
    {"64M never staged",
     "fit",
     {WRITTEN(64 * M, 16 * M), .staging = CS_STAGING_NEVER},
     .fake = {PLAIN}},
    {"auto staged slowdown",
     "fit",
     {AUTO, .staging = CS_STAGING_ALWAYS},
     .fake = {PLAIN, .profile = &h100}},
    {"provided 40M", "fit", {AUTO}, .fake = {PLAIN}, .provided = 40 * M},
    {"fast provided 40M", "fast", {AUTO}, .fake = {FILTERS, .profile = &h100}, .provided = 40 * M},
    {"threshold 500M", "fit", {.workspace = 64 * M, .threshold = 500 * M}, .fake = {PLAIN}},
    {"lent fallback 10M", "fit", {AUTO, .lent = true}, .fake = {PLAIN, .fallback = 10 * M}},
    {"fallback 90M", "fit", {WRITTEN(64 * M, 16 * M)}, .fake = {FILTERS, .fallback = 90 * M}},
    {"fallback 60M", "fit", {WRITTEN(64 * M, 16 * M)}, .fake = {FILTERS, .fallback = 60 * M}},
    {"one-sided refused", "fit", {AUTO}, .fake = {PLAIN, .refuses_one_sided = true}},
    {"fast one-sided refused",
     "fast",
     {WRITTEN(48 * M, 16 * M)},
     .fake = {FILTERS, .refuses_one_sided = true, .profile = &h100}},
    {"few rows refused", "fit", {WRITTEN(48 * M, 16 * M)}, .fake = {PLAIN, .refuses_below = 100}},
    {"middle rows refused",
     "fit",
     {WRITTEN(48 * M, 16 * M)},
     .fake = {PLAIN, .refuses_from = 9, .refuses_to = 120}},
    {"erratic",
     "fit",
     {WRITTEN(40 * M, 16 * M), .exceeds = true},
     .fake = {PLAIN, .erratic = true}},
    {"other knobs",
     "fit",
     {AUTO},
     .fake = {PLAIN, .stubborn = 900 * M, .helps = CS_DEFAULT_KNOBS},
     .required = 900 * M},
    {"another engine",
     "fit",
     {AUTO},
     .fake = {PLAIN, .stubborn = 900 * M, .helps = CS_SIMILAR_ENGINE, .alike = 30 * M},
     .required = 900 * M},
    {"fast another engine",
     "fast",
     {AUTO},
     .fake = {PLAIN, .stubborn = 900 * M, .helps = CS_SIMILAR_ENGINE, .alike = 30 * M,
              .profile = &h100},
     .required = 900 * M},
    {"nowhere",
     "fit",
     {WRITTEN(16 * M, 16 * M)},
     .fake = {PLAIN, .stubborn = 900 * M, .helps = CS_RELAXATIONS},
     .required = 900 * M},
    {"compiled", "fit", {AUTO}, .fake = {PLAIN, .compiles = true, .profile = &h100}},
    {"compiled 32M",
     "fit",
     {WRITTEN(32 * M, 16 * M), .lanes = 2},
     .fake = {FILTERS, .compiles = true}},
    {"all refused", "fit", {AUTO}, .fake = {PLAIN, .refuses_all = true}},
    {"huge",
     "fit",
     {AUTO, .huge = 100000000},
     .fake = {.fixed = M, .per_byte = 0.5, .stubborn = 3 * M, .helps = CS_TILE_HEURISTICS},
     .required = -1},
    {"memory short", "fit", {WRITTEN(48 * M, 16 * M)}, .fake = {PLAIN, .nomem_at = 3}},
};

enum {
    SITUATIONS = sizeof situation / sizeof *situation
};

/* A vendor that remembers what it was asked, and in which order. */
struct witness {
    struct fake *fake;
    uint64_t digest;
};

static enum cs_status witness_build(void *ctx, const struct cs_problem *problem,
                                    enum cs_relaxation relaxation, void **execution_plan_p,
                                    int64_t *workspace_p)
{
    struct witness *witness = ctx;
    int64_t far = relaxation;
    for (int t = 0; t < problem->tensors; t++)
        witness->digest = golden_digest(witness->digest, problem->tensor[t].dims, CS_DIMS);
    witness->digest = golden_digest(witness->digest, problem->pre, CS_SPATIAL);
    witness->digest = golden_digest(witness->digest, problem->post, CS_SPATIAL);
    witness->digest = golden_digest(witness->digest, &far, 1);
    return fake_build(witness->fake, problem, relaxation, execution_plan_p, workspace_p);
}

static enum cs_status witness_fallback(void *ctx, int64_t limit, void **execution_plan_p,
                                       int64_t *workspace_p)
{
    struct witness *witness = ctx;
    witness->digest = golden_digest(witness->digest, &limit, 1);
    return fake_fallback(witness->fake, limit, execution_plan_p, workspace_p);
}

static const struct cs_profile *witness_profile(void *ctx)
{
    return fake_profile(((struct witness *)ctx)->fake);
}

static struct cs_vendor vendor_of(struct witness *witness)
{
    return (struct cs_vendor){.ctx = witness,
                              .compiles = witness->fake->compiles,
                              .rigid = witness->fake->stubborn == 0,
                              .build = witness_build,
                              .fallback = witness_fallback,
                              .destroy = fake_destroy,
                              .profile = witness_profile};
}

static int64_t share_of(void *ctx, const struct cs_policy *policy, const struct cs_limits *limits)
{
    (void)policy;
    (void)limits;
    return ((const struct situation *)ctx)->share;
}

static int64_t room_of(void *ctx)
{
    return ((const struct situation *)ctx)->room;
}

/* Neither the first nor always the last, but by their sizes. */
static int choose(void *ctx, const struct cs_candidate *const contender[], int count)
{
    int64_t sum = 0;
    (void)ctx;
    for (int i = 0; i < count; i++)
        sum += contender[i]->workspace / 4096 + contender[i]->tiles;
    return (int)(sum % count);
}

static const struct cs_referee *referee_of(void *ctx, const struct cs_limits *limits)
{
    static const struct cs_referee referee = {.choose = choose};
    (void)limits;
    return ((const struct situation *)ctx)->judged ? &referee : NULL;
}

static int64_t required_by(const struct situation *at, const struct cs_problem *problem)
{
    if (at->required != 0)
        return at->required > 0 ? at->required : 0;
    return formula(&at->fake, problem);
}

static void put_tiling(const struct cs_tiling *tiling)
{
    golden_put("%s", cs_axis_tiling_name(tiling));
    for (int i = 0; i < tiling->runs; i++)
        golden_put(" %lldx%lld/%d", (long long)tiling->run[i].tiles, (long long)tiling->run[i].step,
                   (int)tiling->run[i].relaxation);
    golden_put(" %lld", (long long)tiling->step[0]);
    if (tiling->axis[1] != CS_AXIS_NONE)
        golden_put(",%lld", (long long)tiling->step[1]);
    if (tiling->lanes > 1)
        golden_put(" lanes %d", tiling->lanes);
    if (tiling->relaxation != CS_SAME_KNOBS)
        golden_put(" %s", cs_problem_relaxation_name(tiling->relaxation));
    golden_put("%s%s", tiling->staged ? " staged" : "", tiling->equal_padding ? " equal" : "");
}

/* What its tiles read again and copy, and what it takes in the time of the whole. */
static void put_plan(const struct fake *fake, const struct cs_problem *problem,
                     const struct cs_decision *decision)
{
    static struct cs_plan plan;
    static struct cs_problem shape;
    static const struct cs_tiling untiled = {.step = {1, 1}};
    double seconds[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        if (cs_plan_cut(problem, i ? &decision->tiling : &untiled, &plan) != CS_OK) {
            CHECK(false);
            return;
        }
        for (int64_t k = 0; k < plan.shapes; k++) {
            cs_plan_problem(&plan, k, &shape);
            plan.shape[k].workspace =
                i ? formula_at(fake, &shape, plan.shape[k].relaxation) : decision->required;
        }
        cs_plan_settle(&plan);
        seconds[i] = cs_cost_of(&plan, fake->profile ? fake->profile : &h100).seconds;
    }
    golden_put(" again %lld copied %lld %.4gs x%.4g", (long long)plan.halo, (long long)plan.copied,
               seconds[1], seconds[1] / seconds[0]);
    CHECK_INT(plan.tiles, decision->tiles);
    CHECK_INT(plan.workspace, decision->scratch);
    CHECK_INT(cs_plan_validate(&plan, decision->scratch), CS_OK);
}

static void put_choices(const struct cs_choices *choices)
{
    double sum = 0;
    for (int i = 0; i < choices->count; i++) {
        const struct cs_choice *choice = &choices->choice[i];
        sum += choice->score < 1e300 ? choice->score : 0;
        if (choice->picked)
            golden_put(" pick %d", i);
    }
    golden_put(" of %d/%d sum %.4g", choices->count, choices->listed, sum);
}

static void put_decision(const struct fake *fake, const struct cs_problem *problem,
                         const struct cs_decision *decision, uint64_t digest)
{
    golden_put("reason %d ", (int)decision->reason);
    if (decision->tiles > 1 || decision->tiling.relaxation != CS_SAME_KNOBS)
        put_tiling(&decision->tiling);
    golden_put(" tiles %lld of %lld reported %lld scratch %lld limit %lld%s%s",
               (long long)decision->tiles, (long long)decision->required,
               (long long)decision->reported, (long long)decision->scratch,
               (long long)decision->limit, decision->raised ? " raised" : "",
               decision->exemplary ? " example" : "");
    if (decision->tiles > 1)
        put_plan(fake, problem, decision);
    put_choices(&decision->choices);
    golden_put(" asked %lld %04x\n", (long long)decision->asked, (unsigned)(digest & 0xffff));
}

/* What is decided; the fake counts what it was asked. */
static struct cs_decision decision_in(const struct situation *at, const struct cs_problem *problem,
                                      struct witness *witness)
{
    const struct cs_vendor vendor = vendor_of(witness);
    const struct cs_settings settings = {.program = "",
                                         .policy = cs_policy_find(at->policy),
                                         .limits = at->limits,
                                         .most = INT64_MAX};
    const struct cs_decide_call call = {.problem = problem,
                                        .required = required_by(at, problem),
                                        .engine = -1,
                                        .provided = at->provided};
    const struct cs_decide_help help = {.ctx = (void *)(uintptr_t)at,
                                        .share = at->share ? share_of : NULL,
                                        .room = at->room ? room_of : NULL,
                                        .referee = referee_of};
    struct cs_decision decision = cs_decide_by_rules(&settings, &call, &vendor, &help);
    CHECK_INT(witness->fake->live, 0);
    CHECK_INT(decision.asked, witness->fake->calls);
    return decision;
}

static void decide_in(const struct situation *at, const char *name,
                      const struct cs_problem *problem)
{
    struct fake fake = at->fake;
    struct witness witness = {&fake, 0};
    struct cs_decision decision = decision_in(at, problem, &witness);
    if (decision.reason == CS_REASON_SMALL && decision.asked == 0)
        return; /* what is within the limit has no line */
    golden_put("%s %s, %s: ", name, cs_problem_direction_name(problem->direction), at->name);
    put_decision(&fake, problem, &decision, witness.digest);
}

/* Every problem in the first situations, and in a fifth of the others. */
static void decisions(void)
{
    for (int i = 0; i < LISTED * CS_DIRECTIONS; i++) {
        struct cs_problem problem;
        if (!listed_make(i / CS_DIRECTIONS, (enum cs_direction)(i % CS_DIRECTIONS), &problem))
            continue;
        for (int s = 0; s < SITUATIONS; s++)
            if (s < FOR_ALL || (s + i / CS_DIRECTIONS + 2 * (i % CS_DIRECTIONS)) % 5 == 0)
                decide_in(&situation[s], listed_problem[i / CS_DIRECTIONS].name, &problem);
    }
    golden_end("tests/golden/decisions.txt");
}

/* --- the same for far more settings, as a number for each --- */

/* A number for what `decide_in` puts, which is taken back. */
static unsigned number_of(const struct situation *at, const struct cs_problem *problem)
{
    size_t from = golden_used;
    uint64_t number = 0;
    decide_in(at, "", problem);
    for (size_t i = from; i < golden_used; i++) {
        const int64_t byte = (unsigned char)golden_now[i];
        number = golden_digest(number, &byte, 1);
    }
    golden_used = from;
    golden_now[from] = '\0';
    return (unsigned)(number >> 32) & 0xffff;
}

static int64_t one_of(struct rng *rng, const int64_t *value, int values)
{
    return value[rng_between(rng, 0, values - 1)];
}

#define ONE_OF(rng, ...)                                                                           \
    one_of(rng, (const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static struct cs_limits random_limits(struct rng *rng)
{
    int64_t workspace = ONE_OF(rng, -1, -1, 0, M / 2, 3 * M, 16 * M, 64 * M, 200 * M);
    return (struct cs_limits){
        .workspace = workspace,
        .max_slowdown = ONE_OF(rng, -1, -1, 0, 1001, 1050, 1500, 3000),
        .threshold = ONE_OF(rng, -1, -1, -1, 0, M, 100 * M),
        .most = ONE_OF(rng, 0, 0, 30 * M, 300 * M),
        .tiles = ONE_OF(rng, 2, 4, 9),
        .min_saving = ONE_OF(rng, 0, M, 16 * M),
        .lanes = (int)ONE_OF(rng, 0, 0, 1, 1, 2, 3, 8),
        .staging = (enum cs_staging)ONE_OF(rng, CS_STAGING_AUTO, CS_STAGING_AUTO, CS_STAGING_AUTO,
                                           CS_STAGING_NEVER, CS_STAGING_ALWAYS),
        .exceeds = ONE_OF(rng, 0, 1, 1) != 0,
        .lent = ONE_OF(rng, 0, 0, 0, 1) != 0};
}

static struct fake random_fake(struct rng *rng)
{
    static const struct cs_profile *profile[] = {NULL, &h100, &rtx4090};
    static const struct fake fakes[] = {{PLAIN}, {FILTERS}, {CURVED}, {PLAIN, .erratic = true}};
    struct fake fake = fakes[rng_between(rng, 0, 3)];
    fake.profile = profile[rng_between(rng, 0, 2)];
    fake.compiles = rng_between(rng, 0, 9) == 0;
    fake.refuses_one_sided = rng_between(rng, 0, 7) == 0;
    fake.refuses_below = ONE_OF(rng, 0, 0, 0, 0, 5, 33, 128);
    fake.refuses_from = ONE_OF(rng, 0, 0, 0, 12);
    fake.refuses_to = fake.refuses_from > 0 ? ONE_OF(rng, 13, 64) : 0;
    fake.fallback = ONE_OF(rng, 0, 0, 0, 2 * M, 50 * M);
    fake.fallback_exceeds = rng_between(rng, 0, 15) == 0;
    fake.nomem_at = ONE_OF(rng, 0, 0, 0, 0, 0, 0, 0, 1, 2, 7, 20);
    fake.negative_at = ONE_OF(rng, 0, 0, 0, 0, 0, 0, 0, 1, 3);
    if (rng_between(rng, 0, 4) == 0) {
        fake.stubborn = ONE_OF(rng, 200 * M, 900 * M);
        fake.helps = (enum cs_relaxation)rng_between(rng, CS_DEFAULT_KNOBS, CS_RELAXATIONS);
        fake.alike = ONE_OF(rng, 0, M, 30 * M);
    }
    return fake;
}

static struct situation random_situation(struct rng *rng)
{
    static const char *const policy[] = {"fit",   "fit",  "fast",    "fast", "budget",
                                         "fixed", "peak", "measure", "off"};
    struct situation at = {.name = "",
                           .policy = policy[rng_between(rng, 0, 8)],
                           .limits = random_limits(rng),
                           .fake = random_fake(rng),
                           .share = ONE_OF(rng, 0, M, 24 * M),
                           .room = ONE_OF(rng, 0, 70 * M, 300 * M),
                           .judged = rng_between(rng, 0, 1) != 0};
    at.provided = ONE_OF(rng, 0, 0, 0, 0, 5 * M, 40 * M);
    at.required = at.fake.stubborn > 0 ? at.fake.stubborn : 0;
    if (at.required == 0 && rng_between(rng, 0, 11) == 0) {
        at.required = -1; /* nothing */
        at.limits.huge = 1000000;
    }
    return at;
}

enum {
    BY_CHANCE = 20 /* situations of a problem */
};

/* In every situation, and in some that are drawn by chance. */
static void numbers(void)
{
    for (int i = 0; i < LISTED * CS_DIRECTIONS; i++) {
        struct cs_problem problem;
        struct rng rng = {(uint64_t)i + 1};
        if (!listed_make(i / CS_DIRECTIONS, (enum cs_direction)(i % CS_DIRECTIONS), &problem))
            continue;
        for (int s = 0; s < SITUATIONS + BY_CHANCE; s++) {
            const struct situation at = s < SITUATIONS ? situation[s] : random_situation(&rng);
            if (s == 0 || s == SITUATIONS)
                golden_put(
                    "%s%s %s, %s:", s > 0 ? "\n" : "", listed_problem[i / CS_DIRECTIONS].name,
                    cs_problem_direction_name(problem.direction), s > 0 ? "by chance" : "listed");
            golden_put(" %04x", number_of(&at, &problem));
        }
        golden_put("\n");
    }
    golden_end("tests/golden/decision_numbers.txt");
}

/* What a call site offers for a share of a total. */
static void offers(void)
{
    for (int i = 0; i < LISTED * CS_DIRECTIONS; i += 2) {
        struct cs_problem problem;
        struct fake fake =
            i % 4 ? (struct fake){PLAIN} : (struct fake){CURVED, .compiles = i % 8 == 0};
        struct witness witness = {&fake, 0};
        const struct cs_vendor vendor = vendor_of(&witness);
        const struct cs_limits limits = {.workspace = 400 * M, .threshold = i % 6 ? -1 : 30 * M};
        struct cs_offer offer[CS_MAX_OFFERS];
        if (!listed_make(i / CS_DIRECTIONS, (enum cs_direction)(i % CS_DIRECTIONS), &problem))
            continue;
        int count = cs_offers(&problem, formula(&fake, &problem), cs_policy_find("budget"), &limits,
                              &vendor, offer);
        golden_put("%s %s:", listed_problem[i / CS_DIRECTIONS].name,
                   cs_problem_direction_name(problem.direction));
        for (int j = 0; j < count; j++)
            golden_put(" %lld at %lld under %lld,", (long long)offer[j].bytes,
                       (long long)offer[j].cost, (long long)offer[j].limit);
        golden_put(" asked %lld\n", (long long)fake.calls);
    }
    golden_end("tests/golden/offers.txt");
}

/* Memory that runs out at any ask is told as such, wherever the search is by then. */
static void without_memory(void)
{
    int looked_at = 0;
    for (int i = 0; i < LISTED * CS_DIRECTIONS; i += 4) {
        struct cs_problem problem;
        if (!listed_make(i / CS_DIRECTIONS, (enum cs_direction)(i % CS_DIRECTIONS), &problem))
            continue;
        for (int s = i % 3; s < SITUATIONS; s += 3) {
            struct fake fake = situation[s].fake;
            struct witness witness = {&fake, 0};
            fake.nomem_at = 0;
            int64_t asked = decision_in(&situation[s], &problem, &witness).asked;
            const int64_t at[] = {1, 2, 3, asked / 2, asked - 2, asked - 1, asked};
            for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
                if (at[k] < 1 || at[k] > asked)
                    continue;
                fake = situation[s].fake;
                fake.nomem_at = at[k];
                CHECK_INT(decision_in(&situation[s], &problem, &witness).reason,
                          CS_REASON_HOST_MEMORY);
                looked_at++;
            }
        }
    }
    CHECK(looked_at > 1000);
}

int main(void)
{
    TEST(decisions);
    TEST(offers);
    TEST(numbers);
    TEST(without_memory);
    return REPORT();
}
