/* The options of `convshim predict`, checked against each other. */
#include "cli/predict/predict.h"

#include "cli/common/cli.h"
#include "cli/layers/config_advice.h"
#include "config/limits.h"
#include "config/option.h"
#include "convshim/policy.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define CS_CLI_TARGET struct cs_predict_options
#define CS_CLI_OPTIONS "cli/predict/predict_options.def"
#include "cli/common/command_options.def"

static const struct cs_cli_command command = {
    .name = "predict",
    .usage = "convshim predict '1x512x64x64 -> 512 k3x3 s1 p1 f16 nchw' [options]\n"
             "       convshim predict --layers FILE | --summary FILE [options]\n"
             "       convshim predict --device list",
    .about = "Predicts the memory of convolutions on a GPU while they run, without and with\n"
             "convshim. The real cuDNN plans them, for GPUs that are not installed, so no GPU\n"
             "and no driver is needed. Peak: input, filter, output and workspace together.\n"
             "Floor: the peak without workspace.\n\n"
             "Status: 0; 1 if cuDNN has no engine for a convolution; 2 if the command line or\n"
             "a file is wrong; 3 if no cuDNN was found.",
    .option = rows,
    .options = sizeof rows / sizeof *rows,
};
const struct cs_cli_command *const cs_cli_command_predict = &command;

/* Sets an option of the library; its values and their meaning are the library's. */
static bool take_config(struct cs_predict_options *options, int option, const char *value)
{
    const int index = cs_option_find(rows[option].name);
    if (cs_option_set(&options->config, index, value, cs_policy_names))
        return true;
    if (option != OPTION_POLICY)
        return cs_cli_refuse_value(&command, option, value, cs_options[index].allowed);
    const char *nearest = cs_cli_nearest(value, cs_policy_names);
    cs_cli_refuse(command.name, "unknown policy '%s'%s%s%s", value,
                  nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    return false;
}

static bool take_option(void *to, int option, const char *value)
{
    struct cs_predict_options *options = to;
    switch (option) {
    case OPTION_DTYPE:
        options->layers.dtype = &options->dtype;
        return cs_shape_dtype(value, &options->dtype) ||
               cs_cli_refuse_value(&command, option, value, "f32, f16 or bf16");
    case OPTION_DIR:
        options->layers.direction = &options->direction;
        return cs_shape_direction(value, &options->direction) ||
               cs_cli_refuse_value(&command, option, value, "fwd, dgrad or wgrad");
    case OPTION_LAYOUT:
        return cs_shape_layout(value, &options->layers.layout) ||
               cs_cli_refuse_value(&command, option, value, "nchw or nhwc");
    default:
        return take_config(options, option, value);
    }
}

/* Checks that the options go together. Returns the status to end with, or -1. */
static int check_options(const struct cs_predict_options *options)
{
    int sources = !!options->shape + !!options->list + !!options->summary;
    if ((options->program || options->script) && !options->file)
        return cs_cli_refuse(command.name, "--%s needs --config",
                             options->program ? "program" : "script");
    if (strcmp(options->device, "list") == 0)
        return -1;
    if (sources == 0)
        return cs_cli_refuse(command.name,
                             "no convolution given. Write one, such as '1x512x64x64 -> 512 k3x3 "
                             "s1 p1 f16 nchw', or use --layers or --summary.");
    if (sources > 1)
        return cs_cli_refuse(command.name,
                             "a convolution, --layers and --summary exclude each other: use one");
    return -1;
}

static void count_note(void *ctx, const char *line)
{
    int *notes = ctx;
    ++*notes;
    cs_cli_complain("predict: %s", line);
}

/* Prints a note about the options. A note without a line of a file is about the command line. */
static void print_advice(void *ctx, const char *line)
{
    static const char here[] = "built-in: ";
    (void)ctx;
    bool given = strncmp(line, here, strlen(here)) == 0;
    cs_cli_complain("predict: %s", given ? line + strlen(here) : line);
}

static bool load_file(struct cs_predict_options *options)
{
    int notes = 0;
    if (cs_config_load_file(&options->config, options->file, cs_policy_names, count_note, &notes))
        return notes == 0;
    cs_cli_complain("predict: %s: cannot be read: %s", options->file, strerror(errno));
    return false;
}

/* Reads the command line. Returns -1 to go on, or the status to end with. */
static int read_options(int argc, char **argv, struct cs_predict_options *options)
{
    int operand, status = cs_cli_parse(&command, argc, argv, take_option, options, &operand);
    if (status >= 0)
        return status;
    options->shape = operand < argc ? argv[operand++] : NULL;
    if (operand < argc)
        return cs_cli_refuse(command.name,
                             "'%s': only one convolution is allowed. Put it in quotes, because it "
                             "has blanks and a >. For a program: convshim simulate -- COMMAND",
                             argv[operand]);
    if (options->shape && access(options->shape, F_OK) == 0)
        return cs_cli_refuse(command.name,
                             "%s: a file, not a convolution. Name a list of layers with --layers, "
                             "and a run's summary with --summary",
                             options->shape);
    return check_options(options);
}

int cs_predict_options(int argc, char **argv, struct cs_predict_options *options)
{
    *options = (struct cs_predict_options){.device = "h200"};
    cs_config_default(&options->config);
    int status = read_options(argc, argv, options);
    if (status >= 0)
        return status;
    if (options->file) {
        if (!load_file(options))
            return CS_CLI_USAGE;
        /* Again, because options of the command line replace those of the file. */
        (void)read_options(argc, argv, options);
    }
    cs_config_advise(&options->config, print_advice, NULL);
    cs_limits_rules(&options->config, options->program ? options->program : "",
                    options->script ? options->script : "", &options->rules);
    return -1;
}
