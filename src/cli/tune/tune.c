/* `convshim tune`: finds the lowest predicted time of a program for each peak and writes rules for
 * one point. */
#include "cli/tune/tune.h"

#include "cli/common/cli.h"
#include "cli/common/output.h"
#include "cli/common/page.h"
#include "cli/layers/plan_layers.h"
#include "simdev/simulate/simulate.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CS_CLI_TARGET struct cs_tune_options
#define CS_CLI_OPTIONS "cli/tune/tune_options.def"
#include "cli/common/command_options.def"

static const struct cs_cli_command command = {
    .name = "tune",
    .usage = "convshim tune [options] [--] COMMAND [ARGUMENT...] > convshim.ini",
    .about = "Runs COMMAND, unchanged, two or three times on a simulated GPU. Prints the lowest\n"
             "predicted time for each peak, and writes an ini file with rules for one point.\n\n"
             "COMMAND really runs. Kernels are counted, not computed, so files that it saves\n"
             "hold zeros. They go to a private layer, as with convshim simulate, and are\n"
             "listed at the end.\n\n"
             "Without --fits and --within a file is written only if neither the peak nor the\n"
             "predicted time is above those with the library's defaults, and one is lower.\n\n"
             "Status: 0; 1 if COMMAND fails, or no rules reach the goal; 2 if the command line\n"
             "is wrong.",
    .option = rows,
    .options = sizeof rows / sizeof *rows,
    .stops = true,
};
const struct cs_cli_command *const cs_cli_command_tune = &command;

/* Reads the command line. -1: go on, argv[*operand_p] is the program; else the status to end with.
 */
static int read_options(int argc, char **argv, struct cs_tune_options *to, int *operand_p)
{
    *to = (struct cs_tune_options){.device = "h200", .jobs = 2, .within = -1};
    int status = cs_cli_parse(&command, argc, argv, NULL, to, operand_p);
    if (status >= 0)
        return status;
    if (strcmp(to->device, "list") == 0)
        return -1;
    if (*operand_p == argc)
        return cs_cli_refuse(
            command.name,
            "no program given. Example: convshim tune -- python app.py > convshim.ini");
    if (to->fits > 0 && to->within >= 0)
        return cs_cli_refuse(command.name, "--fits and --within exclude each other");
    if (to->html && !cs_output_check(command.name, "html", to->html, CS_PAGE_BEGINS))
        return CS_CLI_USAGE;
    return -1;
}

/* --- the runs ---
 *
 * There are at most three: untiled with a record of the memory held over time, with the library's
 * defaults, and with the rules of the chosen point. docs/tune.md explains the choice. */

/* Memory to spare. JAX takes three quarters of it at once, so it is not much more than GPUs have.
 */
static const int64_t plenty = (int64_t)256 << 30;

static const double NANO = 1e-9;

/* The ini files of the first two runs: the library's defaults, and a rule by which it tiles
 * nothing. */
static const char defaults[] = "# the library's defaults\n",
                  untiled[] = "[rule untiled]\nskip = yes\n";

static struct cs_tune_run read_run(const struct cs_sim_outcome *result)
{
    return (struct cs_tune_run){
        .ran = cs_sim_outcome_ran(result) && result->used,
        .fits = cs_sim_outcome_fits(result),
        .calls = result->calls,
        .figures = {.peak = result->allocated >= 0 ? result->allocated : result->device_peak,
                    .tiled = result->tiled,
                    .launches = result->extra_launches,
                    .times = {(double)result->predicted_ns * NANO,
                              (double)result->predicted_most_ns * NANO}}};
}

/* A run with an ini file. */
struct run {
    struct cs_sim_run run;
    char file[PATH_MAX];
};

/* Writes the file and prepares the run. `text`: its content; NULL: the chosen rules. `memory`: of
 * the GPU; 0: plenty. Returns false after an error message. */
