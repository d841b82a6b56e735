/* Prepares a simulation: finds the simulated device, generates stand-ins for the program's other
 * libraries, and sets the environment of a process that runs on them. */
#include "simdev/simulate/simulation.h"
#include "simdev/simulate/runs.h"
#include "simdev/simulate/temporary_folder.h"

#include "base/path.h"
#include "base/text.h"
#include "cli/common/cli.h"
#include "cli/common/variables.h"
#include "cli/program/child.h"
#include "cli/program/command_facts.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char hook[] =
#include "framework_hook.h" /* made from framework_hook.py */
    ;
static const char values[] =
#include "framework_values.h" /* made from framework_values.py */
    ;
static const char nvidia_smi[] =
#include "nvidia_smi.h" /* made from nvidia_smi.sh */
    ;

enum {
    LIST = 16384 /* bytes of LD_PRELOAD */
};

/* Finds the device's folder: SIMDEV_DIR, or that next to the library, such as build/simdev or
 * LIBDIR/convshim/simdev. */
static bool find_device(struct cs_simulation *simulation)
{
    static const char *const beside[] = {"simdev", "convshim/simdev"};
    const char *named = cs_cli_variable("SIMDEV_DIR");
    char folder[2 * PATH_MAX];
    int length = (int)(cs_path_file(simulation->library) - simulation->library);
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        if (named)
            snprintf(folder, sizeof folder, "%s", named);
        else
            snprintf(folder, sizeof folder, "%.*s%s", length, simulation->library, beside[i]);
        char file[2 * PATH_MAX + 32];
        snprintf(file, sizeof file, "%s/libcudart.so.13", folder);
        if (access(file, R_OK) == 0 && realpath(folder, simulation->device))
            return true;
    }
    if (named)
        cs_cli_complain("%s: SIMDEV_DIR=%s: the simulated GPU is not in this folder. Unset the "
                        "variable, or name another folder.",
                        simulation->title, named);
    else
        cs_cli_complain("%s: the simulated GPU is not in the folder of %s. Install convshim again, "
                        "or name its libconvshim.so: --library FILE",
                        simulation->title, simulation->library);
    return false;
}

/* Writes a text that this program contains to FOLDER/NAME of the simulation. */
static bool write_file(const struct cs_simulation *simulation, const char *folder, const char *name,
                       const char *text, mode_t mode)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", simulation->work, folder);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/%s", simulation->work, folder, name);
    FILE *file = fopen(path, "we");
    bool good = file && fputs(text, file) >= 0;
    if (file)
        good = fclose(file) == 0 && good;
    good = good && chmod(path, mode) == 0;
    if (!good)
        cs_cli_complain("%s: %s", path, strerror(errno));
    return good;
}

/* Writes stand-ins for the program's libraries. A library for which none can be written is left
 * unchanged: the program may not need it. False after a line if the tool `standins` cannot be run,
 * because there is no Python. */
static bool write_stand_ins(const struct cs_simulation *simulation)
{
    const struct cs_sim_program *program = &simulation->program;
    char tool[PATH_MAX + 32], out[PATH_MAX + 32];
    snprintf(tool, sizeof tool, "%s/standins", simulation->device);
    snprintf(out, sizeof out, "%s/standins", simulation->work);
    const char *argv[CS_MOST_LIBRARIES + 7] = {
        program->python, tool, "--out", out, "--cuda", program->cuda == 12 ? "12" : "13"};
    char *said = NULL;
    if (program->libraries == 0)
        return true;
    for (size_t i = 0; i < program->libraries; i++)
        argv[6 + i] = program->library[i];
    int status = cs_child_output(argv, NULL, &said);
    if (status == 127)
        cs_cli_complain("%s: python3 was not found, so stand-ins for the program's CUDA libraries "
                        "(%s) cannot be written. Install Python 3.",
                        simulation->title, cs_path_file(program->library[0]));
    else if (status != 0)
        cs_cli_complain("%s: %.*s", tool, (int)strcspn(said ? said : "", "\n"),
                        said ? said : "cannot be run");
    free(said);
    return status >= 0 && status != 127;
}

