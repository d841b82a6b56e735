/* A hash of the program's name and its first argument that is not an option, from /proc. */
#include "config/program.h"

#include "base/hash.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
    COMMAND_BYTES = 4096
};

/* A word up to its end, and that end. */
static uint64_t add(uint64_t hash, const char *text, const char *end)
{
    hash = cs_hash_bytes(hash, text, strnlen(text, (size_t)(end - text)));
    return cs_hash_bytes(hash, "", 1);
}

/* Without its folder. */
static const char *base_of(const char *text, const char *end)
{
    const char *base = text;
    for (; text < end && *text; text++)
        if (*text == '/')
            base = text + 1;
    return base;
}

uint64_t cs_program_number_of(const char *arguments, int64_t length)
{
    const char *text = arguments, *end = arguments + length;
    uint64_t hash = add(CS_HASH_START, base_of(text, end), end);
    while (text < end) {
        text += strnlen(text, (size_t)(end - text)) + 1;
        if (text < end && *text != '-' && *text)
            return add(hash, base_of(text, end), end);
    }
    return hash;
}

uint64_t cs_program_number(void)
{
    char arguments[COMMAND_BYTES];
    int error = errno;
    ssize_t length = 0;
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        length = read(fd, arguments, sizeof arguments);
        close(fd);
    }
    errno = error;
    return cs_program_number_of(arguments, length > 0 ? length : 0);
}
