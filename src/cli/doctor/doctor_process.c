/* The check of a process that is running already. */
#include "cli/doctor/doctor.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    LIST = 1024
};

/* The value of a variable that the process was started with; "" if it was not set. */
static const char *started_with(const struct cs_doctor *doctor, const char *name, char value[LIST])
{
    return cs_process_variable(doctor->pid, name, value, LIST) ? value : "";
}

/* Reports why the process lacks the library. The reason follows from the environment that the
 * process started with. */
static void report_missing_library(struct cs_doctor *doctor, const char *subject)
{
    char value[LIST], run[LIST];
    const char *list = started_with(doctor, "LD_PRELOAD", value);
    if (strstr(list, "libconvshim.so"))
        cs_doctor_add(doctor, CS_FATAL, subject,
                      "has not loaded libconvshim.so, although its LD_PRELOAD contains it: %s",
                      list);
    else if (*started_with(doctor, "CONVSHIM_RUN", run))
        cs_doctor_add(
            doctor, CS_FATAL, subject,
            "has not loaded libconvshim.so: convshim run started it, then LD_PRELOAD was %s%s",
            *list ? "changed to " : "removed", list);
    else
        cs_doctor_add(doctor, CS_FATAL, subject,
                      "has not loaded libconvshim.so: it was started without convshim");
}

static void judge_library(struct cs_doctor *doctor, const char *subject, const char *library)
{
    char value[LIST];
    if (!*library)
        report_missing_library(doctor, subject);
    else if (strcmp(started_with(doctor, "CONVSHIM", value), "0") == 0)
        cs_doctor_add(doctor, CS_WARNING, subject, "has loaded %s, but CONVSHIM=0 switches it off",
                      library);
    else
        cs_doctor_add(doctor, CS_FINE, subject, "has loaded %s. Its counters: convshim status %lld",
                      library, (long long)doctor->pid);
}

static void judge_cudnn(struct cs_doctor *doctor, const char *subject, const char *path)
{
    char title[64];
    const int version = cs_libcudnn_version(path);
    if (!*path) {
        doctor->advice = "Look again when it computes on the GPU.";
        cs_doctor_add(doctor, CS_NOTE, subject, "has not loaded cuDNN");
        return;
    }
    const bool served = cs_libcudnn_served(path, version);
    cs_doctor_add(doctor, served ? CS_FINE : CS_WARNING, subject, "has loaded %s: %s%s",
                  cs_libcudnn_title(path, version, title, sizeof title), path,
                  served ? "" : ", which convshim does not support");
}

void cs_doctor_process(struct cs_doctor *doctor)
{
    static struct cs_process_files files;
    char subject[96];
    snprintf(subject, sizeof subject, "%lld", (long long)doctor->pid);
    if (!cs_process_files(doctor->pid, &files)) {
        bool gone = errno == ESRCH;
        doctor->advice =
            gone ? "Find its id: pgrep -f NAME." : "Run doctor as the process's user, or as root.";
        cs_doctor_add(doctor, CS_FATAL, subject, "%s", gone ? "no such process" : strerror(errno));
        return;
    }
    snprintf(subject, sizeof subject, "%lld (%s)", (long long)doctor->pid, files.program);
    judge_library(doctor, subject, files.library);
    judge_cudnn(doctor, subject, files.cudnn);
}