/* True if the folder is empty. That of another simulation has files with the same names. */
static bool is_empty(const char *path)
{
    DIR *folder = opendir(path);
    int entries = 0;
    while (folder && readdir(folder))
        entries++;
    if (folder)
        closedir(folder);
    return folder && entries <= 2; /* . and .. */
}

/* Makes the folder of --keep, or takes an empty one. False after printing the reason. */
static bool make_kept_folder(struct cs_simulation *simulation, const char *path)
{
    char real[PATH_MAX];
    if ((mkdir(path, 0777) != 0 && errno != EEXIST) || !realpath(path, real)) {
        cs_cli_complain("%s: %s", path, strerror(errno));
        return false;
    }
    if (!is_empty(path)) {
        cs_cli_complain("--keep %s: not an empty folder. Name a new one.", path);
        return false;
    }
    snprintf(simulation->work, sizeof simulation->work, "%s", real);
    simulation->keep = true;
    return true;
}

/* Makes the simulation's folder: that of --keep, or a temporary one. False after printing the
 * reason. */
static bool make_folder(struct cs_simulation *simulation, const char *keep)
{
    const char *place = cs_temporary_place(), *work = simulation->work;
    if (keep && !make_kept_folder(simulation, keep))
        return false;
    if (!keep && !cs_temporary_folder_make(simulation->work, place, "simulate")) {
        cs_cli_complain("%s: %s", place, strerror(errno));
        return false;
    }
    if (strpbrk(work, ": "))
        cs_cli_complain("%s: LD_PRELOAD allows no blank and no colon in a path. %s another folder.",
                        work, keep ? "Name" : "Set TMPDIR to");
    return !strpbrk(work, ": ");
}

/* Prints that the program really writes to folders over which no layer is possible. */
static void warn_of_writing(const struct cs_simulation *simulation)
{
    const struct cs_private_layers *layers = &simulation->layers;
    const bool some = *layers->area && !layers->whole;
    cs_cli_complain(
        "%s: the program really writes to %s, because no private layer is possible "
        "over %s (%s). Nothing is computed, so files that it saves there hold zeros "
        "and replace yours. To prevent that, %s.",
        simulation->title,
        some ? "folders other than the working folder and those in its arguments" : layers->here,
        some ? "them" : "it", strerror(layers->error),
        some ? "name its output folders in its arguments" : "run it in a copy of the folder");
}

/* Sets the variables of the options that the command line gives. */
static void set_options(const struct cs_simulation *simulation,
                        struct cs_child_variables *variables)
{
    if (*simulation->preset)
        cs_child_variables_set(variables, "CONVSHIM_CONFIGFILE", "%s", simulation->preset);
    cs_child_variables_add(variables, &simulation->options);
}

/* In a child: prints the mistakes in the options that the library will read in the runs, whose
 * output is not shown. */
static int print_mistakes(void *ctx)
{
    static struct cs_config config; /* too large for the stack */
    const struct cs_simulation *simulation = ctx;
    struct cs_child_variables variables = {.item = NULL};
    cs_child_variables_remove(&variables, "CONVSHIM");
    set_options(simulation, &variables);
    if (cs_child_variables_apply(&variables))
        cs_command_config(&config, simulation->program.command, cs_cli_note, NULL);
    return 0;
}

bool cs_simulation_begin(struct cs_simulation *simulation, const char *library, const char *keep)
{
    char why[PATH_MAX + 128];
    if (!cs_preload_library(library, simulation->library, why, sizeof why)) {
        cs_cli_complain("%s", why);
        return false;
    }
    cs_interrupts_begin();
    (void)cs_child_run(print_mistakes, simulation);
    if (!find_device(simulation) || !make_folder(simulation, keep))
        return false;
    cs_private_layers_begin(&simulation->layers, simulation->program.command, simulation->work);
    if (simulation->layers.error)
        warn_of_writing(simulation);
    return write_file(simulation, "python", "sitecustomize.py", hook, 0600) &&
           write_file(simulation, "python", "framework_values.py", values, 0600) &&
           write_file(simulation, "bin", "nvidia-smi", nvidia_smi, 0700) &&
           write_stand_ins(simulation);
}

