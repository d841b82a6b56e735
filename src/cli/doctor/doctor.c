/* `convshim doctor`: makes the checks, and prints their findings and the conclusion. */
#include "cli/doctor/doctor.h"

#include "cli/common/cli.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    const char *library;
    enum cs_format format;
};

#define CS_CLI_TARGET struct request
#define CS_CLI_OPTIONS "cli/doctor/doctor_options.def"
#include "cli/common/command_options.def"

static const struct cs_cli_command command = {
    .name = "doctor",
    .usage = "convshim doctor [options] [--] [COMMAND [ARGUMENT...]]",
    .about = "Checks if convshim can intercept the programs of this machine, or COMMAND: the\n"
             "cuDNN and CUDA that they find, obstacles, and remedies. doctor only reads files.\n"
             "It runs nothing of COMMAND or of a framework, except Python to list its\n"
             "packages.\n\n"
             "Status: 0 if it will work, perhaps with limits (warnings); 1 if it will not.",
    .option = rows,
    .options = sizeof rows / sizeof *rows,
    .stops = true,
};
const struct cs_cli_command *const cs_cli_command_doctor = &command;

static const struct check {
    const char *name, *advice;
    void (*run)(struct cs_doctor *doctor);
} checks[CS_CHECKS] = {
#define CS_CHECK(id, what, advice) {#id, advice, cs_doctor_##id},
#include "cli/doctor/doctor_checks.def"
#undef CS_CHECK
};

/* --- findings --- */

void cs_doctor_begin(struct cs_doctor *doctor)
{
    static const struct cs_column columns[] = {{"id", "id", CS_CELL_TEXT},
                                               {"severity", "severity", CS_CELL_TEXT},
                                               {"subject", "subject", CS_CELL_TEXT},
                                               {"text", "text", CS_CELL_TEXT},
                                               {"advice", "advice", CS_CELL_TEXT}};
    cs_table_init(&doctor->findings, columns, sizeof columns / sizeof *columns);
}

void cs_doctor_free(struct cs_doctor *doctor)
{
    cs_table_fini(&doctor->findings);
    free(doctor->fatal);
    cs_program_free(&doctor->facts);
    memset(doctor, 0, sizeof *doctor);
}

void cs_doctor_run(struct cs_doctor *doctor, enum cs_check check)
{
    doctor->check = check;
    checks[check].run(doctor);
}

/* Adds a finding with its text. False: memory is short. */
static bool add_finding(struct cs_doctor *doctor, enum cs_severity severity, const char *subject,
                        const char *text)
{
    static const char *const severities[] = {"ok", "note", "warning", "fatal"};
    const struct check *check = &checks[doctor->check];
    const char *advice = doctor->advice ? doctor->advice : check->advice;
    cs_table_add(&doctor->findings,
                 (const struct cs_value[]){{.text = check->name},
                                           {.text = severities[severity]},
                                           {.text = subject},
                                           {.text = text},
                                           {.text = severity > CS_FINE ? advice : NULL}});
    doctor->count[severity]++;
    doctor->advice = NULL;
    return severity < CS_FATAL || doctor->fatal ||
           asprintf(&doctor->fatal, "%s: %s", subject, text) > 0;
}

void cs_doctor_add(struct cs_doctor *doctor, enum cs_severity severity, const char *subject,
                   const char *format, ...)
{
    char *text;
    va_list list;
    va_start(list, format);
    if (vasprintf(&text, format, list) < 0)
        text = NULL;
    va_end(list);
    if (!text || !add_finding(doctor, severity, subject, text))
        doctor->findings.broken = true;
    free(text);
}

static void print_findings(const struct cs_doctor *doctor)
{
    for (size_t i = 0; i < doctor->findings.rows; i++) {
        const struct cs_value *value = cs_table_row(&doctor->findings, i);
        printf("%-8s%-10s %s: %s\n", value[1].text, value[0].text, value[2].text, value[3].text);
        if (value[4].text)
            printf("%-19s-> %s\n", "", value[4].text);
    }
}

/* --- the conclusion --- */

/* True if files of the subject call a supported cuDNN, without a condition. */
static bool is_served(const struct cs_examined *subject)
{
    return cs_libcudnn_served(subject->cudnn_version) && !(subject->packaged && *subject->asked);
}

/* Prints "PyTorch 2.15.0 with cuDNN 9.26.0, JAX 0.7 with cuDNN 9.19.0". */
static void print_served(const struct cs_program_facts *facts)
{
    const char *comma = "";
    char title[64];
    for (size_t i = 0; i < facts->subjects; i++) {
        const struct cs_examined *subject = &facts->subject[i];
        if (!is_served(subject))
            continue;
        printf("%s%s%s%s with %s", comma, subject->title, *subject->version ? " " : "",
               subject->version, cs_libcudnn_title(subject->cudnn_version, title, sizeof title));
        comma = ", ";
    }
}

static bool is_any_served(const struct cs_program_facts *facts)
{
    for (size_t i = 0; i < facts->subjects; i++)
        if (is_served(&facts->subject[i]))
            return true;
    return false;
}

void cs_doctor_verdict(const struct cs_doctor *doctor)
{
    putchar('\n');
    if (doctor->fatal) {
        printf("This will not work: %s.\n", doctor->fatal);
        return;
    }
    if (!is_any_served(&doctor->facts)) {
        puts(doctor->command
                 ? "No cuDNN was found in this command, so convshim has nothing to do."
                 : "convshim is installed, but no framework that uses cuDNN was found.");
        return;
    }
    if (doctor->driver)
        puts("To compare results and times on this GPU: convshim verify");
    print_served(&doctor->facts);
    printf(" %s be intercepted%s.%s\n", doctor->driver ? "will" : "would",
           doctor->count[CS_WARNING] > 0 ? ", with limits (see the warnings)" : "",
           doctor->driver ? ""
                          : " There is no GPU here. To simulate one: convshim simulate -- COMMAND");
}

/* Makes all checks and prints their findings. Returns the exit status. */
static int make_checks(struct cs_doctor *doctor, enum cs_format format)
{
    for (enum cs_check check = 0; check < CS_CHECKS; check++)
        cs_doctor_run(doctor, check);
    bool printed = !doctor->findings.broken;
    if (printed && format != CS_FORMAT_TEXT) {
        printed = cs_table_print(&doctor->findings, format, stdout);
    } else if (printed) {
        print_findings(doctor);
        cs_doctor_verdict(doctor);
    }
    if (!printed || doctor->facts.broken) {
        cs_cli_complain("out of memory: some checks are missing");
        return CS_CLI_NONE;
    }
    return doctor->count[CS_FATAL] > 0 ? CS_CLI_NO : CS_CLI_OK;
}

int cs_cli_doctor(int argc, char **argv)
{
    static struct cs_doctor doctor; /* too large for the stack */
    struct request request = {.format = CS_FORMAT_TEXT};
    int operand, status = cs_cli_parse(&command, argc, argv, NULL, &request, &operand);
    if (status >= 0)
        return status;
    doctor.library_option = request.library;
    doctor.command = operand < argc ? argv + operand : NULL;
    cs_doctor_begin(&doctor);
    status = make_checks(&doctor, request.format);
    cs_doctor_free(&doctor);
    return status;
}
