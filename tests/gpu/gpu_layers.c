/* Runs convolution layers of a list one at a time, and prints the memory and time of each. */
#include "../support/apps/csv.h"
#include "gpu.h"
#include "layer_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *csv;
    const char *layers; /* NULL: all */
    const char *dump;
    bool type_given;
    cudnnDataType_t type;
    enum layout layout;
    struct layer_settings settings;
};

static const char USAGE[] =
    "usage: gpu_layers --csv FILE [--layers NAME,...] [--dtype f32|f16|bf16]\n"
    "                  [--layout nchw|nhwc] [--api graph|legacy] [--benchmark on|off]\n"
    "                  [--iterations N] [--warmup N] [--float64 K] [--dump FILE]\n"
    "Runs the forward convolution of each layer and prints one line of JSON for it.\n"
    "  --csv FILE       the list\n"
    "  --layers NAMES   model/layer, or a model for all of its layers (default: the whole list)\n"
    "  --dtype NAME     of all tensors (default: the list's)\n"
    "  --layout NAME    of all tensors (default: nchw)\n"
    "  --api NAME       the way into cuDNN (default: graph)\n"
    "  --benchmark on   time all answers of cuDNN, take the fastest (default: off, the first)\n"
    "  --iterations N   timed calls (20)\n"
    "  --warmup N       calls before those (3)\n"
    "  --float64 K      compare K elements of the output with sums in double on the host (0)\n"
    "  --dump FILE      write the output's bytes there; for a single layer\n"
    "Bytes: allocated by this program (operands, workspace); taken by others meanwhile, as\n"
    "cudaMemGetInfo shows it, and of that kept, still taken when the layer was done (kernels, a\n"
    "library's own memory); device_peak is allocated and taken. Times are microseconds. Data "
    "depend\n"
    "on the dtype alone, so outputs of two runs can be compared by their checksums.\n"
    "Status: 0, 1 on an error or if memory is out, 2 on usage, 77 without a device.\n";

static bool take(int option, const char *value, void *to)
{
    struct options *options = to;
    struct layer_settings *settings = &options->settings;
    switch (option) {
    case 'c':
        options->csv = value;
        return true;
    case 'n':
        options->layers = value;
        return true;
    case 't':
        options->type_given = true;
        return dtype_parse(value, &options->type) ||
               option_refuse("dtype", value, "f32, f16 or bf16");
    case 'l':
        return layout_parse(value, &options->layout) ||
               option_refuse("layout", value, "nchw or nhwc");
    case 'a':
        return conv_api_parse(value, &settings->api) ||
               option_refuse("api", value, "graph or legacy");
    case 'b':
        settings->benchmark = strcmp(value, "on") == 0;
        return settings->benchmark || strcmp(value, "off") == 0 ||
               option_refuse("benchmark", value, "on or off");
    case 'i':
        return option_number("iterations", value, 1, 1000000, &settings->iterations);
    case 'w':
        return option_number("warmup", value, 0, 1000000, &settings->warmup);
    case 'f':
        return option_number("float64", value, 0, 1000000, &settings->samples);
    case 'd':
        options->dump = value;
        return true;
    default:
        return false;
    }
}

/* True if the name of `length` bytes means the layer. */
static bool is_meant(const struct csv_layer *layer, const char *name, size_t length)
{
    size_t model = strlen(layer->model);
    if (length < model || strncmp(name, layer->model, model) != 0)
        return false;
    return length == model || (name[model] == '/' && length == model + 1 + strlen(layer->layer) &&
                               strncmp(name + model + 1, layer->layer, length - model - 1) == 0);
}

/* Marks the layers that are named; false, with a line on stderr, if a name means none. */
static bool select_layers(const char *names, const struct csv_layer *layers, size_t count,
                          bool *chosen)
{
    for (const char *name = names; name != NULL;) {
        size_t length = strcspn(name, ",");
        bool found = false;
        for (size_t i = 0; i < count; i++) {
            if (is_meant(&layers[i], name, length))
                found = chosen[i] = true;
        }
        if (!found) {
            fprintf(stderr, "--layers: no layer is named '%.*s'\n", (int)length, name);
            return false;
        }
        name = name[length] == ',' ? name + length + 1 : NULL;
    }
    for (size_t i = 0; names == NULL && i < count; i++)
        chosen[i] = true;
    return true;
}

static void print_measured(const struct layer_settings *settings, const struct layer_result *result)
{
    char checksum[24];
    snprintf(checksum, sizeof checksum, "%016" PRIx64, result->checksum);
    json_integer("allocated_bytes", result->allocated);
    json_integer("taken_bytes", result->taken);
    json_integer("kept_bytes", result->kept);
    json_integer("device_peak", result->allocated + result->taken);
    json_integer("iterations", settings->iterations);
    json_integer("warmup", settings->warmup);
    json_number("median_us", result->median_us);
    json_number("p10_us", result->p10_us);
    json_number("p90_us", result->p90_us);
    json_number("wall_us", result->wall_us);
    json_text("checksum", checksum);
    if (settings->samples == 0)
        return;
    json_integer("samples", result->error.samples);
    json_integer("samples_not_finite", result->error.not_finite);
    json_number("max_abs_error", result->error.max_abs);
    json_number("max_rel_error", result->error.max_rel);
}

