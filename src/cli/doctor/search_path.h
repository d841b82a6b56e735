/* The file that a shell would run for a word. */
#ifndef CS_CLI_DOCTOR_SEARCH_PATH_H
#define CS_CLI_DOCTOR_SEARCH_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* True if it is a file that may be executed. */
bool cs_search_path_runnable(const char *path);

/* Looks for `name` in PATH, unless it has a slash; fills `path` and returns true if it can be run.
 */
bool cs_search_path(const char *name, char *path, size_t size);

#endif
