/* Selects the executions of the legacy API that are described: those whose direction, algorithm and
 * tensor x a query, with any handle, found above the threshold. It is a set of hashes, so it may
 * also select other executions, but it misses none. Thread-safe, without locks. Lives as long as
 * the process. */
#ifndef CS_INTERCEPT_LEGACY_QUERY_FILTER_H
#define CS_INTERCEPT_LEGACY_QUERY_FILTER_H

#include "cudnn/plan/legacy_call.h"
#include <stdbool.h>

/* Adds the direction, algorithm and x of a query. */
void cs_query_filter_add(const struct cs_legacy_call *call);

/* True if a call may have been added. Compares the contents of descriptors, not their addresses.
 * Takes one load if the algorithm was never added, else one more getter of cuDNN. */
bool cs_query_filter_has(const struct cs_legacy_call *call);

#endif
