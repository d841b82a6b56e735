/* Summaries that the library wrote as JSON (docs/summary.md, version 1): reading one, and many as
 * one. Unknown members are skipped. All texts belong to the JSON of the runs that were read.
 *
 * Not pure: reads files. Thread-safe on distinct objects. */
#ifndef CS_CLI_REPORT_SUMMARY_H
#define CS_CLI_REPORT_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

enum {
    CS_SUMMARY_ERROR = 512
};

/* A convolution of one run, or of many. */
struct cs_summary_site {
    const char *id, *name, *text, *direction;
    const char *reason; /* NULL: tiled */
    const char *rule;   /* that it follows; NULL: none */
#define CS_SITE_NUMBER(name, merge, value) int64_t name;
#include "account/summary_numbers.def"
#undef CS_SITE_NUMBER
};

/* Calls not tiled for one reason. */
struct cs_summary_passed {
    const char *id, *text;
    int64_t calls;
};

struct cs_run_option {
    const char *name, *value;
};

struct cs_run_summary {
    struct cJSON *json; /* owned; NULL: merged */
    const char *path;   /* of the file */
    const char *program, *script, *convshim, *vendor, *device, *bypass, *advice;
    const char *command, *source; /* its words, and where the options are from */
    struct cs_run_option *option;
    size_t options;
    int64_t pid, rank; /* rank -1: none */
    int64_t start_ms, end_ms;
    int64_t runs; /* merged: how many */
#define CS_TOTAL(name, merge, value) int64_t name;
#include "account/summary_numbers.def"
#undef CS_TOTAL
    int64_t own_peak;
    struct cs_summary_passed *passed;
    size_t passed_count;
    struct cs_summary_site *site;
    size_t sites;
};

/* Reads and checks a summary; `path` must outlive it, and the caller frees it. Returns false, with
 * "PATH: message" in `error` and nothing to free, if the file is not a summary of version 1. */
bool cs_summary_read(const char *path, struct cs_run_summary *run_p, char error[CS_SUMMARY_ERROR]);

/* Merges the runs of one job, which must outlive the result. Sites of the same id become one, in
 * the order of first appearance. Texts in which the runs differ become "(various)". False, with
 * nothing to free, if memory ran out or a sum exceeds 63 bits. */
bool cs_summary_merge(const struct cs_run_summary *runs, size_t count,
                      struct cs_run_summary *merged_p);

void cs_summary_fini(struct cs_run_summary *run);

#endif
