/* A JSON writer without heap, stdio or locale, because it runs at exit and inside the application's
 * process. */
#include "base/json.h"

#include <stdio.h>
#include <string.h>

enum {
    LONGEST = 8 /* bytes of an escaped character, NUL included */
};

void cs_json_end(struct cs_json *json)
{
    if (json->used > 0)
        json->write(json->ctx, json->buffer, json->used);
    json->used = 0;
}

static void put_text(struct cs_json *json, const char *text)
{
    for (; *text; text++) {
        if (json->used == sizeof json->buffer)
            cs_json_end(json);
        json->buffer[json->used++] = *text;
    }
}

size_t cs_json_utf8(const char *from)
{
    const unsigned char *text = (const unsigned char *)from;
    unsigned char least = 0x80, most = 0xbf; /* of the next byte */
    size_t length = text[0] < 0x80 ? 1 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    if (length > 1 && (text[0] < 0xc2 || text[0] > 0xf4))
        return 0;
    if (text[0] == 0xe0)
        least = 0xa0;
    if (text[0] == 0xed)
        most = 0x9f;
    if (text[0] == 0xf0)
        least = 0x90;
    if (text[0] == 0xf4)
        most = 0x8f;
    for (size_t i = 1; i < length; i++, least = 0x80, most = 0xbf)
        if (text[i] < least || text[i] > most)
            return 0;
    return length;
}

/* Escapes one character of a string. Returns the bytes of `text` that it consumed. */
static size_t escape_character(const char *text, char out[LONGEST])
{
    size_t length = cs_json_utf8(text);
    unsigned char first = (unsigned char)text[0];
    if (first == '"' || first == '\\') {
        snprintf(out, LONGEST, "\\%c", first);
    } else if (length == 0 || first < ' ' || first == 0x7f) {
        snprintf(out, LONGEST, "\\u00%02x", first);
        length = 1;
    } else {
        memcpy(out, text, length);
        out[length] = '\0';
    }
    return length;
}

static void put_string(struct cs_json *json, const char *text)
{
    char out[LONGEST];
    put_text(json, "\"");
    while (*text) {
        text += escape_character(text, out);
        put_text(json, out);
    }
    put_text(json, "\"");
}

static void begin_value(struct cs_json *json, const char *key)
{
    if (json->comma)
        put_text(json, ",");
    json->comma = true;
    if (!key)
        return;
    put_string(json, key);
    put_text(json, ":");
}

void cs_json_open(struct cs_json *json, const char *key, char bracket)
{
    begin_value(json, key);
    put_text(json, (const char[]){bracket, '\0'});
    json->comma = false;
}

void cs_json_close(struct cs_json *json, char bracket)
{
    put_text(json, (const char[]){bracket, '\0'});
    json->comma = true;
}

void cs_json_integer(struct cs_json *json, const char *key, int64_t number)
{
    char text[24];
    begin_value(json, key);
    snprintf(text, sizeof text, "%lld", (long long)number);
    put_text(json, text);
}

void cs_json_boolean(struct cs_json *json, const char *key, bool value)
{
    begin_value(json, key);
    put_text(json, value ? "true" : "false");
}

void cs_json_null(struct cs_json *json, const char *key)
{
    begin_value(json, key);
    put_text(json, "null");
}

void cs_json_string(struct cs_json *json, const char *key, const char *text)
{
    begin_value(json, key);
    put_string(json, text);
}

void cs_json_line(struct cs_json *json, int indent)
{
    put_text(json, json->comma ? ",\n" : "\n");
    json->comma = false;
    for (; indent > 0; indent--)
        put_text(json, " ");
}

size_t cs_json_quote(char *out, size_t size, const char *text)
{
    char piece[LONGEST];
    size_t used = 0;
    out[used++] = '"';
    while (*text) {
        text += escape_character(text, piece);
        size_t length = strlen(piece);
        if (used + length + 2 > size)
            break;
        memcpy(out + used, piece, length);
        used += length;
    }
    out[used++] = '"';
    out[used] = '\0';
    return used;
}
