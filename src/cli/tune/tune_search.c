/* The search: which convolutions get a rule, and with which limit. docs/tune.md explains it.
 *
 * 1. An untiled run records the held memory over time. The level is the most that is held without
 *    workspaces. The goal is the level plus --within, or the peak of the defaults. A convolution
 *    gets a rule if its workspace and the memory held around it exceed the goal.
 * 2. Runs with these rules show which limits are too small: those grow until they do.
 * 3. Where a capacity is to be fitted, the target is raised by bisection while the program fits.
 * 4. Each rule is left out once, the dearest first; it stays out if nothing is lost. */
#include "cli/common/cli.h"
#include "cli/tune/tune.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ROUNDS = 12, /* of limits that grow: each doubles them */
    MOST_LOWERED = 2,
    BISECTIONS = 8
};

static const int64_t plenty = (int64_t)1 << 44;

/* A requested run. */
struct question {
    const char *options; /* of the ini file before the rules */
    bool rules, record;
    int64_t capacity;
    struct cs_simulated_run run;
    struct cs_simulated_result result;
    struct cs_tune_point point;
    char file[PATH_MAX + 32];
};

static bool write_file(struct cs_tune *tune, struct question *question)
{
    snprintf(question->file, sizeof question->file, "%s/tune%d.ini", tune->simulation->work,
             ++tune->runs);
    FILE *file = fopen(question->file, "we");
    if (file) {
        fputs(question->options, file);
        if (question->rules)
            cs_tune_write(tune, false, file);
    }
    if (file && fclose(file) == 0)
        return true;
    cs_cli_complain("%s: %s", question->file, strerror(errno));
    return false;
}

static struct cs_tune_point point_of(const struct cs_simulated_result *result)
{
    return (struct cs_tune_point){.ran = cs_simulated_result_ran(result) && result->used,
                                  .fits = cs_simulated_result_fits(result),
                                  .peak = result->allocated >= 0 ? result->allocated
                                                                 : result->device_peak,
                                  .reserved = result->device_peak,
                                  .calls = result->calls,
                                  .tiled = result->tiled,
                                  .extra_launches = result->extra_launches,
                                  .predicted_ns = result->predicted_ns,
                                  .missing_bytes = result->missing_bytes};
}

/* Makes the runs side by side. */
static bool ask(struct cs_tune *tune, struct question *question, size_t questions)
{
    enum {
        MOST = 2
    };
    struct cs_simulated_run run[MOST];
    struct cs_simulated_result result[MOST];
    memset(result, 0, sizeof result);
    for (size_t i = 0; i < questions; i++) {
        if (!write_file(tune, &question[i]))
            return false;
        run[i] = (struct cs_simulated_run){.name = i > 0 ? "defaults" : "rules",
                                           .profile = tune->device->path,
                                           .capacity = question[i].capacity,
                                           .with = true,
                                           .file = question[i].file,
                                           .history = question[i].record};
    }
    if (!cs_simulated_runs(tune->simulation, run, result, questions))
        return false;
    for (size_t i = 0; i < questions; i++) {
        question[i].run = run[i];
        question[i].result = result[i];
        question[i].point = point_of(&result[i]);
    }
    return true;
}

/* One run with the rules as they are. `measure`: the effect of each rule too. */
static bool try_rules(struct cs_tune *tune, int64_t capacity, bool measure,
                      struct cs_tune_point *point)
{
    struct question question = {
        .options = cs_tune_options_before(tune), .rules = true, .capacity = capacity};
    if (!ask(tune, &question, 1))
        return false;
    *point = question.point;
    if (measure && point->ran)
        cs_exposures_measure(&tune->exposures, &question.result);
    cs_simulated_result_free(&question.result);
    return true;
}

/* The goal: the level plus --within. Unless the lowest peak or a capacity is required, a higher
 * peak of the defaults suffices. */
static int64_t goal_of(const struct cs_tune *tune)
{
    const struct cs_tune_point *all = &tune->defaults;
    const int64_t level = tune->exposures.level;
    int64_t goal = level + (int64_t)((double)level / 100 * tune->options->within);
    bool searched = !tune->options->lowest && tune->options->fits == 0 && all->ran;
    return searched && all->peak < tune->untiled.peak && all->peak > goal ? all->peak : goal;
}

