#include "decoder.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 20240917

enum {
    SLAB_GRAIN = 256
};

/* The first free place in the slab of this size; NULL if there is none. */
static void *place_in_slab(const struct decoder *decoder, size_t bytes)
{
    char *place = decoder->slab;
    for (int i = 0; i < DECODER_IMAGES; i++) {
        const struct image *other = &decoder->images[i];
        size_t taken = other->data != NULL ? tensor_storage_bytes(&other->tensor) : 0;
        const char *begin = other->data;
        if (taken == 0 || place + bytes <= begin || place >= begin + taken)
            continue;
        place += (size_t)(begin - place) + (taken + SLAB_GRAIN - 1) / SLAB_GRAIN * SLAB_GRAIN;
        i = -1; /* it may lie in one that was passed over */
    }
    size_t end = (size_t)(place - decoder->slab) + bytes;
    return end <= (size_t)decoder->settings.slab ? place : NULL;
}

static bool allocate(struct decoder *decoder, struct image *image)
{
    size_t bytes = tensor_storage_bytes(&image->tensor);
    image->lent = decoder->slab != NULL;
    if (image->lent) {
        image->data = place_in_slab(decoder, bytes);
        return image->data != NULL;
    }
    TRY_CUDA(cudaMalloc(&image->data, bytes), fail);
    return true;
fail:
    image->data = NULL;
    return false;
}

static struct image *image_create(struct decoder *decoder, int64_t channels, int64_t height,
                                  int64_t width)
{
    struct image *image = decoder->images;
    while (image < decoder->images + DECODER_IMAGES && image->data != NULL)
        image++;
    if (image == decoder->images + DECODER_IMAGES)
        return NULL;
    memset(image, 0, sizeof *image);
    image->tensor = (struct tensor){
        .type = decoder->settings.type, .dims = 4, .size = {1, channels, height, width}};
    tensor_pack(&image->tensor, decoder->settings.layout);
    return allocate(decoder, image) ? image : NULL;
}

void decoder_free(struct image *image)
{
    if (!image->lent)
        cudaFree(image->data);
    image->data = NULL;
}

/* The layer of that name, NULL if the model has none. */
static const struct csv_layer *find_layer(const struct decoder *decoder, const char *name)
{
    for (size_t i = 0; i < decoder->layer_count; i++)
        if (strcmp(decoder->layers[i].layer, name) == 0)
            return &decoder->layers[i];
    return NULL;
}

/* Frameworks key their plan caches by everything that describes the problem. */
static struct cached *find_plan(struct decoder *decoder, const struct conv_problem *problem)
{
    for (size_t i = 0; i < decoder->cached; i++)
        if (conv_same(&decoder->cache[i].problem, problem))
            return &decoder->cache[i];
    struct cached *cached = &decoder->cache[decoder->cached++];
    cached->problem = *problem;
    return cached;
}

static bool same_sizes(const struct tensor *a, const struct tensor *b)
{
    return memcmp(a->size, b->size, (size_t)a->dims * sizeof *a->size) == 0;
}

static void note_peak(struct decoder *decoder, int64_t workspace)
{
    int64_t sum = workspace;
    for (int i = 0; i < DECODER_IMAGES; i++)
        if (decoder->images[i].data != NULL)
            sum += (int64_t)tensor_storage_bytes(&decoder->images[i].tensor);
    if (sum > decoder->peak)
        decoder->peak = sum;
}

/* The layer's output for an input that stays the caller's; NULL on failure. */
static struct image *convolve(struct decoder *decoder, const char *name, const struct image *in)
{
    const struct csv_layer *layer = find_layer(decoder, name);
    struct conv_problem problem;
    if (layer == NULL || !csv_problem(layer, decoder->settings.layout, &problem) ||
        !same_sizes(&problem.x, &in->tensor)) {
        fprintf(stderr, "%s: missing, or not the layer that this place of the decoder needs\n",
                name);
        return NULL;
    }
    struct image *out =
        image_create(decoder, problem.y.size[1], problem.y.size[2], problem.y.size[3]);
    if (out == NULL)
        return NULL;
    struct cached *cached = find_plan(decoder, &problem);
    enum outcome outcome = conv_run(decoder->handle, decoder->settings.api, &problem, NULL,
                                    in->data, decoder->weights[layer - decoder->layers], out->data,
                                    &cached->plan, &cached->planned);
    if (outcome != OUTCOME_OK) {
        fprintf(stderr, "%s: %s\n", name, outcome == OUTCOME_REFUSED ? "refused" : "failed");
        return NULL;
    }
    decoder->convolutions++;
    note_peak(decoder, cached->plan.workspace);
    if (cached->plan.workspace > decoder->largest_workspace)
        decoder->largest_workspace = cached->plan.workspace;
    return out;
}

