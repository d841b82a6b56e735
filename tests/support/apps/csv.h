/* Lists of convolution layers, such as tests/data/conv_layers.csv: SHAPE, LAYER, MODEL in each
 * line. */
#ifndef CSV_H
#define CSV_H

#include "conv.h"

struct csv_layer {
    char model[48];
    char layer[48];
    char dir[8];
    int64_t n, c, d, h, w; /* input */
    int64_t k;             /* output channels */
    int64_t kernel[3], stride[3], padding[3];
    int64_t groups;
    cudnnDataType_t type;
};

/* Reads all layers, or those of one model if `model` is not NULL; the caller frees them. False,
 * with a line on stderr, if the file cannot be read, a line is not understood or there is no such
 * model. */
bool csv_read(const char *path, const char *model, struct csv_layer **layers, size_t *count);

/* The layer as a packed problem, alpha 1 and beta 0; 2-D if depth and its kernel are 1. False if
 * the kernel is larger than the padded input. */
bool csv_problem(const struct csv_layer *layer, enum layout layout, struct conv_problem *problem);

/* True if no layer before it differs from that one in its name at most. */
bool csv_is_first(const struct csv_layer *layers, size_t index);

#endif
