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

/* Of runs with rules. */
enum {
    RULES = 3
};
static struct {
    int64_t limit;       /* of each rule; 0: there are none */
    int64_t peak;        /* with all rules */
    int64_t more[RULES]; /* without this one */
    int64_t fitting;     /* up to which target it fits */
    int asked, fails;    /* runs are asked for, and which of these cannot be made; < 0: none */
} model;
static struct cs_exposure item[RULES];

static int64_t peak_with_rules(void)
{
    int64_t sum = model.peak;
    for (int i = 0; i < RULES; i++)
        sum += item[i].limit > 0 ? 0 : model.more[item[i].calls];
    return sum;
}

void cs_cli_complain(const char *format, ...)
{
    (void)format;
    CHECK(!"a complaint");
}

bool cs_simulated_runs(struct cs_simulation *simulation, struct cs_simulated_run *run,
                       struct cs_simulated_result *result, size_t runs)
{
    (void)simulation;
    if (model.asked++ == model.fails)
        return false;
    for (size_t i = 0; i < runs; i++, ran++) {
        int which = ran == 1;
        bool ruled = ran > 1;
        CHECK(run[i].with && access(run[i].file, R_OK) == 0);
        result[i] =
            (struct cs_simulated_result){.status = ends[which] ? 0 : 1,
                                         .used = true,
                                         .planned = true,
                                         .launches = 5,
                                         .device_peak = ruled ? peak_with_rules() : peak[which],
                                         .allocated = -1,
                                         .failed = ruled ? aimed > model.fitting : -1,
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
    to->item = item;
    to->count = model.limit > 0 ? RULES : 0;
    for (int i = 0; i < RULES; i++) {
        item[i] = (struct cs_exposure){.calls = i, .extra_ns = 10 - i, .bought = -1};
        snprintf(item[i].keys, sizeof item[i].keys, "%d", i);
    }
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
    for (size_t i = 0; i < exposures->count; i++)
        exposures->item[i].limit = model.limit;
    aimed = target;
}

int64_t cs_exposures_reach(const struct cs_exposures *exposures, int64_t target)
{
    (void)exposures;
    return target;
}

size_t cs_exposures_rules(const struct cs_exposures *exposures)
{
    size_t rules = 0;
    for (size_t i = 0; i < exposures->count; i++)
        rules += exposures->item[i].limit > 0;
    return rules;
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
    model.limit = 0;
    model.fails = -1;
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

/* A search with rules; how many times runs were asked for. */
static int search(struct cs_tune_options options, struct cs_tune *tune, bool *good_p)
{
    static struct cs_simulation simulation;
    static const struct cs_device_file device = {.path = (char *)"device.json"};
    static struct cs_tune_options kept;
    kept = options;
    kept.runs = kept.runs > 0 ? kept.runs : 100;
    snprintf(simulation.work, sizeof simulation.work, "%s", folder);
    *tune = (struct cs_tune){.options = &kept, .simulation = &simulation, .device = &device};
    peak[0] = peak[1] = 2000;
    ends[0] = ends[1] = true;
    ran = model.asked = 0;
    *good_p = cs_tune_search(tune);
    return model.asked;
}

static const struct cs_exposure *rule(int number)
{
    for (int i = 0; i < RULES; i++)
        if (item[i].calls == number)
            return &item[i];
    return NULL;
}

/* Whatever its limit is: the least is a byte. */
static void a_rule_stays_out_where_nothing_is_lost(void)
{
    struct cs_tune tune;
    bool good;
    for (int64_t limit = 1; limit <= 2; limit++) {
        memset(&model, 0, sizeof model);
        model.fails = -1;
        model.limit = limit;
        model.peak = 1000;
        model.more[1] = 50;
        model.more[2] = 1;
        CHECK_INT(search((struct cs_tune_options){.lowest = true}, &tune, &good), 2 + RULES);
        CHECK(good);
        CHECK_INT(tune.target, 1000);
        CHECK_INT(tune.tuned.peak, 1000);
        CHECK_INT(rule(0)->limit, 0);
        CHECK_INT(rule(1)->limit, limit);
        CHECK_INT(rule(1)->bought, 50);
        CHECK_INT(rule(2)->limit, limit);
        CHECK_INT(rule(2)->bought, 1);
    }
}

/* From the level up to the peak of the untiled run, which is all that there is to be had. */
static void a_target_is_raised_while_the_program_fits(void)
{
    struct cs_tune tune;
    bool good;
    memset(&model, 0, sizeof model);
    model.fails = -1;
    model.limit = 1;
    model.peak = 1000;
    for (model.fitting = 1100; model.fitting < 2000; model.fitting += 123) {
        CHECK(search((struct cs_tune_options){.fits = 1}, &tune, &good) > 8);
        CHECK(good && tune.tuned.fits);
        CHECK(tune.target <= model.fitting && tune.target > model.fitting - 5);
    }
    model.fitting = 2000;
    (void)search((struct cs_tune_options){.fits = 5000}, &tune, &good);
    CHECK(good && tune.tuned.fits);
    CHECK_INT(tune.target, 2000);
    model.fitting = 999;
    (void)search((struct cs_tune_options){.fits = 5000}, &tune, &good);
    CHECK(good && !tune.tuned.fits);
    CHECK_INT(tune.target, 1000);
}

/* No run that cannot be made is taken for one that was. */
static void a_run_that_cannot_be_made_ends_the_search(void)
{
    struct cs_tune tune;
    bool good;
    memset(&model, 0, sizeof model);
    model.limit = 1;
    model.peak = 1000;
    model.fitting = 1500;
    model.fails = -1;
    int runs = search((struct cs_tune_options){.fits = 5000}, &tune, &good);
    CHECK(good && runs > 10);
    for (model.fails = 0; model.fails < runs; model.fails++) {
        CHECK_INT(search((struct cs_tune_options){.fits = 5000}, &tune, &good), model.fails + 1);
        CHECK(!good);
    }
}

int main(void)
{
    char remove[64];
    if (!mkdtemp(folder))
        return 1;
    TEST(as_low_as_tiling_everything);
    TEST(as_low_as_the_level);
    TEST(a_rule_stays_out_where_nothing_is_lost);
    TEST(a_target_is_raised_while_the_program_fits);
    TEST(a_run_that_cannot_be_made_ends_the_search);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || system(remove) != 0;
}