static bool print_layer(const struct csv_layer *layer, const struct conv_problem *problem,
                        const struct options *options, const struct layer_result *result)
{
    json_open();
    json_text("model", layer->model);
    json_text("layer", layer->layer);
    json_text("dir", "fwd");
    json_text("dtype", dtype_name(layer->type));
    json_text("layout", layout_name(options->layout));
    json_text("api", conv_api_name(options->settings.api));
    json_text("benchmark", options->settings.benchmark ? "on" : "off");
    json_text("status", layer_status_name(result->status));
    json_integer("input_bytes", (int64_t)tensor_storage_bytes(&problem->x));
    json_integer("filter_bytes", (int64_t)tensor_storage_bytes(&problem->w));
    json_integer("output_bytes", (int64_t)tensor_storage_bytes(&problem->y));
    if (result->planned) {
        json_integer("engine", result->engine);
        json_integer("choice", result->choice);
        json_integer("workspace", result->workspace);
    }
    if (result->status == LAYER_OK)
        print_measured(&options->settings, result);
    return json_close();
}

static bool run_layer(cudnnHandle_t handle, cudaStream_t stream, struct csv_layer *layer,
                      const struct options *options)
{
    struct conv_problem problem;
    struct layer_result result;
    if (options->type_given)
        layer->type = options->type;
    if (!csv_problem(layer, options->layout, &problem)) {
        fprintf(stderr, "gpu_layers: %s/%s: the kernel is larger than the input\n", layer->model,
                layer->layer);
        return false;
    }
    layer_run(handle, stream, &problem, &options->settings, &result);
    if (result.status != LAYER_OK)
        fprintf(stderr, "gpu_layers: %s/%s: %s\n", layer->model, layer->layer,
                layer_status_name(result.status));
    return print_layer(layer, &problem, options, &result) &&
           (result.status == LAYER_OK || result.status == LAYER_REFUSED);
}

static int run_layers(struct csv_layer *layers, const bool *chosen, size_t count,
                      const struct options *options)
{
    cudnnHandle_t handle = NULL;
    cudaStream_t stream = NULL;
    int status = gpu_open("gpu_layers");
    if (status != 0)
        return status;
    status = 1;
    TRY_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), fail);
    TRY_CUDNN(cudnnCreate(&handle), destroy_stream);
    TRY_CUDNN(cudnnSetStream(handle, stream), destroy_handle);
    status = 0;
    for (size_t i = 0; i < count; i++)
        if (chosen[i] && !run_layer(handle, stream, &layers[i], options))
            status = 1;
destroy_handle:
    cudnnDestroy(handle);
destroy_stream:
    cudaStreamDestroy(stream);
fail:
    return status;
}

static int run_dumped(struct csv_layer *layers, const bool *chosen, size_t count,
                      struct options *options)
{
    size_t wanted = 0;
    for (size_t i = 0; i < count; i++)
        wanted += chosen[i];
    if (options->dump == NULL)
        return run_layers(layers, chosen, count, options);
    if (wanted != 1) {
        fprintf(stderr, "--dump: for a single layer, not for %zu\n", wanted);
        return 2;
    }
    options->settings.dump = fopen(options->dump, "wb");
    if (options->settings.dump == NULL) {
        perror(options->dump);
        return 1;
    }
    int status = run_layers(layers, chosen, count, options);
    if (fclose(options->settings.dump) != 0) {
        perror(options->dump);
        status = 1;
    }
    return status;
}

static int run(struct options *options)
{
    struct csv_layer *layers = NULL;
    size_t count = 0;
    if (!csv_read(options->csv, NULL, &layers, &count))
        return 1;
    int status = 2;
    bool *chosen = calloc(count, sizeof *chosen);
    if (chosen == NULL)
        status = 1;
    else if (select_layers(options->layers, layers, count, chosen))
        status = run_dumped(layers, chosen, count, options);
    free(chosen);
    free(layers);
    return status;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {{"csv", required_argument, NULL, 'c'},
                                          {"layers", required_argument, NULL, 'n'},
                                          {"dtype", required_argument, NULL, 't'},
                                          {"layout", required_argument, NULL, 'l'},
                                          {"api", required_argument, NULL, 'a'},
                                          {"benchmark", required_argument, NULL, 'b'},
                                          {"iterations", required_argument, NULL, 'i'},
                                          {"warmup", required_argument, NULL, 'w'},
                                          {"float64", required_argument, NULL, 'f'},
                                          {"dump", required_argument, NULL, 'd'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options options = {.settings = {.api = CONV_GRAPH, .iterations = 20, .warmup = 3}};
    int status = options_parse(argc, argv, known, take, &options, USAGE, 0);
    if (status >= 0)
        return status;
    if (options.csv == NULL) {
        fprintf(stderr, "--csv is missing\n%s", USAGE);
        return 2;
    }
    return run(&options);
}
