/* The note that the library adds to the JSON of a tiled plan, so that a reported size survives
 * saving and loading. It contains the convolution, the names of its tensors and the size, which
 * cuDNN does not report of a loaded plan.
 *
 * The note consists of blanks after the JSON's last brace. Every JSON parser skips them. So cuDNN
 * alone, another version of it, or a process without the library loads the same plan. A hash ties a
 * note to the text before it. */
#ifndef CS_INTERCEPT_GRAPH_JSON_NOTE_H
#define CS_INTERCEPT_GRAPH_JSON_NOTE_H

#include "intercept/graph/graph.h"

/* The characters of a plan's note. */
int64_t cs_json_note_length(const struct cs_graph *graph, int64_t reported);

/* Writes the note after a JSON of `length` characters, which has room for it. */
void cs_json_note_write(const struct cs_graph *graph, int64_t reported, char *json, int64_t length);

/* Reads the note at the end of an untrusted text. The graph has one reference and no handle. NULL
 * without a note, if the note belongs to another text, or if it describes no supported convolution.
 * *length_p becomes the length of the JSON without it. */
struct cs_graph *cs_json_note_read(const char *text, int64_t *length_p, int64_t *reported_p);

#endif
