/* The properties of the GPU, and whether cuDNN plans for it from its profile as it does with a
 * handle. */
#include "../support/apps/csv.h"
#include "gpu.h"
#include "plan_query.h"
#include "profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *capture;
    const char *csv;
    const char *model;
    const char *profile;
    enum layout layout;
    bool type_given;
    cudnnDataType_t type;
    bool direction[DIRECTIONS];
};

struct comparison {
    cudnnHandle_t handle;
    cudnnBackendDescriptor_t profile;
    size_t plans, different, failed;
};

static const char USAGE[] =
    "usage: gpu_facts [--capture FILE] [--csv FILE] [--model NAME] [--profile FILE]\n"
    "                 [--dir fwd|dgrad|wgrad|all] [--layout nchw|nhwc] [--dtype f32|f16|bf16]\n"
    "Prints the properties of the GPU and its libraries as one line of JSON.\n"
    "  --capture FILE  write the GPU's device profile there\n"
    "  --csv FILE      plan every layer of the list twice, with the handle and with the profile\n"
    "                  alone, and print a line of JSON for each layer and direction\n"
    "  --model NAME    only that model's layers\n"
    "  --profile FILE  compare with this profile, not with the GPU's own\n"
    "  --dir NAME      only that direction (default: all)\n"
    "  --layout NAME   of all tensors (default: nchw)\n"
    "  --dtype NAME    of all tensors (default: the list's)\n"
    "A plan is that of the first engine config of heuristics mode A that can be finalized; equal\n"
    "means the same engine and workspace, -1 that there is no plan. A difference is a result.\n"
    "Status: 0, 1 on an error, 2 on usage, 77 without a device.\n";

static bool parse_direction(const char *name, bool *chosen)
{
    enum direction only = DIRECTION_FORWARD;
    bool all = strcmp(name, "all") == 0;
    if (!all && !direction_parse(name, &only))
        return option_refuse("dir", name, "fwd, dgrad, wgrad or all");
    for (int i = 0; i < DIRECTIONS; i++)
        chosen[i] = all || i == (int)only;
    return true;
}

static bool take(int option, const char *value, void *to)
{
    struct options *options = to;
    switch (option) {
    case 'o':
        options->capture = value;
        return true;
    case 'c':
        options->csv = value;
        return true;
    case 'm':
        options->model = value;
        return true;
    case 'p':
        options->profile = value;
        return true;
    case 'd':
        return parse_direction(value, options->direction);
    case 'l':
        return layout_parse(value, &options->layout) ||
               option_refuse("layout", value, "nchw or nhwc");
    case 't':
        options->type_given = true;
        return dtype_parse(value, &options->type) ||
               option_refuse("dtype", value, "f32, f16 or bf16");
    default:
        return false;
    }
}

static bool print_device(const char *profile)
{
    struct cudaDeviceProp prop;
    char capability[32];
    int driver = 0;
    int runtime = 0;
    TRY_CUDA(cudaGetDeviceProperties(&prop, 0), fail);
    TRY_CUDA(cudaDriverGetVersion(&driver), fail);
    TRY_CUDA(cudaRuntimeGetVersion(&runtime), fail);
    snprintf(capability, sizeof capability, "%d.%d", prop.major, prop.minor);
    json_open();
    json_text("device", prop.name);
    json_text("compute_capability", capability);
    json_integer("multiprocessors", prop.multiProcessorCount);
    json_integer("memory_bytes", (int64_t)prop.totalGlobalMem);
    json_integer("driver", driver);
    json_integer("runtime", runtime);
    json_integer("cudnn", (int64_t)cudnnGetVersion());
    json_integer("cudnn_runtime", (int64_t)cudnnGetCudartVersion());
    json_text("profile", profile);
    return json_close();
fail:
    return false;
}

