/* Reads a whole file, for tests of functions that write files. */
#ifndef FILE_CONTENTS_H
#define FILE_CONTENTS_H

#include <fcntl.h>
#include <unistd.h>

/* At most 1023 bytes of it, until the next call; "(none)" if it cannot be opened. */
static inline const char *contents(const char *path)
{
    static char text[1024];
    int file = open(path, O_RDONLY);
    ssize_t length = file >= 0 ? read(file, text, sizeof text - 1) : 0;
    text[length > 0 ? length : 0] = '\0';
    if (file >= 0)
        close(file);
    return file >= 0 ? text : "(none)";
}

#endif
