/* cuDNN opened by the command itself, in a process that has no application and needs no device.
 * What is planned with it is planned by the library's own code: this part has its own cs_real() for
 * that (cudnn/real.h), in place of the library's, which only looks at what an application has
 * loaded. */
#ifndef CS_CUDNN_STANDALONE_STANDALONE_H
#define CS_CUDNN_STANDALONE_STANDALONE_H

#include <stdbool.h>
#include <stddef.h>

/* Opens the cuDNN of a file, or of a name that the loader searches. Before any thread plans, and
 * once: what is open stays open. False, with what the loader says in `error`, if there is none or
 * if it cannot plan without a device (that came with 9.8). */
bool cs_standalone_open(const char *file, char *error, size_t size);

/* The version as cudnnGetVersion gives it, 0 before one is open. */
size_t cs_standalone_version(void);

/* The file that was opened, "" before. */
const char *cs_standalone_file(void);

#endif
