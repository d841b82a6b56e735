/* One layer of a list as texts, however the list is written down. Private to the readers of lists.
 */
#ifndef CS_CLI_LAYERS_LAYER_READER_H
#define CS_CLI_LAYERS_LAYER_READER_H

#include "cli/layers/layers.h"

enum cs_field {
#define CS_FIELD(name, value) CS_FIELD_##name,
#include "cli/layers/layer_fields.def"
#undef CS_FIELD
    CS_FIELDS
};

/* Texts are borrowed; NULL: not said. */
struct cs_record {
    const char *value[CS_FIELDS];
};

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

/* The field of that name; CS_FIELDS for none. */
enum cs_field cs_layer_field_find(const char *name);
const char *cs_layer_field_name(enum cs_field field);

/* True if a record has to have it, under the command's options. */
bool cs_layer_field_required(enum cs_field field, const struct cs_layer_rules *rules);

/* Reports a name that is not a field, with the nearest field name. `what`: "column" or "key". */
void cs_layer_reader_unknown(struct cs_layer_reader *reading, int64_t line, const char *what,
                             const char *name);

/* Adds the record to the layers, or reports the error in it. */
void cs_layer_reader_add(struct cs_layer_reader *reading, const struct cs_record *record,
                         int64_t line);

/* Makes a note; line 0: of the whole file. */
void cs_layer_reader_diagnose(struct cs_layer_reader *reading, int64_t line, const char *format,
                              ...) __attribute__((format(printf, 3, 4)));

/* True if the number of mistakes is so large that the reader should stop. */
bool cs_layer_reader_over(const struct cs_layer_reader *reading);

/* The list's end: true if it is sound and has a layer. */
bool cs_layer_reader_end(struct cs_layer_reader *reading);

#endif
