/* The check of a process that is running already. */
#include "cli/doctor/doctor.h"
#include "cli/program/command_facts.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIST = 1024
};

/* True if the process started with this variable, and its value is not empty. */
static bool started_with(int64_t pid, const char *name)
{
    char value[LIST];
    return cs_process_variable(pid, name, value, sizeof value) && *value;
}

/* Reports why the process lacks the library. The reason follows from the environment that the
 * process started with. */
static void report_missing_library(struct cs_doctor *doctor, const char *subject)
{
    char list[LIST] = "";
    (void)cs_process_variable(doctor->pid, "LD_PRELOAD", list, sizeof list);
    if (strstr(list, "libconvshim.so"))
        cs_doctor_add(doctor, CS_CHECK_process, CS_FATAL, subject,
                      "has not loaded libconvshim.so, although its LD_PRELOAD contains it: %s",
                      list);
    else if (started_with(doctor->pid, "CONVSHIM_RUN"))
        cs_doctor_add(
            doctor, CS_CHECK_process, CS_FATAL, subject,
            "has not loaded libconvshim.so: convshim run started it, then LD_PRELOAD was %s%s",
            *list ? "changed to " : "removed", list);
    else
        cs_doctor_add(doctor, CS_CHECK_process, CS_FATAL, subject,
                      "has not loaded libconvshim.so: it was started without convshim");
}

static void judge_library(struct cs_doctor *doctor, const char *subject,
                          const struct cs_process_files *files)
{
    char value[LIST] = "";
    if (!*files->library)
        report_missing_library(doctor, subject);
    else if (cs_process_variable(doctor->pid, "CONVSHIM", value, sizeof value) &&
             strcmp(value, "0") == 0)
        cs_doctor_add(doctor, CS_CHECK_process, CS_WARNING, subject,
                      "has loaded %s, but CONVSHIM=0 switches it off", files->library);
    else
        cs_doctor_add(doctor, CS_CHECK_process, CS_FINE, subject,
                      "has loaded %s. Its counters: convshim status %lld", files->library,
                      (long long)doctor->pid);
}

static void judge_cudnn(struct cs_doctor *doctor, const char *subject, const char *path)
{
    char title[64];
    struct cs_packages none = {.text = NULL};
    if (!*path) {
        cs_doctor_add(doctor, CS_CHECK_process, CS_NOTE, subject, "has not loaded cuDNN");
        cs_doctor_advise(doctor, "Look again when it computes on the GPU.");
        return;
    }
    int version = cs_libcudnn_version(path, &none);
    cs_libcudnn_title(path, version, title, sizeof title);
    if (cs_libcudnn_served(path, version))
        cs_doctor_add(doctor, CS_CHECK_process, CS_FINE, subject, "has loaded %s: %s", title, path);
    else
        cs_doctor_add(doctor, CS_CHECK_process, CS_WARNING, subject,
                      "has loaded %s: %s, which convshim does not support", title, path);
}

void cs_doctor_process(struct cs_doctor *doctor)
{
    static struct cs_process_files files;
    char subject[96];
    snprintf(subject, sizeof subject, "%lld", (long long)doctor->pid);
    if (!cs_process_files(doctor->pid, &files)) {
        bool gone = errno == ESRCH;
        cs_doctor_add(doctor, CS_CHECK_process, CS_FATAL, subject, "%s",
                      gone ? "no such process" : strerror(errno));
        cs_doctor_advise(doctor, gone ? "Find its id: pgrep -f NAME."
                                      : "Run doctor as the process's user, or as root.");
        return;
    }
    snprintf(subject, sizeof subject, "%lld (%s)", (long long)doctor->pid, files.program);
    judge_library(doctor, subject, &files);
    judge_cudnn(doctor, subject, files.cudnn);
}
