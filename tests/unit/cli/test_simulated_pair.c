/* Pairs of runs: which programs run on which device, and the smallest on which they do. The runs
 * are the test's own. */
#include "check.h"
#include "cli/common/cli.h"
#include "cli/simulate/simulated_pair.h"
#include "heap.h"

static struct cs_simulated_run ran[16];
static size_t rans, rounds, asked;
static size_t round_size[64];
static int complaints;
static bool late, exact, starts = true;          /* how the model of a program behaves */
static int64_t need[2] = {900 << 20, 500 << 20}; /* of memory, without and with */

void cs_cli_complain(const char *format, ...)
{
    CHECK(strstr(format, "each run loads the program anew"));
    complaints++;
}

bool cs_simulation_run(struct cs_simulation *simulation, struct cs_simulated_run *run, size_t runs)
{
    rans = 0;
    (void)simulation;
    late = late && rounds == 0; /* in a process of its own it comes in time */
    round_size[rounds++ % 64] = runs;
    asked += runs;
    for (size_t i = 0; i < runs; i++) {
        CHECK(run[i].state == CS_RUN_WAITING);
        run[i].state = CS_RUN_ENDED;
        ran[rans++ % 16] = run[i];
    }
    return starts;
}

bool cs_simulated_result_read(const struct cs_simulated_run *run,
                              struct cs_simulated_result *result)
{
    bool fits = run->capacity == 0 || run->capacity >= need[run->with];
    *result = (struct cs_simulated_result){
        .status = fits ? 0 : 1,
        .used = true,
        .refused = fits ? 0 : 1,
        .launches = 3,
        .device_peak = INT64_C(2) << 30,
        .calls = run->capacity >> 20, /* by which the engines are told */
        .tiled = run->capacity,
        .summary = run->with && !late ? (struct cJSON *)(void *)need : NULL};
    return true;
}

void cs_simulated_result_free(struct cs_simulated_result *result)
{
    (void)result;
}

bool cs_simulated_result_ran(const struct cs_simulated_result *result)
{
    return result->status == 0;
}

int64_t cs_simulated_result_other_engines(const struct cs_simulated_result *result,
                                          const struct cs_simulated_result *base)
{
    (void)base;
    return exact && result->calls < 1200 ? 1 : 0;
}

static struct cs_device_file devices[] = {{.path = (char *)"a.json"}, {.path = (char *)"b.json"}};

static void every_pair_has_its_runs(void)
{
    struct cs_simulation simulation = {.title = "simulate"};
    struct cs_simulated_pair pair[] = {
        {.device = &devices[0], .chosen = {true, true}},
        {.device = &devices[1], .capacity = 600 << 20, .chosen = {true, true}},
        {.device = &devices[0], .chosen = {false, true}}};
    long long taken = heap_taken;
    CHECK(cs_simulated_pairs_run(&simulation, pair, 3));
    CHECK_INT(heap_taken, taken);
    for (int i = 0; i < 3; i++)
        for (int side = 0; side < CS_SIDES; side++) {
            const struct cs_simulated_run *run = &pair[i].run[side];
            CHECK_STR(run->name, cs_side_names[side]);
            CHECK_STR(run->profile, i == 1 ? "b.json" : "a.json");
            CHECK_INT(run->capacity, i == 1 ? 600 << 20 : 0);
            CHECK_INT(run->with, side == CS_WITH);
            CHECK_INT(run->state == CS_RUN_ENDED, pair[i].chosen[side]);
            CHECK_INT(pair[i].result[side].used, pair[i].chosen[side]);
        }
    /* Only what had too little memory is run again with memory to spare. */
    CHECK_INT(rans, 1);
    CHECK(pair[1].has_base[CS_WITHOUT] && !pair[1].has_base[CS_WITH] && !pair[0].has_base[0]);
    CHECK(ran[0].capacity > INT64_C(1) << 40 && !ran[0].with);
    CHECK_INT(pair[1].result[CS_WITHOUT].status, 1);
    CHECK_INT(pair[1].base[CS_WITHOUT].refused, 1 - (ran[0].capacity >= need[0]));
    CHECK(cs_simulated_pair_base(&pair[1], CS_WITHOUT) == &pair[1].base[CS_WITHOUT]);
    CHECK(cs_simulated_pair_base(&pair[1], CS_WITH) == &pair[1].result[CS_WITH]);
}

