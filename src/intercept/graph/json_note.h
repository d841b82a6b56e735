/* The note that the library adds to the JSON of a tiled plan, so that the reported size is the same
 * after saving and loading. It contains the convolution, the names of its tensors and the size.
 * cuDNN does not report them of a loaded plan.
 *
 * The note consists of blanks after the JSON's last brace. Every JSON parser skips them. So cuDNN
 * alone, another version of it, or a process without the library can load the same plan. The note
 * contains a hash of the text before it, so that it is not used with another text. */
#ifndef CS_INTERCEPT_GRAPH_JSON_NOTE_H
#define CS_INTERCEPT_GRAPH_JSON_NOTE_H

#include "intercept/graph/shadow.h"

/* The number of characters of a plan's note. */
int64_t cs_json_note_length(const struct cs_graph *graph, int64_t reported);

/* Writes the note after a JSON of `length` characters. The buffer has room for it. */
void cs_json_note_write(const struct cs_graph *graph, int64_t reported, char *json, int64_t length);

/* Reads the note at the end of an untrusted text. Returns a graph with one reference and no handle.
 * NULL if the text has no note, the note belongs to another text, or it describes no supported
 * convolution. *length_p becomes the length of the JSON without the note. */
struct cs_graph *cs_json_note_read(const char *text, int64_t *length_p, int64_t *reported_p);

/* The length of an untrusted text without the note at its end. `length` if it has none. */
int64_t cs_json_note_begin(const char *text, int64_t length);

#endif
