/* `convshim run`: sets the environment that loads the library into a program, then runs the
 * program. */
#include "account/session_files.h"
#include "cli/common/cli.h"
#include "cli/common/data_files.h"
#include "cli/common/variables.h"
#include "cli/program/command_facts.h"
#include "cli/program/xla_cache.h"
#include "config/session.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The statuses of env, nice and timeout. A smaller status is the program's own. */
enum {
    FAILED = 125,
    NOT_EXECUTABLE = 126,
    NOT_FOUND = 127
};

struct request {
    const char *library, *preset;
    bool dry, print_library, keeps_segments;
    struct cs_child_variables given;
};

#define CS_CLI_TARGET struct request
#define CS_CLI_LIBRARY
#define CS_CLI_OPTIONS "cli/run/run_options.def"
#include "cli/common/command_options.def"

static const struct cs_cli_command command = {
    .name = "run",
    .usage = "convshim run [options] [--] COMMAND [ARGUMENT...]",
    .about = "Runs COMMAND with the library preloaded. LD_PRELOAD is extended, never\n"
             "overwritten. The library also reads NVTX ranges, for the names of convolutions,\n"
             "unless NVTX_INJECTION64_PATH is set to another tool.\n\n"
             "Status: that of COMMAND. 125: convshim itself failed. 126: COMMAND cannot be\n"
             "run. 127: COMMAND was not found.",
    .option = rows,
    .options = sizeof rows / sizeof *rows,
    .stops = true,
};
const struct cs_cli_command *const cs_cli_command_run = &command;

/* Prints the value as one word of a shell, in quotes if it has special characters. */
static void print_value(const char *value)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./:,%@";
    if (*value && !value[strspn(value, plain)]) {
        puts(value);
        return;
    }
    putchar('\'');
    for (; *value; value++) {
        if (*value == '\'')
            fputs("'\\'", stdout);
        putchar(*value);
    }
    puts("'");
}

/* Prints the changes as lines for a shell. */
static void print_changes(const struct cs_child_variables *variables)
{
    for (size_t i = 0; i < variables->items; i++) {
        const char *item = variables->item[i], *value = strchr(item, '=');
        printf("export %.*s=", (int)(value - item), item);
        print_value(value + 1);
    }
}

/* True on WSL, where Windows' driver cannot map memory as expandable segments require. */
static bool is_wsl(void)
{
    struct utsname system;
    return uname(&system) == 0 && strcasestr(system.release, "microsoft");
}

/* Switches on PyTorch's expandable segments, unless the user has settings. Every PyTorch reads the
 * older variable. If the newer one is set, versions that read it ignore the older one.
 * CONVSHIM_SEGMENTS: if the program fails, the library then names the setting. */
static void add_segments(const struct request *request, struct cs_child_variables *variables)
{
    static const char older[] = "PYTORCH_CUDA_ALLOC_CONF", newer[] = "PYTORCH_ALLOC_CONF";
    if (request->keeps_segments || cs_cli_variable(older) || cs_cli_variable(newer) || is_wsl() ||
        cs_config_disabled())
        return;
    cs_child_variables_set(variables, older, "expandable_segments:True");
    if (!request->dry)
        cs_child_variables_set(variables, "CONVSHIM_SEGMENTS", "1");
}

/* Adds this process's id as CONVSHIM_RUN. The program runs in this process and reports the result
 * at its end. If the lines are only printed for a shell (dry), the program gets another process, so
 * there is no id. */
static void add_id(const struct request *request, struct cs_child_variables *variables)
{
    char folder[CS_SESSION_PATH];
    if (request->dry)
        return;
    cs_session_folder(folder);
    (void)cs_session_noted(folder, getpid()); /* removes the note of an earlier run with this id */
    cs_child_variables_set(variables, "CONVSHIM_RUN", "%lld", (long long)getpid());
}

/* Gives XLA's caches a folder for these options, because the workspace sizes in a cache are valid
 * only for them. The environment already has the options. */
static void add_caches(char **argv, struct cs_child_variables *variables)
{
    static struct cs_config config;
    char name[CS_XLA_CACHE_NAME];
    if (cs_config_disabled())
        return;
    cs_command_config(&config, argv, NULL, NULL);
    variables->broken = variables->broken || !cs_xla_cache_name(&config, name);
    for (int i = 0; i < CS_XLA_CACHES; i++) {
        const struct cs_xla_cache *cache = &cs_xla_caches[i];
        char *value = cache->separated
                          ? cs_xla_cache_value(cache, cs_cli_variable(cache->variable), name)
                          : NULL;
        if (value)
            cs_child_variables_set(variables, cache->variable, "%s", value);
        free(value);
    }
}

