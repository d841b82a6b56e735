/* `convshim report`: sections of tables from summaries, and the page of them. One thread. */
#ifndef CS_CLI_REPORT_REPORT_H
#define CS_CLI_REPORT_REPORT_H

#include "cli/common/table.h"
#include "cli/report/summary.h"

/* The tables, in the order of the output. */
enum cs_report_section {
    CS_REPORT_CONCLUSION,
    CS_REPORT_SITES,
    CS_REPORT_FIGURES,
    CS_REPORT_PROCESSES,
    CS_REPORT_SECTIONS
};

/* A table with a heading. */
struct cs_section {
    const char *name, *title; /* in JSON; for people */
    const char *note;         /* one line below the heading; NULL: none */
    struct cs_table table;
};

struct cs_report {
    struct cs_run_summary *run; /* one for each file; owned, as is `all` */
    size_t runs;
    struct cs_run_summary all; /* merged */
    char conclusion[384];      /* in a sentence or two */
    struct cs_section section[CS_REPORT_SECTIONS];
};

/* Makes the sections from the runs and from `all`. If memory is short, a table is broken, and
 * printing it fails. */
void cs_report_sections(struct cs_report *report);

/* The value of an option in a run. "" if the summary does not contain it. */
const char *cs_report_option(const struct cs_run_summary *run, const char *name);

/* Writes a page that refers to no other file: cards, bars and the tables. `report` is a struct
 * cs_report (cs_output_fn). Returns true. */
bool cs_report_html(const void *report, FILE *out);

#endif
