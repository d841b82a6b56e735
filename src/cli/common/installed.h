/* Paths of the files that are installed together with the command. */
#ifndef CS_CLI_COMMON_INSTALLED_H
#define CS_CLI_COMMON_INSTALLED_H

#include <limits.h>
#include <stdbool.h>

/* Finds the absolute path of a library or of another file under LIBDIR. `name` is relative to
 * LIBDIR of the installation ("libconvshim.so", "convshim/simdev/libcudart.so.13") or, in a build,
 * to this program's folder. The search starts at the program's folder, because an installation may
 * be moved as a whole. Returns false, with errno, if there is no readable file. */
bool cs_cli_installed(const char *name, char path[PATH_MAX]);

#endif
