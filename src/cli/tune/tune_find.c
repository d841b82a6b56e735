/* The runs of a search, of which there are at most three:
 *
 * 1. untiled, with a record of the memory held over time,
 * 2. with the library's defaults,
 * 3. with the rules of the chosen point.
 *
 * docs/tune.md explains the choice. */
#include "cli/common/cli.h"
#include "cli/layers/plan_layers.h"
#include "cli/tune/tune.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the point --- */

enum {
    LEAST_MISS = 1000,      /* a peak may exceed the predicted one by one part in this many */
    MAPPED = 5 * (20 << 20) /* bytes: PyTorch maps memory in pages of 20 MiB, of which about five
                               are partly used at a peak */
};

static const double LEAST_GAIN = 0.01; /* part of the peak or time that a file must save */

/* Bytes by which the device's memory must exceed the allocated peak. */
static int64_t overhead_of(const struct cs_tune *tune)
{
    return tune->device->context + (tune->allocated ? MAPPED : 0);
}

static double middle_of(struct cs_times times)
{
    return (times.least + times.most) / 2;
}

static bool is_within(const struct cs_tune *tune, struct cs_times times)
{
    return middle_of(times) <= middle_of(tune->untiled.times) * (1 + tune->options->within / 100);
}

/* The shortest time in that memory. If no point fits, the lowest peak is tried. */
static int choose_for_memory(const struct cs_tune *tune)
{
    const struct cs_frontier_goal goal = {.peak = tune->options->fits - overhead_of(tune),
                                          .times = {INFINITY, INFINITY}};
    int point = cs_frontier_find(&tune->frontier, &goal);
    return point >= 0 || tune->frontier.points == 0 ? point : 0;
}

/* The lowest peak. */
static int choose_within_time(const struct cs_tune *tune)
{
    for (size_t i = 0; i < tune->frontier.points; i++)
        if (is_within(tune, tune->frontier.point[i].times))
            return (int)i;
    return -1;
}

static double cost_of(const struct cs_tune *tune, int point)
{
    const struct cs_frontier_point *of = &tune->frontier.point[point];
    return of->times.most + tune->frontier.price * (double)of->peak;
}

/* The least time plus price of the points that are not worse than the defaults in either figure,
 * and better in one. A time is better if its upper end is. */
static int choose_by_price(const struct cs_tune *tune)
{
    struct cs_frontier_goal lower = {.peak = INT64_MAX,
                                     .times = {INFINITY, INFINITY},
                                     .price = tune->frontier.price},
                            faster;
    if (!tune->defaults.ran)
        return cs_frontier_find(&tune->frontier, &lower);
    lower.peak = tune->defaults.peak;
    lower.times = tune->defaults.times;
    faster = lower;
    lower.peak = (int64_t)((1 - LEAST_GAIN) * (double)lower.peak);
    faster.times.most *= 1 - LEAST_GAIN;
    const int a = cs_frontier_find(&tune->frontier, &lower),
              b = cs_frontier_find(&tune->frontier, &faster);
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return cost_of(tune, a) < cost_of(tune, b) ? a : b;
}

int cs_tune_choose(const struct cs_tune *tune)
{
    if (tune->options->fits > 0)
        return choose_for_memory(tune);
    return tune->options->within >= 0 ? choose_within_time(tune) : choose_by_price(tune);
}

/* Not worse in either figure, and better in one. */
static bool is_better(const struct cs_tune_run *file, const struct cs_tune_run *than)
{
    return !than->ran || (file->peak <= than->peak && file->times.least <= than->times.least &&
                          file->times.most <= than->times.most &&
                          (file->peak < than->peak || file->times.most < than->times.most));
}

enum cs_tune_outcome cs_tune_judge(const struct cs_tune *tune)
{
    const struct cs_tune_run *file = &tune->file;
    const int64_t peak = tune->point >= 0 ? tune->frontier.point[tune->point].peak : 0;
    bool good = is_better(file, &tune->defaults);
    if (tune->options->fits > 0)
        good = file->fits;
    else if (tune->options->within >= 0)
        good = is_within(tune, file->times) && file->peak - peak <= peak / LEAST_MISS;
    return file->ran && good ? CS_TUNE_FILE : CS_TUNE_MISSED;
}

/* --- the runs --- */

enum {
    ERROR_BYTES = 256
};

/* Memory to spare. JAX takes three quarters of it at once, so it is not much more than GPUs have.
 */
static const int64_t plenty = (int64_t)256 << 30;

static const double NANO = 1e-9;

/* The library's defaults, and a run in which it decides nothing. */
static const char defaults[] = "# the library's defaults\n",
                  untiled[] = "[rule untiled]\nskip = yes\n";

static struct cs_tune_run figures_of(const struct cs_simulated_result *result)
{
    return (struct cs_tune_run){
        .ran = cs_simulated_result_ran(result) && result->used,
        .fits = cs_simulated_result_fits(result),
        .peak = result->allocated >= 0 ? result->allocated : result->device_peak,
        .calls = result->calls,
        .tiled = result->tiled,
        .launches = result->extra_launches,
        .missing_bytes = result->missing_bytes,
        .times = {(double)result->predicted_ns * NANO, (double)result->predicted_most_ns * NANO}};
}

