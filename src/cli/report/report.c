/* `convshim report`: reads the summaries, puts the sections together, renders them. */
#include "cli/report/report.h"

#include "base/text.h"
#include "cli/common/cli.h"
#include "cli/common/output.h"
#include "cli/common/page.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    bool diff;
    const char *table, *html;
    enum cs_report_format format;
};

#define CS_CLI_TARGET struct request
#define CS_CLI_OPTIONS "cli/report/report_options.def"
#include "cli/common/command_options.def"

static const struct cs_cli_command command = {
    .name = "report",
    .usage = "convshim report [options] FILE...\n"
             "       convshim report --diff [options] FILE FILE",
    .about = "Shows the JSON summaries of finished runs (CONVSHIM_SUMMARY=json:PATH writes\n"
             "them): figures, processes and convolutions.\n"
             "Several files are the processes of one job: calls are added, and the largest\n"
             "sizes are shown.\n\n"
             "Status: 0; 1 if output cannot be written; 2 if the command line or a file is\n"
             "wrong.",
    .option = rows,
    .options = sizeof rows / sizeof *rows,
};
const struct cs_cli_command *const cs_cli_command_report = &command;

/* The index of a word in a list that ends with NULL; -1, having said so, if it is not there. */
static int choose_word(enum option option, const char *value, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(value, words[i]) == 0)
            return i;
    char all[160] = "";
    for (int i = 0; words[i]; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i > 0 ? ", " : "", words[i]);
    const char *nearest = cs_cli_nearest(value, words);
    cs_cli_refuse(command.name, "--%s '%s' is not allowed%s%s%s; allowed: %s", rows[option].name,
                  value, nearest ? "; did you mean '" : "", nearest ? nearest : "",
                  nearest ? "'?" : "", all);
    return -1;
}

static bool take_option(void *to, int option, const char *value)
{
    static const char *const formats[] = {"text", "json", "csv", "markdown", NULL};
    static const char *const tables[] = {"conclusion", "options", "figures",
                                         "processes",  "sites",   NULL};
    struct request *request = to;
    int index;
    if (option == OPTION_FORMAT) {
        index = choose_word(OPTION_FORMAT, value, formats);
        request->format = (enum cs_report_format)(index < 0 ? 0 : index);
    } else {
        index = choose_word(OPTION_TABLE, value, tables);
        request->table = value;
    }
    return index >= 0;
}

static void free_report(struct cs_report *report)
{
    for (size_t i = 0; i < report->sections; i++)
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

static bool merge_two(struct cs_report *report)
{
    struct cs_run_summary a, b;
    if (!cs_summary_merge(&report->run[0], 1, &a))
        return false;
    bool good = cs_summary_merge(&report->run[1], 1, &b);
    if (good) {
        cs_report_diff(report, &a, &b);
        cs_summary_fini(&b);
    }
    cs_summary_fini(&a);
    return good;
}

static bool build_report(struct cs_report *report, const struct request *request)
{
    if (request->diff)
        return merge_two(report);
    if (!cs_summary_merge(report->run, report->runs, &report->all))
        return false;
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): free_report frees the runs */
    cs_report_sections(report);
    return true;
}

static int write_html(const struct cs_report *report, const char *path)
{
    for (size_t i = 0; i < report->sections; i++) {
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

/* Returns false after a message if csv was requested for a table that this report does not have. */
static bool has_table(const struct cs_report *report, const struct request *request)
{
    char list[160] = "";
    struct cs_text names = {list, sizeof list, 0};
    if (request->html || request->format != CS_REPORT_CSV)
        return true;
    for (size_t i = 0; i < report->sections; i++) {
        const char *name = report->section[i].name;
        if (strcmp(name, request->table) == 0)
            return true;
        cs_text_put(&names, "%s%s", i > 0 ? ", " : "", name);
    }
    cs_cli_complain("report: this report has no table '%s'; allowed: %s", request->table, list);
    return false;
}

static int run_report(const struct request *request, char **paths, size_t count)
{
    struct cs_report report = {.runs = 0};
    int status = CS_CLI_USAGE;
    if (!read_runs(&report, paths, count)) {
        free_report(&report);
        return status;
    }
    if (!build_report(&report, request))
        cs_cli_complain("report: out of memory, or numbers of 64 bits and more");
    else if (!has_table(&report, request))
        status = CS_CLI_USAGE;
    else if (request->html)
        status = write_html(&report, request->html);
    else if (cs_report_print(&report, request->format, request->table, stdout))
        status = CS_CLI_OK;
    else
        cs_cli_complain("report: out of memory");
    free_report(&report);
    return status;
}

int cs_cli_report(int argc, char **argv)
{
    struct request request = {.table = "sites"};
    int operand, status = cs_cli_parse(&command, argc, argv, take_option, &request, &operand);
    if (status >= 0)
        return status;
    if (operand == argc)
        return cs_cli_refuse(
            command.name,
            "no summary given. To write one: convshim run --summary json:PATH -- COMMAND");
    if (request.diff && argc - operand != 2)
        return cs_cli_refuse(command.name, "--diff needs two summaries");
    if (request.html && !cs_output_check(command.name, "html", request.html, CS_PAGE_BEGINS))
        return CS_CLI_USAGE;
    return run_report(&request, argv + operand, (size_t)(argc - operand));
}
