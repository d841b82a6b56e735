/* The functions that the library exports, by name: what a program's own lookup is answered with. */
#ifndef CS_INTERCEPT_ENTRY_ENTRIES_H
#define CS_INTERCEPT_ENTRY_ENTRIES_H

#include <stdbool.h>

/* Our function of that name; NULL for every other name. */
void *cs_entries_find(const char *name);

/* True if `address` is the real function that the entry of that name calls, as cs_real_calls has
 * it. */
bool cs_entries_call(const char *name, const void *address);

#endif
