/* One layer of a list as texts, however the list is written down. Private to the readers of lists.
 */
#ifndef CS_CLI_PREDICT_LAYER_ROW_H
#define CS_CLI_PREDICT_LAYER_ROW_H

#include "cli/predict/layers.h"

enum cs_field {
#define CS_FIELD(name, value) CS_FIELD_##name,
#include "cli/predict/layer_fields.def"
#undef CS_FIELD
    CS_FIELDS
};

/* Texts are borrowed; NULL: not said. */
struct cs_record {
    const char *value[CS_FIELDS];
};

/* What a reader works on. */
struct cs_reading {
    struct cs_layers *layers;
    const char *path;
    const struct cs_layer_rules *rules;
    cs_layers_note_fn *note;
    void *ctx;
    const char *unit; /* what lines are called: "", or "element " */
    int notes;        /* made so far */
};

/* The field of that name; CS_FIELDS for none. */
enum cs_field cs_field_find(const char *name);
const char *cs_field_name(enum cs_field field);

/* True if a record has to have it. */
bool cs_field_required(enum cs_field field);

/* Adds the record to the layers, or notes what is wrong with it. */
void cs_reading_add(struct cs_reading *reading, const struct cs_record *record, int64_t line);

/* Makes a note; line 0: of the whole file. */
void cs_reading_note(struct cs_reading *reading, int64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* True once so much is wrong that reading on is of no use. */
bool cs_reading_over(const struct cs_reading *reading);

/* The list's end: true if it is sound and has a layer. */
bool cs_reading_end(struct cs_reading *reading);

#endif
