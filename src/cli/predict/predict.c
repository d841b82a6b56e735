/* `convshim predict`: reads the layers and plans them. */
#include "cli/predict/predict.h"

#include "cli/common/cli.h"
#include "cli/layers/plan_layers.h"
#include "cli/program/command_facts.h"
#include "config/limits.h"
#include "cudnn/standalone/standalone.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool read_layers(const struct cs_predict_options *options, struct cs_layers *layers)
{
    const struct cs_layer_rules *rules = &options->layers;
    char error[CS_LAYERS_ERROR];
    if (options->list      ? cs_layers_list(layers, options->list, rules, error)
        : options->summary ? cs_layers_summary(layers, options->summary, rules, error)
                           : cs_layers_text(layers, "convolution", options->shape, rules, error))
        return true;
    cs_cli_complain("predict: %s", error);
    return false;
}

/* Opens cuDNN. False after a message. */
static bool find_vendor(const struct cs_predict_options *options,
                        struct cs_predict_results *results)
{
    char mixture[2 * PATH_MAX + 256];
    /* If convshim is preloaded into this process, its answers must not count as cuDNN's. */
    setenv("CONVSHIM", "0", 1);
    if (!cs_find_cudnn("predict", options->cudnn))
        return false;
    size_t version = cs_standalone_version();
    snprintf(results->vendor, sizeof results->vendor, "cuDNN %zu.%zu.%zu", version / 10000,
             version / 100 % 100, version % 100);
    /* Parts of two cuDNNs plan something else, or nothing. */
    if (cs_libcudnn_foreign(cs_standalone_file(), mixture, sizeof mixture))
        cs_cli_complain("predict: %s Put only one cuDNN into LD_LIBRARY_PATH.", mixture);
    return true;
}

/* Returns the inputs of predictions that the options and the device give. */
static struct cs_predictor predictor_of(const struct cs_predict_options *options,
                                        const struct cs_device_file *device)
{
    const struct cs_config *config = &options->config;
    struct cs_limits limits = cs_limits_of(config, &options->rules);
    int64_t arena = cs_limits_arena(config, &options->rules);
    bool bounded = limits.lent && arena > 0;
    limits.lent = false; /* scratch is memory, whether the application or convshim owns it */
    return (struct cs_predictor){.profile = device->text,
                                 .settings = {.rules = &options->rules,
                                              .program = options->program ? options->program : "",
                                              .script = options->script,
                                              .policy = cs_policy_find(config->policy.text),
                                              .limits = limits,
                                              .most = bounded ? arena : INT64_MAX},
                                 .untileable = (enum cs_untileable)config->untileable};
}

/* Forgets the plans that a summary recorded, unless they are of the same GPU and cuDNN. */
static void forget_plans(const struct cs_predict_results *results, struct cs_layers *layers)
{
    if (strcmp(layers->device, results->device->title) == 0 &&
        strcmp(layers->vendor, results->vendor) == 0)
        return;
    for (size_t i = 0; i < layers->count; i++)
        layers->layer[i].recorded.engine = -1;
}

static bool is_answered(const struct cs_predict_results *results)
{
    for (size_t i = 0; i < results->layers->count; i++)
        if (results->prediction[i].status != CS_OK)
            return false;
    return true;
}

/* Predicts the layers and prints the results. Returns the exit status. */
static int predict_layers(const struct cs_predict_options *options,
                          const struct cs_device_file *device, struct cs_layers *layers)
{
    const struct cs_predictor predictor = predictor_of(options, device);
    struct cs_predict_results results = {.options = options, .device = device, .layers = layers};
    char error[CS_LAYERS_ERROR] = "out of memory";
    int status = CS_CLI_USAGE;
    if (!find_vendor(options, &results))
        return CS_CLI_NONE;
    forget_plans(&results, layers);
    struct cs_prediction *prediction = calloc(layers->count, sizeof *prediction);
    results.prediction = prediction;
    if (!prediction || !cs_predict(&predictor, layers, prediction, error, sizeof error)) {
        cs_cli_complain("predict: %s: %s", device->name, error);
    } else if (!cs_predict_print(&results)) {
        cs_cli_complain("predict: out of memory");
        status = CS_CLI_NONE;
    } else {
        status = is_answered(&results) ? CS_CLI_OK : CS_CLI_NO;
    }
    free(prediction);
    return status;
}

int cs_cli_predict(int argc, char **argv)
{
    struct cs_predict_options options;
    char error[CS_DEVICE_FILE_ERROR];
    struct cs_device_file device;
    struct cs_layers layers = {.count = 0};
    int status = cs_predict_options(argc, argv, &options);
    if (status >= 0)
        return status;
    if (strcmp(options.device, "list") == 0)
        return cs_device_files_list("predict", options.devices, options.format);
    if (!cs_device_file_load(options.device, options.devices, &device, error)) {
        cs_cli_complain("predict: %s", error);
        return CS_CLI_USAGE;
    }
    status =
        read_layers(&options, &layers) ? predict_layers(&options, &device, &layers) : CS_CLI_USAGE;
    cs_layers_fini(&layers);
    cs_device_file_fini(&device);
    return status;
}
