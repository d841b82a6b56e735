/* cuDNN opened by the command, in a process without an application or a device. The library's own
 * code plans with it. For that purpose this part has its own cs_real() (cudnn/bind/real.h). The
 * library's cs_real() searches only libraries that an application has loaded. */
#ifndef CS_CUDNN_STANDALONE_STANDALONE_H
#define CS_CUDNN_STANDALONE_STANDALONE_H

#include <stdbool.h>
#include <stddef.h>

/* Opens the cuDNN of a file, or of a name that the loader searches. Called once, before any thread
 * plans. The library stays open. False, with the loader's text in `error`, if it cannot be opened
 * or cannot plan without a device (before 9.8). */
bool cs_standalone_open(const char *file, char *error, size_t size);

/* The version from cudnnGetVersion, 0 before one is open. */
size_t cs_standalone_version(void);

/* The file that was opened, "" before. */
const char *cs_standalone_file(void);

/* The file that the loader would open, without links. Called before one is open. False: there is
 * none. */
bool cs_standalone_loader_file(char *file, size_t size);

#endif
