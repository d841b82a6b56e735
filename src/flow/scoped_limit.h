/* A bound that the program sets on memory taken at run time (convshim_limit). No decision and no
 * size depends on it. */
#ifndef CS_FLOW_SCOPED_LIMIT_H
#define CS_FLOW_SCOPED_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* The most bytes of scratch that a call may take beyond its reported workspace. 0: no bound. */
int64_t cs_scoped_limit(void);

/* Sets the bound, 0 for none. Returns the earlier one, or -1 if the value is not 1 KiB to 1 TiB. */
int64_t cs_scoped_limit_set(int64_t bytes);

#endif
