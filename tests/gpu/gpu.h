/* Shared parts of the programs for a real GPU: finding the GPU, results as lines of JSON, sizes on
 * the command line. */
#ifndef GPU_H
#define GPU_H

#include "../support/apps/client.h"

/* The exit status if there is no GPU. */
#define GPU_NONE 77

/* Makes the first CUDA device current. Returns 0, or the exit status after a line on stderr:
 * GPU_NONE if there is no device that works, else 1. */
int gpu_open(const char *program);

/* Bytes of free device memory; -1, with a line on stderr, on failure. */
int64_t gpu_free_memory(void);

/* One flat JSON object on a line of stdout: open, keys, close. One at a time. A number that is not
 * finite is written as null. */
void json_open(void);
void json_text(const char *key, const char *value);
void json_integer(const char *key, int64_t value);
void json_number(const char *key, double value);
void json_flag(const char *key, bool value);
/* Returns false, with a line on stderr, if the lines could not be written to stdout. */
bool json_close(void);

/* Bytes, or a number with the unit k, m, g, t, as in 64MiB, 256M, 1g: powers of 1024. False, with a
 * line on stderr that names the option, for anything else. */
bool option_size(const char *option, const char *text, int64_t *bytes);

#endif
