/* Reads whole text files up to a bound, and reports files that are not text. */
#include "cli/common/read_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_BYTES = 256 << 20,
    CHUNK = 64 << 10
};

struct buffer {
    char *bytes;
    size_t used, room;
};

/* Makes room for a chunk and a final NUL. */
static bool grow_buffer(struct buffer *buffer)
{
    if (buffer->used + CHUNK < buffer->room)
        return true;
    size_t room = buffer->room > 0 ? 2 * buffer->room : 2 * CHUNK;
    char *grown = realloc(buffer->bytes, room);
    if (!grown)
        return false;
    buffer->bytes = grown;
    buffer->room = room;
    return true;
}

/* Returns NULL on success, else the reason. A file with a NUL is not text. Reading stops after the
 * NUL, because the file may be endless.
 */
static const char *read_all(FILE *file, struct buffer *buffer)
{
    errno = 0;
    for (;;) {
        if (!grow_buffer(buffer))
            return strerror(ENOMEM);
        size_t some = fread(buffer->bytes + buffer->used, 1, CHUNK, file);
        bool nul = memchr(buffer->bytes + buffer->used, '\0', some) != NULL;
        buffer->used += some;
        buffer->bytes[buffer->used] = '\0';
        if (ferror(file))
            return strerror(errno);
        if (nul || some < CHUNK)
            return NULL;
        if (buffer->used > MOST_BYTES)
            return "larger than 256 MiB";
    }
}

static bool begins_with(const struct buffer *buffer, const char *mark)
{
    return buffer->used >= strlen(mark) && memcmp(buffer->bytes, mark, strlen(mark)) == 0;
}

char *cs_read_file_bytes(const char *path, size_t *length_p, char error[CS_FILE_ERROR])
{
    static const char bom[] = "\xEF\xBB\xBF";
    struct buffer buffer = {NULL, 0, 0};
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "re");
    const char *why = file ? read_all(file, &buffer) : strerror(errno);
    if (file && !standard)
        fclose(file);
    if (!why && (begins_with(&buffer, "\xFF\xFE") || begins_with(&buffer, "\xFE\xFF")))
        why = "UTF-16 text. Save it as UTF-8.";
    if (why) {
        snprintf(error, CS_FILE_ERROR, "%s", why);
        free(buffer.bytes);
        return NULL;
    }
    if (begins_with(&buffer, bom)) {
        buffer.used -= strlen(bom);
        memmove(buffer.bytes, buffer.bytes + strlen(bom), buffer.used + 1);
    }
    *length_p = buffer.used;
    return buffer.bytes;
}

char *cs_read_file_text(const char *path, char error[CS_FILE_ERROR])
{
    size_t length;
    char *text = cs_read_file_bytes(path, &length, error);
    if (text && strlen(text) != length) {
        snprintf(error, CS_FILE_ERROR, "not a text file");
        free(text);
        return NULL;
    }
    return text;
}
