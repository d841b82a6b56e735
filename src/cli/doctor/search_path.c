/* Walks PATH as a shell does. */
#include "cli/doctor/search_path.h"

#include "cli/common/environment.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool cs_search_path_runnable(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

bool cs_search_path(const char *name, char *path, size_t size)
{
    const char *folders = cs_cli_variable("PATH");
    if (strchr(name, '/')) {
        snprintf(path, size, "%s", name);
        return cs_search_path_runnable(path);
    }
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        snprintf(path, size, "%.*s%s%s", (int)length, folders, length > 0 ? "/" : "./", name);
        if (cs_search_path_runnable(path))
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}
