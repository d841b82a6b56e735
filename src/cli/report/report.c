/* `convshim report`: reads the summaries and prints the tables. */
#include "cli/report/report.h"

#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/output.h"
#include "cli/layers/summary.h"
#include <cjson/cJSON.h>

static const char VIEW[] =
#include "report_view.h"
    ;

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
             "Status: 0; 2 if the command line or a file is wrong; 3 if output cannot be\n"
             "written.",
    .option = rows,
    .options = sizeof rows / sizeof *rows,
};
const struct cs_cli_command *const cs_cli_command_report = &command;

/* False after a message. */
static bool read_runs(struct cs_report *report, char **paths, size_t count)
{
    char error[CS_SUMMARY_ERROR];
    for (size_t i = 0; i < count; i++) {
        cJSON *run = cs_summary_read(paths[i], error);
        if (!run) {
            cs_cli_complain("report: %s", error);
            return false;
        }
        if (!cs_report_add(report, paths[i], run)) {
            cs_cli_complain("report: out of memory");
            return false;
        }
    }
    return true;
}

/* Prints a table with at most `most` rows below its title. False if memory ran out. */
static bool print_table(const char *title, const char *note, struct cs_table shown, size_t most)
{
    const size_t left_out = shown.rows > most ? shown.rows - most : 0;
    shown.rows -= left_out;
    if (shown.rows == 0)
        return true;
    printf("\n%s\n", title);
    if (note)
        puts(note);
    if (!cs_table_print(&shown, CS_FORMAT_TEXT, stdout))
        return false;
    if (left_out > 0)
        printf("... and %zu more\n", left_out);
    return true;
}

static bool print_text(const struct cs_report *report)
{
    enum {
        MOST_SITES = 20
    };
    bool good = true;
    puts("convshim report");
    for (int i = 0; i < CS_REPORT_TABLES && good; i++)
        good =
            print_table(cs_report_headings[i].title,
                        i == CS_REPORT_CONCLUSION ? report->conclusion : cs_report_headings[i].note,
                        report->table[i], i == CS_REPORT_SITES ? MOST_SITES : SIZE_MAX);
    return good;
}

/* Returns the report as JSON, which the caller deletes. */
static cJSON *json_of(const struct cs_report *report)
{
    cs_json_begin();
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "schema", "convshim report");
    cJSON_AddNumberToObject(root, "version", 1);
    cJSON_AddStringToObject(root, "conclusion_text", report->conclusion);
    for (int i = 0; i < CS_REPORT_TABLES; i++)
        cs_json_add(root, cs_report_headings[i].name, cs_table_json(&report->table[i]));
    return root;
}

/* False if memory ran out. */
static bool print_report(const struct cs_report *report, enum cs_format format)
{
    if (format == CS_FORMAT_CSV)
        return cs_table_print(&report->table[CS_REPORT_SITES], format, stdout);
    return format == CS_FORMAT_JSON ? cs_json_print(json_of(report), stdout) : print_text(report);
}

/* Returns the exit status. */
static int show_report(struct cs_report *report, const struct request *request)
{
    const bool good = cs_report_conclude(report);
    if (good && request->html)
        return cs_page_write(command.name, VIEW, request->html, json_of(report)) ? CS_CLI_OK
                                                                                 : CS_CLI_NONE;
    if (good && print_report(report, request->format))
        return CS_CLI_OK;
    cs_cli_complain("report: out of memory");
    return CS_CLI_NONE;
}

int cs_cli_report(int argc, char **argv)
{
    struct request request = {.html = NULL};
    struct cs_report report;
    int operand, status = cs_cli_parse(&command, argc, argv, NULL, &request, &operand);
    if (status >= 0)
        return status;
    if (operand == argc)
        return cs_cli_refuse(
            command.name,
            "no summary given. To write one: convshim run --summary json:PATH -- COMMAND");
    if (request.html && !cs_output_check(command.name, "html", request.html, CS_PAGE_BEGINS))
        return CS_CLI_USAGE;
    cs_report_init(&report);
    status = read_runs(&report, argv + operand, (size_t)(argc - operand))
                 ? show_report(&report, &request)
                 : CS_CLI_USAGE;
    cs_report_fini(&report);
    return status;
}
