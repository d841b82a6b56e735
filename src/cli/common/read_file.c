/* Reads whole text files, and reports files that are not text. */
#include "cli/common/read_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads up to the end or the first NUL. Returns the bytes with a NUL at their end, or NULL with
 * errno. */
static char *read_bytes(FILE *file, size_t *length_p)
{
    char *bytes = NULL;
    size_t room = 0;
    ssize_t length = getdelim(&bytes, &room, '\0', file);
    if (length < 0 && feof(file)) {
        free(bytes);
        bytes = calloc(1, 1);
        length = 0;
    }
    if (length < 0) {
        free(bytes);
        return NULL;
    }
    *length_p = (size_t)length;
    return bytes;
}

static bool begins_with(const char *bytes, size_t length, const char *mark)
{
    return length >= strlen(mark) && memcmp(bytes, mark, strlen(mark)) == 0;
}

static bool is_utf16(const char *bytes, size_t length)
{
    return begins_with(bytes, length, "\xFF\xFE") || begins_with(bytes, length, "\xFE\xFF");
}

char *cs_read_file_bytes(const char *path, size_t *length_p, char error[CS_FILE_ERROR])
{
    static const char bom[] = "\xEF\xBB\xBF";
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "re");
    size_t length = 0;
    char *bytes = file ? read_bytes(file, &length) : NULL;
    const int problem = errno;
    if (file && !standard)
        fclose(file);
    if (!bytes || is_utf16(bytes, length)) {
        snprintf(error, CS_FILE_ERROR, "%s",
                 bytes ? "UTF-16 text. Save it as UTF-8." : strerror(problem));
        free(bytes);
        return NULL;
    }
    if (begins_with(bytes, length, bom)) {
        length -= strlen(bom);
        memmove(bytes, bytes + strlen(bom), length + 1);
    }
    *length_p = length;
    return bytes;
}

char *cs_read_file_text(const char *path, char error[CS_FILE_ERROR])
{
    size_t length = 0;
    char *text = cs_read_file_bytes(path, &length, error);
    if (text && strlen(text) != length) {
        snprintf(error, CS_FILE_ERROR, "not a text file");
        free(text);
        return NULL;
    }
    return text;
}
