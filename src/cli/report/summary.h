/* Summaries that the library wrote as JSON (docs/summary.md, version 1): reading one, and many as
 * one. Unknown members are skipped.
 *
 * Not pure: reads files. Thread-safe on distinct objects. */
#ifndef CS_CLI_REPORT_SUMMARY_H
#define CS_CLI_REPORT_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CS_SUMMARY_ERROR = 512
};

/* A convolution of one run, or of many: then counts are sums and sizes the largest. */
struct cs_summary_site {
    char *id, *name, *text; /* owned */
    char *reason;           /* owned; NULL: tiled */
    char *rule;             /* owned; that it follows; NULL: none */
    int direction;          /* index of cs_summary_directions */
    int64_t required, reported;
    int64_t possible; /* `reported`, or the size with the tiling that is only reported */
    int64_t calls, tiled, fallback, failed, launches, host_ns;
};

enum {
    CS_SUMMARY_DIRECTIONS = 3
};
extern const char
    *const cs_summary_directions[CS_SUMMARY_DIRECTIONS]; /* "forward", "dgrad", "wgrad" */

/* Calls not tiled for one reason. */
struct cs_summary_passed {
    char *id, *text; /* owned */
    int64_t calls;
};

struct cs_run_option {
    char *name, *value; /* owned */
};

struct cs_run_summary {
    char *path; /* of the file; all texts are owned */
    char *program, *convshim, *vendor, *device, *bypass;
    char *framework; /* that reported its own peaks in a simulation; "" if none did */
    int64_t allocated_without, allocated_with; /* these peaks */
    char *script, *command, *source; /* "" where the summary is older; of the command its words */
    struct cs_run_option *option;
    size_t options;
    int64_t pid, rank; /* rank -1: none */
    int64_t start_ms, end_ms;
    int64_t runs;                                                           /* merged: how many */
    int64_t calls, tiled_calls, fallback, failed, launches, extra_launches; /* sums */
    int64_t peak_without, peak_with; /* bytes during convolutions; 0: the summary is older */
    int64_t required_max, reported_max, possible_max;      /* bytes */
    int64_t required_sum, reported_sum, own_peak, host_ns; /* sums */
    struct cs_summary_passed *passed;
    size_t passed_count;
    struct cs_summary_site *site;
    size_t sites;
    int64_t folded; /* calls of sites that were folded */
};

/* Reads and checks a summary; the caller frees it. Returns false, with "PATH: message" in `error`
 * and nothing to free, if the file is not a summary of version 1. */
bool cs_summary_read(const char *path, struct cs_run_summary *run_p, char error[CS_SUMMARY_ERROR]);

/* Merges the runs of one job. Sites of the same id become one, in the order of first appearance.
 * Texts in which the runs differ become "(various)". False, with nothing to free, if memory ran out
 * or a sum leaves 63 bits. */
bool cs_summary_merge(const struct cs_run_summary *runs, size_t count,
                      struct cs_run_summary *merged_p);

void cs_summary_fini(struct cs_run_summary *run);

#endif
