/* What the loader would load, asked of the loader itself: it maps files, and runs nothing of them.
 */
#ifndef CS_CLI_DOCTOR_LOADER_H
#define CS_CLI_DOCTOR_LOADER_H

#include <stdbool.h>
#include <stddef.h>

/* One library: the name that was asked for and the file, NULL if there is none. */
typedef void cs_loader_fn(void *ctx, const char *name, const char *path);

/* Calls `each` for every library that `file` (a program or a library) would bring along, with
 * LD_LIBRARY_PATH as it is. `preload` is what LD_PRELOAD has for it, or NULL. False if the loader
 * cannot be asked. What it complains of, one line, goes to `complaint` ("" if of nothing). */
bool cs_loader_list(const char *file, const char *preload, cs_loader_fn *each, void *ctx,
                    char *complaint, size_t size);

/* Where dlopen(name) would find a library for a caller with that RPATH and RUNPATH (NULL: none) in
 * the folder `origin`: true, and the path. */
bool cs_loader_find(const char *name, const char *origin, const char *rpath, const char *runpath,
                    char *path, size_t size);

#endif
