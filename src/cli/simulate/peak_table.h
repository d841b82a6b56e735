/* A table of the memory that a run held at its peak. One thread. */
#ifndef CS_CLI_SIMULATE_PEAK_TABLE_H
#define CS_CLI_SIMULATE_PEAK_TABLE_H

#include "cli/common/table.h"
#include "cli/simulate/timeline.h"

struct cJSON;

/* Workspaces one by one, with the convolution: that of the same call of `names`, the timeline of
 * the run whose summary is given (both NULL: not known). Everything else by who asked for it.
 * False: memory is short, and nothing is owned. */
bool cs_peak_table(const struct cs_timeline *timeline, const struct cs_timeline *names,
                   const struct cJSON *summary, struct cs_table *table_p);

#endif
