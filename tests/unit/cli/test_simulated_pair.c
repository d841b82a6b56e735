/* Pairs of runs: which programs run on which device, and the smallest on which they do. The runs
 * are the test's own. */
#include "check.h"
#include "cli/common/cli.h"
#include "cli/simulate/simulated_pair.h"

static struct cs_simulated_run ran[16];
static size_t rans;
static int64_t need[2] = {900 << 20, 500 << 20}; /* of memory, without and with */

void cs_cli_complain(const char *format, ...)
{
    (void)format;
    CHECK(!"a complaint");
}

bool cs_simulation_run(struct cs_simulation *simulation, struct cs_simulated_run *run, size_t runs)
{
    (void)simulation;
    rans = 0;
    for (size_t i = 0; i < runs; i++) {
        run[i].state = CS_RUN_ENDED;
        ran[rans++ % 16] = run[i];
    }
    return true;
}

bool cs_simulated_result_read(const struct cs_simulated_run *run,
                              struct cs_simulated_result *result)
{
    bool fits = run->capacity == 0 || run->capacity >= need[run->with];
    *result = (struct cs_simulated_result){
        .status = fits ? 0 : 1, .used = true, .refused = fits ? 0 : 1, .calls = run->with};
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
    (void)result, (void)base;
    return 0;
}

static struct cs_device_file devices[] = {{.path = (char *)"a.json"}, {.path = (char *)"b.json"}};

static void every_pair_has_its_runs(void)
{
    struct cs_simulation simulation = {.title = "simulate"};
    struct cs_simulated_pair pair[] = {
        {.device = &devices[0], .chosen = {true, true}},
        {.device = &devices[1], .capacity = 600 << 20, .chosen = {true, true}},
        {.device = &devices[0], .chosen = {false, true}}};
    CHECK(cs_simulated_pairs_run(&simulation, pair, 3));
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

int main(void)
{
    TEST(every_pair_has_its_runs);
    return REPORT();
}
