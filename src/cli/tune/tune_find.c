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

/* Not above `than` in peak or time, and one of them is lower by this part. A time is lower if its
 * upper end is. Everything is better than a run that failed. */
static bool is_better(int64_t peak, struct cs_times times, const struct cs_tune_run *than,
                      double part)
{
    return !than->ran || (peak <= than->peak && times.least <= than->times.least &&
                          times.most <= than->times.most &&
                          ((double)peak < (1 - part) * (double)than->peak ||
                           times.most < (1 - part) * than->times.most));
}

/* The shortest time in that memory. If no point fits, the lowest peak is tried. */
static int choose_for_memory(const struct cs_tune *tune)
{
    const int64_t most = tune->options->fits - overhead_of(tune);
    int point = 0;
    for (size_t i = 0; i < tune->frontier.points; i++)
        if (tune->frontier.point[i].peak <= most)
            point = (int)i;
    return point;
}

/* The lowest peak. */
static int choose_within_time(const struct cs_tune *tune)
{
    for (size_t i = 0; i < tune->frontier.points; i++)
        if (is_within(tune, tune->frontier.point[i].times))
            return (int)i;
    return -1;
}

/* The least time plus price of the points that are better than the defaults. */
static int choose_by_price(const struct cs_tune *tune)
{
    int best = -1;
    double least = 0;
    for (size_t i = 0; i < tune->frontier.points; i++) {
        const struct cs_frontier_point *point = &tune->frontier.point[i];
        const double cost = point->times.most + tune->frontier.price * (double)point->peak;
        if (is_better(point->peak, point->times, &tune->defaults, LEAST_GAIN) &&
            (best < 0 || cost < least)) {
            best = (int)i;
            least = cost;
        }
    }
    return best;
}

int cs_tune_choose(const struct cs_tune *tune)
{
    if (tune->options->fits > 0)
        return choose_for_memory(tune);
    return tune->options->within >= 0 ? choose_within_time(tune) : choose_by_price(tune);
}

enum cs_tune_outcome cs_tune_judge(const struct cs_tune *tune)
{
    const struct cs_tune_run *file = &tune->file;
    const int64_t peak = tune->frontier.point[tune->point].peak;
    bool good = is_better(file->peak, file->times, &tune->defaults, 0);
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
        .times = {(double)result->predicted_ns * NANO, (double)result->predicted_most_ns * NANO}};
}

/* A run with an ini file. */
struct run {
    struct cs_simulated_run run;
    char file[PATH_MAX];
};

/* Writes the file and prepares the run. `text`: its content; NULL: the chosen rules. `capacity`: of
 * the GPU; 0: plenty. Returns false after an error message. */
static bool prepare_run(const struct cs_tune *tune, const char *name, const char *text,
                        int64_t capacity, struct run *to)
{
    capacity = capacity > 0 ? capacity : plenty;
    snprintf(to->file, PATH_MAX, "%.4000s/%s.ini", tune->simulation->work, name);
    FILE *out = fopen(to->file, "we");
    if (out && text)
        fputs(text, out);
    else if (out)
        cs_tune_write(tune, false, out);
    to->run = (struct cs_simulated_run){.name = name,
                                        .profile = tune->device->path,
                                        .capacity = capacity,
                                        .memory = capacity,
                                        .context = tune->device->context,
                                        .with = true,
                                        .file = to->file};
    if (out && fclose(out) == 0)
        return true;
    cs_cli_complain("%s: %s", to->file, strerror(errno));
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
    static struct run first, second; /* too large for the stack */
    const int64_t fits = tune->options->fits;
    bool good = prepare_run(tune, "untiled", untiled, 0, &first) &&
                prepare_run(tune, "defaults", defaults, fits, &second);
    struct cs_simulated_run *runs[] = {&first.run, &second.run};
    first.run.history = true;
    if (!good || !cs_simulated_runs(tune->simulation, runs, 2))
        return false;
    const struct cs_simulated_result *result = &first.run.result;
    tune->untiled = figures_of(result);
    tune->defaults = figures_of(&second.run.result);
    tune->untiled.fits = fits > 0 && result->needed >= 0 && result->needed <= fits;
    tune->allocated = result->allocated >= 0;
    snprintf(tune->framework, sizeof tune->framework, "%s", result->framework);
    snprintf(tune->planning, sizeof tune->planning, "%s", result->planning);
    good = is_usable(&first.run) && cs_called_read(&first.run, &tune->frontier);
    cs_simulated_result_free(&first.run.result);
    cs_simulated_result_free(&second.run.result);
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
    return cs_decide_ways(&tune->frontier, tune->device->text,
                          has_cublas(&tune->simulation->program), targets,
                          sizeof targets / sizeof *targets);
}

/* --- the last run --- */

static bool check_file(struct cs_tune *tune)
{
    static struct run rules; /* too large for the stack */
    struct cs_simulated_run *runs[] = {&rules.run};
    unsetenv("CONVSHIM");
    if (!prepare_run(tune, "rules", NULL, tune->options->fits, &rules) ||
        !cs_simulated_runs(tune->simulation, runs, 1))
        return false;
    tune->file = figures_of(&rules.run.result);
    cs_simulated_result_free(&rules.run.result);
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
