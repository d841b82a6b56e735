/* The page of a report. */
#include "cli/common/page.h"
#include "cli/report/report.h"

#include <inttypes.h>
#include <string.h>

/* Puts a card with the saving, and below it the sizes without and with convshim. */
static void put_saved(const char *title, int64_t without, int64_t with, FILE *out)
{
    char a[CS_BYTES_TEXT], b[CS_BYTES_TEXT], saved[CS_BYTES_TEXT];
    fputs("<div><dt>", out);
    cs_table_html_text(title, out);
    fputs("</dt><dd>", out);
    if (without > with)
        fprintf(out, "%s saved (%.0f %%)", cs_table_bytes_text(saved, without - with),
                100 * (double)(without - with) / (double)without);
    else
        fputs("nothing saved", out);
    fprintf(out, "<small>%s &#8594; %s</small></dd></div>\n", cs_table_bytes_text(a, without),
            cs_table_bytes_text(b, with));
}

static void put_cards(const struct cs_report *report, FILE *out)
{
    enum {
        TITLE = 1,
        WITHOUT = 4,
        WITH = 5
    };
    const struct cs_run_summary *all = &report->all;
    const struct cs_table *conclusion = &report->section[CS_REPORT_CONCLUSION].table;
    fputs("<dl class=\"cards\">\n", out);
    for (size_t i = 0; i < conclusion->rows; i++) {
        const struct cs_value *row = conclusion->value + i * (size_t)conclusion->columns;
        put_saved(row[TITLE].text, row[WITHOUT].number, row[WITH].number, out);
    }
    fprintf(out,
            "<div><dt>Calls run as tiles</dt><dd>%" PRId64 " of %" PRId64 "<small>%" PRId64
            " failed</small></dd></div>\n</dl>\n<p class=\"conclusion\">",
            all->tiled, all->calls, all->failed);
    cs_table_html_text(report->conclusion, out);
    fputs("</p>\n", out);
}

static void put_source(const struct cs_run_summary *all, FILE *out)
{
    const char *const texts[] = {all->device, all->vendor};
    fputs("<p class=\"source\">", out);
    cs_table_html_text(*all->program ? all->program : "-", out);
    fputs("\n", out);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*texts[i]) {
            cs_table_html_text(texts[i], out);
            fputs(", ", out);
        }
    fputs("convshim ", out);
    cs_table_html_text(all->convshim, out);
    if (all->runs > 1)
        fprintf(out, ", %" PRId64 " processes", all->runs);
    fputs("</p>\n", out);
}

/* Bars of the first rows of the sites, which are sorted. The columns are those of
 * report_sections.c. */
static void put_bars(const struct cs_report *report, FILE *out)
{
    enum {
        NAME = 1,
        PROBLEM = 2,
        DIRECTION = 3,
        REQUIRED = 10,
        REPORTED = 11,
        MOST_BARS = 25
    };
    const struct cs_table *sites = &report->section[CS_REPORT_SITES].table;
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
    cs_bar_rows("Largest workspaces", bars, rows, out);
}

/* All tables can be sorted, except the figures, whose order has a meaning. */
static void put_section(const struct cs_section *section, FILE *out)
{
    bool figures = strcmp(section->name, "figures") == 0;
    if (section->table.rows == 0 || strcmp(section->name, "conclusion") == 0)
        return;
    fprintf(out, "<h2 id=\"%s\">%s</h2>\n", section->name, section->title);
    if (section->note)
        fprintf(out, "<p>%s</p>\n", section->note);
    fprintf(out, "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-labelledby=\"%s\">",
            section->name);
    cs_table_html(&section->table, figures ? "figures" : "sorts", out);
    fputs("</div>\n", out);
}

bool cs_report_html(const void *state, FILE *out)
{
    const struct cs_report *report = state;
    cs_page_begin("convshim report", report->all.program, out);
    put_source(&report->all, out);
    put_cards(report, out);
    put_bars(report, out);
    for (int i = 0; i < CS_REPORT_SECTIONS; i++)
        put_section(&report->section[i], out);
    cs_page_end(out);
    return true;
}
