/* Which cuDNN a file is, reported without loading it. */
#ifndef CS_CLI_PROGRAM_LIBCUDNN_H
#define CS_CLI_PROGRAM_LIBCUDNN_H

#include "cli/program/packages.h"

/* The version of a libcudnn.so.N in cuDNN's notation: 91900 for 9.19.0, 8907 for 8.9.7. The sources
 * are the name of the file that it links to, the header next to it, or its package. `packages` may
 * be empty. 0: not reported. */
int cs_libcudnn_version(const char *path, const struct cs_packages *packages);

/* "cuDNN 9.19.0", or from the name "cuDNN 9" where the version is 0. */
const char *cs_libcudnn_title(const char *path, int version, char *text, size_t size);

/* True if it is a cuDNN 9. */
bool cs_libcudnn_served(const char *path, int version);

#endif
