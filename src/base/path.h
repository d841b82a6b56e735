/* Names in paths. Pure. */
#ifndef CS_BASE_PATH_H
#define CS_BASE_PATH_H

#include <string.h>

/* The part of a path after its last slash, or the whole path if it has no slash. */
static inline const char *cs_path_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

#endif
