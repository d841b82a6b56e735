/* Finds the cuDNN that plans. */
#ifndef CS_CLI_LAYERS_FIND_CUDNN_H
#define CS_CLI_LAYERS_FIND_CUDNN_H

#include <stdbool.h>
#include <stddef.h>

/* Opens the cuDNN of `path`, a file or a folder. `path` NULL: the cuDNN that the loader finds, else
 * that of the python3 on PATH (nvidia/cudnn/lib), else that which scripts/bootstrap found for the
 * source tree of this program. Returns false, with a line in `error`, if there is none. Runs
 * python3. */
bool cs_find_cudnn(const char *path, char *error, size_t size);

/* Opens the cuDNN of the python3 on PATH alone. */
bool cs_find_cudnn_of_python(char *error, size_t size);

/* How to get one: a line for people. */
extern const char cs_find_cudnn_hint[];

#endif
