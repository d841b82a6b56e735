/* The options of `convshim predict`, checked against each other. */
#include "cli/predict/predict.h"

#include "cli/common/cli.h"
#include "cli/config/config_command.h"
#include "config/limits.h"
#include "config/option.h"
#include "convshim/policy.h"
#include <errno.h>
#include <string.h>

#define CS_CLI_TARGET struct cs_predict_options
#define CS_CLI_OPTIONS "cli/predict/predict_options.def"
#include "cli/common/command_options.def"

static const struct cs_cli_command command = {
    .name = "predict",
    .usage = "convshim predict '1x512x64x64 -> 512 k3x3 s1 p1 f16 nchw' [options]\n"
             "       convshim predict --csv FILE | --summary FILE [options]\n"
             "       convshim predict --device list",
    .about = "Predicts the memory of convolutions on a GPU while they run, without and with\n"
             "convshim. The real cuDNN plans them, for GPUs that are not installed, so no GPU\n"
             "and no driver is needed. Peak: input, filter, output and workspace together.\n"
             "Floor: the peak without workspace.\n\n"
             "Status: 0; 1 if cuDNN has no engine for a convolution, or if no cuDNN was found\n"
             "and the result is an estimate; 2 if the command line or a file is wrong.",
    .option = rows,
    .options = sizeof rows / sizeof *rows,
};
const struct cs_cli_command *const cs_cli_command_predict = &command;

/* Sets an option of the library; its values and their meaning are the library's. */
static bool take_config(struct cs_predict_options *options, int option, const char *value)
{
    int index = cs_option_find(rows[option].name);
    if (index >= 0 && cs_option_set(&options->config, index, value, cs_policy_names))
        return true;
    if (option != OPTION_POLICY)
        return cs_cli_refuse_value(&command, option, value,
                                   index >= 0 ? cs_options[index].allowed : "an option");
    const char *nearest = cs_cli_nearest(value, cs_policy_names);
    cs_cli_refuse(command.name, "unknown policy '%s'%s%s%s", value,
                  nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    return false;
}

static bool take_mode(struct cs_predict_options *options, const char *value)
{
    for (int i = 0; i < CS_ASK_MODES; i++) {
        if (strcmp(value, cs_predict_modes[i]) == 0) {
            options->mode = (enum cs_ask_mode)i;
            return true;
        }
    }
    return cs_cli_refuse_value(&command, OPTION_MODE, value, "a, b or fallback");
}

static bool take_shape(struct cs_predict_options *options, int option, const char *value)
{
    switch (option) {
    case OPTION_DTYPE:
        options->dtype_given = true;
        return cs_shape_dtype(value, &options->dtype) ||
               cs_cli_refuse_value(&command, option, value, "f32, f16 or bf16");
    case OPTION_DIR:
        options->direction_given = true;
        return cs_shape_direction(value, &options->direction) ||
               cs_cli_refuse_value(&command, option, value, "fwd, dgrad or wgrad");
    default:
        return cs_shape_layout(value, &options->layout) ||
               cs_cli_refuse_value(&command, option, value, "nchw or nhwc");
    }
}

static bool take_option(void *to, int option, const char *value)
{
    struct cs_predict_options *options = to;
    switch (option) {
    case OPTION_MODE:
        return take_mode(options, value);
    case OPTION_DTYPE:
    case OPTION_DIR:
    case OPTION_LAYOUT:
        return take_shape(options, option, value);
    default:
        return take_config(options, option, value);
    }
}

/* Options that go together; the status to end with, or -1. */
static int check_options(const struct cs_predict_options *options)
{
    int sources = !!options->shape + !!options->csv + !!options->summary;
    if (sources == 0)
        return cs_cli_refuse(command.name,
                             "no convolution given. Write one, such as '1x512x64x64 -> 512 k3x3 "
                             "s1 p1 f16 nchw', or use --csv or --summary.");
    if (sources > 1)
        return cs_cli_refuse(command.name,
                             "a convolution, --csv and --summary exclude each other: use one");
    if (options->estimate && options->cudnn)
        return cs_cli_refuse(command.name,
                             "--cudnn and --estimate exclude each other: use one of them");
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

/* Loads the file's options. The caller reads the command line again afterwards, because its options
 * replace those of the file. */
static bool load_file(struct cs_predict_options *options)
{
    int notes = 0;
    if (cs_config_load_file(&options->config, options->file, cs_policy_names, count_note, &notes))
        return notes == 0;
    cs_cli_complain("predict: %s: cannot be read: %s", options->file, strerror(errno));
    return false;
}

/* -1: go on; else the status to end with. */
static int read_options(int argc, char **argv, struct cs_predict_options *options)
{
    int operand, status = cs_cli_parse(&command, argc, argv, take_option, options, &operand);
    if (status >= 0)
        return status;
    options->shape = operand < argc ? argv[operand++] : NULL;
    if (operand < argc)
        return cs_cli_refuse(command.name, "'%s': only one convolution is allowed", argv[operand]);
    if ((options->program || options->script) && !options->file)
        return cs_cli_refuse(command.name, "--%s needs --config",
                             options->program ? "program" : "script");
    return -1;
}

int cs_predict_options(int argc, char **argv, struct cs_predict_options *options)
{
    *options = (struct cs_predict_options){
        .dtype = CS_F16, .direction = CS_FORWARD, .device = "h200", .mode = CS_ASK_A};
    cs_config_default(&options->config);
    int status = read_options(argc, argv, options);
    if (status >= 0)
        return status;
    if (options->file && !load_file(options))
        return CS_CLI_USAGE;
    if (options->file)
        (void)read_options(argc, argv, options);
    cs_config_advise(&options->config, print_advice, NULL);
    cs_limits_rules(&options->config, options->program ? options->program : "",
                    options->script ? options->script : "", &options->rules);
    return strcmp(options->device, "list") == 0 ? -1 : check_options(options);
}
