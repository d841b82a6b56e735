/* Writes JSON as a stream, without heap or locale, and passes pieces to `write`. Members of objects
 * get a key, elements of arrays NULL. The writer does not check that brackets match. */
#ifndef CS_BASE_JSON_H
#define CS_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_json {
    void (*write)(void *ctx, const char *bytes, size_t size);
    void *ctx;
    size_t used;
    bool comma; /* the next element needs a comma before it */
    char buffer[4096];
};

void cs_json_open(struct cs_json *json, const char *key, char bracket); /* '{' or '[' */
void cs_json_close(struct cs_json *json, char bracket);                 /* '}' or ']' */
void cs_json_integer(struct cs_json *json, const char *key, int64_t number);
void cs_json_boolean(struct cs_json *json, const char *key, bool value);
void cs_json_null(struct cs_json *json, const char *key);

/* Text is UTF-8. Bytes that are not valid UTF-8 are written as Latin-1. */
void cs_json_string(struct cs_json *json, const char *key, const char *text);

/* Returns the bytes of the UTF-8 character at the start of `from` (RFC 3629, 4), 1 for a NUL, 0 for
 * an invalid character. */
size_t cs_json_utf8(const char *from);

/* Ends a line and indents the next one by `indent` blanks. */
void cs_json_line(struct cs_json *json, int indent);

/* Writes the rest of the buffer. */
void cs_json_end(struct cs_json *json);

/* Writes `text` as a JSON string in quotation marks, cut between characters if it does not fit.
 * `size` is at least 3. Returns its length. */
size_t cs_json_quote(char *out, size_t size, const char *text);

#endif
