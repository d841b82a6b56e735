/* What `convshim tune` aims at: the level, or what tiling everything reaches where that is above
 * it. Runs and their results are the test's own. */
#include "check.h"
#include "cli/common/cli.h"
#include "cli/tune/tune.h"
#include <unistd.h>

static char folder[] = "/tmp/convshim-tune-XXXXXX";
static int64_t peak[2]; /* of the first two runs: untiled, everything tiled */
static bool ends[2];    /* well */
static int64_t aimed;   /* the last target */
static int ran;

void cs_cli_complain(const char *format, ...)
{
    (void)format;
    CHECK(!"a complaint");
}

bool cs_simulated_runs(struct cs_simulation *simulation, struct cs_simulated_run *run,
                       struct cs_simulated_result *result, size_t runs)
{
    (void)simulation;
    for (size_t i = 0; i < runs; i++, ran++) {
        int which = ran == 1;
        CHECK(run[i].with && access(run[i].file, R_OK) == 0);
        result[i] = (struct cs_simulated_result){.status = ends[which] ? 0 : 1,
                                                 .used = true,
                                                 .planned = true,
                                                 .launches = 5,
                                                 .device_peak = peak[which],
                                                 .allocated = -1,
                                                 .failed = -1,
                                                 .summary = (struct cJSON *)(void *)folder};
    }
    return true;
}

bool cs_simulated_result_ran(const struct cs_simulated_result *result)
{
    return result->status == 0;
}

bool cs_simulated_result_output(const struct cs_simulated_run *run, FILE *out)
{
    (void)run, (void)out;
    return true;
}

void cs_simulated_result_free(struct cs_simulated_result *result)
{
    (void)result;
}

bool cs_exposures_of_run(const struct cs_simulated_run *run,
                         const struct cs_simulated_result *result, struct cs_exposures *to)
{
    (void)run;
    to->level = 1000;
    to->peak = result->device_peak;
    return true;
}

bool cs_exposures_of_summary(const char *path, struct cs_exposures *to)
{
    (void)path, (void)to;
    return false;
}

bool cs_exposures_measure(struct cs_exposures *exposures, const struct cs_simulated_run *run,
                          const struct cs_simulated_result *result)
{
    (void)exposures, (void)run, (void)result;
    return true;
}

void cs_exposures_limit(struct cs_exposures *exposures, int64_t target)
{
    (void)exposures;
    aimed = target;
}

int64_t cs_exposures_reach(const struct cs_exposures *exposures, int64_t target)
{
    (void)exposures;
    return target;
}

size_t cs_exposures_rules(const struct cs_exposures *exposures)
{
    (void)exposures;
    return 0;
}

const char *cs_tune_options_before(const struct cs_tune *tune)
{
    (void)tune;
    return "policy = off\n";
}

void cs_tune_write(const struct cs_tune *tune, bool head, FILE *out)
{
    (void)tune, (void)head, (void)out;
}

/* What a search aims at first; it needs no rule. */
static int64_t goal(struct cs_tune_options options, int64_t untiled, int64_t everything)
{
    static struct cs_simulation simulation;
    static const struct cs_device_file device = {.path = (char *)"device.json"};
    struct cs_tune tune = {.options = &options, .simulation = &simulation, .device = &device};
    options.runs = 10;
    snprintf(simulation.work, sizeof simulation.work, "%s", folder);
    peak[0] = untiled;
    peak[1] = everything;
    ends[0] = true;
    ran = 0;
    aimed = -1;
    CHECK(cs_tune_search(&tune));
    CHECK_INT(tune.untiled.peak, untiled);
    CHECK_INT(tune.everything.peak, everything);
    return aimed;
}

static void as_low_as_tiling_everything(void)
{
    ends[1] = true;
    CHECK_INT(goal((struct cs_tune_options){.within = 0}, 2000, 1500), 1500);
    CHECK_INT(goal((struct cs_tune_options){.within = 10}, 2000, 1500), 1500);
    CHECK_INT(goal((struct cs_tune_options){.within = 60}, 2000, 1500), 1600);
    CHECK_INT(goal((struct cs_tune_options){.within = 10}, 2000, 1050), 1100);
}

static void as_low_as_the_level(void)
{
    ends[1] = true;
    CHECK_INT(goal((struct cs_tune_options){.lowest = true}, 2000, 1500), 1000);
    CHECK_INT(goal((struct cs_tune_options){.within = 0}, 1500, 1500),
              1000); /* tiling is no help */
    ends[1] = false; /* or does not run */
    CHECK_INT(goal((struct cs_tune_options){.within = 0}, 2000, 1500), 1000);
}

int main(void)
{
    char remove[64];
    if (!mkdtemp(folder))
        return 1;
    TEST(as_low_as_tiling_everything);
    TEST(as_low_as_the_level);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || system(remove) != 0;
}
