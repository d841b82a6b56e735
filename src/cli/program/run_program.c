/* Walks PATH as a shell does, and parses the command lines of programs that run another program. It
 * finds their own words: options, values of options and operands. */
#include "cli/program/command_facts.h"

#include "base/path.h"
#include "cli/common/environment.h"
#include "config/program.h"
#include "convshim/policy.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    COMMAND_BYTES = 4096 /* of the words: as many as the library reads of /proc/self/cmdline */
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

static const struct wrapper {
    const char *name;
    const char *letters; /* short options that take a word */
    const char *words;   /* long ones, without the dashes, blanks around each */
    int operands;        /* words of the wrapper before the command */
} wrappers[] = {
    {"env", "uC", " unset chdir ", 0},
    {"nice", "n", " adjustment ", 0},
    {"nohup", "", "", 0},
    {"time", "fo", " format output ", 0},
    {"taskset", "", "", 1},
    {"timeout", "ks", " kill-after signal ", 1},
    {"stdbuf", "ioe", " input output error ", 0},
    {"ionice", "cn", " class classdata ", 0},
    {"setsid", "", "", 0},
    {"chrt", "TPD", " sched-runtime sched-period sched-deadline ", 1},
    {"numactl", "NmipwCP",
     " interleave weighted-interleave preferred preferred-many membind cpunodebind physcpubind ",
     0},
};

/* These have too many options for a row above. Their command is the first word that can be run. */
static const char *const launchers[] = {"srun", "mpirun", "mpiexec", "nsys", "ncu", "xvfb-run"};

static const struct wrapper *find_wrapper(const char *word)
{
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
        if (strcmp(cs_path_file(word), wrappers[i].name) == 0)
            return &wrappers[i];
    return NULL;
}

static bool is_launcher(const char *word)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (strcmp(cs_path_file(word), launchers[i]) == 0)
            return true;
    return false;
}

/* True if the next word is the value of this option. */
static bool takes_next_word(const struct wrapper *wrapper, const char *option)
{
    char name[32];
    size_t length = strlen(option);
    if (option[1] != '-')
        return length == 2 && strchr(wrapper->letters, option[1]);
    if (length >= sizeof name)
        return false;
    memcpy(name, option + 1, length);
    name[0] = ' ';
    name[length - 1] = ' ';
    name[length] = '\0';
    return strstr(wrapper->words, name);
}

/* Returns the first word after a wrapper's own words, or the NULL at the end. */
static char **skip_wrapper(const struct wrapper *wrapper, char **word)
{
    for (; *word && **word == '-' && strcmp(*word, "--") != 0; word++)
        if (word[1] && takes_next_word(wrapper, *word))
            word++;
    if (*word && strcmp(*word, "--") == 0)
        word++;
    for (int i = 0; i < wrapper->operands && *word; i++)
        word++;
    while (*word && strcmp(wrapper->name, "env") == 0 && strchr(*word, '='))
        word++;
    return word;
}

static char **first_that_runs(char **word)
{
    char path[PATH_MAX];
    while (*word && (**word == '-' || !cs_search_path(*word, path, sizeof path)))
        word++;
    return word;
}

char **cs_wrapper_unwrap(char **command)
{
    for (;;) {
        const struct wrapper *wrapper = find_wrapper(command[0]);
        char **inner = command;
        if (wrapper)
            inner = skip_wrapper(wrapper, command + 1);
        else if (is_launcher(command[0]))
            inner = first_that_runs(command + 1);
        if (inner == command || !*inner)
            return command;
        command = inner;
    }
}

/* The words as /proc/self/cmdline has them, as many as are whole. */
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
        const char *slash = strrchr(*command, '/');
        program = slash ? slash + 1 : *command;
        cs_program_script_of(words, join_words(command, words, sizeof words), script);
    }
    cs_config_load_script(config, program, *script ? script : NULL, cs_policy_names, note, ctx);
}
