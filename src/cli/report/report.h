/* `convshim report`: tables made from summaries. One thread. */
#ifndef CS_CLI_REPORT_REPORT_H
#define CS_CLI_REPORT_REPORT_H

#include "cli/common/table.h"

struct cJSON;

/* The tables, in the order of the output. */
enum cs_report_table {
    CS_REPORT_CONCLUSION,
    CS_REPORT_SITES,
    CS_REPORT_FIGURES,
    CS_REPORT_PROCESSES,
    CS_REPORT_TABLES
};

struct cs_report {
    struct cJSON *all; /* the runs as one (cs_summary_add); NULL: no run was added */
    int64_t processes; /* how many runs */
    struct cs_table table[CS_REPORT_TABLES];
    char conclusion[384]; /* in a sentence or two */
};

/* The headings of a table. */
struct cs_report_heading {
    const char *name, *title; /* in JSON; for people */
    const char *note;         /* a line below the title */
};
extern const struct cs_report_heading cs_report_headings[CS_REPORT_TABLES];

/* Begins a report without runs. The caller ends it with cs_report_fini. */
void cs_report_init(struct cs_report *report);
void cs_report_fini(struct cs_report *report);

/* Adds the run of a process, whose summary was in file `path`, and deletes `run`. False if memory
 * ran out. */
bool cs_report_add(struct cs_report *report, const char *path, struct cJSON *run);

/* Makes the tables of all runs. False if memory ran out. */
bool cs_report_conclude(struct cs_report *report);

#endif
