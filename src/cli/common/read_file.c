/* Reads a whole text file into memory, bounded in size. */
#include "cli/common/read_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_BYTES = 64 << 20
};

char *cs_file_text(const char *path, char error[CS_FILE_ERROR])
{
    char *text = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "re");
    if (!file) {
        snprintf(error, CS_FILE_ERROR, "%s", strerror(errno));
        return NULL;
    }
    errno = 0;
    ssize_t length = getdelim(&text, &room, '\0', file);
    bool whole = length >= 0 ? (size_t)length == strlen(text) : feof(file) && !ferror(file);
    if (length < 0 && whole) { /* an empty file is an empty text */
        free(text);
        text = calloc(1, 1);
    }
    if (!whole || length > MOST_BYTES || !text) {
        snprintf(error, CS_FILE_ERROR, "%s",
                 ferror(file) || !text ? strerror(errno) : "not a text file");
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}
