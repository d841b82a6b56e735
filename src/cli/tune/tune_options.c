/* The options of `convshim tune`. */
#include "cli/common/cli.h"
#include "cli/tune/tune.h"
#include <stdlib.h>
#include <string.h>

#define CS_CLI_OPTIONS "cli/tune/tune_options.def"
#include "cli/common/command_options.def"

static const struct cs_cli_command command = {
    .name = "tune",
    .usage = "convshim tune [options] [--] COMMAND [ARGUMENT...] > convshim.ini",
    .about = "Runs COMMAND, unchanged, several times on a simulated GPU. Writes an ini file\n"
             "with rules for the convolutions that make its peak, and a comment about the gain\n"
             "of each rule.\n\n"
             "COMMAND really runs. Kernels are counted, not computed, so files that it saves\n"
             "hold zeros. They go to a private layer, as with convshim simulate, and are\n"
             "listed at the end.\n\n"
             "A file is written only if its rules lower the peak by 1 % or more and to within\n"
             "1 % of the peak with the library's defaults, or make COMMAND fit. Otherwise a\n"
             "line reports why, and the option to try.\n\n"
             "Status: 0; 1 if COMMAND fails, or no rules make it fit; 2 if the command line is\n"
             "wrong.",
    .option = rows,
    .options = sizeof rows / sizeof *rows,
    .stops = true,
};
const struct cs_cli_command *const cs_cli_command_tune = &command;

static bool take_percent(const char *value, double *percent)
{
    char *end;
    *percent = strtod(value, &end);
    return (end != value && !*end && *percent >= 0.1 && *percent <= 100) ||
           cs_cli_refuse_value(&command, OPTION_WITHIN, value, "0.1 to 100");
}

static bool take(void *ctx, int option, const char *value)
{
    struct cs_tune_options *to = ctx;
    switch (option) {
    case OPTION_DEVICE:
        return (to->device = value);
    case OPTION_CUDNN:
        return (to->cudnn = value);
    case OPTION_LIBRARY:
        return (to->library = value);
    case OPTION_KEEP:
        return (to->keep = value);
    case OPTION_FITS:
        return (cs_cli_size(value, &to->fits) && to->fits > 0) ||
               cs_cli_refuse_value(&command, option, value, "a size such as 8GiB");
    case OPTION_WITHIN:
        return take_percent(value, &to->within);
    case OPTION_LOWEST:
        return to->lowest = true;
    case OPTION_RUNS:
        return cs_cli_take_number(&command, option, value, 4, 1000, &to->runs);
    case OPTION_JOBS:
        return cs_cli_take_number(&command, option, value, 1, 8, &to->jobs);
    default:
        return cs_cli_take_number(&command, option, value, 12, 13, &to->cuda);
    }
}

int cs_tune_options(int argc, char **argv, struct cs_tune_options *to, int *operand_p)
{
    *to = (struct cs_tune_options){.device = "h200", .jobs = 2, .runs = 60, .within = 1};
    int status = cs_cli_parse(&command, argc, argv, take, to, operand_p);
    if (status >= 0)
        return status;
    if (strcmp(to->device, "list") == 0)
        return -1;
    if (*operand_p == argc)
        return cs_cli_refuse(
            command.name,
            "no program given. Example: convshim tune -- python app.py > convshim.ini");
    return -1;
}
