/* The memory of the layer that clients run. */
#ifndef LAYER_MEMORY_H
#define LAYER_MEMORY_H

#include "layer.h"

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
