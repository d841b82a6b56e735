/* The plots of the page. Shapes are SVG that stretches with the page, texts are HTML that does not:
 * so they stay readable on a telephone. The title of a shape says its numbers. */
#include "cli/report/page.h"
#include "cli/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    WIDTH = CS_PLOT_WIDTH,
    HEIGHT = CS_PLOT_HEIGHT,
    MOST_COLUMNS = 480, /* more calls share one */
    BAR = 5,
    THINNEST = 2, /* a bar that can be seen */
    MOST_BARS = 25
};

/* --- memory over one step
 * ------------------------------------------------------------------------------------------*/

/* Memory of one call, or the most of calls that are next to each other. */
struct column {
    size_t call; /* the one with the most before */
    int64_t before, after;
};

static size_t columns_of(const struct cs_anatomy *anatomy)
{
    return anatomy->moments < MOST_COLUMNS ? anatomy->moments : MOST_COLUMNS;
}

static struct column column_at(const struct cs_anatomy *anatomy, size_t index)
{
    size_t columns = columns_of(anatomy), end = (index + 1) * anatomy->moments / columns;
    struct column column = {.call = index * anatomy->moments / columns};
    for (size_t i = column.call; i < end; i++) {
        const struct cs_anatomy_moment *moment = &anatomy->moment[i];
        if (moment->before > column.before) {
            column.before = moment->before;
            column.call = i;
        }
        if (moment->after > column.after)
            column.after = moment->after;
    }
    return column;
}

/* The outline of all columns; an area also goes down to the axis. */
static void put_outline(const struct cs_anatomy *anatomy, const char *class, bool after, bool area,
                        double top, FILE *out)
{
    size_t columns = columns_of(anatomy);
    fprintf(out, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0; i < columns; i++) {
        struct column column = column_at(anatomy, i);
        double y = HEIGHT * (1 - (double)(after ? column.after : column.before) / top);
        if (i == 0 && area)
            fprintf(out, "M0,%d", HEIGHT);
        fprintf(out, i == 0 && !area ? "M0,%.1f" : "V%.1f", y);
        fprintf(out, "H%.1f", (double)WIDTH * (double)(i + 1) / (double)columns);
    }
    if (area)
        fprintf(out, "V%dZ", HEIGHT);
    fputs("\"/>\n", out);
}

static void put_hits(const struct cs_report *report, FILE *out)
{
    const struct cs_anatomy *anatomy = &report->anatomy;
    size_t columns = columns_of(anatomy);
    for (size_t i = 0; i < columns; i++) {
        char before[CS_BYTES_TEXT], after[CS_BYTES_TEXT];
        struct column column = column_at(anatomy, i);
        const struct cs_summary_site *site =
            &report->shown->site[anatomy->moment[column.call].site];
        fputs("<rect class=\"hit\" data-problem=\"", out);
        cs_table_html_text(site->text, out);
        fprintf(out,
                "\" data-direction=\"%s\" x=\"%.1f\" width=\"%.1f\" height=\"%d\"><title>call "
                "%zu: %s before, %s after; ",
                cs_report_direction(site), (double)WIDTH * (double)i / (double)columns,
                (double)WIDTH / (double)columns, HEIGHT, column.call + 1,
                cs_table_bytes_text(before, column.before),
                cs_table_bytes_text(after, column.after));
        cs_table_html_text(site->text, out);
        fputs("</title></rect>\n", out);
    }
}

static void put_ticks(size_t calls, FILE *out)
{
    fputs("<div class=\"ticks\"><span>call 1</span>", out);
    if (calls > 4)
        fprintf(out, "<span>%zu</span>", (calls + 1) / 2);
    if (calls > 1)
        fprintf(out, "<span>call %zu</span>", calls);
    fputs("</div>", out);
}

static void put_time(const struct cs_report *report, FILE *out)
{
    const struct cs_anatomy *anatomy = &report->anatomy;
    int64_t most =
        anatomy->peak_before > anatomy->peak_after ? anatomy->peak_before : anatomy->peak_after;
    int64_t step = cs_table_bytes_step(most > 0 ? most : 1);
    double top = (double)step * ceil((double)(most > 0 ? most : 1) / (double)step);
    if (anatomy->moments == 0)
        return;
    fputs("<h2>Memory over one step</h2>\n", out);
    cs_plot_legend("before, peak", anatomy->peak_before, "after, peak", anatomy->peak_after, out);
    fputs("<div class=\"plot\">", out);
    cs_plot_scale(step, top, out);
    fprintf(out,
            "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
            "aria-label=\"Memory over one step\">\n",
            WIDTH, HEIGHT);
    put_outline(anatomy, "saved", false, true, top, out);
    put_outline(anatomy, "held", true, true, top, out);
    cs_plot_grid(step, top, out);
    put_outline(anatomy, "curve", false, false, top, out);
    put_outline(anatomy, "curve after", true, false, top, out);
    put_hits(report, out);
    fputs("</svg>\n", out);
    put_ticks(anatomy->moments, out);
    fputs("</div>\n", out);
}

