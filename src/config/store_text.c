/* Writes a record as one line with a checksum, and parses it. */
#include "config/store_text.h"

#include "base/hash.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    KEY_DIGITS = 32,
    SUM_DIGITS = 16
};

/* FNV-1a with a finish, so that single bits of short lines reach all bits. */
static uint64_t checksum(const char *text, size_t length)
{
    uint64_t hash = cs_hash_bytes(CS_HASH_START, text, length);
    hash ^= hash >> 32;
    hash *= CS_HASH_FACTOR;
    return hash ^ hash >> 29;
}

size_t cs_store_write_line(const struct cs_store_record *record, char line[CS_STORE_LINE])
{
    size_t at = (size_t)snprintf(line, CS_STORE_LINE, "\n%016" PRIx64 "%016" PRIx64,
                                 record->key.part[0], record->key.part[1]);
    for (int i = 0; i < record->words; i++)
        at += (size_t)snprintf(line + at, CS_STORE_LINE - at, " %" PRId64, record->word[i]);
    at += (size_t)snprintf(line + at, CS_STORE_LINE - at, " #%016" PRIx64 "\n",
                           checksum(line + 1, at - 1));
    return at;
}

static bool read_hex(const char *text, size_t digits, uint64_t *value_p)
{
    uint64_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        char c = text[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *value_p = value;
    return true;
}

/* Parses one " NUMBER". Returns the text after it, or NULL if the form is wrong. */
static const char *read_number(const char *text, const char *end, int64_t *value_p)
{
    uint64_t value = 0;
    if (text == end || *text++ != ' ')
        return NULL;
    bool negative = text < end && *text == '-';
    text += negative;
    const char *first = text;
    for (; text < end && *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return NULL;
    if (text == first || value > (uint64_t)INT64_MAX + negative)
        return NULL;
    *value_p = (int64_t)(negative ? 0 - value : value);
    return text;
}

bool cs_store_read_line(const char *line, size_t length, struct cs_store_record *record)
{
    const size_t tail = 2 + SUM_DIGITS; /* " #CHECKSUM" */
    uint64_t sum;
    if (length < KEY_DIGITS + tail || length >= CS_STORE_LINE)
        return false;
    const char *end = line + length - tail;
    if (memcmp(end, " #", 2) != 0 || !read_hex(end + 2, SUM_DIGITS, &sum) ||
        sum != checksum(line, length - tail) || !read_hex(line, 16, &record->key.part[0]) ||
        !read_hex(line + 16, 16, &record->key.part[1]))
        return false;
    record->words = 0;
    for (const char *text = line + KEY_DIGITS; text != end;) {
        if (record->words == CS_STORE_WORDS)
            return false;
        text = read_number(text, end, &record->word[record->words++]);
        if (!text)
            return false;
    }
    return record->words > 0;
}
