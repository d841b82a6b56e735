/* The options of `convshim simulate`, its own and those of the library. */
#include "cli/simulate/simulate.h"

#include "cli/common/cli.h"
#include "cli/common/output.h"
#include "cli/common/page.h"
#include <stdlib.h>
#include <string.h>

enum {
#define CS_CLI_OPTION(id, name, argument, group, help) OPTION_##id,
#include "cli/simulate/simulate_options.def"
#undef CS_CLI_OPTION
    OWN_OPTIONS
};

static const struct cs_cli_option options[] = {
#define CS_CLI_OPTION(id, name, argument, group, help) {name, argument, group, help},
#include "cli/simulate/simulate_options.def"
#undef CS_CLI_OPTION
#include "cli/common/library_options.def"
};

static const struct cs_cli_command command = {
    .name = "simulate",
    .usage = "convshim simulate [options] [--] COMMAND [ARGUMENT...]\n"
             "       convshim simulate --device list",
    .about = "Runs COMMAND, unchanged, on a simulated GPU, without and with convshim, and\n"
             "shows its memory. No GPU is needed.\n\n"
             "COMMAND really runs, twice or more. Kernels are counted, not computed, so files\n"
             "that it saves hold zeros. They go to a private layer over the working folder and\n"
             "over folders that its arguments name, and are listed at the end. In other\n"
             "folders (home, caches, /tmp) files are really written. If the system allows no\n"
             "layer, a line reports that before the first run.\n\n"
             "The output of COMMAND is shown only if it fails.\n\n"
             "Status: 0; 1 if COMMAND fails (with --fits: does not fit), or no real cuDNN was\n"
             "used; 2 if the command line is wrong.",
    .option = options,
    .options = sizeof options / sizeof *options,
    .stops = true,
};
const struct cs_cli_command *const cs_cli_command_simulate = &command;

static bool take_only(struct cs_simulate_options *to, const char *value)
{
    bool without = strcmp(value, "without") == 0, with = strcmp(value, "with") == 0;
    to->side[CS_WITHOUT] = without;
    to->side[CS_WITH] = with;
    return without || with || cs_cli_refuse_value(&command, OPTION_ONLY, value, "without or with");
}

/* Rejects the options of the library that this command sets itself. */
static bool take_library(struct cs_simulate_options *to, int index, const char *value)
{
    if (strcmp(cs_options[index].name, "summary") == 0) {
        cs_cli_refuse(
            command.name,
            "--summary: simulate sets this option itself. To keep the summaries: --keep DIR");
        return false;
    }
    return cs_library_options_take(&to->given, command.name, index, value);
}

/* Where the text of an option is kept that is only looked at later; NULL for others. */
static const char **text_of(struct cs_simulate_options *to, int option)
{
    switch (option) {
    case OPTION_DEVICE:
        return &to->device;
    case OPTION_DEVICES:
        return &to->devices;
    case OPTION_PRESET:
        return &to->preset;
    case OPTION_CUDNN:
        return &to->cudnn;
    case OPTION_LIBRARY:
        return &to->library;
    case OPTION_HTML:
        return &to->html;
    case OPTION_KEEP:
        return &to->keep;
    default:
        return NULL;
    }
}

static bool take(void *ctx, int option, const char *value)
{
    struct cs_simulate_options *to = ctx;
    const char **text = text_of(to, option);
    if (text) {
        *text = value;
        return true;
    }
    switch (option) {
    case OPTION_CAPACITY:
        return (cs_cli_size(value, &to->capacity) && to->capacity > 0) ||
               cs_cli_refuse_value(&command, option, value, "a size as 8GiB");
    case OPTION_FITS:
        return (to->fits = cs_cli_size(value, &to->capacity) && to->capacity > 0) ||
               cs_cli_refuse_value(&command, option, value, "a size as 8GiB");
    case OPTION_ONLY:
        return take_only(to, value);
    case OPTION_SMALLEST:
        return to->smallest = true;
    case OPTION_JOBS:
        return cs_cli_take_number(&command, option, value, 1, 8, &to->jobs);
    case OPTION_CUDA:
        return cs_cli_take_number(&command, option, value, 12, 13, &to->cuda);
    case OPTION_FORMAT:
        return cs_table_format_take(command.name, value, &to->format);
    default:
        return take_library(to, option - OWN_OPTIONS, value);
    }
}

int cs_simulate_options(int argc, char **argv, struct cs_simulate_options *to, int *operand_p)
{
    *to = (struct cs_simulate_options){.device = "h200", .jobs = 2, .side = {true, true}};
    int status = cs_cli_parse(&command, argc, argv, take, to, operand_p);
    if (status >= 0)
        return status;
    if (*operand_p == argc && strcmp(to->device, "list") != 0)
        return cs_cli_refuse(command.name,
                             "no program given. Example: convshim simulate -- python app.py");
    if (to->html && to->devices)
        return cs_cli_refuse(command.name,
                             "--html draws one device: use --device instead of --devices");
    if (to->html &&
        !cs_output_check(command.name, options[OPTION_HTML].name, to->html, CS_PAGE_BEGINS))
        return CS_CLI_USAGE;
    if (to->fits && to->devices)
        return cs_cli_refuse(command.name,
                             "--fits checks one device: use --device instead of --devices");
    return -1;
}
