/* Predictions of the cost model for a list of convolutions and some of their tilings, on devices of
 * each kind, against tests/golden. See tests/README.md, Decisions. */
#include "decide/cost.h"
#include "decide/guess.h"
#include "golden_lines.h"
#include "listed_problems.h"

static const struct {
    const char *name;
    struct cs_profile profile;
} device[] = {
    {"none", {.capability = 0}},
    {"V100", {.name = "Tesla V100", .capability = 700}},
    {"T4", {.name = "Tesla T4", .capability = 750}},
    {"A100", {.name = "A100", .capability = 800}},
    {"A10", {.name = "NVIDIA A10", .capability = 860}},
    {"3090", {.name = "NVIDIA GeForce RTX 3090", .capability = 860}},
    {"4090", {.name = "NVIDIA GeForce RTX 4090", .capability = 890}},
    {"H100", {.name = "NVIDIA H100", .capability = 900}},
    {"B200", {.name = "NVIDIA B200", .capability = 1000}},
    {"5090", {.name = "GeForce RTX 5090", .capability = 1210}},
    {"half of an H100",
     {.capability = 900,
      .multiprocessors = 66,
      .clock = 1500000,
      .memory_clock = 2000000,
      .bus_width = 2560,
      .l2 = 25 << 20}},
    {"H100 without tensor cores", {.capability = 900, .engine = {.known = true}}},
    {"H100 tensor cores",
     {.capability = 900, .engine = {.known = true, .tensor_cores = true, .splits = 1}}},
    {"H100 in 8 sums",
     {.capability = 900, .engine = {.known = true, .tensor_cores = true, .splits = 8}}},
    {"A100 Winograd", {.capability = 800, .engine = {.known = true, .winograd = 1}}},
    {"A100 Winograd of 4",
     {.capability = 800, .engine = {.known = true, .tensor_cores = true, .winograd = 4}}},
};

enum {
    DEVICES = sizeof device / sizeof *device
};

/* Untiled, along the rows, with copies, on lanes, of another engine, if such a cut exists. */
static const struct cs_tiling tiling[] = {
    {.step = {1, 1}},
    {.axis = {CS_AXIS_H}, .step = {40, 1}, .lanes = 2},
    {.axis = {CS_AXIS_N, CS_AXIS_H}, .step = {1, 64}, .staged = true},
    {.axis = {CS_AXIS_K}, .step = {24, 1}, .relaxation = CS_DEFAULT_KNOBS, .lanes = 8},
    {.axis = {CS_AXIS_W}, .step = {999, 1}, .relaxation = CS_SIMILAR_ENGINE, .lanes = 3},
    {.axis = {CS_AXIS_D}, .step = {3, 1}},
    {.axis = {CS_AXIS_C}, .step = {64, 1}},
};

enum {
    TILINGS = sizeof tiling / sizeof *tiling
};

/* Seconds, the best estimate and the upper end; of these for memory and arithmetic. */
static void put_cost(const struct cs_cost *cost)
{
    golden_put(" %.4g %.4g %.4g %.4g %.4g,", cost->seconds, cost->decided, cost->most, cost->memory,
               cost->arithmetic);
}

/* The untiled call converts only y. */
static int64_t y_bytes(const struct cs_problem *problem)
{
    int64_t bytes = 0;
    CHECK_INT(cs_problem_tensor_bytes(&problem->tensor[CS_Y], &bytes), CS_OK);
    return bytes;
}

/* The plan's tiles by themselves and as tiles that are all alike. */
static void put_costs(const struct cs_plan *plan, const struct cs_problem *problem,
                      const struct cs_profile *profile)
{
    struct cs_cost cost = cs_cost_of(plan, y_bytes(problem), profile);
    struct cs_problem tile;
    int64_t tiles = 1;
    put_cost(&cost);
    memcpy(&tile, problem, sizeof tile);
    if (plan->cuts == 0 || cs_typical_tile(problem, &plan->tiling, &tile, &tiles) != CS_OK)
        return;
    const struct cs_cost_tiles alike = {.count = (double)tiles - 0.25,
                                        .launched = (double)tiles,
                                        .workspace = (double)plan->shape[0].workspace,
                                        .required = (double)y_bytes(problem),
                                        .lanes = plan->tiling.lanes,
                                        .relaxation = plan->tiling.relaxation};
    cost = cs_cost_of_tiles(problem, &tile, &alike, profile);
    golden_put(" alike");
    put_cost(&cost);
}

/* Without a workspace, with a small one and with one of the operands' size. */
static int64_t workspace_of(const struct cs_plan *plan, int64_t shape, int which)
{
    static struct cs_problem problem;
    int64_t bytes, sum = 0;
    cs_plan_problem(plan, shape, &problem);
    for (int i = 0; i < CS_OPERANDS; i++)
        if (cs_problem_tensor_bytes(&problem.tensor[i], &bytes) == CS_OK)
            sum += bytes;
    return which == 0 ? 0 : which == 1 ? sum / 5 + 4096 : sum + 100;
}