/* Writes an ini file and prepares a run with it. `text`: its content; NULL: the chosen rules.
 * `file` gets its path. Returns false after an error message. */
static bool prepare_run(const struct cs_tune *tune, const char *name, const char *text,
                        int64_t capacity, char file[PATH_MAX], struct cs_simulated_run *run)
{
    snprintf(file, PATH_MAX, "%.4000s/%s.ini", tune->simulation->work, name);
    FILE *out = fopen(file, "we");
    if (out && text)
        fputs(text, out);
    else if (out)
        cs_tune_write(tune, false, out);
    *run = (struct cs_simulated_run){.name = name,
                                     .profile = tune->device->path,
                                     .capacity = capacity,
                                     .memory = capacity,
                                     .context = tune->device->context,
                                     .with = true,
                                     .file = file};
    if (out && fclose(out) == 0)
        return true;
    cs_cli_complain("%s: %s", file, strerror(errno));
    return false;
}

/* --- the first two runs --- */

/* False, after a line with the reason, if the first run cannot be used. */
static bool is_usable(const struct cs_simulated_run *run)
{
    const struct cs_simulated_result *result = &run->result;
    if (!cs_simulated_result_ran(result)) {
        cs_cli_complain("tune: the program failed with status %d. Its last output:",
                        result->status);
        if (!cs_simulated_result_output(run, stderr))
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

static bool make_first_runs(struct cs_tune *tune)
{
    static struct cs_simulated_run first, second; /* too large for the stack */
    char file[2][PATH_MAX];
    const int64_t fits = tune->options->fits;
    bool good = prepare_run(tune, "untiled", untiled, plenty, file[0], &first) &&
                prepare_run(tune, "defaults", defaults, fits > 0 ? fits : plenty, file[1], &second);
    first.history = true;
    if (!good ||
        !cs_simulated_runs(tune->simulation, (struct cs_simulated_run *[]){&first, &second}, 2))
        return false;
    const struct cs_simulated_result *result = &first.result;
    tune->untiled = figures_of(result);
    tune->defaults = figures_of(&second.result);
    tune->untiled.fits = fits > 0 && result->needed >= 0 && result->needed <= fits;
    tune->allocated = result->allocated >= 0;
    snprintf(tune->framework, sizeof tune->framework, "%s", result->framework);
    snprintf(tune->planning, sizeof tune->planning, "%s", result->planning);
    good = is_usable(&first) && cs_called_read(&first, &tune->called);
    cs_simulated_result_free(&first.result);
    cs_simulated_result_free(&second.result);
    return good;
}

/* cuDNN offers the engines that call cuBLASLt only to programs that have it. */
static bool has_cublas(const struct cs_simulated_program *program)
{
    for (size_t i = 0; i < program->libraries; i++)
        if (strstr(program->library[i], "libcublasLt.so"))
            return true;
    return false;
}

static bool find_frontier(struct cs_tune *tune)
{
    char error[ERROR_BYTES];
    const char *folder = tune->simulation->program.folder;
    const int64_t targets[] = {tune->defaults.peak, tune->options->fits - overhead_of(tune)};
    setenv("CONVSHIM", "0", 1); /* the library may be preloaded: its answers are not cuDNN's */
    if (!cs_find_cudnn(*folder ? folder : tune->options->cudnn, error, sizeof error)) {
        cs_cli_complain("tune: no usable cuDNN: %s", error);
        return false;
    }
    return cs_decide_ways(&tune->called, tune->device->text, has_cublas(&tune->simulation->program),
                          targets, sizeof targets / sizeof *targets, &tune->frontier);
}

/* --- the last run --- */

static bool check_file(struct cs_tune *tune)
{
    static struct cs_simulated_run run; /* too large for the stack */
    char file[PATH_MAX];
    const int64_t fits = tune->options->fits;
    unsetenv("CONVSHIM");
    if (!prepare_run(tune, "rules", NULL, fits > 0 ? fits : plenty, file, &run) ||
        !cs_simulated_runs(tune->simulation, (struct cs_simulated_run *[]){&run}, 1))
        return false;
    tune->file = figures_of(&run.result);
    cs_simulated_result_free(&run.result);
    return true;
}

enum cs_tune_outcome cs_tune_find(struct cs_tune *tune)
{
    tune->point = -1;
    if (!make_first_runs(tune))
        return CS_TUNE_FAILED;
    if (tune->untiled.fits)
        return CS_TUNE_UNTILED;
    if (!find_frontier(tune))
        return CS_TUNE_FAILED;
    tune->untiled.times = cs_frontier_untiled(&tune->frontier).times;
    tune->point = cs_tune_choose(tune);
    if (tune->point < 0)
        return tune->options->within >= 0 ? CS_TUNE_NO_POINT : CS_TUNE_DEFAULTS;
    (void)cs_frontier_choose(&tune->frontier, tune->frontier.point[tune->point].target);
    return check_file(tune) ? cs_tune_judge(tune) : CS_TUNE_FAILED;
}
