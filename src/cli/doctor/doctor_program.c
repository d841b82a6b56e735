/* Checks of the command: its program, its Python, and the files that call cuDNN. */
#include "base/path.h"
#include "cli/doctor/doctor.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    WHY = 512,
    NAME = 128
};

static const char check_its_program[] = "If it starts a Python program, check that: convshim "
                                        "doctor -- venv/bin/python main.py. Or check "
                                        "it while it runs: convshim status PID.";

/* Returns the script of a Python command: its first word that is no option. NULL: there is none, as
 * with -c and -m. */
static const char *script_of(char *const *command)
{
    for (char *const *word = command + 1; *word; word++) {
        if ((*word)[0] != '-')
            return *word;
        if (strcmp(*word, "-c") == 0 || strcmp(*word, "-m") == 0 || strcmp(*word, "-") == 0)
            return NULL;
        if ((strcmp(*word, "-W") == 0 || strcmp(*word, "-X") == 0) && word[1])
            word++;
    }
    return NULL;
}

/* Reports a script of Python that does not exist. */
static void check_script(struct cs_doctor *doctor)
{
    const char *script = script_of(doctor->command);
    if (!script || access(script, R_OK) == 0)
        return;
    doctor->advice = "Check its spelling and the working folder.";
    cs_doctor_add(doctor, CS_FATAL, script, "%s", strerror(errno));
}

void cs_doctor_program(struct cs_doctor *doctor)
{
    bool readable;
    if (!doctor->command) {
        cs_doctor_add(doctor, CS_FINE, "command", "not given, so the whole machine is checked");
        return;
    }
    doctor->command = cs_wrapper_unwrap(doctor->command);
    const char *name = doctor->command[0];
    if (!cs_program_find(&doctor->facts, doctor->command)) {
        doctor->advice = "Check its spelling and PATH, or give its path. For a script, also "
                         "check the line after #!.";
        cs_doctor_add(doctor, CS_FATAL, name,
                      "not found, not executable, or its interpreter is missing");
        return;
    }
    char *program = doctor->facts.program;
    const char *why = cs_program_obstacle(program, &readable);
    if (why)
        cs_doctor_add(doctor, CS_FATAL, name, "%s: %s", program, why);
    else
        cs_doctor_add(doctor, CS_FINE, name, "runs %s", program);
    if (*program && strcmp(program, doctor->facts.python) == 0)
        check_script(doctor);
    if (!readable)
        program[0] = '\0';
}

void cs_doctor_python(struct cs_doctor *doctor)
{
    char why[WHY];
    struct cs_program_facts *facts = &doctor->facts;
    if (doctor->command && !*facts->python) {
        doctor->advice = check_its_program;
        cs_doctor_add(doctor, CS_NOTE, "Python",
                      "%s is not Python, so frameworks that it may start were not searched",
                      doctor->command[0]);
        return;
    }
    if (!doctor->command && !cs_search_path("python3", facts->python, sizeof facts->python)) {
        cs_doctor_add(doctor, CS_NOTE, "Python",
                      "no python3 in PATH, so PyTorch, JAX and others were not searched");
        return;
    }
    if (facts->shell)
        doctor->advice = check_its_program;
    if (!cs_frameworks_find(facts, why, sizeof why))
        cs_doctor_add(doctor, CS_WARNING, "Python",
                      "%s cannot list its packages, so frameworks were not searched: %s",
                      facts->python, why);
    else
        cs_doctor_add(doctor, facts->shell ? CS_NOTE : CS_FINE, "Python", "%s in %s%s",
                      facts->python_version, facts->python,
                      facts->shell ? ". It is the first in PATH, and a script may start another"
                                   : "");
}

/* --- the files that call cuDNN --- */

