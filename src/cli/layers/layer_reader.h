/* A list while it is read, in any format. Private to the readers of lists. */
#ifndef CS_CLI_LAYERS_LAYER_READER_H
#define CS_CLI_LAYERS_LAYER_READER_H

#include "cli/layers/layers.h"

/* The state of a reader: the layers read so far, the source and its notes. */
struct cs_layer_reader {
    struct cs_layers *layers;
    const char *path;
    const struct cs_layer_rules *rules;
    cs_layers_note_fn *note;
    void *ctx;
    const char *unit; /* the noun for a line in notes: "", or "element " */
    int notes;        /* made so far */
};

/* Makes a note; line 0: of the whole file. */
void cs_layer_reader_diagnose(struct cs_layer_reader *reading, int64_t line, const char *format,
                              ...) __attribute__((format(printf, 3, 4)));

/* True if the number of mistakes is so large that the reader should stop. */
bool cs_layer_reader_over(const struct cs_layer_reader *reading);

/* The list's end: true if it is sound and has a layer. */
bool cs_layer_reader_end(struct cs_layer_reader *reading);

#endif
