/* Which cuDNN to ask. */
#ifndef CS_CLI_PREDICT_FIND_CUDNN_H
#define CS_CLI_PREDICT_FIND_CUDNN_H

#include <stdbool.h>
#include <stddef.h>

/* Opens the cuDNN of `path`, a file or a folder; NULL: what the loader finds, else what the python3
 * on PATH has (nvidia/cudnn/lib), else what scripts/bootstrap found for the tree that this program
 * was built in. False, with a line in `error`, if there is none. Runs python3. */
bool cs_find_cudnn(const char *path, char *error, size_t size);

/* How to get one: a line for people. */
extern const char cs_find_cudnn_hint[];

#endif
