/* `convshim verify`: runs convolutions without and with the library on the GPU that is present, and
 * compares. */
#include "cli/verify/verify.h"

#include "base/clock.h"
#include "cli/common/cli.h"
#include "cli/common/output.h"
#include "cli/program/command_facts.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#define CS_CLI_TARGET struct cs_verify_options
#define CS_CLI_OPTIONS "cli/verify/verify_options.def"
#include "cli/common/command_options.def"
#include "cli/common/variables.h"

static const struct cs_cli_command command = {
    .name = "verify",
    .usage = "convshim verify [options]",
    .about = "Runs convolutions on this machine's GPU, without and with convshim, compares the\n"
             "results bit for bit, and times both. The convolutions come from the summary of a\n"
             "program or from a list. The default is a list of about ten. The last line is the\n"
             "result: safe and the slowdown, or the convolution that differs.\n\n"
             "Status: 0 if all are equal; 1 if one differs or failed; 3 if none was compared, for\n"
             "example without a GPU.",
    .option = rows,
    .options = sizeof rows / sizeof *rows,
};
const struct cs_cli_command *const cs_cli_command_verify = &command;

/* --- the options --- */

/* Checks the options, and finds the library. Returns -1 to go on, or the status to end with. */
static int check_options(struct cs_verify_options *options)
{
    char why[PATH_MAX + 128];
    if (options->type && !cs_shape_dtype(options->type, &options->dtype))
        return cs_cli_refuse(
            command.name, "--dtype: \"%s\" is not allowed; allowed: f32, f16, bf16", options->type);
    if (options->type)
        options->rules.dtype = &options->dtype;
    if (options->order && !cs_shape_layout(options->order, &options->rules.layout))
        return cs_cli_refuse(command.name, "--layout: \"%s\" is not allowed; allowed: nchw, nhwc",
                             options->order);
    if (options->summary && options->list)
        return cs_cli_refuse(command.name,
                             "--summary and --layers exclude each other: use one of them");
    if (options->out && !options->once &&
        !cs_output_check(command.name, "out", options->out, CS_VERIFY_BEGINS))
        return CS_CLI_USAGE;
    if (options->once || options->profile ||
        cs_preload_library(options->file, options->library, why, sizeof why))
        return -1;
    cs_cli_complain("verify: %s", why);
    return CS_CLI_NONE;
}

/* Reads the command line. Returns -1 to go on, or the status to end with. */
static int read_options(int argc, char **argv, struct cs_verify_options *options)
{
    int operand;
    *options = (struct cs_verify_options){
        .rules.layout = CS_CHANNELS_FIRST, .seconds = 60, .iterations = 20, .repeats = 1};
    int status = cs_cli_parse(&command, argc, argv, NULL, options, &operand);
    if (status >= 0)
        return status;
    if (operand < argc)
        return cs_cli_refuse(command.name,
                             "'%s': to verify the convolutions of a program, run it with convshim "
                             "run --summary json:FILE, then give that file: --summary FILE",
                             argv[operand]);
    return check_options(options);
}

/* --- the convolutions --- */

bool cs_verify_add(const char *name, const char *text, const enum cs_dtype *dtype,
                   struct cs_layers *layers)
{
    const struct cs_layer_rules rules = {.dtype = dtype};
    char error[CS_LAYERS_ERROR];
    if (cs_layers_text(layers, name, text, &rules, error))
        return true;
    cs_cli_complain("verify: %s: %s", name, error);
    return false;
}

/* Adds the convolutions that are run without --layers and --summary. Their workspaces are large on
 * most GPUs, and none needs more than 2.5 GiB with its tensors. False: a line reports the reason.
 */
