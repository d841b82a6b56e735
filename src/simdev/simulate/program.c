/* Finds the libraries that a program would load. */
#include "simdev/simulate/program.h"

#include "base/path.h"
#include "cli/common/cli.h"
#include "cli/program/command_facts.h"
#include "cli/program/elf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CUDNN "libcudnn.so.9"
#define RUNTIME "libcudart.so."

enum {
    DEFAULT_CUDA = 13
};

/* Libraries that do not start without a device. The simulated device's substitutes replace them. */
static const char *const stand_ins[] = {"libcublas.so.",   "libcublasLt.so.", "libcusolver.so.",
                                        "libcusparse.so.", "libcufft.so.",    "libcurand.so.",
                                        "libcupti.so.",    "libnccl.so."};

static void add_library(struct cs_sim_program *program, const char *path)
{
    for (size_t i = 0; i < program->libraries; i++)
        if (strcmp(cs_path_file(program->library[i]), cs_path_file(path)) == 0)
            return;
    if (program->libraries < CS_MOST_LIBRARIES)
        snprintf(program->library[program->libraries++], PATH_MAX, "%s", path);
}

/* Takes a library that the program would load (cs_loader_fn): the version of CUDA's runtime, or a
 * library that needs a stand-in. `path`: NULL: not known. */
static void look_at_library(void *ctx, const char *name, const char *path)
{
    struct cs_sim_program *program = ctx;
    const char *file = cs_path_file(name);
    if (strncmp(file, RUNTIME, strlen(RUNTIME)) == 0) {
        const int version = atoi(file + strlen(RUNTIME));
        if (program->cuda == 0 && (version == 12 || version == 13))
            program->cuda = version;
    }
    for (size_t i = 0; path && i < sizeof stand_ins / sizeof *stand_ins; i++)
        if (strncmp(file, stand_ins[i], strlen(stand_ins[i])) == 0)
            add_library(program, path);
}

/* Takes the libraries that a file would load. If one is missing, the loader lists nothing for the
 * file, so the libraries that the file itself names are taken, too. */
static void look_at_file(struct cs_sim_program *program, const char *path)
{
    struct cs_elf elf;
    const char *why;
    cs_loader_list(path, look_at_library, program);
    if (!cs_elf_open(&elf, path, &why))
        return;
    for (int i = 0; i < elf.needs; i++)
        look_at_library(program, elf.needed[i], NULL);
    cs_elf_close(&elf);
}

/* Takes a cuDNN: its title, its folder, and a part of another cuDNN that the loader would mix in.
 */
static void take_cudnn(struct cs_sim_program *program, const char *path)
{
    cs_libcudnn_title(cs_libcudnn_version(path), program->cudnn, sizeof program->cudnn);
    snprintf(program->folder, sizeof program->folder, "%.*s", (int)(cs_path_file(path) - path),
             path);
    size_t length = strlen(program->folder);
    if (length > 1 && program->folder[length - 1] == '/')
        program->folder[length - 1] = '\0';
    if (!cs_libcudnn_foreign(path, program->foreign, sizeof program->foreign))
        program->foreign[0] = '\0';
}

/* Takes the first cuDNN 9 that a framework or the command loads, and the libraries of all files
 * that use a cuDNN 9. */
static void choose_cudnn(struct cs_sim_program *program, const struct cs_program_facts *facts)
{
    for (size_t i = 0; i < facts->subjects; i++) {
        const struct cs_examined *subject = &facts->subject[i];
        if (!cs_libcudnn_served(subject->cudnn_version))
            continue;
        for (size_t j = 0; j < subject->clients; j++)
            look_at_file(program, subject->client[j].path);
        if (*program->folder)
            continue;
        take_cudnn(program, subject->cudnn);
        if (*subject->package)
            snprintf(program->framework, sizeof program->framework, "%s %s", subject->title,
                     subject->version);
    }
}

