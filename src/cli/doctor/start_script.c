/* Reads shell scripts for the Python that they start: by their words, as no shell would, but enough
 * for the scripts that programs are started with. */
#include "cli/doctor/start_script.h"

#include "base/path.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEPARATORS " \t\"'=;|&()<>`{}"

enum {
    VARIABLES = 64, /* start scripts have about ten */
    VALUE = 256
};

/* The last plain value that each variable was given so far. */
struct variable {
    const char *name;
    size_t length;
    char value[VALUE];
};

struct expansion {
    struct variable variable[VARIABLES];
    int variables;
    FILE *out;
};

static size_t name_length(const char *at)
{
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_')
        length++;
    return isdigit((unsigned char)*at) ? 0 : length;
}

static struct variable *find_variable(struct expansion *e, const char *name, size_t length)
{
    for (int i = 0; i < e->variables; i++)
        if (e->variable[i].name && length > 0 && e->variable[i].length == length &&
            memcmp(e->variable[i].name, name, length) == 0)
            return &e->variable[i];
    return NULL;
}

/* Writes the value of a $NAME or ${NAME...}, or $NAME if the value is unknown. Returns the length
 * of the reference in the text. 0: it is no reference. */
static size_t expand_variable(struct expansion *e, const char *at, FILE *out)
{
    bool braces = at[1] == '{';
    const char *name = at + 1 + braces, *end = name + name_length(name);
    const struct variable *known = find_variable(e, name, (size_t)(end - name));
    const char *instead = known ? known->value : NULL;
    size_t length = instead ? strlen(instead) : 0, whole = (size_t)(end - at);
    if (end == name)
        return 0;
    if (braces) {
        size_t rest = strcspn(end, "}\n"), dash = *end == ':' ? 2 : 1;
        if (!instead && rest >= dash && end[dash - 1] == '-') {
            instead = end + dash;
            length = rest - dash;
        }
        whole += rest + (end[rest] == '}');
    }
    if (instead)
        fprintf(out, "%.*s", (int)length, instead);
    else
        fprintf(out, "$%.*s", (int)(end - name), name);
    return whole;
}

/* True if a value that runs commands names the script's folder or that of its start. */
static bool is_own_folder(const char *value, size_t length)
{
    return memmem(value, length, "dirname", strlen("dirname")) ||
           memmem(value, length, "$(pwd)", strlen("$(pwd)"));
}

/* Stores the value of the assignment that begins at `name`. If the value is not plain text, the
 * variable becomes unknown.
 */
static void assign(struct expansion *e, const char *name, size_t length)
{
    const char *at = name + length + 1;
    size_t line = strcspn(at, "\n"), used = 0;
    struct variable *variable = find_variable(e, name, length);
    char *text = NULL;
    if (!variable && e->variables < VARIABLES)
        variable = &e->variable[e->variables++];
    FILE *value = variable ? open_memstream(&text, &used) : NULL;
    if (!value)
        return;
    bool quoted = false;
    for (size_t i = 0; i < line && (quoted || !strchr(" \t;|&)", at[i]));) {
        size_t taken = at[i] == '$' ? expand_variable(e, at + i, value) : 0;
        quoted ^= at[i] == '"';
        if (taken == 0 && at[i] != '"')
            fputc(at[i], value);
        i += taken ? taken : 1;
    }
    fclose(value);
    *variable = (struct variable){.name = name, .length = length};
    if (text && is_own_folder(at, line))
        strcpy(variable->value, ".");
    else if (text && used < VALUE && !strpbrk(text, "$`("))
        strcpy(variable->value, text);
    else
        variable->length = 0;
    free(text);
}

