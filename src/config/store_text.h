/* Records as lines. Private to the store. */
#ifndef CS_CONFIG_STORE_TEXT_H
#define CS_CONFIG_STORE_TEXT_H

#include "config/store.h"

enum {
    CS_STORE_LINE = 64 + 21 * CS_STORE_WORDS
};

/* The line of a record with the line ends around it: what was torn before it does not spoil it.
 * Returns its length. */
size_t cs_store_write_line(const struct cs_store_record *record, char line[CS_STORE_LINE]);

/* Reads a line without its end; false if it is none of ours or not as it was written. */
bool cs_store_read_line(const char *line, size_t length, struct cs_store_record *record);

#endif
