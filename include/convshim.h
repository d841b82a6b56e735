/* Functions for programs that control convshim: the summary so far, options, and a limit for a part
 * of the program. The Python package calls them.
 *
 * The library is preloaded, not linked. A program that must also run without it looks them up:
 *
 *     size_t (*summary)(char *, size_t) =
 *         (size_t(*)(char *, size_t))dlsym(RTLD_DEFAULT, "convshim_summary");
 *     if (summary)
 *         ...
 *
 * Their symbol version is CONVSHIM_1. Later versions may add functions but do not change these. All
 * are thread-safe. They do not call CUDA or wait for the device. They do not make the library read
 * its options early: the first call of cuDNN does that. */
#ifndef CONVSHIM_H
#define CONVSHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the version, such as "0.1.0". The text is static. */
const char *convshim_version(void);

/* Returns 1 if calls of cuDNN are intercepted, or will be. Returns 0 if CONVSHIM=0 is set or this
 * cuDNN is not supported. */
int convshim_active(void);

/* Checks options in the form of CONVSHIM_CONFIG, "workspace=32MiB;lanes=2". Returns 0 if all are
 * allowed. Otherwise returns -1 and writes one line about the mistake to `error`, cut to `size`. */
int convshim_check(const char *options, char *error, size_t size);

/* Sets options of this process. They have priority over files and the environment, and add to those
 * of earlier calls. Returns 0. If an option is not allowed, sets none and returns -1 with a line in
 * `error`, as convshim_check. After the first call of cuDNN, which fixes the options, returns -2
 * with a line in `error`. */
int convshim_configure(const char *options, char *error, size_t size);

/* Writes the current summary, which is the JSON that docs/summary.md describes. `json` ends with a
 * NUL within `size` bytes. Returns the length of the whole summary, as snprintf, and 0 before the
 * first call of cuDNN. The summary may grow between two calls. */
size_t convshim_summary(char *json, size_t size);

/* Sets the most scratch in bytes (1 KiB to 1 TiB) that one call of any thread takes beyond its
 * reported workspace while it runs, from now on. 0: no bound. Workspaces that are reported to the
 * program do not depend on it. Returns the previous bound, 0 if there was none. Returns -1, without
 * a change, if `bytes` is not allowed. */
int64_t convshim_limit(int64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
