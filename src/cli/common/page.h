/* Parts of the HTML pages of all commands: the frame of a page without external references, bars,
 * and a plot of memory over time. One thread. */
#ifndef CS_CLI_COMMON_PAGE_H
#define CS_CLI_COMMON_PAGE_H

#include "cli/common/table.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The first characters of every page. */
#define CS_PAGE_BEGINS "<!DOCTYPE html>"

/* `title` is the heading; `of` follows it in the title of the window, unless it is "". */
void cs_page_begin(const char *title, const char *of, FILE *out);
void cs_page_end(FILE *out);

/* A line: the words of a command, then the texts that are not "", up to NULL. */
void cs_page_source(char *const *command, const char *const *texts, FILE *out);

/* Prints a sortable table below a heading, and frees the table. False: memory was short. */
bool cs_page_table(const char *id, const char *title, struct cs_table *table, FILE *out);

/* Two bars of bytes in a page, with a name and, below the name, a detail. */
struct cs_bar_row {
    const char *name, *detail;
    int64_t without, with;
};

/* Prints rows on one scale below a heading and a legend, or nothing if all are 0. */
void cs_bar_rows(const char *title, const struct cs_bar_row *row, size_t rows, FILE *out);

enum {
    CS_PLOT_COLUMNS = 480 /* at most */
};

/* Memory over time, without and with convshim, as two curves. */
struct cs_plot {
    const char *title, *note;          /* heading; a line below it, NULL: none */
    const char *name[2];               /* in the legend; NULL: there is no such curve */
    size_t columns;                    /* at least 1 */
    int64_t bytes[2][CS_PLOT_COLUMNS]; /* most of each column */
    bool peaks;                        /* marks the highest column of each curve */
    int64_t limit;                     /* bytes, drawn as a line if the curves come near; 0: none */
    const char *tick[3];               /* under the begin, the middle and the end; NULL: none */
    /* Writes the tooltip of a column. */
    void (*tooltip)(const void *state, size_t column, FILE *out);
    const void *state;
};
void cs_plot_put(const struct cs_plot *plot, FILE *out);

#endif