char *cs_start_script_expand(const char *text)
{
    char *whole = NULL;
    size_t size = 0, taken;
    struct expansion *e = calloc(1, sizeof *e);
    FILE *out = e ? open_memstream(&whole, &size) : NULL;
    bool begins = true, literal = false;
    for (const char *at = text; out && *at; at += taken) {
        size_t name = begins ? name_length(at) : 0;
        taken = 1;
        if (name > 0 && at[name] == '=')
            assign(e, at, name);
        literal ^= *at == '\'';
        if (begins && *at == '#' && !literal)
            taken = strcspn(at, "\n");
        else if (*at == '$' && !literal && (taken = expand_variable(e, at, out)) > 0)
            ;
        else if (*at != '"' || literal)
            fputc(*at, out);
        taken = taken ? taken : 1;
        begins = strchr(" \t\n;|&(", at[taken - 1]);
    }
    if (out && fclose(out) != 0) {
        free(whole);
        whole = NULL;
    }
    free(e);
    return whole;
}

static bool named_python(const char *word)
{
    static const char name[] = "python";
    const char *file = cs_path_file(word);
    if (strncmp(file, name, strlen(name)) != 0)
        return false;
    file += strlen(name);
    return file[strspn(file, "0123456789.")] == '\0';
}

static bool copy_word(const char *at, size_t length, char word[PATH_MAX])
{
    if (length == 0 || length >= PATH_MAX - sizeof "python" || memchr(at, '$', length))
        return false;
    memcpy(word, at, length);
    word[length] = '\0';
    return true;
}

/* Sets `start` to the program that a word starts: the word itself, or the python next to an
 * "activate". False: none. */
static bool take(const char *at, size_t length, bool first, struct cs_start *start)
{
    static const char activate[] = "activate";
    if (!copy_word(at, length, start->word))
        return false;
    start->activated = strcmp(cs_path_file(start->word), activate) == 0 && strchr(start->word, '/');
    if (start->activated)
        strcpy(start->word + length - strlen(activate), "python");
    return start->activated || first || named_python(start->word);
}

bool cs_start_script_next(const char **text_p, int *line_p, struct cs_start *start)
{
    const char *at = *text_p;
    bool first = true;
    while (*at) {
        size_t length = strcspn(at, "\n" SEPARATORS);
        bool found = take(at, length, first, start);
        start->line = *line_p;
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

bool cs_start_script_file(const char **text_p, const char *ending, char word[PATH_MAX])
{
    const char *at = *text_p;
    bool found = false;
    size_t end = strlen(ending);
    while (*at && !found) {
        size_t length = strcspn(at, "\n" SEPARATORS);
        found = length > end && memcmp(at + length - end, ending, end) == 0 &&
                copy_word(at, length, word);
        at += length + (at[length] != '\0');
    }
    *text_p = at;
    return found;
}

void cs_start_script_folder(const char *text, char folder[PATH_MAX])
{
    const char *at = text;
    struct cs_start start;
    int line = 1;
    folder[0] = '\0';
    while (!*folder && cs_start_script_next(&at, &line, &start))
        if (strcmp(start.word, "cd") == 0 && at > text && at[-1] == ' ' &&
            !copy_word(at, strcspn(at, "\n" SEPARATORS), folder))
            folder[0] = '\0';
}

int cs_start_script_preload(const char *text)
{
    static const char name[] = "LD_PRELOAD";
    int line = 1;
    bool guarded = false; /* by a test whether it is empty */
    for (const char *at = text; *at; line++) {
        size_t length = strcspn(at, "\n"), blanks = strspn(at, " \t");
        const char *end = at + length, *word = memmem(at, length, name, strlen(name));
        const char *value = word ? word + strlen(name) : NULL;
        bool begins = word && (word == at || strchr(SEPARATORS, word[-1]));
        guarded = guarded || (word && memmem(at, (size_t)(word - at), "-z ", strlen("-z ")));
        if (at[blanks] != '#' && !guarded && begins && *value == '=' &&
            !memmem(value, (size_t)(end - value), name, strlen(name)))
            return line;
        at = *end ? end + 1 : end;
    }
    return 0;
}