/* The library came too late: all is said once and run again, each by itself. */
static void runs_that_came_too_late(void)
{
    static const struct {
        bool many, late, with, told;
        size_t rounds;
    } rows[] = {{true, true, true, false, 2},
                {true, true, true, true, 2},
                {false, true, true, false, 1},
                {true, false, true, false, 1},
                {true, true, false, false, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_simulation simulation = {
            .title = "simulate", .many = rows[i].many, .shared = true, .told_single = rows[i].told};
        struct cs_simulated_run run[2] = {{.with = rows[i].with}, {.with = false}};
        struct cs_simulated_result result[2];
        memset(result, 0, sizeof result);
        rounds = 0;
        complaints = 0;
        late = rows[i].late;
        CHECK(cs_simulated_runs(&simulation, run, result, 2));
        CHECK_INT(rounds, rows[i].rounds);
        CHECK_INT(complaints, rows[i].rounds == 2 && !rows[i].told);
        CHECK_INT(simulation.many, rows[i].many && rows[i].rounds == 1);
        CHECK_INT(simulation.shared, rows[i].rounds == 1);
        CHECK(run[0].state == CS_RUN_ENDED && run[1].state == CS_RUN_ENDED);
    }
    late = false;
}

/* To 1 %, or to 4 MiB; of sides that were chosen and ran. */
static void the_smallest_capacities(void)
{
    for (int variant = 0; variant < 3; variant++) {
        struct cs_simulation simulation = {.title = "simulate"};
        struct cs_simulated_pair pair[] = {
            {.device = &devices[0], .history = true, .chosen = {true, true}},
            {.device = &devices[1], .capacity = 600 << 20, .chosen = {variant != 1, true}}};
        need[0] = variant == 2 ? 90 << 20 : 900 << 20;
        exact = variant != 1;
        CHECK(cs_simulated_pairs_run(&simulation, pair, 2));
        rounds = asked = 0;
        CHECK(cs_simulated_pairs_smallest(&simulation, pair, 2));
        CHECK_INT(round_size[0], variant == 1 ? 6 : 8);
        CHECK_INT(round_size[rounds - 1], 0);
        for (int i = 0; i < 2; i++)
            for (int side = 0; side < CS_SIDES; side++) {
                const struct cs_smallest *found = &pair[i].smallest[side];
                if (!pair[i].chosen[side]) {
                    CHECK_INT(found->runs + found->engines, 0);
                    continue;
                }
                int64_t least = need[side], engines = exact ? 1200 << 20 : least;
                int64_t grain = least / 100 > 4 << 20 ? least / 100 : 4 << 20;
                CHECK(found->runs >= least && found->runs <= least + grain + grain / 50);
                CHECK(found->engines >= engines &&
                      found->engines <= engines + engines / 100 + engines / 5000);
            }
        CHECK(!ran[0].history);
    }
    need[0] = 900 << 20;
    exact = false;
}

static void what_cannot_be_started(void)
{
    struct cs_simulation simulation = {.title = "simulate"};
    struct cs_simulated_pair pair = {.device = &devices[0], .chosen = {true, true}};
    CHECK(cs_simulated_pairs_run(&simulation, &pair, 1));
    long long taken = heap_taken;
    CHECK(cs_simulated_pairs_smallest(&simulation, &pair, 1));
    CHECK_INT(heap_taken, taken);
    memset(pair.smallest, 0, sizeof pair.smallest);
    starts = false;
    CHECK(!cs_simulated_pairs_smallest(&simulation, &pair, 1));
    CHECK_INT(heap_taken, taken);
    CHECK_INT(pair.smallest[CS_WITH].runs, 0);
    CHECK(!cs_simulated_pairs_run(&simulation, &pair, 1));
    CHECK(!cs_simulated_runs(&simulation, pair.run, pair.result, 2));
    starts = true;
}

int main(void)
{
    heap_watch();
    TEST(every_pair_has_its_runs);
    TEST(runs_that_came_too_late);
    TEST(the_smallest_capacities);
    TEST(what_cannot_be_started);
    return REPORT();
}
