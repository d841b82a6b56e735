/* `convshim report`: reads the summaries, puts the sections together, renders them. */
#include "cli/report/report.h"

#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/output.h"
#include "cli/common/page.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ROWS = 20 /* of the convolutions, as text */
};

struct request {
    const char *html;
    enum cs_format format;
};

#define CS_CLI_TARGET struct request
#define CS_CLI_OPTIONS "cli/report/report_options.def"
#include "cli/common/command_options.def"

static const struct cs_cli_command command = {
    .name = "report",
    .usage = "convshim report [options] FILE...",
    .about = "Shows the JSON summaries of finished runs (CONVSHIM_SUMMARY=json:PATH writes\n"
             "them): figures, processes and convolutions.\n"
             "Several files are the processes of one job: calls are added, and the largest\n"
             "sizes are shown. csv has the convolutions, json all tables.\n\n"
             "Status: 0; 1 if output cannot be written; 2 if the command line or a file is\n"
             "wrong.",
    .option = rows,
    .options = sizeof rows / sizeof *rows,
};
const struct cs_cli_command *const cs_cli_command_report = &command;

static void free_report(struct cs_report *report)
{
    for (int i = 0; i < CS_REPORT_SECTIONS; i++)
        cs_table_fini(&report->section[i].table);
    for (size_t i = 0; i < report->runs; i++)
        cs_summary_fini(&report->run[i]);
    cs_summary_fini(&report->all);
    free(report->run);
}

static bool read_runs(struct cs_report *report, char **paths, size_t count)
{
    char error[CS_SUMMARY_ERROR];
    report->run = calloc(count, sizeof *report->run);
    for (; report->run && report->runs < count; report->runs++) {
        if (!cs_summary_read(paths[report->runs], &report->run[report->runs], error)) {
            cs_cli_complain("report: %s", error);
            return false;
        }
    }
    if (!report->run)
        cs_cli_complain("report: out of memory");
    return report->run != NULL;
}

/* --- rendering --- */

static bool print_section(const struct cs_section *section, FILE *out)
{
    struct cs_table shown = section->table;
    if (shown.broken || shown.rows == 0)
        return !shown.broken;
    if (strcmp(section->name, "sites") == 0 && shown.rows > MOST_ROWS)
        shown.rows = MOST_ROWS;
    fprintf(out, "\n%s\n", section->title);
    if (section->note)
        fprintf(out, "%s\n", section->note);
    if (!cs_table_print(&shown, CS_FORMAT_TEXT, out))
        return false;
    if (shown.rows < section->table.rows)
        fprintf(out, "... and %zu more\n", section->table.rows - shown.rows);
    return true;
}

static bool print_json(const struct cs_report *report, FILE *out)
{
    cs_json_begin();
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "schema", "convshim report");
    cJSON_AddNumberToObject(root, "version", 1);
    for (int i = 0; i < CS_REPORT_SECTIONS; i++)
        cs_json_add(root, report->section[i].name, cs_table_json(&report->section[i].table));
    return cs_json_print(root, out);
}

/* False if memory ran out. */
static bool print_report(const struct cs_report *report, enum cs_format format)
{
    bool good = true;
    if (format == CS_FORMAT_CSV)
        return cs_table_print(&report->section[CS_REPORT_SITES].table, format, stdout);
    if (format == CS_FORMAT_JSON)
        return print_json(report, stdout);
    puts("convshim report");
    for (int i = 0; i < CS_REPORT_SECTIONS && good; i++)
        good = print_section(&report->section[i], stdout);
    return good;
}

static int write_html(const struct cs_report *report, const char *path)
{
    for (int i = 0; i < CS_REPORT_SECTIONS; i++) {
        if (report->section[i].table.broken) {
            cs_cli_complain("report: out of memory");
            return CS_CLI_NO;
        }
    }
    bool good = cs_output_write(path, cs_report_html, report);
    if (!good)
        cs_cli_complain("report: %s: cannot be written: %s", path, strerror(errno));
    else if (strcmp(path, "-") != 0)
        cs_cli_complain("report: page written to %s", path);
    return good ? CS_CLI_OK : CS_CLI_NO;
}

static int run_report(const struct request *request, char **paths, size_t count)
{
    struct cs_report report = {.runs = 0};
    int status = CS_CLI_USAGE;
    if (!read_runs(&report, paths, count)) {
        free_report(&report);
        return status;
    }
    if (!cs_summary_merge(report.run, report.runs, &report.all)) {
        cs_cli_complain("report: out of memory, or a sum over the files exceeds 63 bits");
        free_report(&report);
        return status;
    }
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): free_report frees the runs */
    cs_report_sections(&report);
    if (request->html) {
        status = write_html(&report, request->html);
    } else if (print_report(&report, request->format)) {
        status = CS_CLI_OK;
    } else {
        cs_cli_complain("report: out of memory");
    }
    free_report(&report);
    return status;
}

int cs_cli_report(int argc, char **argv)
{
    struct request request = {.html = NULL};
    int operand, status = cs_cli_parse(&command, argc, argv, NULL, &request, &operand);
    if (status >= 0)
        return status;
    if (operand == argc)
        return cs_cli_refuse(
            command.name,
            "no summary given. To write one: convshim run --summary json:PATH -- COMMAND");
    if (request.html && !cs_output_check(command.name, "html", request.html, CS_PAGE_BEGINS))
        return CS_CLI_USAGE;
    return run_report(&request, argv + operand, (size_t)(argc - operand));
}
