/* Threads that decode latents concurrently, each with its own stream and cuDNN handle: a few
 * denoising steps, which need little memory, then the decoder, which needs much, over and over. */
#include "decoder.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 64

struct options {
    struct decoder_settings settings;
    int64_t threads, alone, images;
};

/* State that the threads share. */
struct crew {
    const struct options *options;
    pthread_mutex_t alone;
    pthread_barrier_t ready, done;
};

struct worker {
    struct crew *crew;
    pthread_t thread;
    struct decoder decoder;
    unsigned char *reference, *result; /* on the host */
    int64_t wrong;
    bool failed;
};

static const char USAGE[] =
    "usage: decoders [--threads N] [--alone N] [--images N] [--steps N] [--api graph|legacy]\n"
    "                [--px N] [--thin N] [--dtype f32|f16|bf16] [--model NAME] [--csv PATH]\n"
    "Each thread makes --alone images (default 3) while the others wait, as programs warm up one\n"
    "after the other, then all of them make --images more at the same time (default 4). An image "
    "is\n"
    "--steps (default 6) denoising steps and one decode to --px (default 256) squared pixels with\n"
    "the model's channels divided by --thin (default 8). Every image is compared with the "
    "thread's\n"
    "first one. Status: 0, 1 on a wrong result or an error, 2 on usage.\n";

/* Copies a result to the host and frees it. */
static bool fetch(struct worker *worker, struct image *image)
{
    size_t bytes = tensor_storage_bytes(&image->tensor);
    cudaStream_t stream = worker->decoder.settings.stream;
    if (worker->result == NULL && (worker->result = malloc(bytes)) == NULL)
        return false;
    TRY_CUDA(cudaMemcpyAsync(worker->result, image->data, bytes, cudaMemcpyDeviceToHost, stream),
             fail);
    TRY_CUDA(cudaStreamSynchronize(stream), fail);
    if (worker->reference == NULL) {
        worker->reference = worker->result;
        worker->result = NULL;
    } else if (memcmp(worker->result, worker->reference, bytes) != 0) {
        worker->wrong++;
    }
    decoder_free(image);
    return true;
fail:
    return false;
}

static bool make_images(struct worker *worker, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        struct image *image = decoder_latent(&worker->decoder);
        if (image == NULL || !decoder_denoise(&worker->decoder, image))
            return false;
        image = decoder_decode(&worker->decoder, image);
        if (image == NULL || !fetch(worker, image))
            return false;
    }
    return true;
}

static bool open_worker(struct worker *worker)
{
    struct decoder_settings settings = worker->crew->options->settings;
    TRY_CUDA(cudaStreamCreateWithFlags(&settings.stream, cudaStreamNonBlocking), fail);
    worker->decoder.settings.stream = settings.stream;
    return decoder_open(&worker->decoder, &settings);
fail:
    return false;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct crew *crew = worker->crew;
    pthread_mutex_lock(&crew->alone);
    worker->failed = !open_worker(worker) || !make_images(worker, crew->options->alone);
    pthread_mutex_unlock(&crew->alone);
    pthread_barrier_wait(&crew->ready);
    if (!worker->failed)
        worker->failed = !make_images(worker, crew->options->images);
    pthread_barrier_wait(&crew->done);
    return NULL;
}

static void close_worker(struct worker *worker)
{
    decoder_close(&worker->decoder);
    if (worker->decoder.settings.stream != NULL)
        cudaStreamDestroy(worker->decoder.settings.stream);
    free(worker->reference);
    free(worker->result);
}

/* Returns the seconds that the threads took together. */
static double run_workers(struct crew *crew, struct worker *workers)
{
    for (int64_t i = 0; i < crew->options->threads; i++) {
        workers[i].crew = crew;
        /* Nothing can release the barriers of an incomplete crew: the process ends with it. */
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            fputs("decoders: a thread could not be started\n", stderr);
            exit(1);
        }
    }
    pthread_barrier_wait(&crew->ready);
    double start = client_seconds();
    pthread_barrier_wait(&crew->done);
    double seconds = client_seconds() - start;
    for (int64_t i = 0; i < crew->options->threads; i++)
        pthread_join(workers[i].thread, NULL);
    return seconds;
}

static bool report(const struct options *options, struct worker *workers, double seconds)
{
    int64_t wrong = 0, failed = 0, images = options->threads * options->images;
    for (int64_t i = 0; i < options->threads; i++) {
        wrong += workers[i].wrong;
        failed += workers[i].failed;
        close_worker(&workers[i]);
    }
    printf("decoders: %" PRId64 " threads, %" PRId64 " images in %.3f s, %.3f images/s, %" PRId64
           " wrong, %" PRId64 " failed\n",
           options->threads, images, seconds, (double)images / seconds, wrong, failed);
    return wrong == 0 && failed == 0;
}

static bool run(const struct options *options)
{
    struct crew crew = {.options = options, .alone = PTHREAD_MUTEX_INITIALIZER};
    unsigned everybody = (unsigned)options->threads + 1;
    bool good = false;
    struct worker *workers = calloc((size_t)options->threads, sizeof *workers);
    if (workers == NULL)
        return false;
    if (pthread_barrier_init(&crew.ready, NULL, everybody) != 0)
        goto free_workers;
    if (pthread_barrier_init(&crew.done, NULL, everybody) != 0)
        goto destroy_ready;
    double seconds = run_workers(&crew, workers);
    good = report(options, workers, seconds);
    pthread_barrier_destroy(&crew.done);
destroy_ready:
    pthread_barrier_destroy(&crew.ready);
free_workers:
    free(workers);
    return good;
}

static bool take_type(const char *value, struct decoder_settings *settings)
{
    settings->type_given = true;
    return dtype_parse(value, &settings->type) || option_refuse("dtype", value, "f32, f16 or bf16");
}

static bool take(int option, const char *value, void *to)
{
    struct options *options = to;
    switch (option) {
    case 'n':
        return option_number("threads", value, 1, MAX_THREADS, &options->threads);
    case 'o':
        return option_number("alone", value, 1, 1000000, &options->alone);
    case 'i':
        return option_number("images", value, 1, 1000000, &options->images);
    case 's':
        return option_number("steps", value, 0, 1000000, &options->settings.steps);
    case 'a':
        return conv_api_parse(value, &options->settings.api) ||
               option_refuse("api", value, "graph or legacy");
    case 'p':
        return option_number("px", value, 8, 16384, &options->settings.px);
    case 'f':
        return option_number("thin", value, 1, 1024, &options->settings.thin);
    case 't':
        return take_type(value, &options->settings);
    case 'm':
        options->settings.model = value;
        return true;
    case 'c':
        options->settings.csv = value;
        return true;
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"threads", required_argument, NULL, 'n'}, {"alone", required_argument, NULL, 'o'},
        {"images", required_argument, NULL, 'i'},  {"steps", required_argument, NULL, 's'},
        {"api", required_argument, NULL, 'a'},     {"px", required_argument, NULL, 'p'},
        {"thin", required_argument, NULL, 'f'},    {"dtype", required_argument, NULL, 't'},
        {"model", required_argument, NULL, 'm'},   {"csv", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    struct options options = {.settings = {.csv = "tests/data/conv_layers.csv",
                                           .model = "sd15-vae-512",
                                           .px = 256,
                                           .thin = 8,
                                           .steps = 6},
                              .threads = 2,
                              .alone = 3,
                              .images = 4};
    int status = options_parse(argc, argv, known, take, &options, USAGE, 0);
    if (status >= 0)
        return status;
    return run(&options) ? 0 : 1;
}
