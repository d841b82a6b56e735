/* Names in paths. Pure. */
#ifndef CS_BASE_PATH_H
#define CS_BASE_PATH_H

#include <string.h>

/* What stands after the last slash; all of a path without one. */
static inline const char *cs_path_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

#endif