static bool print_comparison(const struct csv_layer *layer, enum layout layout,
                             enum direction direction, const struct plan_answer *handle,
                             const struct plan_answer *profile)
{
    json_open();
    json_text("model", layer->model);
    json_text("layer", layer->layer);
    json_text("dir", direction_name(direction));
    json_text("dtype", dtype_name(layer->type));
    json_text("layout", layout_name(layout));
    json_integer("engine_handle", handle->engine);
    json_integer("engine_profile", profile->engine);
    json_integer("workspace_handle", handle->workspace);
    json_integer("workspace_profile", profile->workspace);
    json_integer("configs_handle", handle->configs);
    json_integer("configs_profile", profile->configs);
    json_flag("equal", plan_equal(handle, profile));
    return json_close();
}

static void fail_layer(struct comparison *comparison, const struct csv_layer *layer,
                       const char *what)
{
    comparison->failed++;
    fprintf(stderr, "gpu_facts: %s/%s: %s\n", layer->model, layer->layer, what);
}

/* False if stdout cannot be written; other failures are counted. */
static bool compare_layer(struct comparison *comparison, const struct csv_layer *layer,
                          const struct options *options)
{
    struct conv_problem problem;
    struct plan_answer handle;
    struct plan_answer profile;
    if (!csv_problem(layer, options->layout, &problem)) {
        fail_layer(comparison, layer, "the kernel is larger than the input");
        return true;
    }
    for (enum direction i = DIRECTION_FORWARD; i < DIRECTIONS; i++) {
        if (!options->direction[i])
            continue;
        if (!plan_ask(comparison->handle, NULL, &problem, i, &handle) ||
            !plan_ask(comparison->handle, comparison->profile, &problem, i, &profile)) {
            fail_layer(comparison, layer, direction_name(i));
            continue;
        }
        comparison->plans++;
        comparison->different += !plan_equal(&handle, &profile);
        if (!print_comparison(layer, options->layout, i, &handle, &profile))
            return false;
    }
    return true;
}

static bool compare(cudnnHandle_t handle, const char *profile, const struct options *options)
{
    struct comparison comparison = {.handle = handle};
    struct csv_layer *layers = NULL;
    size_t count = 0;
    if (!csv_read(options->csv, options->model, &layers, &count))
        return false;
    bool good = profile_describe(profile, &comparison.profile);
    for (size_t i = 0; good && i < count; i++) {
        if (options->type_given)
            layers[i].type = options->type;
        good = compare_layer(&comparison, &layers[i], options);
    }
    if (comparison.profile != NULL)
        cudnnBackendDestroyDescriptor(comparison.profile);
    free(layers);
    fprintf(stderr, "gpu_facts: %zu plans compared, %zu differ, %zu failed\n", comparison.plans,
            comparison.different, comparison.failed);
    return good && comparison.failed == 0;
}

static bool run(const struct options *options)
{
    bool need_own = options->capture != NULL || (options->csv != NULL && options->profile == NULL);
    char *own = NULL;
    char *given = NULL;
    bool good = false;
    cudnnHandle_t handle;
    TRY_CUDNN(cudnnCreate(&handle), fail);
    if (options->profile != NULL && !profile_read(options->profile, &given))
        goto destroy_handle;
    if (need_own && !profile_capture(handle, 0, &own))
        goto free_given;
    good = (options->capture == NULL || profile_write(options->capture, own)) &&
           print_device(options->capture != NULL ? options->capture : "");
    if (good && options->csv != NULL)
        good = compare(handle, given != NULL ? given : own, options);
    free(own);
free_given:
    free(given);
destroy_handle:
    cudnnDestroy(handle);
fail:
    return good;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {{"capture", required_argument, NULL, 'o'},
                                          {"csv", required_argument, NULL, 'c'},
                                          {"model", required_argument, NULL, 'm'},
                                          {"profile", required_argument, NULL, 'p'},
                                          {"dir", required_argument, NULL, 'd'},
                                          {"layout", required_argument, NULL, 'l'},
                                          {"dtype", required_argument, NULL, 't'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options options = {.direction = {true, true, true}};
    int status = options_parse(argc, argv, known, take, &options, USAGE, 0);
    if (status >= 0)
        return status;
    status = gpu_open("gpu_facts");
    if (status != 0)
        return status;
    return run(&options) ? 0 : 1;
}
