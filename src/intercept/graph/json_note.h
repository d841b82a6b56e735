/* What the library adds to the JSON of a tiled plan, so that a reported size survives: the
 * convolution, the names of its tensors and the size, which cuDNN does not report of a loaded plan.
 *
 * The note is made of blanks behind the JSON's last brace. Every reader of JSON skips them: cuDNN
 * alone, another version of it, or a process without the library loads the same plan. A note
 * belongs to the text before it, by a hash. */
#ifndef CS_INTERCEPT_GRAPH_JSON_NOTE_H
#define CS_INTERCEPT_GRAPH_JSON_NOTE_H

#include "intercept/graph/graph.h"

/* The characters of a plan's note. */
int64_t cs_json_note_length(const struct cs_graph *graph, int64_t reported);

/* Writes the note behind a JSON of `length` characters, where there is room for it. */
void cs_json_note_write(const struct cs_graph *graph, int64_t reported, char *json, int64_t length);

/* Reads the note at the end of a text, which may come from anywhere. The graph has one reference
 * and no handle; NULL if there is no note, it belongs to another text, or it describes no
 * convolution that may be planned. *length_p becomes the length of the JSON without it. */
struct cs_graph *cs_json_note_read(const char *text, int64_t *length_p, int64_t *reported_p);

#endif