/* Shapes beyond the number of the plan are not read. */
static void put_garbage_behind(struct cs_plan *plan)
{
    const size_t size = sizeof *plan->shape;
    char *begin = (char *)&plan->shape[plan->shapes];
    for (char *at = begin; at < (char *)&plan->shape[CS_MAX_TILE_SHAPES]; at += size)
        memcpy(at, &plan->shape[0], size);
}

static void costs(void)
{
    static struct cs_plan plan;
    int lines = 0;
    for (int i = 0; i < LISTED * CS_DIRECTIONS; i++) {
        struct cs_problem problem;
        if (!listed_make(i / CS_DIRECTIONS, (enum cs_direction)(i % CS_DIRECTIONS), &problem))
            continue;
        for (int t = 0; t < TILINGS; t++) {
            if (cs_plan_cut(&problem, &tiling[t], &plan) != CS_OK)
                continue;
            int which = lines++ % DEVICES;
            for (int64_t k = 0; k < plan.shapes; k++)
                plan.shape[k].workspace = workspace_of(&plan, k, lines % 3);
            put_garbage_behind(&plan);
            cs_plan_settle(&plan);
            golden_put("%s %s %s on %s:", listed_problem[i / CS_DIRECTIONS].name,
                       cs_problem_direction_name(problem.direction),
                       cs_axis_tiling_name(&tiling[t]), device[which].name);
            put_costs(&plan, &problem, &device[which].profile);
            golden_put("\n");
        }
    }
    golden_end("tests/golden/costs.txt");
}

static void put_guess(struct cs_guesser *guesser, const struct cs_tiling *made)
{
    struct cs_guess guess;
    if (!cs_guess_tiles(guesser, made, &guess)) {
        golden_put(" none,");
        return;
    }
    golden_put(" %lld%s images %.5g filter %.5g staged %.4g each %.5g all %.5g %.4gs,",
               (long long)guess.tiles, guess.uneven ? " uneven" : "", guess.images, guess.filter,
               guess.staged, guess.each, guess.workspace, guess.seconds);
}

/* Guesses for a tiling, before and after a vendor has reported its size or that of another tiling.
 */
static void guesses(void)
{
    static const struct cs_tiling more[] = {
        {.axis = {CS_AXIS_H_PHASES}, .step = {2, 1}},
        {.axis = {CS_AXIS_W_PHASES}, .step = {3, 1}, .lanes = 2},
        {.axis = {CS_AXIS_N, CS_AXIS_W}, .step = {1, 50}},
        {.axis = {CS_AXIS_K, CS_AXIS_C}, .step = {32, 48}, .lanes = 4},
        {.axis = {CS_AXIS_C, CS_AXIS_H}, .step = {16, 30}},
    };
    enum {
        ALL = TILINGS - 1 + sizeof more / sizeof *more
    };
    int lines = 0;
    for (int i = 0; i < LISTED * CS_DIRECTIONS; i++) {
        struct cs_problem problem;
        if (!listed_make(i / CS_DIRECTIONS, (enum cs_direction)(i % CS_DIRECTIONS), &problem))
            continue;
        for (int t = i % 3; t < ALL; t += 3) {
            const struct cs_tiling *made =
                t < TILINGS - 1 ? &tiling[1 + t] : &more[t - TILINGS + 1];
            int which = lines++ % DEVICES;
            struct cs_guesser guesser;
            struct cs_question question = {.problem = &problem, .profile = &device[which].profile};
            struct cs_guess guess;
            int64_t bytes;
            CHECK_INT(cs_problem_tensor_bytes(&problem.tensor[CS_X], &bytes), CS_OK);
            question.required = lines % 7 == 0 ? bytes / 9 : bytes * (1 + lines % 4);
            cs_guess_start(&guesser, &question);
            golden_put("%s %s %s on %s:", listed_problem[i / CS_DIRECTIONS].name,
                       cs_problem_direction_name(problem.direction), cs_axis_tiling_name(made),
                       device[which].name);
            put_guess(&guesser, made);
            if (cs_guess_tiles(&guesser, made, &guess)) {
                struct cs_candidate told = {
                    .tiling = *made,
                    .workspace = (int64_t)(guess.workspace * (0.2 + 0.3 * (lines % 5))),
                    .seconds = guesser.seconds * (0.9 + 0.2 * (lines % 6))};
                cs_guess_learn(&guesser, &told);
                put_guess(&guesser, made);
                put_guess(&guesser, &tiling[1]);
                told.tiling = tiling[1]; /* and one with the whole filter */
                told.seconds = lines % 2 ? guesser.seconds * 1.3 : 0;
                cs_guess_learn(&guesser, &told);
                put_guess(&guesser, made);
            }
            golden_put("\n");
        }
    }
    golden_end("tests/golden/guesses.txt");
}

int main(void)
{
    TEST(costs);
    TEST(guesses);
    return REPORT();
}