/* Takes the cuDNN of --cudnn, a file or its folder. False after printing the reason. */
static bool take_named(struct cs_sim_program *program, const char *named)
{
    char path[PATH_MAX], real[PATH_MAX];
    struct stat status;
    bool folder = stat(named, &status) == 0 && S_ISDIR(status.st_mode);
    int length = snprintf(path, sizeof path, "%s%s", named, folder ? "/" CUDNN : "");
    if (length >= PATH_MAX || access(path, R_OK) != 0 || !realpath(path, real)) {
        cs_cli_complain("--cudnn %s: no " CUDNN " there", named);
        return false;
    }
    program->framework[0] = '\0';
    /* Uses the link, not `real`, whose name may differ from the name that programs load. */
    take_cudnn(program, path);
    if (program->folder[0] != '/' && realpath(*program->folder ? program->folder : ".", real))
        snprintf(program->folder, sizeof program->folder, "%s", real);
    return true;
}

/* Prints why the first word of a command cannot be run. */
static void complain_of(const char *word)
{
    const size_t length = strlen(word);
    char path[PATH_MAX];
    if (*word == '-' || strncmp(word, "\u2013", 3) == 0 || strncmp(word, "\u2014", 3) == 0)
        cs_cli_complain("%s: a program is expected here. Options begin with two hyphens, and stand "
                        "before the program: convshim simulate --device t4 -- python app.py",
                        word);
    else if (strchr(word, ' '))
        cs_cli_complain("%s: one word with blanks, and no such program. Without quotes: convshim "
                        "simulate -- %s",
                        word, word);
    else if (strchr(word, '='))
        cs_cli_complain("%s: a variable, not a program. Set it with env: convshim simulate -- env "
                        "%s COMMAND",
                        word, word);
    else if (length > 3 && strcmp(word + length - 3, ".py") == 0)
        cs_cli_complain("%s: not executable. Run it with Python: convshim simulate -- python %s",
                        word, word);
    else if (cs_search_path(word, path, sizeof path))
        cs_cli_complain("%s: its interpreter, which its first line names after #!, was not found. "
                        "Install it, or run the script with another one.",
                        word);
    else
        cs_cli_complain("%s: not found, or not executable. Check its spelling and PATH.", word);
}

/* Finds the program, its cuDNN and its libraries. False after printing the reason. */
static bool examine_program(struct cs_sim_program *program, struct cs_program_facts *facts,
                            const char *cudnn)
{
    cs_program_examine(facts, program->command);
    if (!*facts->program) {
        complain_of(*cs_wrapper_unwrap(program->command));
        return false;
    }
    snprintf(program->python, sizeof program->python, "%s",
             *facts->python ? facts->python : "python3");
    choose_cudnn(program, facts);
    /* Frameworks open the libraries in NVIDIA's packages themselves. */
    for (size_t i = 0; i < facts->nvidia_libraries; i++)
        look_at_library(program, facts->nvidia[i], facts->nvidia[i]);
    if (!*facts->python)
        look_at_file(program, facts->program);
    if (facts->broken) {
        cs_cli_complain("out of memory");
        return false;
    }
    if (cudnn && !take_named(program, cudnn))
        return false;
    if (!*program->folder && facts->shell)
        cs_cli_complain("simulate: %s is run by a shell, so the Python that it starts is not known "
                        "and no cuDNN was found. Run that Python itself (venv/bin/python app.py), "
                        "or name its cuDNN: --cudnn PATH",
                        program->command[0]);
    if (*program->foreign)
        cs_cli_complain("simulate: %s Put only one cuDNN into LD_LIBRARY_PATH.", program->foreign);
    return true;
}

bool cs_sim_program_find(struct cs_sim_program *program, char **command, const char *cudnn,
                         int cuda)
{
    static struct cs_program_facts facts; /* too large for the stack */
    *program = (struct cs_sim_program){.command = command, .cuda = cuda};
    facts = (struct cs_program_facts){.shell = false};
    const bool found = examine_program(program, &facts, cudnn);
    if (program->cuda == 0)
        program->cuda = DEFAULT_CUDA;
    cs_program_free(&facts);
    return found;
}
