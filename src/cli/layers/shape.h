/* A convolution as people write it down, and as a problem that can be planned. Pure. */
#ifndef CS_CLI_LAYERS_SHAPE_H
#define CS_CLI_LAYERS_SHAPE_H

#include "convshim/problem.h"
#include <stddef.h>

enum cs_order {
    CS_CHANNELS_FIRST, /* nchw, ncdhw */
    CS_CHANNELS_LAST   /* nhwc, ndhwc */
};

/* Spatial arrays are D H W. Absent dimensions have extent, kernel, stride and dilation 1, padding
 * 0. A 1-D convolution is a 2-D one with H = 1, as frameworks hand it to cuDNN. */
struct cs_shape {
    int spatial; /* 2 or 3 */
    int64_t n, c, k, groups;
    int64_t in[CS_SPATIAL], kernel[CS_SPATIAL], stride[CS_SPATIAL], pad[CS_SPATIAL],
        dilation[CS_SPATIAL];
    enum cs_dtype dtype;
    enum cs_direction direction;
    enum cs_order layout;
};

/* "fwd" or "forward", "dgrad", "wgrad". */
bool cs_shape_direction(const char *text, enum cs_direction *direction_p);

/* "fwd", "dgrad", "wgrad". */
const char *cs_shape_direction_name(enum cs_direction direction);

/* Reads "f32", "f16", "bf16", and the names that frameworks use: "float32", "fp16", "half" and so
 * on. */
bool cs_shape_dtype(const char *text, enum cs_dtype *dtype_p);

/* "nchw", "nhwc" and their like of other dimensions. */
bool cs_shape_layout(const char *text, enum cs_order *layout_p);

/* "1x512x64x64": numbers with x between them. Returns how many, 0 if there are more than `limit`,
 * if one does not fit 64 bits or if the text is anything else. */
int cs_shape_numbers(const char *text, int64_t *numbers, int limit);

/* True if a text is meant to be a problem's as the summary writes it: it has an arrow. */
bool cs_shape_is_text(const char *text);

/* Reads such a text, "1x512x64x64 -> 512 k3x3 s1 p1 f16 nchw dgrad". A type, direction or layout
 * that it omits is unchanged in *shape_p; other omitted values are 1, paddings 0. Returns false,
 * with a line in `error`, if the text is not a convolution. */
bool cs_shape_text(const char *text, struct cs_shape *shape_p, char *error, size_t size);

/* Packed tensors, aligned as frameworks' are (16 bytes), products in f32 (frameworks' default),
 * alpha 1, beta 0. False, with a line in `error`, if the shape is none: an extent below 1, a
 * padding below 0, channels that do not go with groups, a window larger than the padded input,
 * tensors beyond 64 bits. */
bool cs_shape_problem(const struct cs_shape *shape, struct cs_problem *problem, char *error,
                      size_t size);

#endif
