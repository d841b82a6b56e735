/* `convshim doctor`: the data that all checks share, and the findings that they add. One thread. */
#ifndef CS_CLI_DOCTOR_DOCTOR_H
#define CS_CLI_DOCTOR_DOCTOR_H

#include "cli/program/linkage.h"
#include "cli/program/packages.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cs_severity {
    CS_FINE,    /* as it should be */
    CS_NOTE,    /* information, nothing to fix */
    CS_WARNING, /* works less well than it could, or may */
    CS_FATAL    /* will not work */
};

enum cs_check {
#define CS_CHECK(id, what, advice) CS_CHECK_##id,
#include "cli/doctor/doctor_checks.def"
#undef CS_CHECK
    CS_CHECKS
};

struct cs_finding {
    enum cs_check check;
    enum cs_severity severity;
    char *subject, *text; /* owned */
    const char *advice;   /* static; NULL: that of the check */
};

/* A file that links, looks up or contains cuDNN. */
struct cs_client {
    enum cs_linkage linkage;
    bool names_deepbind; /* the word is among its constants */
    bool names_none;     /* it calls functions of cuDNN, and no library that it loads is one */
    char path[PATH_MAX];
    char cudnn[PATH_MAX]; /* the cuDNN that it would load; "": none was found */
    int version;          /* of that, as 90800; 0: not known */
    bool packaged;        /* it is that of NVIDIA's package, which the loader does not find */
};

/* A subject of the checks: a framework, or the command. */
struct cs_examined {
    const char *title;
    const char *package; /* "": the command, which is none */
    char version[64];    /* "" likewise */
    const char *asked;   /* see frameworks.def */
    struct cs_client *client;
    size_t clients;
};

struct cs_doctor {
    const char *library_option; /* NULL: not given */
    char **command;             /* NULL-ended; NULL: none was given */
    int64_t pid;                /* of a process that runs; 0: none was given */

    /* Results of checks that later checks use. */
    char library[PATH_MAX]; /* "": there is none */
    char program[PATH_MAX]; /* the program of COMMAND; "": none, or not found */
    char script[PATH_MAX];  /* the script that COMMAND passes to a shell; "" if there is none */
    char script_folder[PATH_MAX]; /* that the script goes to; "": none */
    char *script_text;            /* text of that or of a shell's -c (start_script.h); NULL: none */
    char python[PATH_MAX];
    bool driver;        /* there is a libcuda.so.1 */
    bool channels_last; /* the command asks for tensors in that layout */
    struct cs_packages packages;
    struct cs_examined *subject;
    size_t subjects;

    struct cs_finding *finding;
    size_t findings;
    bool broken; /* out of memory */
};

/* One line that concludes from all findings, for people. */
void cs_doctor_verdict(const struct cs_doctor *doctor);

/* Adds a finding about `subject`. */
void cs_doctor_add(struct cs_doctor *doctor, enum cs_check check, enum cs_severity severity,
                   const char *subject, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Where a relative word of the script may be: place 0 is the folder that all is started in, 1 that
 * of the script, 2 the one that the script goes to; false beyond. `path` is "" where there is none.
 */
bool cs_doctor_place(const struct cs_doctor *doctor, int place, const char *word,
                     char path[PATH_MAX]);

/* The file that a command is to run, if it is a Python and names one; NULL: a module, text or
 * nothing. */
const char *cs_doctor_python_file(char **command);

/* Replaces the advice of the last finding by `advice`, a static text. */
void cs_doctor_advise(struct cs_doctor *doctor, const char *advice);

/* The checks. Each makes at least one finding, also if it could not be made. Checks of frameworks
 * make one for each framework. */
#define CS_CHECK(id, what, advice) void cs_doctor_##id(struct cs_doctor *doctor);
#include "cli/doctor/doctor_checks.def"
#undef CS_CHECK

/* Finds the files by which the command uses cuDNN, and the cuDNN that they would load. Of `doctor`
 * only `command` is set. Fills `program`, `python`, `packages` and `subject`. The caller calls
 * cs_doctor_free afterwards. */
void cs_doctor_examine(struct cs_doctor *doctor);
void cs_doctor_free(struct cs_doctor *doctor);

/* Prints the profile of the GPU present, reported by the cuDNN of that file or folder (NULL: any).
 * Returns the status to end with. */
int cs_doctor_capture(const char *cudnn);

#endif
