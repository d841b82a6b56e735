/* Convolutions as people write them down, and lists of them: the layers of models, one in a line,
 * and the calls that the library recorded, from its JSON summary (docs/summary.md). Shapes are
 * pure. */
#ifndef CS_CLI_LAYERS_LAYERS_H
#define CS_CLI_LAYERS_LAYERS_H

#include "convshim/problem.h"
#include "decide/decide.h"
#include <stddef.h>

enum cs_order {
    CS_CHANNELS_FIRST, /* nchw, ncdhw */
    CS_CHANNELS_LAST   /* nhwc, ndhwc */
};

enum {
    CS_LAYERS_ERROR = 512
};

/* Values for layers that do not contain them, and values that replace those of the layers. */
struct cs_layer_rules {
    enum cs_order layout;               /* of layers without one */
    const enum cs_direction *direction; /* of all layers; NULL: their own */
    const enum cs_dtype *dtype;
};

/* Reads "fwd" or "forward", "dgrad", "wgrad". This and the next readers return false for other
 * text. */
bool cs_shape_direction(const char *text, enum cs_direction *direction_p);

/* Returns "fwd", "dgrad" or "wgrad". */
const char *cs_shape_direction_name(enum cs_direction direction);

/* Reads "f32", "f16", "bf16", and the names that frameworks use: "float32", "fp16", "half" and so
 * on. */
bool cs_shape_dtype(const char *text, enum cs_dtype *dtype_p);

/* Reads "nchw" or "nhwc", and the same for one or three spatial dimensions ("ncw", "ndhwc"). */
bool cs_shape_layout(const char *text, enum cs_order *layout_p);

/* Reads numbers with x between them, such as "1x512x64x64". Returns how many, 0 if there are more
 * than `limit`, if one does not fit 64 bits or if the text is anything else. */
int cs_shape_numbers(const char *text, int64_t *numbers, int limit);

/* Completes a problem of which these are set: direction, spatial (2 or 3), the extents of x, the
 * output channels and the window (in the filter), strides, paddings (`pre`), dilations, groups and
 * the type of x. The others become those of packed tensors, aligned as
 * frameworks' are (16 bytes), with padding on both sides, products in f32 (frameworks' default),
 * alpha 1 and beta 0. A 1-D convolution is a 2-D one with H = 1, as frameworks pass it to cuDNN.
 * False, with a line in `error`, if the problem is invalid: an extent below 1, a padding below 0,
 * channels that do not go with groups, a window larger than the padded input, tensors beyond 64
 * bits. */
bool cs_shape_complete(struct cs_problem *problem, enum cs_order layout,
                       char error[CS_LAYERS_ERROR]);

/* Reads a problem as the summary writes it, "1x512x64x64 -> 512 k3x3 s1 p1 f16 nchw dgrad", and
 * completes it. Omitted: f16, forward, the layout of `rules`; other values are 1, paddings 0.
 * False, with a line in `error`, if the text is not a valid convolution. */
bool cs_shape_text(const char *text, const struct cs_layer_rules *rules, struct cs_problem *problem,
                   char error[CS_LAYERS_ERROR]);

/* --- lists --- */

/* The data of a layer from the summary of a run. */
struct cs_recorded {
    int64_t engine, required; /* of the program's plan; engine < 0: unknown */
};

struct cs_layer {
    char *model, *name; /* owned; "" for none */
    struct cs_problem problem;
    struct cs_recorded recorded;
};

struct cs_layers {
    struct cs_layer *layer;
    size_t count;
    char device[64], vendor[64]; /* of the run of the summary; "": no summary */
};

/* Reads a list into `layers`, which is empty: a file with a layer in each line, or the convolutions
 * of a JSON summary that were called. "-" is standard input. False, with the file and the place of
 * the first mistake in `error`, if the list is wrong or has no layer. The caller frees the layers
 * in every case.
 *
 * A line is "SHAPE", "SHAPE, LAYER" or "SHAPE, LAYER, MODEL", with the shape as cs_shape_text reads
 * it. The name of a layer is its shape by default. Blank lines and those that begin with # are
 * skipped. */
bool cs_layers_list(struct cs_layers *layers, const char *path, const struct cs_layer_rules *rules,
                    char error[CS_LAYERS_ERROR]);
bool cs_layers_summary(struct cs_layers *layers, const char *path,
                       const struct cs_layer_rules *rules, char error[CS_LAYERS_ERROR]);

/* Appends the convolution of a text (cs_shape_text). */
bool cs_layers_text(struct cs_layers *layers, const char *name, const char *text,
                    const struct cs_layer_rules *rules, char error[CS_LAYERS_ERROR]);

/* Appends a layer, at first without recorded values, and copies the names. Returns it; NULL if
 * memory ran out. */
struct cs_layer *cs_layers_add(struct cs_layers *layers, const char *model, const char *name,
                               const struct cs_problem *problem);

void cs_layers_fini(struct cs_layers *layers);

#endif
