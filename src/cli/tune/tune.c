/* `convshim tune`: finds the lowest predicted time of a program for each peak and writes rules for
 * one point. */
#include "cli/tune/tune.h"

#include "cli/common/cli.h"
#include "cli/common/output.h"
#include "cli/common/page.h"
#include "cli/simulate/simulate.h"
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

static int tune_and_report(struct cs_tune *tune)
{
    const enum cs_tune_outcome outcome = cs_tune_find(tune);
    bool good =
        outcome != CS_TUNE_FAILED && outcome != CS_TUNE_MISSED && outcome != CS_TUNE_NO_POINT;
    if (outcome == CS_TUNE_FILE)
        cs_tune_write(tune, true, stdout);
    cs_tune_report(tune, outcome, stderr);
    if (tune->options->html && tune->frontier.points > 0)
        good = cs_tune_html(tune, tune->options->html) && good;
    cs_written_print(&tune->simulation->layers, stderr);
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
    if (cs_simulated_program_find(&simulation.program, program, options->cudnn, options->cuda) &&
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
