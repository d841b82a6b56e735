/* The bytes that a fuzzer made as a file, for parts that read files by their path. */
#ifndef MEMORY_FILE_H
#define MEMORY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    MEMORY_FILE_PATH = 64
};

static inline void require(bool condition)
{
    if (!condition)
        abort();
}

/* The file descriptor; the caller closes it, and the file is gone then. */
static inline int memory_file(const uint8_t *data, size_t size, char path[MEMORY_FILE_PATH])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, MEMORY_FILE_PATH, "/proc/self/fd/%d", fd);
    return fd;
}

#endif
