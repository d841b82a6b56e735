/* `convshim doctor`: makes the checks and prints their findings. */
#include "cli/doctor/doctor.h"

#include "cli/common/array.h"
#include "cli/common/cli.h"
#include "cli/common/table.h"
#include "cli/program/command_facts.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    const char *library;
    int64_t pid;
    enum cs_format format;
};

#define CS_CLI_TARGET struct request
#define CS_CLI_OPTIONS "cli/doctor/doctor_options.def"
#include "cli/common/command_options.def"

static const struct cs_cli_command command = {
    .name = "doctor",
    .usage = "convshim doctor [options] [--] [COMMAND [ARGUMENT...]]\n"
             "       convshim doctor [options] --pid PID",
    .about = "Checks if convshim can intercept the programs of this machine, or COMMAND: the\n"
             "cuDNN and CUDA that they find, obstacles, and remedies. doctor only reads files.\n"
             "It runs nothing of COMMAND or of a framework, except Python to list its\n"
             "packages.\n\n"
             "Status: 0; 1 with warnings; 2 if something will not work, or if the command line\n"
             "is wrong.",
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

static const char *const severities[] = {"ok", "note", "warning", "fatal"};

static bool refuse_pid(const char *value)
{
    cs_cli_refuse(command.name, "--pid: \"%s\" is not a process id", value);
    return false;
}

static bool take_pid(void *to, int option, const char *value)
{
    struct request *request = to;
    (void)option; /* --pid */
    return (request->pid = cs_process_id(value)) > 0 || refuse_pid(value);
}

void cs_doctor_add(struct cs_doctor *doctor, enum cs_check check, enum cs_severity severity,
                   const char *subject, const char *format, ...)
{
    struct cs_finding *finding = cs_array_add(&doctor->finding, &doctor->findings, sizeof *finding);
    if (!finding) {
        doctor->broken = true;
        return;
    }
    *finding = (struct cs_finding){check, severity, strdup(subject), NULL, NULL};
    va_list list;
    va_start(list, format);
    if (vasprintf(&finding->text, format, list) < 0)
        finding->text = NULL;
    va_end(list);
    doctor->broken = doctor->broken || !finding->subject || !finding->text;
}

void cs_doctor_advise(struct cs_doctor *doctor, const char *advice)
{
    if (doctor->findings > 0)
        doctor->finding[doctor->findings - 1].advice = advice;
}

static const char *advice_of(const struct cs_finding *finding)
{
    const char *advice = finding->advice ? finding->advice : checks[finding->check].advice;
    return finding->severity > CS_FINE ? advice : NULL;
}

static void print_text(const struct cs_doctor *doctor)
{
    for (size_t i = 0; i < doctor->findings; i++) {
        const struct cs_finding *finding = &doctor->finding[i];
        const char *advice = advice_of(finding);
        printf("%-8s%-10s %s: %s\n", severities[finding->severity], checks[finding->check].name,
               finding->subject, finding->text);
        if (advice)
            printf("%-19s-> %s\n", "", advice);
    }
}

static bool print_table(const struct cs_doctor *doctor, enum cs_format format)
{
    static const struct cs_column columns[] = {{"id", "id", CS_CELL_TEXT},
                                               {"severity", "severity", CS_CELL_TEXT},
                                               {"subject", "subject", CS_CELL_TEXT},
                                               {"text", "text", CS_CELL_TEXT},
                                               {"advice", "advice", CS_CELL_TEXT}};
    struct cs_table table;
    cs_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < doctor->findings; i++) {
        const struct cs_finding *finding = &doctor->finding[i];
        cs_table_add(&table, (const struct cs_value[]){{.text = checks[finding->check].name},
                                                       {.text = severities[finding->severity]},
                                                       {.text = finding->subject},
                                                       {.text = finding->text},
                                                       {.text = advice_of(finding)}});
    }
    bool printed = cs_table_print(&table, format, stdout);
    cs_table_fini(&table);
    return printed;
}

static enum cs_severity worst_severity(const struct cs_doctor *doctor)
{
    enum cs_severity worst = CS_FINE;
    for (size_t i = 0; i < doctor->findings; i++)
        if (doctor->finding[i].severity > worst)
            worst = doctor->finding[i].severity;
    return worst;
}

void cs_doctor_free(struct cs_doctor *doctor)
{
    for (size_t i = 0; i < doctor->findings; i++) {
        free(doctor->finding[i].subject);
        free(doctor->finding[i].text);
    }
    free(doctor->finding);
    cs_program_free(&doctor->facts);
    memset(doctor, 0, sizeof *doctor);
}

/* Makes all checks and prints their findings. Returns the exit status. */
static int make_checks(struct cs_doctor *doctor, enum cs_format format)
{
    static const int status[] = {
        [CS_FINE] = CS_CLI_OK, [CS_NOTE] = CS_CLI_OK, [CS_WARNING] = 1, [CS_FATAL] = 2};
    for (int i = 0; i < CS_CHECKS; i++)
        if ((i == CS_CHECK_process) == (doctor->pid > 0))
            checks[i].run(doctor);
    if (!doctor->broken && format == CS_FORMAT_TEXT)
        print_text(doctor), cs_doctor_verdict(doctor);
    else if (!doctor->broken)
        doctor->broken = !print_table(doctor, format);
    if (doctor->broken || doctor->facts.broken) {
        cs_cli_complain("out of memory: some checks are missing");
        return status[CS_FATAL];
    }
    return status[worst_severity(doctor)];
}

int cs_cli_doctor(int argc, char **argv)
{
    static struct cs_doctor doctor; /* too large for the stack */
    struct request request = {.format = CS_FORMAT_TEXT};
    int operand, status = cs_cli_parse(&command, argc, argv, take_pid, &request, &operand);
    if (status >= 0)
        return status;
    doctor.library_option = request.library;
    doctor.pid = request.pid;
    if (doctor.pid && operand < argc)
        return cs_cli_refuse(command.name,
                             "--pid checks a running process: leave out the command, or --pid");
    doctor.command = operand < argc ? argv + operand : NULL;
    status = make_checks(&doctor, request.format);
    cs_doctor_free(&doctor);
    return status;
}
