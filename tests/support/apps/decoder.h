/* The decoder of a Stable Diffusion VAE as a list of convolutions, wired as in the model: residual
 * blocks, nearest neighbour upsampling, SiLU. Weights are random. Normalisation, biases and the
 * middle attention are left out. */
#ifndef DECODER_H
#define DECODER_H

#include "csv.h"

#define DECODER_IMAGES 8

struct decoder_settings {
    enum conv_api api;
    enum layout layout;
    cudnnDataType_t type;
    bool type_given; /* else that of the list; decoder_open sets `type` then */
    int64_t px;      /* output height and width; 0: the model's own */
    int64_t slab;    /* bytes that activations share, as in a framework's cache; 0: each has its own
                        memory */
    const char *csv;
    const char *model;
};

/* An activation on the device, batch 1, packed; data is NULL where the slot is free. */
struct image {
    struct tensor tensor;
    void *data;
    bool lent; /* a part of the slab */
};

/* A plan and the problem it is for. */
struct cached {
    struct conv_problem problem;
    struct conv_plan plan;
    bool planned;
};

/* All weights stay on the device. Activations and workspaces are allocated and freed one by one.
 * One thread's at a time. */
struct decoder {
    struct decoder_settings settings;
    cudnnHandle_t handle;
    cudnnActivationDescriptor_t swish;
    cudnnTensorDescriptor_t desc[2];
    struct csv_layer *layers;
    size_t layer_count;
    void **weights;
    struct cached *cache;
    size_t cached;
    struct image images[DECODER_IMAGES];
    char *slab;
    size_t convolutions;
    int64_t largest_workspace; /* bytes, of the convolutions so far */
    int64_t peak;              /* bytes that activations and a workspace took at once at most */
};

/* Reads the model and uploads its weights. False, with a line on stderr, on failure; the decoder,
 * zero before the call, is to be closed in either case. */
bool decoder_open(struct decoder *decoder, const struct decoder_settings *settings);
void decoder_close(struct decoder *decoder);

/* A random input of the model, the decoder's; NULL on failure. */
struct image *decoder_latent(struct decoder *decoder);

/* Runs the whole model and frees the latent. The result, the decoder's, may not be ready before the
 * stream is synchronised. NULL on failure. */
struct image *decoder_decode(struct decoder *decoder, struct image *latent);

/* Frees a result. */
void decoder_free(struct image *image);

/* Height of the output in pixels. */
int64_t decoder_height(const struct decoder *decoder);

#endif
