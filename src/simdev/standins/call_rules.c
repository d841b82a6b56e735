/* Reads standin_calls.def, which is embedded in this program: the rule for each function of a
 * stand-in. */
#include "standins.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char calls[] =
#include "standin_calls.h" /* made from libraries/standin_calls.def */
    ;

enum {
    LINE = 1024
};

static const char *const kinds[] = {
    [STANDIN_MISSING] = "missing",   [STANDIN_CREATE] = "create", [STANDIN_DESTROY] = "destroy",
    [STANDIN_STREAM] = "stream",     [STANDIN_WORK] = "work",     [STANDIN_HOST] = "host",
    [STANDIN_ZERO] = "zero",         [STANDIN_SIZE] = "size",     [STANDIN_TEXT] = "text",
    [STANDIN_FAIL] = "fail",         [STANDIN_ANSWER] = "answer", [STANDIN_TELL] = "tell",
    [STANDIN_PROPERTY] = "property",
};

/* Copies the next line without comments and surrounding blanks. NULL at the end. */
static const char *next_line(const char *at, char line[LINE])
{
    const size_t length = strcspn(at, "\n");
    if (*at == '\0')
        return NULL;
    snprintf(line, LINE, "%.*s", (int)length, at);
    if (*line == '#')
        *line = '\0';
    return at + length + (at[length] == '\n');
}

bool standin_rules_find(const char *library, struct standin_rules *rules)
{
    char line[LINE];
    for (const char *at = calls; (at = next_line(at, line));) {
        if (sscanf(line, "library %31s %d", rules->library, &rules->error) == 2 &&
            strcmp(rules->library, library) == 0) {
            rules->lines = at;
            return true;
        }
    }
    return false;
}

static bool matches_pattern(const char *patterns, const char *name)
{
    char pattern[LINE];
    int length;
    while (sscanf(patterns, "%1023s%n", pattern, &length) == 1) {
        if (fnmatch(pattern, name, 0) == 0)
            return true;
        patterns += length;
    }
    return false;
}

static enum standin_kind kind_of(const char *word)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i], word) == 0)
            return (enum standin_kind)i;
    fprintf(stderr, "standins: standin_calls.def: unknown kind '%s'\n", word);
    return STANDIN_MISSING;
}

/* "KIND [ARG:BYTES ...]", up to the separate colon. */
static void read_head(char *head, struct standin_function *function)
{
    char *rest = NULL, *word = strtok_r(head, " \t", &rest);
    function->kind = kind_of(word ? word : "");
    for (int i = 0; i < STANDIN_RESULTS && (word = strtok_r(NULL, " \t", &rest)); i++)
        (void)sscanf(word, "%d:%d", &function->result[i].argument, &function->result[i].bytes);
}

struct standin_function standin_rules_function(const struct standin_rules *rules, const char *name)
{
    struct standin_function function = {
        .name = name, .kind = STANDIN_MISSING, .error = rules->error};
    char line[LINE];
    for (const char *at = rules->lines; (at = next_line(at, line));) {
        char *patterns = strstr(line, ": ");
        while (patterns && patterns > line && !isspace((unsigned char)patterns[-1]))
            patterns = strstr(patterns + 1, ": ");
        if (strncmp(line, "library ", strlen("library ")) == 0)
            break;
        if (!patterns || !matches_pattern(patterns + 2, name))
            continue;
        *patterns = '\0';
        read_head(line, &function);
        break;
    }
    return function;
}
