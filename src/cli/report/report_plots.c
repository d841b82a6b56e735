/* The plots of the page. */
#include "cli/common/page.h"
#include "cli/report/report.h"

#include <inttypes.h>
#include <string.h>

enum {
    MOST_BARS = 25
};

/* The plot, and the call of each column that holds the most before. */
struct step_plot {
    struct cs_plot plot;
    const struct cs_report *report;
    size_t call[CS_PLOT_COLUMNS];
};

static const struct cs_summary_site *site_at(const struct step_plot *step, size_t column)
{
    const struct cs_report *report = step->report;
    return &report->shown->site[report->anatomy.moment[step->call[column]].site];
}

/* The script finds the row of the convolution by these. */
static void put_attributes(const void *state, size_t column, FILE *out)
{
    const struct cs_summary_site *site = site_at(state, column);
    fputs(" data-problem=\"", out);
    cs_table_html_text(site->text, out);
    fprintf(out, "\" data-direction=\"%s\"", cs_report_direction(site));
}

static void put_tooltip(const void *state, size_t column, FILE *out)
{
    const struct step_plot *step = state;
    char before[CS_BYTES_TEXT], after[CS_BYTES_TEXT];
    fprintf(out, "call %zu: %s without convshim, %s with; ", step->call[column] + 1,
            cs_table_bytes_text(before, step->plot.bytes[0][column]),
            cs_table_bytes_text(after, step->plot.bytes[1][column]));
    cs_table_html_text(site_at(step, column)->text, out);
}

/* If there are many calls, neighbouring calls share a column. */
static void fill_columns(struct step_plot *step)
{
    const struct cs_anatomy *anatomy = &step->report->anatomy;
    struct cs_plot *plot = &step->plot;
    plot->columns = anatomy->moments < CS_PLOT_COLUMNS ? anatomy->moments : CS_PLOT_COLUMNS;
    for (size_t i = anatomy->moments; i-- > 0;) {
        const struct cs_anatomy_moment *moment = &anatomy->moment[i];
        size_t column = i * plot->columns / anatomy->moments;
        if (moment->before >= plot->bytes[0][column])
            step->call[column] = i;
        if (moment->before > plot->bytes[0][column])
            plot->bytes[0][column] = moment->before;
        if (moment->after > plot->bytes[1][column])
            plot->bytes[1][column] = moment->after;
    }
}

static void put_step(const struct cs_report *report, FILE *out)
{
    const size_t calls = report->anatomy.moments;
    char middle[24], last[32];
    struct step_plot step = {
        .report = report,
        .plot = {.title = "Memory of the convolutions over one step",
                 .note = "Operands and workspaces of convolutions. The program holds more.",
                 .name = {"without convshim, peak", "with convshim, peak"},
                 .tick = {"call 1", calls > 4 ? middle : NULL, calls > 1 ? last : NULL},
                 .attributes = put_attributes,
                 .tooltip = put_tooltip,
                 .state = &step}};
    if (calls == 0)
        return;
    snprintf(middle, sizeof middle, "%zu", (calls + 1) / 2);
    snprintf(last, sizeof last, "call %zu", calls);
    fill_columns(&step);
    cs_plot_put(&step.plot, out);
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
    struct cs_bar_row bars[MOST_BARS];
    char details[MOST_BARS][160];
    size_t rows = sites->rows < MOST_BARS ? sites->rows : MOST_BARS;
    for (size_t i = 0; i < rows; i++) {
        const struct cs_value *row = sites->value + i * (size_t)sites->columns;
        const char *name = row[NAME].text;
        snprintf(details[i], sizeof details[i], name ? "%s of %s" : "%s", row[DIRECTION].text,
                 name);
        bars[i] = (struct cs_bar_row){row[PROBLEM].text, details[i], row[REQUIRED].number,
                                      row[REPORTED].number};
    }
    cs_bar_rows("Largest workspaces", bars, rows, true, out);
}

static void put_anatomy(const struct cs_anatomy *anatomy, FILE *out)
{
    const struct cs_anatomy_held *before = &anatomy->held_before, *after = &anatomy->held_after;
    const struct cs_bar_row bars[] = {
        {"filters", NULL, before->filters, after->filters},
        {"tensors of the call", NULL, before->call, after->call},
        {"workspace", NULL, before->workspace, after->workspace},
        {"gradients of filters", NULL, before->gradients, after->gradients},
        {"outputs kept for backward", NULL, before->outputs, after->outputs}};
    const size_t rows = sizeof bars / sizeof *bars;
    if (anatomy->moments > 0)
        cs_bar_rows("Held at the convolutions' peak", bars, anatomy->training ? rows : rows - 2,
                    true, out);
}

void cs_report_plots(const struct cs_report *report, FILE *out)
{
    put_step(report, out);
    for (size_t i = 0; i < report->sections; i++)
        if (strcmp(report->section[i].name, "sites") == 0)
            put_savings(&report->section[i].table, out);
    put_anatomy(&report->anatomy, out);
}
