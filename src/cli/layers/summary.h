/* JSON summaries that the library wrote (docs/summary.md, version 1): reading one, and adding those
 * of one job. A summary is the tree of its file, whose members are read where they are used
 * (cs_json_at). One thread, because of cs_json_begin. */
#ifndef CS_CLI_LAYERS_SUMMARY_H
#define CS_CLI_LAYERS_SUMMARY_H

#include "cli/common/table.h"
#include <stdbool.h>

struct cJSON;

enum {
    CS_SUMMARY_ERROR = 512
};

/* Reads a summary; "-" is standard input. In its texts '?' stands for control characters.
 * `process.command`, a list of words in the file, becomes one text. Members may be absent or of
 * another kind, except `sites`, which is an array. The caller deletes the tree. NULL, with "PATH:
 * message" in `error`, if the file is not a summary of this version. */
struct cJSON *cs_summary_read(const char *path, char error[CS_SUMMARY_ERROR]);

/* Adds the run of a process to *all_p, the runs of one job, and deletes `run`. The first time
 * *all_p is NULL. The caller deletes *all_p. Sites of the same id become one, in the order of first
 * appearance, which is tiled if one of them was. Texts in which runs differ become "(various)".
 * False if memory ran out. */
bool cs_summary_add(struct cJSON **all_p, struct cJSON *run);

/* Fills a row of a table: each value is the member of `object` that the column's way names
 * (cs_json_at), and is absent if there is no such member. A way of NULL leaves the value. */
void cs_summary_row(const struct cJSON *object, const struct cs_column *column,
                    const char *const *way, int columns, struct cs_value *row);

#endif