/* --- bars
 * ----------------------------------------------------------------------------------------------------------*/

struct bar {
    const char *name, *detail, *of; /* `detail` and what it is of; NULL: none */
    int64_t before, after;          /* bytes; `after` negative: one bar alone */
};

static void put_stripe(const char *class, double y, int64_t bytes, int64_t most, FILE *out)
{
    if (bytes > 0)
        fprintf(out, "<rect class=\"%s\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>", class, y,
                fmax(WIDTH * (double)bytes / (double)most, THINNEST), BAR);
}

static void put_bar(const struct bar *bar, int64_t most, FILE *out)
{
    char before[CS_BYTES_TEXT], after[CS_BYTES_TEXT];
    fputs("<li><span class=\"name\">", out);
    cs_table_html_text(bar->name, out);
    if (bar->detail) {
        fputs("<small>", out);
        cs_table_html_text(bar->detail, out);
        fputs(bar->of ? " of " : "", out);
        cs_table_html_text(bar->of ? bar->of : "", out);
        fputs("</small>", out);
    }
    fprintf(out, "</span><svg viewBox=\"0 0 %d 14\" preserveAspectRatio=\"none\"><title>", WIDTH);
    fprintf(out, "%" PRId64 " B", bar->before);
    if (bar->after >= 0)
        fprintf(out, " before, %" PRId64 " B after", bar->after);
    fputs("</title>", out);
    put_stripe(bar->after >= 0 ? "before" : "only", bar->after >= 0 ? 1.5 : 4.5, bar->before, most,
               out);
    put_stripe("after", 7.5, bar->after, most, out);
    fprintf(out, "</svg><span class=\"value\">%s", cs_table_bytes_text(before, bar->before));
    if (bar->after >= 0)
        fprintf(out, " &#8594; %s", cs_table_bytes_text(after, bar->after));
    fputs("</span></li>\n", out);
}

/* Rows of the table of sites, which is sorted; the columns of report_tables.c. */
static void put_savings(const struct cs_table *sites, FILE *out)
{
    enum {
        NAME = 1,
        PROBLEM = 2,
        DIRECTION = 3,
        REQUIRED = 10,
        REPORTED = 11
    };
    size_t rows = sites->rows < MOST_BARS ? sites->rows : MOST_BARS;
    int64_t most = 0;
    for (size_t i = 0; i < rows; i++) {
        const struct cs_value *row = sites->value + i * (size_t)sites->columns;
        most = row[REQUIRED].number > most ? row[REQUIRED].number : most;
        most = row[REPORTED].number > most ? row[REPORTED].number : most;
    }
    if (most == 0)
        return;
    fputs("<h2>Largest workspaces</h2>\n", out);
    cs_plot_legend("before", -1, "after", -1, out);
    fputs("<ul class=\"bars\">\n", out);
    for (size_t i = 0; i < rows; i++) {
        const struct cs_value *row = sites->value + i * (size_t)sites->columns;
        const struct bar bar = {row[PROBLEM].text, row[DIRECTION].text, row[NAME].text,
                                row[REQUIRED].number, row[REPORTED].number};
        put_bar(&bar, most, out);
    }
    fputs("</ul>\n", out);
}

static void put_anatomy(const struct cs_anatomy *anatomy, FILE *out)
{
    const struct cs_anatomy_layer *total = &anatomy->total;
    const struct bar bars[] = {
        {"filters", NULL, NULL, total->filters, -1},
        {"gradients of filters", NULL, NULL, total->gradients, -1},
        {"optimizer (assumed)", NULL, NULL, anatomy->optimizer, -1},
        {"outputs", NULL, NULL, total->outputs, -1},
        {"inputs kept for backward", NULL, NULL, total->inputs_kept, -1},
        {"largest workspace", "before and after", NULL, total->required, total->reported}};
    int64_t most = 0;
    if (anatomy->moments == 0)
        return;
    for (size_t i = 0; i < sizeof bars / sizeof *bars; i++) {
        most = bars[i].before > most ? bars[i].before : most;
        most = bars[i].after > most ? bars[i].after : most;
    }
    fputs("<h2>What one step holds</h2>\n<ul class=\"bars\">\n", out);
    for (size_t i = 0; i < sizeof bars / sizeof *bars; i++)
        if (anatomy->training || bars[i].before > 0 || bars[i].after >= 0)
            put_bar(&bars[i], most, out);
    fputs("</ul>\n", out);
}

void cs_report_plots(const struct cs_report *report, FILE *out)
{
    put_time(report, out);
    for (size_t i = 0; i < report->sections; i++)
        if (strcmp(report->section[i].name, "sites") == 0)
            put_savings(&report->section[i].table, out);
    put_anatomy(&report->anatomy, out);
}
