/* Reads the command line of `convshim verify`, and the lists of convolutions that it names. */
#include "cli/common/output.h"
#include "cli/program/preload.h"
#include "cli/verify/verify.h"
#include "config/config.h"
#include <stdlib.h>
#include <string.h>

#define CS_CLI_TARGET struct cs_verify_options
#define CS_CLI_OPTIONS "cli/verify/verify_options.def"
#include "cli/common/command_options.def"

static const struct cs_cli_command command = {
    .name = "verify",
    .usage = "convshim verify [options] [-- COMMAND [ARGUMENT...]]",
    .about = "Runs convolutions on this machine's GPU, without and with convshim, compares the\n"
             "results bit for bit, and times both. The convolutions come from a summary, a\n"
             "list, or a program (COMMAND is run without and with convshim, and on the\n"
             "simulated GPU). The default is a list of about ten. The last line is the result:\n"
             "safe and the slowdown, or the convolution that differs.\n\n"
             "Status: 0 if all are equal; 1 if one differs or failed, or if none was compared;\n"
             "2 without a GPU.",
    .option = rows,
    .options = sizeof rows / sizeof *rows,
    .stops = true,
};
const struct cs_cli_command *const cs_cli_command_verify = &command;

static bool take_dtype(struct cs_verify_options *options, const char *value)
{
    options->dtype_given = true;
    return cs_shape_dtype(value, &options->dtype) ||
           cs_cli_refuse_value(&command, OPTION_DTYPE, value, "f32, f16, bf16");
}

/* An option of the library by its name in the table. */
static bool take_library_option(struct cs_verify_options *options, int option, const char *value)
{
    int index = cs_option_find(rows[option].name);
    return cs_library_options_take(&options->given, command.name, index, value);
}

static bool take(void *to, int option, const char *value)
{
    struct cs_verify_options *options = to;
    switch (option) {
    case OPTION_DTYPE:
        return take_dtype(options, value);
    case OPTION_LAYOUT:
        return cs_shape_layout(value, &options->layout) ||
               cs_cli_refuse_value(&command, option, value, "nchw, nhwc");
    default:
        return take_library_option(options, option, value);
    }
}

static int check(struct cs_verify_options *options)
{
    char why[PATH_MAX + 128];
    if ((options->summary != NULL) + (options->csv != NULL) + (options->command != NULL) > 1)
        return cs_cli_refuse(command.name,
                             "--summary, --csv and a command exclude each other: use one of them");
    if (options->layers && !options->summary && !options->csv)
        return cs_cli_refuse(command.name, "--layers needs --csv or --summary");
    if (options->once && options->command)
        return cs_cli_refuse(command.name, "--once needs a list and excludes a command");
    if (options->out && !options->once &&
        !cs_output_check(command.name, "out", options->out, CS_VERIFY_BEGINS))
        return CS_CLI_USAGE;
    if (options->once || cs_preload_library(options->file, options->library,
                                            sizeof options->library, why, sizeof why))
        return -1;
    cs_cli_complain("verify: %s", why);
    return CS_CLI_NO;
}

int cs_verify_options(int argc, char **argv, struct cs_verify_options *options)
{
    int operand;
    *options = (struct cs_verify_options){
        .layout = CS_CHANNELS_FIRST, .seconds = 60, .iterations = 20, .warmup = 3, .repeats = 1};
    int status = cs_cli_parse(&command, argc, argv, take, options, &operand);
    if (status >= 0)
        return status;
    if (operand < argc)
        options->command = argv + operand;
    return check(options);
}

bool cs_verify_environment(const struct cs_verify_options *options)
{
    const struct cs_library_options *given = &options->given;
    if (given->items && setenv("CONVSHIM_CONFIG", given->items, 1) != 0)
        return false;
    for (int i = 0; i < CS_OPTIONS; i++) {
        const char *variable = cs_library_options_variable(given, i);
        if (variable)
            unsetenv(variable);
    }
    return true;
}