static bool is_over(const struct cs_tune *tune)
{
    return tune->runs >= tune->options->runs;
}

/* --- the first runs --- */

static const char defaults[] = "# the library's defaults\n", untiled[] = "policy = off\n";

static bool say_why_not(const struct question *question)
{
    const struct cs_simulated_result *result = &question->result;
    if (!cs_simulated_result_ran(result)) {
        cs_cli_complain("tune: the program failed with status %d. Its last output:",
                        result->status);
        if (!cs_simulated_result_output(&question->run, stderr))
            fputs("(nothing)\n", stderr);
    } else if (!result->used || result->launches <= 0) {
        cs_cli_complain(
            "tune: the program ran no convolution on the simulated GPU. Does it use cuda?");
    } else if (!result->planned) {
        cs_cli_complain("tune: no real cuDNN was used, but %s. Name one: --cudnn PATH",
                        result->planning);
    } else if (!result->summary) {
        cs_cli_complain(
            "tune: the program did not load convshim. To find out why: convshim doctor -- COMMAND");
    } else {
        return true;
    }
    return false;
}

static bool first_runs(struct cs_tune *tune)
{
    struct question question[] = {{.options = untiled, .record = true, .capacity = plenty},
                                  {.options = defaults, .capacity = plenty}};
    if (!ask(tune, question, 2))
        return false;
    const struct cs_simulated_result *result = &question[0].result;
    tune->untiled = question[0].point;
    tune->defaults = question[1].point;
    tune->allocated = result->allocated >= 0;
    snprintf(tune->framework, sizeof tune->framework, "%s", result->framework);
    snprintf(tune->planning, sizeof tune->planning, "%s", result->planning);
    bool good = say_why_not(&question[0]) &&
                cs_exposures_of_run(&question[0].run, result, &tune->exposures);
    for (size_t i = 0; i < 2; i++)
        cs_simulated_result_free(&question[i].result);
    return good;
}

/* The same on the capacity. */
static bool try_capacity(struct cs_tune *tune)
{
    struct question question[] = {{.options = untiled, .capacity = tune->options->fits},
                                  {.options = defaults, .capacity = tune->options->fits}};
    if (!ask(tune, question, 2))
        return false;
    tune->untiled_there = question[0].point;
    tune->defaults_there = question[1].point;
    for (size_t i = 0; i < 2; i++)
        cs_simulated_result_free(&question[i].result);
    return true;
}

/* --- the lowest peak --- */

/* Notes the limits that did not do; false: all did. */
static bool note_too_small(struct cs_exposures *exposures)
{
    bool any = false;
    for (size_t i = 0; i < exposures->count; i++) {
        struct cs_exposure *exposure = &exposures->item[i];
        bool beyond = exposure->reported > exposure->limit; /* for the sake of max_slowdown */
        if (exposure->limit == 0 || (exposure->untiled == 0 && !beyond))
            continue;
        exposure->too_small =
            exposure->untiled > 0 ? exposure->limit : (exposure->reported + 1) / 2;
        any = true;
    }
    return any;
}

/* The framework's allocator gives a little more than it is asked for: the limits are lowered by
 * that. False: there is nothing to lower. */
static bool aim_lower(struct cs_tune *tune, int64_t goal, int *lowered)
{
    int64_t over = tune->tuned.peak - goal;
    if (over <= 0 || tune->target - over <= tune->exposures.level || ++*lowered > MOST_LOWERED)
        return false;
    tune->target -= over;
    return true;
}

static bool find_lowest(struct cs_tune *tune)
{
    struct cs_exposures *exposures = &tune->exposures;
    int64_t goal = tune->target = goal_of(tune);
    int lowered = 0;
    for (int round = 0; round < MOST_ROUNDS; round++) {
        cs_exposures_limit(exposures, tune->target);
        if (cs_exposures_rules(exposures) == 0) {
            tune->tuned = tune->untiled;
            return true;
        }
        if (!try_rules(tune, plenty, true, &tune->tuned))
            return false;
        if (!tune->tuned.ran || is_over(tune))
            break;
        if (note_too_small(exposures))
            tune->target = goal = cs_exposures_reach(exposures, tune->target);
        else if (!aim_lower(tune, goal, &lowered))
            break;
    }
    return true;
}

