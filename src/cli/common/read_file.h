/* Whole text files. */
#ifndef CS_CLI_COMMON_READ_FILE_H
#define CS_CLI_COMMON_READ_FILE_H

enum {
    CS_FILE_ERROR = 128
};

/* The text of a file, its end included; the caller frees it. NULL, with a reason in `error`, if it
 * cannot be read, holds a NUL or is larger than 64 MiB. */
char *cs_file_text(const char *path, char error[CS_FILE_ERROR]);

#endif
