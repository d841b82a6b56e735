/* The convolution that the clients run. */
#ifndef LAYER_H
#define LAYER_H

#include "../apps/problems.h"

/* 2x16x32x32 -> 16 channels, 3x3, padding 1, f16 NCHW: small, but cuDNN needs a copy of input,
 * filter and output as workspace. */
void layer_describe(struct conv_problem *problem);

/* The operands of a convolution on host and device, and its expected output. */
struct layer_memory {
    struct problem_data data;
    void *x, *w, *y;         /* device; y begins as data.y */
    void *expected, *result; /* host: y's packed storage */
};

/* Integers on the current device. The caller frees the memory, also after a failure. */
bool layer_allocate(const struct conv_problem *problem, struct layer_memory *memory);
void layer_free(struct layer_memory *memory);

/* Waits for the device. True if y holds the same numbers as `expected`. */
bool layer_right(const struct conv_problem *problem, struct layer_memory *memory);

#endif
