/* Finds the program that a command runs in the end, its Python, and its options. */
#include "cli/program/command_facts.h"

#include "base/path.h"
#include "cli/common/json_tree.h"
#include "cli/common/variables.h"
#include "config/option.h"
#include "config/session.h"
#include "convshim/policy.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    COMMAND_BYTES = 4096, /* of the words: as many as the library reads of /proc/self/cmdline */
    DEEPEST = 5,          /* scripts that the kernel follows, each the next one's interpreter */
    FIRST_LINE = 512
};

static bool is_runnable(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

bool cs_search_path(const char *name, char *path, size_t size)
{
    const char *folders = cs_cli_variable("PATH");
    if (strchr(name, '/')) {
        snprintf(path, size, "%s", name);
        return is_runnable(path);
    }
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        snprintf(path, size, "%.*s%s%s", (int)length, folders, length > 0 ? "/" : "./", name);
        if (is_runnable(path))
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

static bool is_among(const char *path, const char *const *names)
{
    while (*names && strcmp(cs_path_file(path), *names) != 0)
        names++;
    return *names != NULL;
}

char **cs_wrapper_unwrap(char **command)
{
    static const char *const wrappers[] = {
        "env",  "nice",    "nohup", "time",   "taskset", "timeout", "stdbuf", "ionice",   "setsid",
        "chrt", "numactl", "srun",  "mpirun", "mpiexec", "nsys",    "ncu",    "xvfb-run", NULL};
    char path[PATH_MAX];
    while (is_among(*command, wrappers)) {
        char **inner = command + 1;
        while (*inner && (**inner == '-' || !cs_search_path(*inner, path, sizeof path)))
            inner++;
        if (!*inner)
            break;
        command = inner;
    }
    return command;
}

/* Joins the words as /proc/self/cmdline has them, as many as are whole. Returns the bytes. */
static int64_t join_words(char **command, char *words, size_t size)
{
    size_t length = 0;
    for (; *command; command++) {
        size_t bytes = strlen(*command) + 1;
        if (bytes > size - length)
            break;
        memcpy(words + length, *command, bytes);
        length += bytes;
    }
    return (int64_t)length;
}

void cs_command_config(struct cs_config *config, char **command, cs_config_note_fn *note, void *ctx)
{
    char words[COMMAND_BYTES], script[CS_PROGRAM_SCRIPT] = "";
    const char *program = NULL;
    if (command && *command) {
        command = cs_wrapper_unwrap(command);
        program = cs_path_file(*command);
        cs_program_script_of(words, join_words(command, words, sizeof words), script);
    }
    cs_config_load_script(config, program, *script ? script : NULL, cs_policy_names, note, ctx);
}

struct cJSON *cs_command_changed_options(const struct cJSON *summary)
{
    const cJSON *options = cs_json_at(summary, "config.options");
    const char *source = cs_json_text(summary, "config.source");
    cJSON *changed = cJSON_CreateObject();
    for (int i = 0; i < CS_OPTIONS; i++) {
        const cJSON *option = cJSON_GetObjectItemCaseSensitive(options, cs_options[i].name);
        if (cJSON_IsString(option) && !cs_option_is_output(i) &&
            strcmp(option->valuestring, cs_options[i].value) != 0)
            cJSON_AddStringToObject(changed, cs_options[i].name, option->valuestring);
    }
    if (changed && changed->child && source && *source)
        cJSON_AddStringToObject(changed, "source", source);
    if (changed && changed->child)
        return changed;
    cJSON_Delete(changed);
    return NULL;
}

/* --- the program's file --- */

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

bool cs_program_find(struct cs_program_facts *facts, char **command)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh", NULL};
    bool found = cs_search_path(command[0], facts->program, sizeof facts->program) &&
                 follow_interpreters(facts->program, facts->python);
    if (!found)
        facts->program[0] = '\0';
    facts->shell = found && !*facts->python && is_among(facts->program, shells);
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
    if (elf->machine != CS_ELF_THIS_MACHINE)
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

void cs_program_examine(struct cs_program_facts *facts, char **command)
{
    char why[FIRST_LINE];
    if (cs_program_find(facts, cs_wrapper_unwrap(command)) &&
        (!*facts->python || !cs_frameworks_find(facts, why, sizeof why)))
        cs_own_files_find(facts);
}
