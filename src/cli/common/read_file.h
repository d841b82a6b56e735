/* Whole text files; "-" is standard input. */
#ifndef CS_CLI_COMMON_READ_FILE_H
#define CS_CLI_COMMON_READ_FILE_H

#include <stddef.h>

enum {
    CS_FILE_ERROR = 128
};

/* Returns the bytes of a file with a terminating NUL, without a byte order mark of UTF-8. The
 * caller frees them. Bytes after a NUL may be missing. Returns NULL, with a reason in `error`, if
 * the file cannot be read or is UTF-16. */
char *cs_read_file_bytes(const char *path, size_t *length_p, char error[CS_FILE_ERROR]);

/* Returns the text of a file as cs_read_file_bytes does. A file with a NUL is refused. */
char *cs_read_file_text(const char *path, char error[CS_FILE_ERROR]);

#endif
