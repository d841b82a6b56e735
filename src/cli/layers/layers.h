/* Lists of convolutions: the layers of models, from CSV (tests/data/conv_layers.csv) or JSON, and
 * the calls that the library recorded, from its JSON summary (docs/summary.md). */
#ifndef CS_CLI_LAYERS_LAYERS_H
#define CS_CLI_LAYERS_LAYERS_H

#include "cli/layers/shape.h"
#include "decide/decide.h"

/* What a summary contains of the run in which a layer was recorded. */
struct cs_recorded {
    struct cs_peak_level level; /* record < 0: none */
    int64_t engine, required;   /* of the program's plan; engine < 0: unknown */
    int64_t calls;              /* 1: unknown, or not a summary's */
};

struct cs_layer {
    char *model, *name; /* owned; "" for none */
    int64_t line;       /* of the list: in CSV from 1, the header; in JSON the element, from 1 */
    struct cs_problem problem;
    struct cs_recorded recorded;
};

struct cs_layers {
    struct cs_layer *layer;
    size_t count, room;
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

/* Reads a list. Every wrong line makes a note, up to a handful; then and if nothing is in it the
 * result is false. The caller frees the layers in every case. Columns and keys: layer_fields.def,
 * in any order. A CSV column or JSON key that is not in there is refused. Blank lines and those
 * that begin with # are passed over. */
bool cs_layers_csv(struct cs_layers *layers, const char *path, const struct cs_layer_rules *rules,
                   cs_layers_note_fn *note, void *ctx);
bool cs_layers_summary(struct cs_layers *layers, const char *path,
                       const struct cs_layer_rules *rules, cs_layers_note_fn *note, void *ctx);

/* Appends one that was not recorded; the names are copied. False if memory ran out. */
bool cs_layers_add(struct cs_layers *layers, const char *model, const char *name, int64_t line,
                   const struct cs_problem *problem);

void cs_layers_fini(struct cs_layers *layers);

#endif
