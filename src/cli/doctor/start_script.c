/* Reads shell scripts for the Python that they start: by their words, as no shell would, but enough
 * for the scripts that programs are started with. */
#include "cli/doctor/start_script.h"

#include "base/path.h"
#include <stdio.h>
#include <string.h>

#define SEPARATORS " \t\"'=;|&()<>`{}"

static bool named_python(const char *word)
{
    static const char name[] = "python";
    const char *file = cs_path_file(word);
    if (strncmp(file, name, strlen(name)) != 0)
        return false;
    file += strlen(name);
    return file[strspn(file, "0123456789.")] == '\0';
}

/* What a word starts: itself, the python beside an "activate", or nothing. */
static bool take(const char *at, size_t length, bool first, struct cs_start *start)
{
    static const char activate[] = "activate";
    if (length == 0 || length >= sizeof start->word - sizeof "python" || memchr(at, '$', length))
        return false;
    snprintf(start->word, sizeof start->word, "%.*s", (int)length, at);
    if (strcmp(cs_path_file(start->word), activate) == 0 && strchr(start->word, '/')) {
        strcpy(start->word + length - strlen(activate), "python");
        return true;
    }
    return first || named_python(start->word);
}

bool cs_start_script_next(const char **text_p, int *line_p, struct cs_start *start)
{
    const char *at = *text_p;
    bool first = true;
    while (*at) {
        size_t length = strcspn(at, "\n" SEPARATORS);
        bool found = *at != '#' && take(at, length, first, start);
        start->line = *line_p;
        if (*at == '#')
            length = strcspn(at, "\n");
        first = first && length == 0;
        at += length;
        if (*at == '\n' || *at == ';' || *at == '|' || *at == '&')
            first = true;
        *line_p += *at == '\n';
        at += *at != '\0';
        if (found) {
            *text_p = at;
            return true;
        }
    }
    *text_p = at;
    return false;
}

int cs_start_script_preload(const char *text)
{
    static const char name[] = "LD_PRELOAD";
    int line = 1;
    for (const char *at = text; *at; line++) {
        size_t length = strcspn(at, "\n"), blanks = strspn(at, " \t");
        const char *end = at + length, *word = memmem(at, length, name, strlen(name));
        const char *value = word ? word + strlen(name) : NULL;
        bool begins = word && (word == at || strchr(SEPARATORS, word[-1]));
        if (at[blanks] != '#' && begins && *value == '=' &&
            !memmem(value, (size_t)(end - value), name, strlen(name)))
            return line;
        at = *end ? end + 1 : end;
    }
    return 0;
}
