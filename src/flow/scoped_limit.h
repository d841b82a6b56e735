/* A limit of workspace that the program sets for a part of itself, in place of the option. */
#ifndef CS_FLOW_SCOPED_LIMIT_H
#define CS_FLOW_SCOPED_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* The bytes of now; 0: the option's. */
int64_t cs_scoped_limit(void);

/* Sets them, 0 for the option's; returns those before, -1 if they are not what the option allows.
 */
int64_t cs_scoped_limit_set(int64_t bytes);

/* True if there was ever one. */
bool cs_scoped_limit_used(void);

#endif
