/* The functions that the library exports, by name: the results of a program's lookups. */
#ifndef CS_INTERCEPT_ENTRY_ENTRIES_H
#define CS_INTERCEPT_ENTRY_ENTRIES_H

#include <stdbool.h>

/* The entry of that name. NULL for every other name. */
void *cs_entries_find(const char *name);

/* True if `address` is the real function that the entry of that name calls (cs_real_calls). */
bool cs_entries_call(const char *name, const void *address);

#endif
