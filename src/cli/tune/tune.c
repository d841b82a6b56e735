/* `convshim tune`: finds the lowest predicted time of a program for each peak and writes rules for
 * one point. */
#include "cli/tune/tune.h"

#include "cli/common/cli.h"
#include "cli/simulate/simulate.h"
#include <string.h>

static int find(struct cs_tune *tune)
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

static int tune_program(const struct cs_tune_options *options, char **command)
{
    static struct cs_simulation simulation; /* these are too large for the stack */
    static struct cs_tune tune;
    struct cs_device_file device = {.text = NULL};
    char error[CS_DEVICE_FILE_ERROR];
    simulation = (struct cs_simulation){.title = "tune", .jobs = options->jobs, .many = true};
    tune = (struct cs_tune){.options = options, .simulation = &simulation, .device = &device};
    int status = CS_CLI_NO;
    if (!cs_device_file_load(options->device, NULL, &device, error)) {
        cs_cli_complain("%s", error);
        return CS_CLI_USAGE;
    }
    if (cs_simulated_program_find(&simulation.program, command, options->cudnn, options->cuda) &&
        cs_simulation_begin(&simulation, options->library, options->keep))
        status = find(&tune);
    cs_frontier_fini(&tune.frontier);
    cs_called_fini(&tune.called);
    cs_simulation_end(&simulation);
    cs_device_file_fini(&device);
    return status;
}

int cs_cli_tune(int argc, char **argv)
{
    struct cs_tune_options options;
    int operand, status = cs_tune_options(argc, argv, &options, &operand);
    if (status >= 0)
        return status;
    if (strcmp(options.device, "list") == 0)
        return cs_device_files_list("tune", NULL, CS_FORMAT_TEXT);
    return tune_program(&options, argv + operand);
}
