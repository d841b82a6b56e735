/* A workspace limit that the program sets for a part of itself, instead of the option. */
#ifndef CS_FLOW_SCOPED_LIMIT_H
#define CS_FLOW_SCOPED_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* The current limit in bytes. 0: the option's. */
int64_t cs_scoped_limit(void);

/* Sets the limit, 0 for the option's. Returns the earlier one, or -1 if the option does not allow
 * the value. */
int64_t cs_scoped_limit_set(int64_t bytes);

/* True if the program has ever set a limit. */
bool cs_scoped_limit_used(void);

#endif
