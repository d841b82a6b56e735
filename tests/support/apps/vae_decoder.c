/* Runs the convolutions of a Stable Diffusion VAE decoder and prints their time and memory. */
#include "decoder.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct options {
    struct decoder_settings settings;
    const char *json;
    const char *dump;
};

struct output {
    float *values; /* in logical order */
    int64_t count;
    uint64_t checksum; /* FNV-1a over the bytes as the device has them */
    double mean_magnitude;
    double seconds;
};

static const char USAGE[] =
    "usage: vae_decoder [--api graph|legacy] [--px N] [--dtype f32|f16|bf16]\n"
    "                   [--layout nchw|nhwc] [--model NAME] [--csv PATH] [--json PATH]\n"
    "                   [--dump PATH] [--slab MIB]\n"
    "Decodes one random latent to N x N pixels (default: the model's own size) through cuDNN.\n"
    "--dtype defaults to that of the list, --dump writes the output as raw float32 numbers.\n"
    "--slab: activations share one block of memory of that size, as in a framework's cache.\n"
    "Status: 0, 1 on an error, 2 on usage.\n";

static bool fetch(const struct image *image, struct output *output)
{
    const struct tensor *tensor = &image->tensor;
    size_t bytes = tensor_storage_bytes(tensor);
    unsigned char *raw = malloc(bytes);
    float *values = malloc((size_t)tensor->storage * sizeof *values);
    int64_t at[CLIENT_MAX_DIMS] = {0};
    double sum = 0.0;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    size_t next = 0;
    if (raw == NULL || values == NULL)
        goto fail;
    TRY_CUDA(cudaMemcpy(raw, image->data, bytes, cudaMemcpyDeviceToHost), fail);
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ raw[i]) * UINT64_C(0x100000001b3);
    do {
        values[next] = dtype_load(tensor->type, raw, tensor_index(tensor, at));
        sum += fabs((double)values[next++]);
    } while (tensor_step(tensor, at));
    free(raw);
    *output = (struct output){.values = values,
                              .count = tensor->storage,
                              .checksum = hash,
                              .mean_magnitude = sum / (double)tensor->storage};
    return true;
fail:
    free(raw);
    free(values);
    return false;
}

static bool run(struct decoder *decoder, struct output *output)
{
    struct image *image = decoder_latent(decoder);
    if (image == NULL)
        return false;
    double start = client_seconds();
    image = decoder_decode(decoder, image);
    if (image == NULL)
        return false;
    TRY_CUDA(cudaDeviceSynchronize(), fail);
    double seconds = client_seconds() - start;
    if (!fetch(image, output))
        return false;
    output->seconds = seconds;
    return true;
fail:
    return false;
}

static bool write_json(const char *path, const struct decoder *decoder, const struct output *output)
{
    const struct decoder_settings *settings = &decoder->settings;
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        return false;
    }
    fprintf(file,
            "{\"model\": \"%s\", \"api\": \"%s\", \"dtype\": \"%s\", \"layout\": \"%s\", "
            "\"px\": %" PRId64 ", \"layers\": %zu, \"wall_seconds\": %.6f, "
            "\"largest_workspace\": %" PRId64 ", \"peak\": %" PRId64
            ", \"output_elements\": %" PRId64
            ", \"mean_magnitude\": %.9g, \"checksum\": \"%016" PRIx64 "\"}\n",
            settings->model, conv_api_name(settings->api), dtype_name(settings->type),
            layout_name(settings->layout), decoder_height(decoder), decoder->convolutions,
            output->seconds, decoder->largest_workspace, decoder->peak, output->count,
            output->mean_magnitude, output->checksum);
    return fclose(file) == 0;
}

static bool write_dump(const char *path, const struct output *output)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        perror(path);
        return false;
    }
    size_t count = (size_t)output->count;
    bool written = fwrite(output->values, sizeof *output->values, count, file) == count;
    return fclose(file) == 0 && written;
}

static bool report(const struct options *options, const struct decoder *decoder,
                   const struct output *output)
{
    const struct decoder_settings *settings = &decoder->settings;
    printf("vae_decoder: %s api %s dtype %s layout %s px %" PRId64 ": %zu convolutions, %.3f s, "
           "largest workspace %" PRId64 " bytes, mean magnitude %.4g, checksum %016" PRIx64 "\n",
           settings->model, conv_api_name(settings->api), dtype_name(settings->type),
           layout_name(settings->layout), decoder_height(decoder), decoder->convolutions,
           output->seconds, decoder->largest_workspace, output->mean_magnitude, output->checksum);
    if (!isfinite(output->mean_magnitude)) {
        fputs("vae_decoder: the output is not finite\n", stderr);
        return false;
    }
    return (options->json == NULL || write_json(options->json, decoder, output)) &&
           (options->dump == NULL || write_dump(options->dump, output));
}

static bool parse_type(const char *value, struct options *options)
{
    options->settings.type_given = true;
    return dtype_parse(value, &options->settings.type) ||
           option_refuse("dtype", value, "f32, f16 or bf16");
}

static bool take(int option, const char *value, void *to)
{
    struct options *options = to;
    switch (option) {
    case 'a':
        return conv_api_parse(value, &options->settings.api) ||
               option_refuse("api", value, "graph or legacy");
    case 'p':
        return option_number("px", value, 8, 16384, &options->settings.px);
    case 't':
        return parse_type(value, options);
    case 'l':
        return layout_parse(value, &options->settings.layout) ||
               option_refuse("layout", value, "nchw or nhwc");
    case 'm':
        options->settings.model = value;
        return true;
    case 'c':
        options->settings.csv = value;
        return true;
    case 'j':
        options->json = value;
        return true;
    case 'd':
        options->dump = value;
        return true;
    case 's':
        if (!option_number("slab", value, 1, 65536, &options->settings.slab))
            return false;
        options->settings.slab <<= 20;
        return true;
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    static const struct option known[] = {{"api", required_argument, NULL, 'a'},
                                          {"px", required_argument, NULL, 'p'},
                                          {"dtype", required_argument, NULL, 't'},
                                          {"layout", required_argument, NULL, 'l'},
                                          {"model", required_argument, NULL, 'm'},
                                          {"csv", required_argument, NULL, 'c'},
                                          {"json", required_argument, NULL, 'j'},
                                          {"dump", required_argument, NULL, 'd'},
                                          {"slab", required_argument, NULL, 's'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options options = {
        .settings = {.csv = "tests/data/conv_layers.csv", .model = "sd15-vae-512"}};
    struct decoder decoder = {.handle = NULL};
    struct output output = {.values = NULL};
    int status = options_parse(argc, argv, known, take, &options, USAGE, 0);
    if (status >= 0)
        return status;
    bool good = decoder_open(&decoder, &options.settings) && run(&decoder, &output) &&
                report(&options, &decoder, &output);
    decoder_close(&decoder);
    free(output.values);
    return good ? 0 : 1;
}
