/* Finds the folder of the command, and libraries that were installed or built together with it. */
#include "cli/common/data_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cs_cli_folder(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    if (length <= 0 || (size_t)length >= size - 1)
        return false;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

bool cs_cli_installed(const char *name, char path[PATH_MAX])
{
    /* CS_LIBDIR_FROM_BINDIR comes from the build. The last place is that of a wheel, for every
     * value of LIBDIR. */
    static const char *const places[] = {"", ("/" CS_LIBDIR_FROM_BINDIR), "/../lib"};
    char folder[PATH_MAX], file[3 * PATH_MAX];
    errno = ENOENT;
    if (!cs_cli_folder(folder, sizeof folder))
        return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int length = snprintf(file, sizeof file, "%s%s/%s", folder, places[i], name);
        if (length < (int)sizeof file && realpath(file, path) && access(path, R_OK) == 0)
            return true;
    }
    return false;
}