/* Adds a finding about one file of a subject. */
static void report_client(struct cs_doctor *doctor, const struct cs_examined *subject,
                          const char *name, const struct cs_client *client)
{
    const char *file = cs_path_file(client->path), *cudnn = subject->cudnn;
    const char *way = client->linkage == CS_LINKAGE_LINKED
                          ? "links cuDNN (intercepted with LD_PRELOAD)"
                          : "looks up cuDNN (intercepted with dlsym)";
    char title[64];
    cs_libcudnn_title(subject->cudnn_version, title, sizeof title);
    if (client->linkage == CS_LINKAGE_INSIDE) {
        doctor->advice = "Use a build that loads libcudnn as a shared library. A statically linked "
                         "cuDNN cannot be intercepted.";
        cs_doctor_add(doctor, CS_FATAL, name, "%s contains a statically linked cuDNN",
                      client->path);
    } else if (!*cudnn)
        cs_doctor_add(doctor, CS_WARNING, name, "%s %s. The loader finds no libcudnn for it", file,
                      way);
    else if (!cs_libcudnn_served(subject->cudnn_version))
        cs_doctor_add(
            doctor, CS_FATAL, name,
            "%s loads %s in %s: convshim supports only cuDNN 9, so all calls run unchanged", file,
            title, cudnn);
    else if (subject->packaged && *subject->asked)
        cs_doctor_add(
            doctor, CS_NOTE, name,
            "%s %s. The loader finds no libcudnn for it, but a program that %s loads %s in %s",
            file, way, subject->asked, title, cudnn);
    else
        cs_doctor_add(doctor, CS_FINE, name, "%s %s: %s in %s", file, way, title, cudnn);
}

/* True if this PyTorch runs a contiguous 16-bit conv3d with a filter larger than 1 without cuDNN,
 * as reported by ConvParams::use_cudnn in the wheels 2.8.0 to 2.15.0. */
static bool is_bypassing(const struct cs_examined *torch)
{
    int major = 0, minor = 0, patch = 0;
    const int cudnn = torch->cudnn_version;
    (void)sscanf(torch->version, "%d.%d.%d", &major, &minor, &patch);
    if (strcmp(torch->package, "torch") != 0 || major != 2 || minor != 9)
        return false;
    return cudnn >= 90800 && (patch == 0 || cudnn < 91500);
}

/* Reports a cuDNN that cannot do all that it should: PyTorch does not use it for conv3d, or the
 * loader mixes it with another one. */
static void report_limits(struct cs_doctor *doctor, const struct cs_examined *subject,
                          const char *name)
{
    char line[2 * PATH_MAX + 256];
    if (cs_libcudnn_foreign(subject->cudnn, line, sizeof line)) {
        doctor->advice = "Put only one cuDNN into LD_LIBRARY_PATH.";
        cs_doctor_add(doctor, CS_WARNING, name, "%s", line);
    }
    if (is_bypassing(subject)) {
        doctor->advice =
            "Upgrade cuDNN (pip install -U nvidia-cudnn-cu12 or -cu13) to 9.15 or newer, and "
            "PyTorch to newer than 2.9.0. Or use channels_last_3d tensors, which cuDNN handles in "
            "any version.";
        cs_doctor_add(
            doctor, CS_WARNING, name,
            "with %s PyTorch runs contiguous 16-bit conv3d without cuDNN (vol2col, in larger "
            "buffers), so convshim cannot tile it",
            cs_libcudnn_title(subject->cudnn_version, line, sizeof line));
    }
}

/* Advice for a command that is not Python, for which there is no CUDA build to install. */
static const char other_command[] =
    "Check the program that uses cuDNN: convshim doctor -- COMMAND.";

void cs_doctor_framework(struct cs_doctor *doctor)
{
    struct cs_program_facts *facts = &doctor->facts;
    char name[NAME];
    if (!facts->python_version && *facts->program)
        cs_own_files_find(facts);
    for (size_t i = 0; i < facts->subjects; i++) {
        const struct cs_examined *subject = &facts->subject[i];
        snprintf(name, sizeof name, "%s%s%s", subject->title, *subject->version ? " " : "",
                 subject->version);
        for (size_t j = 0; j < subject->clients; j++)
            report_client(doctor, subject, name, &subject->client[j]);
        report_limits(doctor, subject, name);
        if (subject->clients > 0)
            continue;
        doctor->advice = facts->python_version ? NULL : other_command;
        cs_doctor_add(doctor, CS_NOTE, name,
                      "none of its libraries uses cuDNN. It is a CPU-only build, or it loads its "
                      "CUDA part later");
    }
    if (facts->subjects == 0) {
        doctor->advice = doctor->command && !*facts->python ? other_command : NULL;
        cs_doctor_add(doctor, CS_NOTE, "frameworks", "no framework was found");
    }
}