static bool prepare_run(const struct cs_tune *tune, const char *name, const char *text,
                        int64_t memory, struct run *to)
{
    memory = memory > 0 ? memory : plenty;
    snprintf(to->file, PATH_MAX, "%.4000s/%s.ini", tune->simulation->work, name);
    FILE *out = fopen(to->file, "we");
    if (out && text)
        fputs(text, out);
    else if (out)
        cs_tune_write(tune, false, out);
    to->run = (struct cs_sim_run){.name = name,
                                  .device = tune->device,
                                  .memory = memory,
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
static bool is_usable(const struct cs_sim_run *run)
{
    const struct cs_sim_outcome *result = &run->result;
    if (!cs_sim_outcome_ran(result)) {
        cs_cli_complain("tune: the program failed with status %d. Its last output:",
                        result->status);
        if (!cs_sim_outcome_output(run, stderr))
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

/* Makes the untiled run and the run with the defaults, and reads them. False after printing the
 * reason. */
static bool make_first_runs(struct cs_tune *tune)
{
    static struct run first, second; /* too large for the stack */
    const int64_t fits = tune->options->fits;
    bool good = prepare_run(tune, "untiled", untiled, 0, &first) &&
                prepare_run(tune, "defaults", defaults, fits, &second);
    struct cs_sim_run *runs[] = {&first.run, &second.run};
    first.run.history = true;
    if (!good || !cs_sim_runs_make(tune->simulation, runs, 2))
        return false;
    const struct cs_sim_outcome *result = &first.run.result;
    const char *cudnn = tune->simulation->program.cudnn;
    tune->untiled = read_run(result);
    tune->defaults = read_run(&second.run.result);
    tune->untiled.fits = fits > 0 && result->needed >= 0 && result->needed <= fits;
    tune->allocated = result->allocated >= 0;
    snprintf(tune->planner, sizeof tune->planner, "%s%s%s", *cudnn ? cudnn : result->planning,
             *result->framework ? ", " : "", result->framework);
    good = is_usable(&first.run) && cs_called_read(&first.run, &tune->frontier);
    cs_sim_outcome_free(&first.run.result);
    cs_sim_outcome_free(&second.run.result);
    return good;
}

/* True if the program has cuBLASLt. cuDNN offers the engines that call it only to such programs. */
static bool has_cublas(const struct cs_sim_program *program)
{
    for (size_t i = 0; i < program->libraries; i++)
        if (strstr(program->library[i], "libcublasLt.so"))
            return true;
    return false;
}

/* Decides on the ways of all shapes with the program's cuDNN. False after printing the reason. */
static bool find_frontier(struct cs_tune *tune)
{
    const char *folder = tune->simulation->program.folder;
    const int64_t targets[] = {tune->defaults.figures.peak, cs_tune_target(tune)};
    setenv("CONVSHIM", "0", 1); /* the library may be preloaded: its answers are not cuDNN's */
    return cs_find_cudnn("tune", *folder ? folder : tune->options->cudnn) &&
           cs_decide_ways(&tune->frontier, tune->device->text,
                          has_cublas(&tune->simulation->program), targets,
                          sizeof targets / sizeof *targets);
}

/* --- the last run --- */

/* Makes the run with the rules of the chosen point. False after printing the reason. */
static bool check_file(struct cs_tune *tune)
{
    static struct run rules; /* too large for the stack */
    struct cs_sim_run *runs[] = {&rules.run};
    unsetenv("CONVSHIM");
    if (!prepare_run(tune, "rules", NULL, tune->options->fits, &rules) ||
        !cs_sim_runs_make(tune->simulation, runs, 1))
        return false;
    tune->file = read_run(&rules.run.result);
    cs_sim_outcome_free(&rules.run.result);
    return true;
}

/* Makes the runs, computes the frontier and chooses a point. */
static enum cs_tune_outcome find_point(struct cs_tune *tune)
{
    tune->point = -1;
    if (!make_first_runs(tune))
        return CS_TUNE_FAILED;
    if (tune->untiled.fits)
        return CS_TUNE_UNTILED;
    if (!find_frontier(tune))
        return CS_TUNE_FAILED;
    tune->untiled.figures.times = cs_frontier_untiled(&tune->frontier).times;
    tune->point = cs_tune_choose(tune);
    if (tune->point < 0)
        return tune->options->within >= 0 ? CS_TUNE_NO_POINT : CS_TUNE_DEFAULTS;
    (void)cs_frontier_choose(&tune->frontier, tune->frontier.point[tune->point].target);
    return check_file(tune) ? cs_tune_judge(tune) : CS_TUNE_FAILED;
}

/* --- all of it --- */

/* Finds a point, writes the rules, the report and the page. Returns the exit status. */
static int tune_and_report(struct cs_tune *tune)
{
    const enum cs_tune_outcome outcome = find_point(tune);
    bool good =
        outcome != CS_TUNE_FAILED && outcome != CS_TUNE_MISSED && outcome != CS_TUNE_NO_POINT;
    if (outcome == CS_TUNE_FILE)
        cs_tune_write(tune, true, stdout);
    cs_tune_report(tune, outcome, stderr);
    if (tune->options->html && tune->frontier.points > 0)
        good = cs_tune_html(tune, tune->options->html) && good;
    cs_private_layers_print(&tune->simulation->layers, stderr);
    return good ? CS_CLI_OK : CS_CLI_NO;
}

static int tune_program(const struct cs_tune_options *options, char **program)
{
    static struct cs_simulation simulation; /* these are too large for the stack */
    static struct cs_tune tune;
    struct cs_device_file device = {.text = NULL};
    char error[CS_DEVICE_FILE_ERROR];
    simulation = (struct cs_simulation){.title = "tune", .jobs = options->jobs, .forks = true};
    tune = (struct cs_tune){.options = options, .simulation = &simulation, .device = &device};
    int status = CS_CLI_NO;
    if (!cs_device_file_load(options->device, NULL, &device, error)) {
        cs_cli_complain("%s", error);
        return CS_CLI_USAGE;
    }
    if (cs_sim_program_find(&simulation.program, program, options->cudnn, options->cuda) &&
        cs_simulation_begin(&simulation, options->library, options->keep))
        status = tune_and_report(&tune);
    cs_frontier_fini(&tune.frontier);
    cs_simulation_end(&simulation);
    cs_device_file_fini(&device);
    return status;
}

int cs_cli_tune(int argc, char **argv)
{
    struct cs_tune_options options;
    int operand, status = read_options(argc, argv, &options, &operand);
    if (status >= 0)
        return status;
    if (strcmp(options.device, "list") == 0)
        return cs_device_files_list("tune", NULL, CS_FORMAT_TEXT);
    return tune_program(&options, argv + operand);
}
