/* Reads the command line from /proc. */
#include "config/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    COMMAND_BYTES = 4096
};

/* The name without its folder. */
static const char *base_of(const char *text, const char *end)
{
    const char *base = text;
    for (; text < end && *text; text++)
        if (*text == '/')
            base = text + 1;
    return base;
}

size_t cs_program_arguments(char *words, size_t size)
{
    int error = errno;
    ssize_t length = 0;
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        length = read(fd, words, size);
        close(fd);
    }
    while (length > 0 && words[length - 1])
        length--;
    errno = error;
    return length > 0 ? (size_t)length : 0;
}

static bool is_interpreter(const char *program)
{
    static const char *const names[] = {"python", "pypy", "julia", "node", "perl", "ruby", "lua"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(program, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static const char *next_word(const char *word, const char *end)
{
    const char *next = word + strlen(word) + 1;
    return next < end ? next : NULL;
}

/* Skips one word of Python's options, such as "-um". m is followed by a module, c by code, W and X
 * by their arguments, in this word or the next. Returns the following text, or NULL if it is not a
 * script. *module_p is set for a module. */
static const char *skip_options(const char *word, const char *end, bool *module_p)
{
    for (const char *letter = word + 1; *letter; letter++) {
        const char *rest = letter[1] ? letter + 1 : next_word(word, end);
        if (*letter == 'c')
            return NULL;
        if (*letter == 'm') {
            *module_p = true;
            return rest;
        }
        if (*letter == 'W' || *letter == 'X')
            return rest ? next_word(rest, end) : NULL;
    }
    return next_word(word, end);
}

char *cs_program_script_of(const char *arguments, int64_t length, char script[CS_PROGRAM_SCRIPT])
{
    const char *end = arguments + length, *word = NULL;
    bool module = false;
    script[0] = '\0';
    if (length > 0 && is_interpreter(base_of(arguments, end)))
        word = next_word(arguments, end);
    while (word && word[0] == '-' && word[1] && !module) {
        if (strcmp(word, "--check-hash-based-pycs") == 0)
            word = next_word(word, end);
        word = !word            ? NULL
               : word[1] == '-' ? next_word(word, end)
                                : skip_options(word, end, &module);
    }
    if (word && strcmp(word, "-") != 0)
        snprintf(script, CS_PROGRAM_SCRIPT, "%s", module ? word : base_of(word, end));
    return script;
}

char *cs_program_script(char script[CS_PROGRAM_SCRIPT])
{
    char arguments[COMMAND_BYTES];
    return cs_program_script_of(arguments,
                                (int64_t)cs_program_arguments(arguments, sizeof arguments), script);
}
