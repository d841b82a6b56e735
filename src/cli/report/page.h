/* A page of HTML that refers to nothing elsewhere: its beginning, its end, and what plots on it
 * share. One thread. */
#ifndef CS_CLI_REPORT_PAGE_H
#define CS_CLI_REPORT_PAGE_H

#include <stdint.h>
#include <stdio.h>

enum {
    CS_PLOT_WIDTH = 960, /* units of a plot, whatever its size */
    CS_PLOT_HEIGHT = 240
};

/* `title` is the heading; `of` stands behind it in the title of the window, unless it is "". */
void cs_page_begin(const char *title, const char *of, FILE *out);
void cs_page_end(FILE *out);

/* The scale beside a plot, which is an <svg> of its own, and the lines across it. */
void cs_plot_scale(int64_t step, double top, FILE *out);
void cs_plot_grid(int64_t step, double top, FILE *out);

/* Two curves' names and the most of each in bytes; negative: without. */
void cs_plot_legend(const char *before, int64_t before_bytes, const char *after,
                    int64_t after_bytes, FILE *out);

#endif