/* --- a capacity --- */

/* The rules of a target, on the capacity. */
static bool try_target(struct cs_tune *tune, int64_t target, struct cs_tune_point *point)
{
    cs_exposures_limit(&tune->exposures, target);
    return try_rules(tune, tune->options->fits, true, point);
}

static bool raise_target(struct cs_tune *tune)
{
    int64_t yes = tune->target, no = tune->exposures.peak;
    struct cs_tune_point point;
    if (!try_target(tune, yes, &tune->tuned))
        return false;
    if (!tune->tuned.fits)
        return true;
    if (!try_target(tune, no, &point))
        return false;
    if (point.fits) {
        tune->target = no;
        tune->tuned = point;
        return true;
    }
    for (int i = 0; i < BISECTIONS && !is_over(tune); i++) {
        int64_t middle = yes + (no - yes) / 2;
        if (!try_target(tune, middle, &point))
            return false;
        bool good = point.fits && !note_too_small(&tune->exposures);
        *(good ? &yes : &no) = middle;
        if (good)
            tune->tuned = point;
    }
    tune->target = yes;
    return try_target(tune, yes, &tune->tuned);
}

/* --- the gain of each rule --- */

static int compare_price(const void *left, const void *right)
{
    const struct cs_exposure *a = left, *b = right;
    if ((a->limit > 0) != (b->limit > 0))
        return a->limit > 0 ? -1 : 1;
    if (a->extra_ns != b->extra_ns)
        return a->extra_ns > b->extra_ns ? -1 : 1;
    if (a->extra_launches != b->extra_launches)
        return a->extra_launches > b->extra_launches ? -1 : 1;
    return strcmp(a->keys, b->keys);
}

/* As good as with the rule. */
static bool is_as_good(const struct cs_tune *tune, const struct cs_tune_point *point)
{
    if (tune->options->fits > 0 && tune->tuned.fits)
        return point->fits;
    int64_t peak = tune->tuned.peak > tune->target ? tune->tuned.peak : tune->target;
    return point->ran && point->peak <= peak;
}

/* Leaves one rule out; for good if nothing is lost. */
static bool leave_out(struct cs_tune *tune, struct cs_exposure *exposure)
{
    const int64_t limit = exposure->limit;
    struct cs_tune_point point;
    exposure->limit = 0;
    if (!try_rules(tune, tune->options->fits > 0 ? tune->options->fits : plenty, false, &point))
        return false;
    if (is_as_good(tune, &point)) {
        tune->tuned = point;
        return true;
    }
    exposure->limit = limit;
    exposure->bought =
        point.ran && point.peak > tune->tuned.peak ? point.peak - tune->tuned.peak : 0;
    return true;
}

static bool relax(struct cs_tune *tune)
{
    struct cs_exposures *exposures = &tune->exposures;
    if (exposures->count > 0) /* without any, `item` may be NULL, which qsort must not be given */
        qsort(exposures->item, exposures->count, sizeof *exposures->item, compare_price);
    for (size_t i = 0; i < exposures->count && exposures->item[i].limit > 0; i++) {
        if (is_over(tune))
            break;
        if (!leave_out(tune, &exposures->item[i]))
            return false;
    }
    return true;
}

bool cs_tune_search(struct cs_tune *tune)
{
    const bool fitted = tune->options->fits > 0;
    if (!first_runs(tune) || (fitted && !try_capacity(tune)))
        return false;
    if (tune->untiled_there.fits)
        return true;
    if (!find_lowest(tune))
        return false;
    if (!tune->tuned.ran)
        return true;
    if (fitted && !raise_target(tune))
        return false;
    bool missed = fitted && !tune->tuned.fits;
    return missed || relax(tune);
}