void cs_simulation_end(struct cs_simulation *simulation)
{
    cs_fork_server_close(&simulation->server);
    cs_private_layers_end(&simulation->layers, simulation->keep ? simulation->work : NULL);
    if (!simulation->keep)
        cs_temporary_folder_remove(simulation->work);
    cs_child_variables_free(&simulation->options);
    cs_interrupts_end();
}

/* --- a process's variables --- */

static void append_path(struct cs_text *list, const char *folder, const char *file)
{
    cs_text_put(list, "%s%s%s%s", list->length > 0 ? ":" : "", folder, *folder ? "/" : "", file);
}

static int is_library(const struct dirent *entry)
{
    const char *end = strstr(entry->d_name, ".so.");
    return strncmp(entry->d_name, "lib", 3) == 0 && end && end[4] >= '0' && end[4] <= '9';
}

/* Appends all libraries of a folder. A program that contains paths of its libraries then uses the
 * loaded ones instead. */
static void append_folder(struct cs_text *list, const char *folder)
{
    struct dirent **entry;
    int found = scandir(folder, &entry, is_library, alphasort);
    for (int i = 0; i < found; i++) {
        append_path(list, folder, entry[i]->d_name);
        free(entry[i]);
    }
    if (found >= 0)
        free(entry);
}

/* Appends the files that the user preloads, except our library: only runs with the library preload
 * it. */
static void append_own(struct cs_text *list)
{
    const char *rest = cs_cli_variable("LD_PRELOAD"), *file;
    size_t length;
    while (rest && (file = cs_preload_next(&rest, &length))) {
        char one[PATH_MAX];
        snprintf(one, sizeof one, "%.*s", (int)length, file);
        if (!cs_preload_is_library(file, length))
            append_path(list, "", one);
    }
}

/* Sets LD_PRELOAD and LD_LIBRARY_PATH to the simulated device and the stand-ins, in runs with the
 * library also to the library. */
static void set_preload(const struct cs_simulation *simulation, const struct cs_sim_run *run,
                        struct cs_child_variables *variables)
{
    const char *before = cs_cli_variable("LD_LIBRARY_PATH");
    char files[LIST] = "", device[PATH_MAX + 16], standins[PATH_MAX + 32];
    struct cs_text list = {files, sizeof files, 0};
    snprintf(device, sizeof device, "%s%s", simulation->device,
             simulation->program.cuda == 12 ? "/cuda12" : "");
    snprintf(standins, sizeof standins, "%s/standins", simulation->work);
    append_own(&list);
    append_folder(&list, device);
    append_folder(&list, standins);
    char *preload = run->with ? cs_preload_list(simulation->library, files) : strdup(files);
    variables->broken = variables->broken || !preload || list.length >= LIST;
    cs_child_variables_set(variables, "LD_PRELOAD", "%s", preload ? preload : "");
    cs_child_variables_set(variables, "LD_LIBRARY_PATH", "%s:%s%s%s", device, standins,
                           before ? ":" : "", before ? before : "");
    free(preload);
}

/* Adds the auditor (libsimdev-linked.so), which redirects CUDA runtimes inside of programs. */
static void set_audit(const struct cs_simulation *simulation, struct cs_child_variables *variables)
{
    const char *before = cs_cli_variable("LD_AUDIT");
    cs_child_variables_set(variables, "LD_AUDIT", "%s/libsimdev-linked.so%s%s", simulation->device,
                           before ? ":" : "", before ? before : "");
}

