/* `convshim predict`: reads the layers, plans them and selects the output. */
#include "cli/predict/predict.h"

#include "cli/common/cli.h"
#include "cli/layers/plan_layers.h"
#include "cli/program/command_facts.h"
#include "config/limits.h"
#include "cudnn/standalone/standalone.h"
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ERROR_BYTES = 400
};

/* Options provide the type, direction and layout that the text omits. */
static bool read_one(const struct cs_predict_options *options, struct cs_layers *layers)
{
    char error[ERROR_BYTES];
    struct cs_shape shape = {
        .dtype = options->dtype, .direction = options->direction, .layout = options->layout};
    struct cs_problem problem;
    if (!cs_shape_text(options->shape, &shape, error, sizeof error) ||
        !cs_shape_problem(&shape, &problem, error, sizeof error)) {
        cs_cli_complain("predict: %s", error);
        return false;
    }
    if (cs_layers_add(layers, "", "convolution", 1, &problem))
        return true;
    cs_cli_complain("predict: out of memory");
    return false;
}

static bool read_layers(const struct cs_predict_options *options, struct cs_layers *layers)
{
    const struct cs_layer_rules rules = {.layout = options->layout,
                                         .direction =
                                             options->direction_given ? &options->direction : NULL,
                                         .dtype = options->dtype_given ? &options->dtype : NULL};
    if (options->shape)
        return read_one(options, layers);
    return options->csv ? cs_layers_csv(layers, options->csv, &rules, cs_cli_note, NULL)
                        : cs_layers_summary(layers, options->summary, &rules, cs_cli_note, NULL);
}

/* Warns if the loader mixes parts of two cuDNNs, because these plan something else, or nothing. */
static void warn_of_mixture(void)
{
    char line[2 * PATH_MAX + 256];
    if (cs_libcudnn_foreign(cs_standalone_file(), line, sizeof line))
        cs_cli_complain("predict: %s Put only one cuDNN into LD_LIBRARY_PATH.", line);
}

static void vendor_text(char *text, size_t size)
{
    size_t version = cs_standalone_version();
    snprintf(text, size, "cuDNN %zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
}

/* Opens cuDNN, or else selects the rule of thumb. Returns -1 to go on, or the status to end with.
 */
static int find_vendor(struct cs_predict_options *options, struct cs_predict_results *results)
{
    char error[ERROR_BYTES];
    snprintf(results->vendor, sizeof results->vendor, "rule of thumb");
    if (options->estimate)
        return -1;
    /* If convshim is preloaded into this process, its answers must not count as cuDNN's. */
    setenv("CONVSHIM", "0", 1);
    if (cs_find_cudnn(options->cudnn, error, sizeof error)) {
        vendor_text(results->vendor, sizeof results->vendor);
        warn_of_mixture();
        return -1;
    }
    if (options->cudnn) {
        cs_cli_complain("predict: --cudnn: no usable cuDNN: %s", error);
        return CS_CLI_USAGE;
    }
    cs_cli_complain("predict: no cuDNN found: %s", error);
    cs_cli_complain("%s", cs_find_cudnn_hint);
    cs_cli_complain("the following is an ESTIMATE by a rule of thumb, not cuDNN's result, so the "
                    "status is 1. To accept estimates: --estimate");
    options->estimate = results->no_cudnn = true;
    return -1;
}

static void show_progress(void *ctx, size_t done, size_t of)
{
    enum {
        SOME = 16 /* fewer need no progress line */
    };
    (void)ctx;
    if (of > SOME && done == of)
        fputs("\r\033[K", stderr);
    else if (of > SOME && done % SOME == 0)
        fprintf(stderr, "\r%zu of %zu convolutions", done, of);
}

static struct cs_predictor predictor_of(const struct cs_predict_options *options,
                                        const struct cs_device_file *device)
{
    const struct cs_config *config = &options->config;
    const struct cs_policy *policy = cs_policy_find(config->policy.text);
    struct cs_limits limits = cs_limits_of(config, &options->rules);
    int64_t arena = cs_limits_arena(config, &options->rules);
    bool bounded = limits.lent && arena > 0;
    limits.lent = false; /* scratch is memory, whether the application or convshim owns it */
    return (struct cs_predictor){.profile = device->text,
                                 .mode = options->mode,
                                 .settings = {.rules = &options->rules,
                                              .program = options->program ? options->program : "",
                                              .script = options->script,
                                              .policy = policy,
                                              .limits = limits,
                                              .most = bounded ? arena : INT64_MAX},
                                 .untileable = (enum cs_untileable)config->untileable,
                                 .estimate = options->estimate,
                                 .progress = isatty(STDERR_FILENO) ? show_progress : NULL};
}

static bool all_answered(const struct cs_predict_results *results)
{
    for (size_t i = 0; i < results->layers->count; i++)
        if (results->prediction[i].status != CS_OK)
            return false;
    return true;
}

/* As text, one convolution has its own form. Other formats and lists have a row for each. */
static int print_results(const struct cs_predict_results *results)
{
    const bool page = results->options->shape && results->options->format == CS_FORMAT_TEXT;
    bool good = page ? cs_predict_print_one(results) : cs_predict_print(results);
    if (!good)
        cs_cli_complain("predict: out of memory");
    return good && all_answered(results) ? CS_CLI_OK : CS_CLI_NO;
}

/* Layers of one model are of one program: the first of them is its number. */
static size_t program_of(const struct cs_layers *layers, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(layers->layer[i].model, layers->layer[at].model) == 0)
            return i;
    return at;
}

