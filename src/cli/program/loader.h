/* The libraries that the loader would load, as reported by the loader itself. It maps the files and
 * runs no code of them.
 */
#ifndef CS_CLI_PROGRAM_LOADER_H
#define CS_CLI_PROGRAM_LOADER_H

#include <stdbool.h>
#include <stddef.h>

/* One library: the name that was asked for and the file, NULL if there is none. */
typedef void cs_loader_fn(void *ctx, const char *name, const char *path);

/* Calls `each` for every library that the loader would load with `file` (a program or a library).
 * LD_LIBRARY_PATH is unchanged. `preload` is the value of LD_PRELOAD, or NULL. Returns false if the
 * loader cannot be run. `complaint` gets the loader's error message, one line, or "". */
bool cs_loader_list(const char *file, const char *preload, cs_loader_fn *each, void *ctx,
                    char *complaint, size_t size);

/* Finds the library that dlopen(name) would load for a caller with this RPATH and RUNPATH (NULL:
 * none) in the folder `origin`. Returns true and the path. */
bool cs_loader_find(const char *name, const char *origin, const char *rpath, const char *runpath,
                    char *path, size_t size);

#endif