/* Source and destination may be the same image. */
static bool silu(struct decoder *decoder, const struct image *in, struct image *out)
{
    const float one = 1.0F;
    const float zero = 0.0F;
    TRY_CUDNN(tensor_describe(&in->tensor, decoder->desc[0]), fail);
    TRY_CUDNN(cudnnActivationForward(decoder->handle, decoder->swish, &one, decoder->desc[0],
                                     in->data, &zero, decoder->desc[0], out->data),
              fail);
    return true;
fail:
    return false;
}

static bool add(struct decoder *decoder, const struct image *in, struct image *sum)
{
    const float one = 1.0F;
    if (!same_sizes(&in->tensor, &sum->tensor))
        return false;
    TRY_CUDNN(tensor_describe(&in->tensor, decoder->desc[0]), fail);
    TRY_CUDNN(cudnnAddTensor(decoder->handle, &one, decoder->desc[0], in->data, &one,
                             decoder->desc[0], sum->data),
              fail);
    return true;
fail:
    return false;
}

/* Writes the image to the pixels of one parity of an image of twice its height and width. */
static bool spread(struct decoder *decoder, const struct image *in, struct image *out, int row,
                   int column)
{
    const float one = 1.0F;
    const float zero = 0.0F;
    struct tensor view = in->tensor;
    memcpy(view.stride, out->tensor.stride, sizeof view.stride);
    int64_t offset = row * view.stride[2] + column * view.stride[3];
    view.stride[2] *= 2;
    view.stride[3] *= 2;
    TRY_CUDNN(tensor_describe(&in->tensor, decoder->desc[0]), fail);
    TRY_CUDNN(tensor_describe(&view, decoder->desc[1]), fail);
    TRY_CUDNN(cudnnTransformTensor(decoder->handle, &one, decoder->desc[0], in->data, &zero,
                                   decoder->desc[1],
                                   (char *)out->data + (size_t)offset * dtype_size(view.type)),
              fail);
    return true;
fail:
    return false;
}

/* Nearest neighbour, twice the size. Frees the input. */
static struct image *upsample(struct decoder *decoder, struct image *in)
{
    struct image *out =
        image_create(decoder, in->tensor.size[1], 2 * in->tensor.size[2], 2 * in->tensor.size[3]);
    if (out == NULL)
        return NULL;
    for (int i = 0; i < 4; i++)
        if (!spread(decoder, in, out, i / 2, i % 2))
            return NULL;
    decoder_free(in);
    return out;
}

/* SiLU into `*skip`'s own buffer where nothing else needs it any more: a block with a shortcut
 * convolution computes that first, *skip is then its output. */
static struct image *enter_block(struct decoder *decoder, const char *block, struct image *in,
                                 struct image **skip)
{
    char name[64];
    snprintf(name, sizeof name, "%s.shortcut", block);
    struct image *hidden = in;
    *skip = in;
    if (find_layer(decoder, name) != NULL)
        *skip = convolve(decoder, name, in);
    else
        hidden = image_create(decoder, in->tensor.size[1], in->tensor.size[2], in->tensor.size[3]);
    if (*skip == NULL || hidden == NULL || !silu(decoder, in, hidden))
        return NULL;
    return hidden;
}

/* One residual block: x + conv2(silu(conv1(silu(x)))). Frees the input. */
static struct image *residual_block(struct decoder *decoder, const char *block, struct image *in)
{
    char conv1[64];
    char conv2[64];
    struct image *skip;
    snprintf(conv1, sizeof conv1, "%s.conv1", block);
    snprintf(conv2, sizeof conv2, "%s.conv2", block);
    struct image *hidden = enter_block(decoder, block, in, &skip);
    struct image *middle = hidden != NULL ? convolve(decoder, conv1, hidden) : NULL;
    if (middle == NULL || !silu(decoder, middle, middle))
        return NULL;
    decoder_free(hidden);
    struct image *out = convolve(decoder, conv2, middle);
    if (out == NULL || !add(decoder, skip, out))
        return NULL;
    decoder_free(middle);
    decoder_free(skip);
    return out;
}

