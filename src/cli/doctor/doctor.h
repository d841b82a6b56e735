/* `convshim doctor`: the data that all checks share, and the findings that they add. One thread. */
#ifndef CS_CLI_DOCTOR_DOCTOR_H
#define CS_CLI_DOCTOR_DOCTOR_H

#include "cli/program/command_facts.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cs_severity {
    CS_FINE,    /* as it should be */
    CS_NOTE,    /* information, nothing to fix */
    CS_WARNING, /* works worse than it could, or may not work */
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

struct cs_doctor {
    const char *library_option; /* NULL: not given */
    char **command;             /* NULL-ended; NULL: none was given */
    int64_t pid;                /* of a process that runs; 0: none was given */

    /* Results of checks that later checks use. */
    char library[PATH_MAX]; /* "": there is none */
    struct cs_program_facts facts;
    bool driver;        /* there is a libcuda.so.1 */
    bool channels_last; /* the command asks for tensors in that layout */

    struct cs_finding *finding;
    size_t findings;
    bool broken; /* out of memory */
};

/* Prints the conclusion from all findings for people. With --pid it prints nothing. */
void cs_doctor_verdict(const struct cs_doctor *doctor);

/* Adds a finding about `subject`, whose text `format` makes. */
void cs_doctor_add(struct cs_doctor *doctor, enum cs_check check, enum cs_severity severity,
                   const char *subject, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Replaces the advice of the last finding by `advice`, a static text. */
void cs_doctor_advise(struct cs_doctor *doctor, const char *advice);

/* The checks. Each adds its findings. A check for which there is nothing to check may add none. */
#define CS_CHECK(id, what, advice) void cs_doctor_##id(struct cs_doctor *doctor);
#include "cli/doctor/doctor_checks.def"
#undef CS_CHECK

void cs_doctor_free(struct cs_doctor *doctor);

#endif
