/* Parts of the HTML pages of all commands: the frame of a page without external references, tables
 * and bars. One thread. */
#ifndef CS_CLI_COMMON_PAGE_H
#define CS_CLI_COMMON_PAGE_H

#include "cli/common/table.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The first characters of every page. */
#define CS_PAGE_BEGINS "<!DOCTYPE html>"

/* Writes text as HTML, also inside of quoted attributes. */
void cs_page_text(const char *text, FILE *out);

/* Begins a page. `title` is the heading; `of` follows it in the title of the window, unless it is
 * "". */
void cs_page_begin(const char *title, const char *of, FILE *out);
void cs_page_end(FILE *out);

/* Writes a line: the words of a command, then the texts that are not "", up to NULL. */
void cs_page_source(char *const *command, const char *const *texts, FILE *out);

/* Prints a sortable table below a heading. Cells of numbers have the number as data-v, empty if
 * there is none. */
void cs_page_table(const char *id, const char *title, const struct cs_table *table, FILE *out);

/* Writes an entry of a legend, with a size unless `bytes` is negative. `class` has the colour. */
void cs_page_key(const char *class, const char *name, int64_t bytes, FILE *out);

/* A row with two bars of bytes, a name and, below the name, a detail. */
struct cs_bar_row {
    const char *name, *detail;
    int64_t without, with;
};

/* Prints rows on one scale below a heading and a legend, or nothing if all are 0. */
void cs_bar_rows(const char *title, const struct cs_bar_row *row, size_t rows, FILE *out);

#endif