static bool add_defaults(const struct cs_verify_options *options, struct cs_layers *layers)
{
    static const struct {
        const char *name, *text;
    } list[] = {
        {"sd15-vae/up.2, 512 px", "1x512x256x256 -> 512 k3x3 s1 p1 f16 nchw"},
        {"sd15-vae/up.3, 512 px", "1x256x512x512 -> 256 k3x3 s1 p1 f16 nchw"},
        {"sdxl-vae/up.2, 1024 px", "1x512x512x512 -> 512 k3x3 s1 p1 f16 nchw"},
        {"sdxl-vae/up.3, 1024 px", "1x256x1024x1024 -> 128 k3x3 s1 p1 f16 nchw"},
        {"sdxl-vae/up.2, bf16", "1x512x512x512 -> 512 k3x3 s1 p1 bf16 nchw"},
        {"sdxl-vae/up.2, channels last", "1x512x512x512 -> 512 k3x3 s1 p1 f16 nhwc"},
        {"sd15-vae/up.2, f32", "1x512x256x256 -> 512 k3x3 s1 p1 f32 nchw"},
        {"unet3d/enc.0, 128 voxels", "2x32x128x128x128 -> 32 k3x3x3 s1 p1 f16 ncdhw"},
        {"unet3d/enc.0, gradient of the input",
         "2x32x128x128x128 -> 32 k3x3x3 s1 p1 f16 ncdhw dgrad"},
        {"unet3d/enc.0, gradient of the filter",
         "2x32x128x128x128 -> 32 k3x3x3 s1 p1 f16 ncdhw wgrad"},
        {"resnet/dilated", "8x256x128x128 -> 256 k3x3 s1 p2 d2 f16 nchw"},
    };
    bool added = true;
    for (size_t i = 0; i < sizeof list / sizeof *list && added; i++)
        added = cs_verify_add(list[i].name, list[i].text, options->rules.dtype, layers);
    return added;
}

/* Reads the list that the options name, or the default one. False: a line reports the reason. */
static bool read_list(const struct cs_verify_options *options, struct cs_layers *layers)
{
    char error[CS_LAYERS_ERROR];
    if (!options->list && !options->summary)
        return add_defaults(options, layers);
    if (options->list ? cs_layers_list(layers, options->list, &options->rules, error)
                      : cs_layers_summary(layers, options->summary, &options->rules, error))
        return true;
    cs_cli_complain("verify: %s", error);
    return false;
}

/* --- all of it --- */

/* Prints cuDNN's description of the GPU with the measured constants. Returns the exit status. */
static int print_profile(struct cs_verification *verification)
{
    int status = cs_verify_describe(verification);
    if (status != CS_CLI_OK)
        return status;
    if (!verification->simulated)
        cs_verify_ladder(verification, cs_clock_seconds() + verification->options->seconds);
    const char *profile = verification->profile;
    if (!profile) {
        cs_cli_complain("verify: %s: cuDNN's description of the GPU cannot be read",
                        verification->file);
        return CS_CLI_NONE;
    }
    if (!strstr(profile, "memoryBusWidth"))
        cs_cli_complain("verify: the driver does not report the width of the memory bus. Add "
                        "\"memoryBusWidth\": BITS to the profile by hand.");
    puts(profile);
    return CS_CLI_OK;
}

/* Runs the convolutions and prints the results. Returns the exit status. */
static int verify_list(const struct cs_verify_options *options,
                       struct cs_verification *verification, struct cs_layers *layers)
{
    int status = read_list(options, layers) ? cs_verify_describe(verification) : CS_CLI_USAGE;
    if (status != CS_CLI_OK)
        return status;
    double start = cs_clock_seconds();
    if (!cs_child_variables_apply(&options->given) || !cs_verify_choose(verification, layers)) {
        cs_cli_complain("verify: out of memory");
        return CS_CLI_NONE;
    }
    bool ladder = !options->list && !options->summary;
    double share = ladder ? 0.75 : 1, left = options->seconds - (cs_clock_seconds() - start);
    if (!cs_verify_measure(verification, share * left))
        return CS_CLI_NONE;
    if (ladder)
        cs_verify_ladder(verification, start + options->seconds);
    cJSON_AddNumberToObject(verification->json, "seconds", cs_clock_seconds() - start);
    return cs_verify_conclude(verification);
}

/* Does the part of the command that the options choose. Returns the exit status. */
static int run_command(const struct cs_verify_options *options)
{
    struct cs_layers layers = {.count = 0};
    struct cs_verification verification = {.options = options};
    int status = CS_CLI_USAGE;
    if (options->profile)
        status = print_profile(&verification);
    else if (!options->once)
        status = verify_list(options, &verification, &layers);
    else if (read_list(options, &layers))
        status = cs_verify_once(options, &layers);
    free(verification.row);
    free(verification.chosen);
    cJSON_Delete(verification.json);
    cs_layers_fini(&layers);
    return status;
}

int cs_cli_verify(int argc, char **argv)
{
    static struct cs_verify_options options;
    int status = read_options(argc, argv, &options);
    if (status < 0)
        status = run_command(&options);
    cs_child_variables_free(&options.given);
    return status;
}
