/* Which executions of the legacy API are worth a look: those whose direction, algorithm and tensor
 * x were met over the threshold by a query, by any handle. A set of hashes that never loses what
 * was added and may hold what was not. Thread-safe, without locks; lives as long as the process. */
#ifndef CS_INTERCEPT_LEGACY_QUERY_FILTER_H
#define CS_INTERCEPT_LEGACY_QUERY_FILTER_H

#include "intercept/legacy/legacy_call.h"
#include <stdbool.h>

void cs_query_filter_add(const struct cs_legacy_call *call);

bool cs_query_filter_empty(void);

/* True if a call may have been added, by its contents: descriptors are read, not reported apart by
 * their addresses. One load while its algorithm was never added, else one getter more. */
bool cs_query_filter_has(const struct cs_legacy_call *call);

#endif
