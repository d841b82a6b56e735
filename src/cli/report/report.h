/* `convshim report`: sections of tables from summaries, and how they are rendered. One thread. */
#ifndef CS_CLI_REPORT_REPORT_H
#define CS_CLI_REPORT_REPORT_H

#include "cli/common/table.h"
#include "cli/report/summary.h"

enum {
    CS_REPORT_SECTIONS = 4
};

/* A table with a heading. */
struct cs_section {
    const char *name, *title; /* in JSON and of --table; for people */
    const char *note;         /* one line below the heading; NULL: none */
    size_t most;              /* rows that text and markdown show */
    struct cs_table table;
};

struct cs_report {
    struct cs_run_summary *run; /* as given; owned with `all` */
    size_t runs;
    struct cs_run_summary all; /* merged */
    char conclusion[384];      /* in a sentence or two */
    struct cs_section section[CS_REPORT_SECTIONS];
    size_t sections;
};

/* Fills the sections of `report`, which has all else. A broken table shows when it is printed. */
void cs_report_sections(struct cs_report *report);

/* Fills the sections of `report` with the differences of two runs. */
void cs_report_diff(struct cs_report *report, const struct cs_run_summary *a,
                    const struct cs_run_summary *b);

/* Adds the section about savings, the first section of cs_report_sections. */
void cs_report_conclude(struct cs_report *report);

/* The value of an option in a run. "" if the summary does not contain it. */
const char *cs_report_option(const struct cs_run_summary *run, const char *name);

/* "forward", "dgrad" or "wgrad". */
const char *cs_report_direction(const struct cs_summary_site *site);

enum cs_report_format {
    CS_REPORT_TEXT,
    CS_REPORT_JSON,
    CS_REPORT_CSV,
    CS_REPORT_MARKDOWN
};

/* Prints the sections; `table`: which one as CSV. False if memory ran out or there is no such
 * table. */
bool cs_report_print(const struct cs_report *report, enum cs_report_format format,
                     const char *table, FILE *out);

/* One page without any reference to elsewhere: bars (unless it is of two runs) and the tables.
 * True; `report` is a struct cs_report (cs_output_fn). */
bool cs_report_html(const void *report, FILE *out);

#endif
