/* `convshim doctor`: the data that all checks share, and the findings that they add. One thread. */
#ifndef CS_CLI_DOCTOR_DOCTOR_H
#define CS_CLI_DOCTOR_DOCTOR_H

#include "cli/common/table.h"
#include "cli/program/command_facts.h"
#include <stdbool.h>

enum cs_severity {
    CS_FINE,    /* as it should be */
    CS_NOTE,    /* information, nothing to fix */
    CS_WARNING, /* works worse than it could, or may not work */
    CS_FATAL,   /* will not work */
    CS_SEVERITIES
};

enum cs_check {
#define CS_CHECK(id, what, advice) CS_CHECK_##id,
#include "cli/doctor/doctor_checks.def"
#undef CS_CHECK
    CS_CHECKS
};

struct cs_doctor {
    const char *library_option; /* NULL: not given */
    char **command;             /* NULL-ended; NULL: none was given */

    /* Results of checks that later checks use. */
    struct cs_program_facts facts;
    bool driver; /* there is a libcuda.so.1 */

    enum cs_check check;      /* the one that runs */
    const char *advice;       /* of the next finding; NULL: that of the check */
    struct cs_table findings; /* rows: check, severity, subject, text, advice */
    int count[CS_SEVERITIES];
    char *fatal; /* "SUBJECT: TEXT" of the first fatal finding; owned; NULL: none */
};

/* Prepares a zeroed struct. */
void cs_doctor_begin(struct cs_doctor *doctor);
void cs_doctor_free(struct cs_doctor *doctor);

/* Makes one check. */
void cs_doctor_run(struct cs_doctor *doctor, enum cs_check check);

/* Adds a finding of the running check about `subject`, whose text `format` makes. Uses up
 * doctor->advice. */
void cs_doctor_add(struct cs_doctor *doctor, enum cs_severity severity, const char *subject,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The checks. Each adds its findings. A check for which there is nothing to check adds none. */
#define CS_CHECK(id, what, advice) void cs_doctor_##id(struct cs_doctor *doctor);
#include "cli/doctor/doctor_checks.def"
#undef CS_CHECK

/* Prints the conclusion from all findings for people. */
void cs_doctor_verdict(const struct cs_doctor *doctor);

#endif
