/* The page of a report. */
#include "cli/common/json_tree.h"
#include "cli/common/page.h"
#include "cli/layers/summary.h"
#include "cli/report/report.h"

#include <inttypes.h>

/* Writes a card for each row of the conclusion: the saving, and the sizes without and with
 * convshim. */
static void put_cards(const struct cs_report *report, FILE *out)
{
    enum {
        TITLE = 1,
        SAVED = 2,
        PERCENT = 3,
        WITHOUT = 4,
        WITH = 5
    };
    const struct cs_table *conclusion = &report->table[CS_REPORT_CONCLUSION];
    char saved[CS_BYTES_TEXT], without[CS_BYTES_TEXT], with[CS_BYTES_TEXT];
    fputs("<dl class=\"cards\">\n", out);
    for (size_t i = 0; i < conclusion->rows; i++) {
        const struct cs_value *row = cs_table_row(conclusion, i);
        fputs("<div><dt>", out);
        cs_page_text(row[TITLE].text, out);
        fprintf(out, "</dt><dd>%s saved (%s)<small>%s &#8594; %s</small></dd></div>\n",
                cs_table_bytes_text(saved, row[SAVED].number), row[PERCENT].shown,
                cs_table_bytes_text(without, row[WITHOUT].number),
                cs_table_bytes_text(with, row[WITH].number));
    }
    fputs("</dl>\n<p class=\"conclusion\">", out);
    cs_page_text(report->conclusion, out);
    fputs("</p>\n", out);
}

/* Writes bars for the first rows of the sites, which are sorted. The columns are those of
 * report_tables.c. */
static void put_bars(const struct cs_report *report, FILE *out)
{
    enum {
        PROBLEM = 2,
        DIRECTION = 3,
        REQUIRED = 10,
        REPORTED = 11,
        MOST_BARS = 25
    };
    const struct cs_table *sites = &report->table[CS_REPORT_SITES];
    struct cs_bar_row bars[MOST_BARS];
    size_t rows = sites->rows < MOST_BARS ? sites->rows : MOST_BARS;
    for (size_t i = 0; i < rows; i++) {
        const struct cs_value *row = cs_table_row(sites, i);
        bars[i] = (struct cs_bar_row){row[PROBLEM].text, row[DIRECTION].text, row[REQUIRED].number,
                                      row[REPORTED].number};
    }
    cs_bar_rows("Largest workspaces", bars, rows, out);
}

bool cs_report_html(const void *state, FILE *out)
{
    const struct cs_report *report = state;
    const char *program = cs_json_text_at(report->all, "process.program", "");
    char *const command[] = {(char *)(uintptr_t)program, NULL};
    cs_page_begin("convshim report", program, out);
    cs_page_source(command,
                   (const char *const[]){cs_json_text_at(report->all, "device.name", ""),
                                         cs_json_text_at(report->all, "versions.vendor", ""), NULL},
                   out);
    put_cards(report, out);
    put_bars(report, out);
    for (int i = CS_REPORT_SITES; i < CS_REPORT_TABLES; i++)
        cs_page_table(cs_report_headings[i].name, cs_report_headings[i].title, &report->table[i],
                      out);
    cs_page_end(out);
    return true;
}
