/* Whole text files; "-" is standard input. */
#ifndef CS_CLI_COMMON_READ_FILE_H
#define CS_CLI_COMMON_READ_FILE_H

#include <stddef.h>

enum {
    CS_FILE_ERROR = 128
};

/* The bytes of a file and a terminating NUL after them, a byte order mark of UTF-8 left out; the
 * caller frees them. What follows a NUL may be missing. NULL, with a reason in `error`, if it
 * cannot be read, is UTF-16 or larger than 256 MiB. */
char *cs_read_file_bytes(const char *path, size_t *length_p, char error[CS_FILE_ERROR]);

/* The same of a file without a NUL; one that has some is refused. */
char *cs_read_file_text(const char *path, char error[CS_FILE_ERROR]);

#endif
