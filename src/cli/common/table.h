/* A table for people (aligned text) or programs (CSV, JSON), from the same rows. */
#ifndef CS_CLI_COMMON_TABLE_H
#define CS_CLI_COMMON_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum cs_format {
    CS_FORMAT_TEXT,
    CS_FORMAT_JSON,
    CS_FORMAT_CSV
};

/* Writes bytes for people who compare them: "516.5 MiB", "1033 MiB", "20.46 GiB"; returns text. */
enum {
    CS_BYTES_TEXT = 24
};
char *cs_table_bytes_text(char text[CS_BYTES_TEXT], int64_t bytes);

/* Writes the change of a figure whose ratio is from `least` to `most`: "+5.1 to +11.1 %", or one
 * number if both are shown alike; returns text. */
char *cs_table_change_text(char text[CS_BYTES_TEXT], double least, double most);

enum {
    CS_CELL_TEXT_BYTES = 32
};

enum cs_cell {
    CS_CELL_TEXT,
    CS_CELL_COUNT, /* a whole number; negative: absent, for people "-" */
    CS_CELL_BYTES, /* the same in bytes; for people as "64 MiB" */
    CS_CELL_TIME,  /* the same in nanoseconds; for people as "38.4 ms" */
    CS_CELL_RATIO  /* a number with two digits after the point, absent unless above 0 */
};

struct cs_column {
    const char *name;  /* CSV header, JSON key */
    const char *title; /* for people; NULL: they do not see the column */
    enum cs_cell cell;
};

/* One value, in the member for the column's `cell`. cs_table_add copies texts. */
struct cs_value {
    const char *shown; /* for people, instead of the value; NULL: the value */
    const char *text;
    int64_t number;
    double ratio;
};

/* Rows of values, owned by the table. Out of memory makes it `broken`: then nothing is printed. */
struct cs_table {
    const struct cs_column *column;
    int columns;
    size_t rows;
    struct cs_value *value; /* rows times columns */
    bool broken;
};

/* Begins a table without rows. `column` must outlive the table. */
void cs_table_init(struct cs_table *table, const struct cs_column *column, int columns);
void cs_table_fini(struct cs_table *table);

static inline struct cs_value *cs_table_row(const struct cs_table *table, size_t row)
{
    return &table->value[row * (size_t)table->columns];
}

/* Adds a row of table->columns values. */
void cs_table_add(struct cs_table *table, const struct cs_value *row);

/* Prints the rows. CSV begins with the columns' names and quotes only the cells that need it. JSON
 * is the array of cs_table_json. Returns false if memory ran out. */
bool cs_table_print(const struct cs_table *table, enum cs_format format, FILE *out);

/* Returns a value as text, for people or for programs. The text may be in `buffer`. */
const char *cs_table_text(const struct cs_column *column, const struct cs_value *value, bool people,
                          char buffer[CS_CELL_TEXT_BYTES]);

/* Returns the rows as an array of objects without members for absent values. The caller deletes it.
 * NULL if memory ran out. */
struct cJSON *cs_table_json(const struct cs_table *table);

#endif