/* Applies the layer and frees the input. */
static struct image *apply(struct decoder *decoder, const char *name, struct image *in)
{
    struct image *out = convolve(decoder, name, in);
    if (out != NULL)
        decoder_free(in);
    return out;
}

static struct image *up_stage(struct decoder *decoder, int stage, struct image *x)
{
    char name[64];
    for (int block = 0; block < 3 && x != NULL; block++) {
        snprintf(name, sizeof name, "up%d.res%d", stage, block);
        x = residual_block(decoder, name, x);
    }
    snprintf(name, sizeof name, "up%d.upsample", stage);
    if (x == NULL || find_layer(decoder, name) == NULL)
        return x;
    x = upsample(decoder, x);
    return x != NULL ? apply(decoder, name, x) : NULL;
}

struct image *decoder_decode(struct decoder *decoder, struct image *latent)
{
    size_t before = decoder->convolutions, own = decoder->layer_count;
    struct image *x = apply(decoder, "conv_in", latent);
    if (x != NULL)
        x = residual_block(decoder, "mid.res0", x);
    if (x != NULL)
        x = residual_block(decoder, "mid.res1", x);
    for (int stage = 0; stage < 4 && x != NULL; stage++)
        x = up_stage(decoder, stage, x);
    if (x == NULL || !silu(decoder, x, x))
        return NULL;
    x = apply(decoder, "conv_out", x);
    if (x != NULL && decoder->convolutions - before != own) {
        fprintf(stderr, "the model has %zu convolutions, the decoder used %zu\n", own,
                decoder->convolutions - before);
        return NULL;
    }
    return x;
}

/* Keeps activations of order one without normalisation: by the second moment of the input, and
 * small for the branch that a residual block adds. */
static float gain_of(const char *layer)
{
    const float after_silu = 1.6F;
    size_t length = strlen(layer);
    const char *end = length > 6 ? layer + length - 6 : layer;
    if (strcmp(end, ".conv2") == 0)
        return 0.3F * after_silu;
    if (strcmp(end, ".conv1") == 0 || strcmp(layer, "conv_out") == 0)
        return after_silu;
    return 1.0F;
}

/* Fills the device buffer of a packed tensor with bell-shaped numbers, which repeat. */
static bool fill_random(const struct tensor *tensor, uint64_t sequence, float deviation,
                        void *device)
{
    enum {
        PERIOD = 65521
    };
    struct rng rng = rng_of(SEED, sequence);
    int64_t at[CLIENT_MAX_DIMS] = {0};
    size_t bytes = tensor_storage_bytes(tensor), each = dtype_size(tensor->type), next = 0;
    unsigned char *host = malloc(bytes), *numbers = malloc(PERIOD * each);
    bool filled = false;
    if (host == NULL || numbers == NULL)
        goto end;
    for (size_t i = 0; i < PERIOD; i++)
        dtype_store(tensor->type, numbers, i, deviation * rng_normal(&rng));
    /* By coordinates, so that every layout holds the same numbers. */
    if (tensor->stride[tensor->dims - 1] == 1)
        for (size_t done = 0; done < bytes; done += PERIOD * each)
            memcpy(host + done, numbers,
                   bytes - done < PERIOD * each ? bytes - done : PERIOD * each);
    else
        do
            memcpy(host + tensor_index(tensor, at) * each, numbers + next++ % PERIOD * each, each);
        while (tensor_step(tensor, at));
    TRY_CUDA(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), end);
    filled = true;
end:
    free(numbers);
    free(host);
    return filled;
}

