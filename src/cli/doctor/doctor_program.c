/* Checks of the command: the program that would run, and the Python that would import frameworks.
 */
#include "cli/doctor/doctor.h"
#include "cli/program/command_facts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char check_its_program[] = "If it starts a Python program, check that: convshim "
                                        "doctor -- venv/bin/python main.py. Or check "
                                        "it while it runs: convshim doctor --pid PID.";

static void judge_program(struct cs_doctor *doctor, const char *subject)
{
    char *program = doctor->facts.program;
    bool readable;
    const char *why = cs_program_obstacle(program, &readable);
    if (why)
        cs_doctor_add(doctor, CS_CHECK_program, CS_FATAL, subject, "%s: %s", program, why);
    else
        cs_doctor_add(doctor, CS_CHECK_program, CS_FINE, subject, "runs %s", program);
    if (!readable)
        program[0] = '\0';
}

static void judge_file(struct cs_doctor *doctor)
{
    const char *file = cs_program_script_file(doctor->command);
    if (!file || access(file, R_OK) == 0)
        return;
    cs_doctor_add(doctor, CS_CHECK_program, CS_FATAL, file, "no such file");
    cs_doctor_advise(doctor, "Check the path of the script.");
}

void cs_doctor_program(struct cs_doctor *doctor)
{
    if (!doctor->command) {
        cs_doctor_add(doctor, CS_CHECK_program, CS_FINE, "command",
                      "not given, so the whole machine is checked");
        return;
    }
    doctor->command = cs_wrapper_unwrap(doctor->command);
    const char *name = doctor->command[0];
    if (!cs_program_find(&doctor->facts, doctor->command)) {
        cs_doctor_add(doctor, CS_CHECK_program, CS_FATAL, name,
                      "not found, not executable, or its interpreter is missing");
        cs_doctor_advise(doctor,
                         "Check its spelling and PATH, or give its path. For a script, also "
                         "check the line after #!.");
        return;
    }
    judge_program(doctor, name);
    judge_file(doctor);
}

void cs_doctor_python(struct cs_doctor *doctor)
{
    enum {
        WHY = 512
    };
    char why[WHY];
    struct cs_program_facts *facts = &doctor->facts;
    if (doctor->command && !*facts->python) {
        cs_doctor_add(doctor, CS_CHECK_python, CS_NOTE, "Python",
                      "%s is not Python, so frameworks that it may start were not searched",
                      doctor->command[0]);
        cs_doctor_advise(doctor, check_its_program);
        return;
    }
    if (!doctor->command && !cs_search_path("python3", facts->python, sizeof facts->python)) {
        cs_doctor_add(doctor, CS_CHECK_python, CS_NOTE, "Python",
                      "no python3 in PATH, so PyTorch, JAX and others were not searched");
        return;
    }
    if (!cs_program_packages(facts, why, sizeof why))
        cs_doctor_add(doctor, CS_CHECK_python, CS_WARNING, "Python",
                      "%s cannot list its packages, so frameworks were not searched: %s",
                      facts->python, why);
    else
        cs_doctor_add(doctor, CS_CHECK_python, facts->shell ? CS_NOTE : CS_FINE, "Python",
                      "%s in %s, %zu packages%s", facts->packages.version, facts->packages.python,
                      facts->packages.packages,
                      facts->shell ? ". It is the first in PATH, and a script may start another"
                                   : "");
    if (facts->shell)
        cs_doctor_advise(doctor, check_its_program);
}

/* --- channels_last, whose convolutions often need no workspace --- */

/* The word of the command that requests channels_last, as options of programs spell it:
 * --force-channels-last, --opt-channelslast. NULL if there is none. */
static const char *find_request(const struct cs_doctor *doctor)
{
    for (char **word = doctor->command; word && *word; word++)
        if (strcasestr(*word, "channels-last") || strcasestr(*word, "channels_last") ||
            strcasestr(*word, "channelslast"))
            return *word;
    return NULL;
}

void cs_doctor_layout(struct cs_doctor *doctor)
{
    const char *where = find_request(doctor);
    if (where)
        cs_doctor_add(doctor, CS_CHECK_layout, CS_NOTE, where,
                      "uses channels_last. Such tensors often require no workspace, so that "
                      "convshim saves nothing");
    else if (doctor->command)
        cs_doctor_add(doctor, CS_CHECK_layout, CS_FINE, "layout",
                      "no word of the command requests channels_last");
    doctor->channels_last = where != NULL;
}
