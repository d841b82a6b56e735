/* The library's file, and the values of the variables that load it into a program. */
#ifndef CS_CLI_PROGRAM_PRELOAD_H
#define CS_CLI_PROGRAM_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

/* The absolute path of libconvshim.so: the file `named`, or (NULL) the one that was installed or
 * built with this program. False, and one line of why, if there is none that LD_PRELOAD could name.
 */
bool cs_preload_library(const char *named, char *path, size_t size, char *why, size_t why_size);

/* The next file of a LD_PRELOAD, and its length; NULL at the end. Begin with the value itself. */
const char *cs_preload_next(const char **list_p, size_t *length_p);

/* True if a path of `length` bytes names the library, in any folder. */
bool cs_preload_is_library(const char *path, size_t length);

/* `now` (NULL: nothing) with the library in front, but after the runtimes of sanitizers, which must
 * come first. Unchanged if it already contains the library. To be freed; NULL: out of memory. */
char *cs_preload_list(const char *library, const char *now);

/* Items of CONVSHIM_CONFIG (NULL: none) with one more item, which replaces items of the same
 * option. To be freed; NULL: out of memory. */
char *cs_preload_items(const char *now, const char *name, const char *value);

#endif