/* Changes the environment of this process, which the program inherits. `preset`: the file of
 * options, NULL without one. False after printing that memory is short. */
static bool change_environment(const struct request *request, const char *library,
                               const char *preset, char **argv,
                               struct cs_child_variables *variables)
{
    char *preload = cs_preload_list(library, cs_cli_variable("LD_PRELOAD"));
    bool whole = preload != NULL;
    cs_child_variables_set(variables, "LD_PRELOAD", "%s", preload ? preload : "");
    free(preload);
    if (preset)
        cs_child_variables_set(variables, "CONVSHIM_CONFIGFILE", "%s", preset);
    /* NVTX has one listener. If a profiler has set its own, it is kept. */
    if (!cs_cli_variable("NVTX_INJECTION64_PATH"))
        cs_child_variables_set(variables, "NVTX_INJECTION64_PATH", "%s", library);
    add_segments(request, variables);
    cs_child_variables_add(variables, &request->given);
    add_id(request, variables);
    whole = cs_child_variables_apply(variables) && whole;
    if (whole)
        add_caches(argv, variables);
    whole = whole && cs_child_variables_apply(variables);
    if (!whole)
        cs_cli_complain("out of memory, so the program was not started");
    return whole;
}

/* Prints mistakes in the options of the new environment. In a real run the library prints them with
 * the first convolution. */
static void print_mistakes(char **argv)
{
    static struct cs_config config;
    cs_command_config(&config, argv, cs_cli_note, NULL);
}

/* Returns why a program cannot be run. The system's own text misleads if an interpreter is missing
 * or a model is given instead of a program. */
static const char *explain_error(const char *name, int error)
{
    const char *end = strrchr(name, '.');
    if (end &&
        (strcmp(end, ".onnx") == 0 || strcmp(end, ".pt") == 0 || strcmp(end, ".safetensors") == 0))
        return "this is a model. Give the program that runs it, such as python app.py";
    if (error == ENOENT && access(name, X_OK) == 0)
        return "its interpreter is missing. For a script, check the line after #!";
    return strerror(error);
}

/* Replaces this process by the program. If that fails, returns the exit status. */
static int run_command(char **argv)
{
    struct cs_program_facts facts = {.shell = false};
    bool readable = false;
    const char *obstacle = cs_program_find(&facts, cs_wrapper_unwrap(argv))
                               ? cs_program_obstacle(facts.program, &readable)
                               : NULL;
    if (obstacle && readable)
        cs_cli_complain("%s: %s. It runs without convshim.", facts.program, obstacle);
    fflush(NULL);
    execvp(argv[0], argv);
    int error = errno;
    cs_cli_complain("%s: %s", argv[0], explain_error(argv[0], error));
    return error == ENOENT || error == ENOTDIR ? NOT_FOUND : NOT_EXECUTABLE;
}

/* Runs the command, or prints the changes of the environment. */
static int run_request(const struct request *request, char **argv,
                       struct cs_child_variables *variables)
{
    char library[PATH_MAX], preset[PATH_MAX], why[PATH_MAX + 128];
    if (request->preset && strcmp(request->preset, "list") == 0)
        return cs_preset_list() ? CS_CLI_OK : FAILED;
    if (!*argv && !request->dry && !request->print_library) {
        cs_cli_refuse(command.name, "no program given. Example: convshim run -- python app.py");
        return FAILED;
    }
    if (!cs_preload_library(request->library, library, why, sizeof why) ||
        (request->preset && !cs_preset_find(request->preset, preset, sizeof preset, why))) {
        cs_cli_complain("%s", why);
        return FAILED;
    }
    if (request->print_library) {
        puts(library);
        return CS_CLI_OK;
    }
    if (cs_config_disabled())
        cs_cli_complain("CONVSHIM=0 is set, so convshim is off and the program runs unchanged");
    if (request->preset && cs_cli_variable("CONVSHIM_CONFIG"))
        cs_cli_complain("CONVSHIM_CONFIG is set and overrides the preset");
    if (!change_environment(request, library, request->preset ? preset : NULL, argv, variables))
        return FAILED;
    if (!request->dry)
        return run_command(argv);
    print_changes(variables);
    print_mistakes(argv);
    return CS_CLI_OK;
}

int cs_cli_run(int argc, char **argv)
{
    struct request request = {.library = NULL};
    struct cs_child_variables variables = {.items = 0};
    int operand, status = cs_cli_parse(&command, argc, argv, NULL, &request, &operand);
    if (status < 0)
        status = run_request(&request, argv + operand, &variables);
    else if (status != CS_CLI_OK)
        status = FAILED;
    cs_child_variables_free(&request.given);
    cs_child_variables_free(&variables); /* the last use of the environment is above */
    return status;
}
