/* Records as lines. Private to the store. */
#ifndef CS_CONFIG_STORE_TEXT_H
#define CS_CONFIG_STORE_TEXT_H

#include "config/store.h"

enum {
    CS_STORE_LINE = 64 + 21 * CS_STORE_WORDS
};

/* Writes the line of a record, with a line end before and after it: a torn line before it cannot
 * spoil it. Returns its length. */
size_t cs_store_write_line(const struct cs_store_record *record, char line[CS_STORE_LINE]);

/* Parses a line without its end. False if its form or checksum is wrong. */
bool cs_store_read_line(const char *line, size_t length, struct cs_store_record *record);

#endif