/* Sets the options of the library. */
static void set_library(const struct cs_simulation *simulation, const struct cs_sim_run *run,
                        struct cs_child_variables *variables)
{
    cs_child_variables_remove(variables, "CONVSHIM");
    set_options(simulation, variables);
    cs_child_variables_set(variables, "CONVSHIM_SUMMARY", "json:%s/summary.%%p.json", run->folder);
    /* As convshim run does. */
    if (!cs_cli_variable("NVTX_INJECTION64_PATH"))
        cs_child_variables_set(variables, "NVTX_INJECTION64_PATH", "%s", simulation->library);
}

const char *cs_sim_pytorch_settings(void)
{
    const char *settings = cs_cli_variable("PYTORCH_ALLOC_CONF");
    return settings ? settings : cs_cli_variable("PYTORCH_CUDA_ALLOC_CONF"); /* its older name */
}

/* Sets a number, or removes the variable if it is 0. */
static void set_number(struct cs_child_variables *variables, const char *name, int64_t number)
{
    if (number > 0)
        cs_child_variables_set(variables, name, "%lld", (long long)number);
    else
        cs_child_variables_remove(variables, name);
}

/* Sets the variables of the simulated device. */
static void set_device(const struct cs_simulation *simulation, const struct cs_sim_run *run,
                       struct cs_child_variables *variables)
{
    cs_child_variables_set(variables, "SIMDEV_MODE", "account");
    cs_child_variables_set(variables, "SIMDEV_PROFILE", "%s", run->device->path);
    cs_child_variables_set(variables, "SIMDEV_CUDNN_DIR", "%s", simulation->program.folder);
    cs_child_variables_set(variables, "SIMDEV_REPORT", "%s/report.%%p.json", run->folder);
    cs_child_variables_set(variables, "SIMDEV_PROGRESS", "%s/progress", run->folder);
    set_number(variables, "SIMDEV_CAPACITY", run->memory != run->device->memory ? run->memory : 0);
    set_number(variables, "SIMDEV_CONTEXT", run->context);
    cs_child_variables_set(variables, "SIMDEV_DEVICES", "%d", run->gpus > 0 ? run->gpus : 1);
    if (run->history)
        cs_child_variables_set(variables, "SIMDEV_RECORD", "%s/record.%%p", run->folder);
    else
        cs_child_variables_remove(variables, "SIMDEV_RECORD");
    cs_child_variables_set(variables, "SIMDEV_HOOK", "%s/python", run->folder);
    cs_child_variables_set(variables, "SIMDEV_HISTORY", "%d", run->history);
}

/* Sets defaults of frameworks, unless the user sets the variables: one thread, and expandable
 * segments as convshim run does. Both sides get them, so that the runs differ only by the library.
 */
static void set_defaults(struct cs_child_variables *variables)
{
    static const char *const teams[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                        "MKL_NUM_THREADS"};
    if (!cs_sim_pytorch_settings())
        cs_child_variables_set(variables, "PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True");
    for (size_t i = 0; i < sizeof teams / sizeof *teams; i++)
        if (!cs_cli_variable(teams[i]))
            cs_child_variables_set(variables, teams[i], "1");
}

/* Puts a folder of the simulation before those of a list. */
static void set_first(const struct cs_simulation *simulation, const char *name, const char *folder,
                      struct cs_child_variables *variables)
{
    const char *list = cs_cli_variable(name);
    const bool others = list && *list;
    cs_child_variables_set(variables, name, "%s/%s%s%s", simulation->work, folder,
                           others ? ":" : "", others ? list : "");
}

void cs_simulation_variables(const struct cs_simulation *simulation, const struct cs_sim_run *run,
                             struct cs_child_variables *variables)
{
    set_preload(simulation, run, variables);
    if (simulation->redirects)
        set_audit(simulation, variables);
    set_device(simulation, run, variables);
    set_defaults(variables);
    if (run->with)
        set_library(simulation, run, variables);
    set_first(simulation, "PATH", "bin", variables);
    set_first(simulation, "PYTHONPATH", "python", variables);
}