/* True if the summary's run used this GPU and cuDNN. Only then its plans are reused. */
static bool is_of_the_run(const struct cs_predict_results *results)
{
    return strcmp(results->layers->device, results->device->title) == 0 &&
           strcmp(results->layers->vendor, results->vendor) == 0;
}

static int predict_layers(struct cs_predict_results *results, struct cs_prediction *prediction,
                          struct cs_to_predict *list)
{
    const struct cs_predictor predictor = predictor_of(results->options, results->device);
    const struct cs_layers *layers = results->layers;
    char error[ERROR_BYTES];
    for (size_t i = 0; i < layers->count; i++) {
        list[i] = (struct cs_to_predict){.problem = &layers->layer[i].problem,
                                         .program = program_of(layers, i),
                                         .recorded = layers->layer[i].recorded};
        if (!is_of_the_run(results))
            list[i].recorded.engine = -1;
    }
    if (!cs_predict(&predictor, list, layers->count, prediction, error, sizeof error)) {
        cs_cli_complain("predict: %s: %s", results->device->name, error);
        return CS_CLI_USAGE;
    }
    return print_results(results);
}

static int predict_with_vendor(struct cs_predict_options *options,
                               struct cs_predict_results *results)
{
    int status = find_vendor(options, results);
    if (status >= 0)
        return status;
    size_t count = results->layers->count;
    struct cs_prediction *prediction = calloc(count, sizeof *prediction);
    struct cs_to_predict *list = calloc(count, sizeof *list);
    status = CS_CLI_NO;
    results->prediction = prediction;
    if (prediction && list)
        status = predict_layers(results, prediction, list);
    else
        cs_cli_complain("predict: out of memory");
    free(list);
    free(prediction);
    return status == CS_CLI_OK && results->no_cudnn ? CS_CLI_NO : status;
}

static int run_predict(struct cs_predict_options *options)
{
    char error[CS_DEVICE_FILE_ERROR];
    struct cs_device_file device;
    struct cs_layers layers = {.count = 0};
    struct cs_predict_results results = {.options = options, .device = &device, .layers = &layers};
    if (!cs_device_file_load(options->device, options->devices, &device, error)) {
        cs_cli_complain("predict: %s", error);
        return CS_CLI_USAGE;
    }
    int status =
        read_layers(options, &layers) ? predict_with_vendor(options, &results) : CS_CLI_USAGE;
    cs_layers_fini(&layers);
    cs_device_file_fini(&device);
    return status;
}

int cs_cli_predict(int argc, char **argv)
{
    struct cs_predict_options options;
    int status = cs_predict_options(argc, argv, &options);
    if (status >= 0)
        return status;
    return strcmp(options.device, "list") == 0
               ? cs_device_files_list("predict", options.devices, options.format)
               : run_predict(&options);
}
