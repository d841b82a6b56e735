/* The options of `convshim tune`. */
#include "cli/common/cli.h"
#include "cli/common/output.h"
#include "cli/common/page.h"
#include "cli/tune/tune.h"
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

int cs_tune_options(int argc, char **argv, struct cs_tune_options *to, int *operand_p)
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
