/* Convolutions as people write them down, and lists of them: the layers of models, from CSV
 * (tests/data/conv_layers.csv), and the calls that the library recorded, from its JSON
 * summary (docs/summary.md). Shapes are pure. */
#ifndef CS_CLI_LAYERS_LAYERS_H
#define CS_CLI_LAYERS_LAYERS_H

#include "convshim/problem.h"
#include "decide/decide.h"
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

/* Reads "fwd" or "forward", "dgrad", "wgrad". This and the next readers return false for other
 * text. */
bool cs_shape_direction(const char *text, enum cs_direction *direction_p);

/* "fwd", "dgrad", "wgrad". */
const char *cs_shape_direction_name(enum cs_direction direction);

/* Reads "f32", "f16", "bf16", and the names that frameworks use: "float32", "fp16", "half" and so
 * on. */
bool cs_shape_dtype(const char *text, enum cs_dtype *dtype_p);

/* Reads "nchw" or "nhwc", and the same for one or three spatial dimensions ("ncw", "ndhwc"). */
bool cs_shape_layout(const char *text, enum cs_order *layout_p);

/* "1x512x64x64": numbers with x between them. Returns how many, 0 if there are more than `limit`,
 * if one does not fit 64 bits or if the text is anything else. */
int cs_shape_numbers(const char *text, int64_t *numbers, int limit);

/* Reads a problem as the summary writes it, "1x512x64x64 -> 512 k3x3 s1 p1 f16 nchw dgrad". A type,
 * direction or layout that it omits is unchanged in *shape_p; other omitted values are 1, paddings
 * 0. Returns false, with a line in `error`, if the text is not a convolution. */
bool cs_shape_text(const char *text, struct cs_shape *shape_p, char *error, size_t size);

/* Makes the problem of a shape: packed tensors, aligned as frameworks' are (16 bytes), products in
 * f32 (frameworks' default), alpha 1, beta 0. False, with a line in `error`, if the shape is
 * invalid: an extent below 1, a padding below 0, channels that do not go with groups, a window
 * larger than the padded input, tensors beyond 64 bits. */
bool cs_shape_problem(const struct cs_shape *shape, struct cs_problem *problem, char *error,
                      size_t size);

/* --- lists --- */

/* What a summary contains of the run in which a layer was recorded. */
struct cs_recorded {
    struct cs_peak_level level; /* record < 0: none */
    int64_t engine, required;   /* of the program's plan; engine < 0: unknown */
    int64_t calls;              /* 1: unknown, or not a summary's */
};

#define CS_NOT_RECORDED                                                                            \
    {                                                                                              \
        .level = {-1, 0}, .engine = -1, .calls = 1                                                 \
    }

struct cs_layer {
    char *model, *name; /* owned; "" for none */
    int64_t line;       /* of the list: in CSV from 1, the header; in JSON the element, from 1 */
    struct cs_problem problem;
    struct cs_recorded recorded;
};

struct cs_layers {
    struct cs_layer *layer;
    size_t count;
    char device[64], vendor[64]; /* of the run that the summary is of; "": no summary */
};

/* Defaults for values that a list omits, and values that replace those of a list. */
struct cs_layer_rules {
    enum cs_order layout;               /* of layers without one */
    const enum cs_direction *direction; /* of all layers; NULL: their own */
    const enum cs_dtype *dtype;
};

/* Receives one line about an error, as "PATH:LINE: message". */
typedef void cs_layers_note_fn(void *ctx, const char *line);

/* Reads a list, of a CSV file or of a JSON summary. Every wrong line makes a note, up to 10 notes.
 * Returns false if there was a note, also about a list without layers. The caller frees the layers
 * in every case. The columns of a CSV file are those of layer_fields.def, in any order. Other
 * columns are refused. Blank lines and those that begin with # are skipped. */
bool cs_layers_csv(struct cs_layers *layers, const char *path, const struct cs_layer_rules *rules,
                   cs_layers_note_fn *note, void *ctx);
bool cs_layers_summary(struct cs_layers *layers, const char *path,
                       const struct cs_layer_rules *rules, cs_layers_note_fn *note, void *ctx);

/* Appends one that was not recorded; the names are copied. False if memory ran out. */
bool cs_layers_add(struct cs_layers *layers, const char *model, const char *name, int64_t line,
                   const struct cs_problem *problem);

void cs_layers_fini(struct cs_layers *layers);

#endif
