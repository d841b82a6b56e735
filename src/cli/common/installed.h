/* Where the files are that are installed beside the command. */
#ifndef CS_CLI_COMMON_INSTALLED_H
#define CS_CLI_COMMON_INSTALLED_H

#include <limits.h>
#include <stdbool.h>

/* The absolute path of a library or of another file that belongs to libraries: `name` as it stands
 * under LIBDIR of the installation ("libconvshim.so", "convshim/simdev/libcudart.so.13"), or beside
 * this program, as in a build. Installations may be moved as a whole: it is looked for from the
 * program's own folder. False, with errno: there is none that can be read. */
bool cs_cli_installed(const char *name, char path[PATH_MAX]);

#endif
