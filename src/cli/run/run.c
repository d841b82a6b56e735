/* `convshim run`: sets the environment that loads the library into a program, then runs the
 * program. */
#include "account/session_files.h"
#include "cli/common/cli.h"
#include "cli/common/data_files.h"
#include "cli/common/environment.h"
#include "cli/common/library_options.h"
#include "cli/program/command_facts.h"
#include "cli/run/xla_cache.h"
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

/* The treatment of PyTorch's allocator settings. WHERE_UNSET: changed only if no variable sets
 * them. */
enum segments {
    WHERE_UNSET,
    EXPANDABLE,
    UNCHANGED
};

struct request {
    const char *library, *preset;
    bool dry, print_library;
    enum segments segments;
    struct cs_library_options given;
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

static bool take_option(void *to, int option, const char *value)
{
    struct request *request = to;
    (void)value;
    request->segments = option == OPTION_EXPANDABLE ? EXPANDABLE : UNCHANGED;
    return true;
}

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

/* Sets a variable of this process, which the program inherits, or removes it (`value` NULL). A dry
 * run also prints the change as a line for a shell. False if memory is short. */
static bool change_variable(const struct request *request, const char *name, const char *value)
{
    if ((value ? setenv(name, value, 1) : unsetenv(name)) != 0)
        return false;
    if (!request->dry)
        return true;
    if (!value) {
        printf("unset %s\n", name);
        return true;
    }
    printf("export %s=", name);
    print_value(value);
    return true;
}

/* NVTX has one listener. If a profiler has set its own, it is kept. */
static bool listen_to_ranges(const struct request *request, const char *library)
{
    static const char name[] = "NVTX_INJECTION64_PATH";
    return cs_cli_variable(name) || change_variable(request, name, library);
}

static const char older[] = "PYTORCH_CUDA_ALLOC_CONF", newer[] = "PYTORCH_ALLOC_CONF";
static const char setting[] = "expandable_segments:True";

/* Adds expandable segments to a variable, unless it already switches them on or off. */
static bool add_setting(const struct request *request, const char *name)
{
    const char *before = cs_cli_variable(name);
    if (before && strstr(before, "expandable_segments"))
        return true;
    if (!before)
        return change_variable(request, name, setting);
    size_t size = strlen(before) + sizeof "," + sizeof setting;
    char *both = malloc(size);
    if (both)
        snprintf(both, size, "%s,%s", before, setting);
    bool done = both && change_variable(request, name, both);
    free(both);
    return done;
}

/* On WSL, Windows' driver cannot map memory as expandable segments require. */
static bool is_wsl(void)
{
    struct utsname system;
    return uname(&system) == 0 && strcasestr(system.release, "microsoft");
}

/* Sets CONVSHIM_SEGMENTS: if the program fails, the library then names the setting. Only the
 * process of CONVSHIM_RUN prints that, and a dry run does not set CONVSHIM_RUN. */
static bool mark_segments(const struct request *request)
{
    return request->dry || change_variable(request, "CONVSHIM_SEGMENTS", "1");
}

/* Every PyTorch reads the older variable. If the newer one is set, versions that read it ignore the
 * older one. */
static bool set_segments(const struct request *request)
{
    bool set = cs_cli_variable(older) || cs_cli_variable(newer);
    if (request->segments == EXPANDABLE)
        return add_setting(request, older) &&
               (!cs_cli_variable(newer) || add_setting(request, newer)) && mark_segments(request);
    if (request->segments == UNCHANGED || set || is_wsl() || cs_config_disabled())
        return true;
    return change_variable(request, older, setting) && mark_segments(request);
}

/* Passes this process's id on in CONVSHIM_RUN. The program runs in this process and reports the
 * result at its end. If the lines are only printed for a shell (dry), the program gets another
 * process, so there is no id. */
static bool hand_on_pid(const struct request *request)
{
    char pid[32], folder[CS_SESSION_PATH];
    cs_session_folder(folder);
    (void)cs_session_noted(folder, getpid()); /* removes the note of an earlier run with this id */
    snprintf(pid, sizeof pid, "%lld", (long long)getpid());
    return request->dry || change_variable(request, "CONVSHIM_RUN", pid);
}

/* `preset`: the file of options, NULL without one. */
static bool prepare_environment(const struct request *request, const char *library,
                                const char *preset)
{
    char *preload = cs_preload_list(library, cs_cli_variable("LD_PRELOAD"));
    bool done = preload && change_variable(request, "LD_PRELOAD", preload);
    free(preload);
    if (preset)
        done = done && change_variable(request, "CONVSHIM_CONFIGFILE", preset);
    done = done && listen_to_ranges(request, library);
    done = done && set_segments(request);
    if (request->given.items)
        done = done && change_variable(request, "CONVSHIM_CONFIG", request->given.items);
    for (int i = 0; i < CS_OPTIONS && done; i++) {
        const char *variable = cs_library_options_variable(&request->given, i);
        if (variable)
            done = change_variable(request, variable, NULL);
    }
    done = done && hand_on_pid(request);
    if (!done)
        cs_cli_complain("out of memory, so the program was not started");
    return done;
}

/* Gives XLA's caches a folder for these options, because the workspace sizes in a cache are valid
 * only for them. False if memory is short. */
static bool separate_caches(const struct request *request, char **argv)
{
    static struct cs_config config;
    char name[CS_XLA_CACHE_NAME];
    bool done = true;
    if (cs_config_disabled())
        return true;
    cs_command_config(&config, argv, NULL, NULL);
    cs_xla_cache_name(&config, name);
    for (int i = 0; i < CS_XLA_CACHES && done; i++) {
        const struct cs_xla_cache *cache = &cs_xla_caches[i];
        if (!cache->separated)
            continue;
        char *value = cs_xla_cache_value(cache, cs_cli_variable(cache->variable), name);
        done = !value || change_variable(request, cache->variable, value);
        free(value);
    }
    return done;
}

/* Prints mistakes in the options of the new environment. In a real run the library prints them with
 * the first convolution. */
static void print_mistakes(char **argv)
{
    static struct cs_config config;
    cs_command_config(&config, argv, cs_cli_note, NULL);
}

/* Explains why a program cannot be run, where the system's own text misleads. */
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

static int list_presets(void)
{
    char error[CS_DATA_FILE_ERROR];
    if (cs_preset_list(error))
        return CS_CLI_OK;
    cs_cli_complain("%s", error);
    return FAILED;
}

static int run_request(const struct request *request, char **argv)
{
    char library[PATH_MAX], preset[PATH_MAX], why[PATH_MAX + 128];
    if (request->preset && strcmp(request->preset, "list") == 0)
        return list_presets();
    if (!*argv && !request->dry && !request->print_library) {
        cs_cli_refuse(command.name, "no program given. Example: convshim run -- python app.py");
        return FAILED;
    }
    if (!cs_preload_library(request->library, library, sizeof library, why, sizeof why)) {
        cs_cli_complain("%s", why);
        return FAILED;
    }
    if (request->print_library) {
        puts(library);
        return CS_CLI_OK;
    }
    if (request->preset && !cs_preset_find(request->preset, preset, sizeof preset, why)) {
        cs_cli_complain("%s", why);
        return FAILED;
    }
    if (cs_config_disabled())
        cs_cli_complain("CONVSHIM=0 is set, so convshim is off and the program runs unchanged");
    if (request->preset && cs_cli_variable("CONVSHIM_CONFIG"))
        cs_cli_complain("CONVSHIM_CONFIG is set and overrides the preset");
    if (!prepare_environment(request, library, request->preset ? preset : NULL) ||
        !separate_caches(request, argv))
        return FAILED;
    if (!request->dry)
        return run_command(argv);
    print_mistakes(argv);
    return CS_CLI_OK;
}

int cs_cli_run(int argc, char **argv)
{
    struct request request = {.library = NULL};
    int operand, status = cs_cli_parse(&command, argc, argv, take_option, &request, &operand);
    if (status < 0)
        status = run_request(&request, argv + operand);
    else if (status != CS_CLI_OK)
        status = FAILED;
    cs_library_options_free(&request.given);
    return status;
}
