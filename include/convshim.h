/* Functions for programs that run with convshim and know it: what it has done so far, options from
 * inside, a limit for a part of the program. Python's package is made of them.
 *
 * The library is preloaded, not linked. A program that is to run without it, too, looks them up:
 *
 *     size_t (*summary)(char *, size_t) =
 *         (size_t(*)(char *, size_t))dlsym(RTLD_DEFAULT, "convshim_summary");
 *     if (summary)
 *         ...
 *
 * They have the version CONVSHIM_1: what is there keeps its meaning, others may be added. All are
 * thread-safe, wait for nothing on the device, and neither call CUDA nor make the library read its
 * options before the first call of cuDNN does. */
#ifndef CONVSHIM_H
#define CONVSHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0". Static. */
const char *convshim_version(void);

/* 1: calls of cuDNN are looked at, or will be; 0: CONVSHIM=0 is set, or this cuDNN is not served.
 */
int convshim_active(void);

/* Looks at options as CONVSHIM_CONFIG has them, "workspace=32MiB;lanes=2". 0 if all are allowed;
 * -1, and a line of what is wrong in `error` (cut to `size`), if not. */
int convshim_check(const char *options, char *error, size_t size);

/* Sets options of this process, over those of files and of the environment, in addition to those
 * that were set so before. 0; -1 as convshim_check, and nothing is set; -2, and a line in `error`,
 * after the first call of cuDNN, when options are in force already. */
int convshim_configure(const char *options, char *error, size_t size);

/* Writes the summary as it is now, JSON as docs/summary.md describes it, like snprintf: `json` is
 * ended by a NUL within `size` bytes; returns the length that it needs. 0 before the first call of
 * cuDNN. Between two calls it may grow. */
size_t convshim_summary(char *json, size_t size);

/* From now on what is planned has that many bytes of workspace in place of option `workspace`
 * (1 KiB to 1 TiB), in all threads; 0: the option's again. Plans that were made before keep their
 * size, and so do those made meanwhile; queries of the legacy API are answered anew. Returns the
 * limit before, 0 if that was the option's; -1, and nothing is changed, if it is not allowed. */
int64_t convshim_limit(int64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