static bool load_weights(struct decoder *decoder)
{
    decoder->weights = calloc(decoder->layer_count, sizeof *decoder->weights);
    decoder->cache = calloc(decoder->layer_count, sizeof *decoder->cache);
    if (decoder->weights == NULL || decoder->cache == NULL)
        return false;
    for (size_t i = 0; i < decoder->layer_count; i++) {
        const struct csv_layer *layer = &decoder->layers[i];
        struct conv_problem problem;
        if (!csv_problem(layer, decoder->settings.layout, &problem))
            return false;
        TRY_CUDA(cudaMalloc(&decoder->weights[i], tensor_storage_bytes(&problem.w)), fail);
        int64_t inputs = tensor_elements(&problem.w) / problem.w.size[0];
        float deviation = gain_of(layer->layer) / sqrtf((float)inputs);
        if (!fill_random(&problem.w, i + 1, deviation, decoder->weights[i]))
            return false;
    }
    return true;
fail:
    return false;
}

/* Scales the layers to the requested output; false if their extents are no integers. */
static bool scale_layers(struct decoder *decoder, int64_t px)
{
    const struct csv_layer *last = find_layer(decoder, "conv_out");
    int64_t whole = last != NULL ? last->h : 0;
    for (size_t i = 0; i < decoder->layer_count && px > 0; i++) {
        struct csv_layer *layer = &decoder->layers[i];
        if (whole == 0 || layer->h * px % whole != 0 || layer->w * px % whole != 0) {
            fprintf(stderr, "--px: %" PRId64 " does not scale layer %s\n", px, layer->layer);
            return false;
        }
        layer->h = layer->h * px / whole;
        layer->w = layer->w * px / whole;
    }
    return true;
}

struct image *decoder_latent(struct decoder *decoder)
{
    const struct csv_layer *first = find_layer(decoder, "conv_in");
    struct image *image =
        first != NULL ? image_create(decoder, first->c, first->h, first->w) : NULL;
    if (image == NULL || !fill_random(&image->tensor, 0, 1.0F, image->data))
        return NULL;
    return image;
}

int64_t decoder_height(const struct decoder *decoder)
{
    const struct csv_layer *last = find_layer(decoder, "conv_out");
    return last != NULL ? last->h : 0;
}

bool decoder_open(struct decoder *decoder, const struct decoder_settings *settings)
{
    decoder->settings = *settings;
    if (!csv_read(settings->csv, settings->model, &decoder->layers, &decoder->layer_count) ||
        !scale_layers(decoder, settings->px))
        return false;
    if (!settings->type_given)
        decoder->settings.type = decoder->layers[0].type;
    for (size_t i = 0; i < decoder->layer_count; i++)
        decoder->layers[i].type = decoder->settings.type;
    TRY_CUDNN(cudnnCreate(&decoder->handle), fail);
    TRY_CUDNN(cudnnCreateTensorDescriptor(&decoder->desc[0]), fail);
    TRY_CUDNN(cudnnCreateTensorDescriptor(&decoder->desc[1]), fail);
    TRY_CUDNN(cudnnCreateActivationDescriptor(&decoder->swish), fail);
    TRY_CUDNN(cudnnSetActivationDescriptor(decoder->swish, CUDNN_ACTIVATION_SWISH,
                                           CUDNN_PROPAGATE_NAN, 1.0),
              fail);
    TRY_CUDNN(cudnnSetActivationDescriptorSwishBeta(decoder->swish, 1.0), fail);
    if (settings->slab > 0)
        TRY_CUDA(cudaMalloc((void **)&decoder->slab, (size_t)settings->slab), fail);
    return load_weights(decoder);
fail:
    return false;
}

void decoder_close(struct decoder *decoder)
{
    for (int i = 0; i < DECODER_IMAGES; i++)
        decoder_free(&decoder->images[i]);
    cudaFree(decoder->slab);
    for (size_t i = 0; decoder->cache != NULL && i < decoder->cached; i++)
        if (decoder->cache[i].planned)
            conv_plan_destroy(&decoder->cache[i].plan);
    for (size_t i = 0; decoder->weights != NULL && i < decoder->layer_count; i++)
        cudaFree(decoder->weights[i]);
    free(decoder->cache);
    free(decoder->weights);
    free(decoder->layers);
    if (decoder->swish != NULL)
        cudnnDestroyActivationDescriptor(decoder->swish);
    for (int i = 0; i < 2; i++)
        if (decoder->desc[i] != NULL)
            cudnnDestroyTensorDescriptor(decoder->desc[i]);
    if (decoder->handle != NULL)
        cudnnDestroy(decoder->handle);
}
