/* Writes JSON as it comes, without heap or locale, into pieces for whoever takes them. Members get
 * a key, elements of arrays NULL. Nothing checks that what is opened is closed. */
#ifndef CS_BASE_JSON_H
#define CS_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_json {
    void (*write)(void *ctx, const char *bytes, size_t size);
    void *ctx;
    size_t used;
    bool comma; /* before what comes next */
    char buffer[4096];
};

void cs_json_open(struct cs_json *json, const char *key, char bracket); /* '{' or '[' */
void cs_json_close(struct cs_json *json, char bracket);                 /* '}' or ']' */
void cs_json_integer(struct cs_json *json, const char *key, int64_t number);
void cs_json_number(struct cs_json *json, const char *key, double number); /* finite */
void cs_json_boolean(struct cs_json *json, const char *key, bool value);
void cs_json_null(struct cs_json *json, const char *key);

/* Text is UTF-8; bytes that are none are written as if they were Latin-1. */
void cs_json_string(struct cs_json *json, const char *key, const char *text);

/* Bytes of the UTF-8 character that `text` begins with (RFC 3629, 4), its NUL counts as one; 0 if
 * it is none. */
size_t cs_json_utf8_length(const char *text);

/* A line's end before what comes next, and that many blanks. */
void cs_json_line(struct cs_json *json, int indent);

/* Hands out what is left. */
void cs_json_end(struct cs_json *json);

/* `text` between quotation marks as a JSON string, cut at a character where it does not fit;
 * `size` at least 3. Returns its length. */
size_t cs_json_quote(char *out, size_t size, const char *text);

#endif
