/* Finds the program that a command runs, its Python, and the imports of that Python. */
#include "cli/program/command_facts.h"

#include "base/path.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    DEEPEST = 5, /* scripts that the kernel follows, each the next one's interpreter */
    FIRST_LINE = 512
};

/* True if the name of a file, or of the file that it links to, begins with python. */
static bool is_python(const char *path)
{
    static const char name[] = "python";
    char real[PATH_MAX];
    return strncmp(cs_path_file(path), name, strlen(name)) == 0 ||
           (realpath(path, real) && strncmp(cs_path_file(real), name, strlen(name)) == 0);
}

/* Sets `name` to the word after "#!", or to the word after `env` and its options. False if the file
 * is no script. */
static bool read_interpreter(const char *path, char *name, size_t size)
{
    char line[FIRST_LINE] = "", *rest;
    FILE *file = fopen(path, "r");
    bool script = file && fgets(line, sizeof line, file) && strncmp(line, "#!", 2) == 0;
    if (file)
        fclose(file);
    char *word = script ? strtok_r(line + 2, " \t\n", &rest) : NULL;
    if (word && strcmp(cs_path_file(word), "env") == 0)
        do
            word = strtok_r(NULL, " \t\n", &rest);
        while (word && (*word == '-' || strchr(word, '=')));
    if (word)
        snprintf(name, size, "%s", word);
    return word != NULL;
}

/* Follows the interpreters of scripts from `path` to the program that the kernel runs in the end.
 * `python` gets the first Python on the way, because that one imports frameworks. It may be a
 * wrapper that is a script itself. */
static bool follow_interpreters(char path[PATH_MAX], char python[PATH_MAX])
{
    char name[FIRST_LINE];
    for (int i = 0; i <= DEEPEST; i++) {
        if (!*python && is_python(path))
            snprintf(python, PATH_MAX, "%s", path);
        if (!read_interpreter(path, name, sizeof name))
            return true;
        if (!cs_search_path(name, path, PATH_MAX))
            return false;
    }
    return false;
}

static bool is_shell(const char *path)
{
    static const char *const names[] = {"sh", "bash", "dash", "zsh", "ksh"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(cs_path_file(path), names[i]) == 0)
            return true;
    return false;
}

const char *cs_program_script_file(char **command)
{
    if (!command || !*command || !is_python(*command))
        return NULL;
    for (command++; *command && **command == '-'; command++) {
        if (strchr("mc-", (*command)[1]))
            return NULL;
        if ((strcmp(*command, "-X") == 0 || strcmp(*command, "-W") == 0) && command[1])
            command++;
    }
    return *command;
}

bool cs_program_find(struct cs_program_facts *facts, char **command)
{
    bool found = cs_search_path(command[0], facts->program, sizeof facts->program) &&
                 follow_interpreters(facts->program, facts->python);
    if (!found)
        facts->program[0] = '\0';
    facts->shell = found && !*facts->python && is_shell(facts->program);
    if (facts->shell && !cs_search_path("python3", facts->python, sizeof facts->python))
        facts->python[0] = '\0';
    return found;
}

/* True if the file's privileges make the loader ignore LD_PRELOAD. */
static bool is_privileged(const char *path)
{
    struct stat status;
    if (geteuid() == 0 || stat(path, &status) != 0)
        return false;
    return ((status.st_mode & S_ISUID) && status.st_uid != geteuid()) ||
           ((status.st_mode & S_ISGID) && status.st_gid != getegid()) ||
           getxattr(path, "security.capability", NULL, 0) > 0;
}

static const char *find_obstacle(const struct cs_elf *elf, const char *path)
{
    if (elf->machine != cs_elf_this_machine())
        return "built for another processor";
    if (!elf->interpreter)
        return "linked statically, so LD_PRELOAD has no effect";
    if (strstr(elf->interpreter, "ld-musl"))
        return "built for musl, but convshim needs glibc";
    if (is_privileged(path))
        return "has setuid, setgid or capabilities, so the loader ignores LD_PRELOAD";
    return NULL;
}

const char *cs_program_obstacle(const char *path, bool *readable_p)
{
    struct cs_elf elf;
    const char *why;
    *readable_p = cs_elf_open(&elf, path, &why);
    if (!*readable_p)
        return why;
    why = find_obstacle(&elf, path);
    cs_elf_close(&elf);
    return why;
}

/* The modules in the rows of frameworks.def: the part of a pattern before the slash, each once. */
static const char *const *list_modules(void)
{
    enum {
        MOST = 32,
        BYTES = 2048
    };
    static const char *names[MOST + 1];
    static char text[BYTES];
    size_t count = 0, used = 0;
    static const char *const files[] = {
#define CS_FRAMEWORK(title, packages, patterns, asked) patterns,
#include "cli/program/frameworks.def"
#undef CS_FRAMEWORK
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (const char *at = files[i]; *at; at += strcspn(at, " ") + (strchr(at, ' ') != NULL)) {
            size_t length = strcspn(at, "/");
            bool known = count > 0 && strlen(names[count - 1]) == length &&
                         memcmp(names[count - 1], at, length) == 0;
            if (known || count == MOST || used + length + 1 > sizeof text)
                continue;
            memcpy(text + used, at, length);
            names[count++] = text + used;
            used += length + 1;
        }
    return names;
}

bool cs_program_packages(struct cs_program_facts *facts, char *why, size_t size)
{
    return cs_packages_read(&facts->packages, facts->python, list_modules(), why, size);
}

void cs_program_examine(struct cs_program_facts *facts, char **command)
{
    char why[FIRST_LINE];
    if (!cs_program_find(facts, cs_wrapper_unwrap(command)))
        return;
    if (*facts->python)
        (void)cs_program_packages(facts, why, sizeof why);
    cs_clients_find(facts);
}

void cs_program_free(struct cs_program_facts *facts)
{
    for (size_t i = 0; i < facts->subjects; i++)
        free(facts->subject[i].client);
    free(facts->subject);
    cs_packages_free(&facts->packages);
}
