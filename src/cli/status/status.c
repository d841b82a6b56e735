/* `convshim status`: the summaries of the running processes that have the library. */
#include "account/session_files.h"
#include "base/clock.h"
#include "base/path.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/table.h"
#include "cli/layers/summary.h"
#include "cli/program/command_facts.h"
#include "config/session.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct request {
    int64_t pid; /* 0: all */
    bool watch;
    enum cs_format format;
};

#define CS_CLI_TARGET struct request
#define CS_CLI_OPTIONS "cli/status/status_options.def"
#include "cli/common/command_options.def"

static const struct cs_cli_command command = {
    .name = "status",
    .usage = "convshim status [options] [PID]",
    .about = "Shows the counters of your running processes that use convshim, or those of PID.\n"
             "A process is listed from its first convolution to its end. Its figures are renewed\n"
             "every ten seconds. They are in a JSON summary of each process in\n"
             "$XDG_RUNTIME_DIR/convshim, or in /tmp/convshim-UID if that folder does not exist.\n\n"
             "Status: 0; 1 if there is no such process.",
    .option = rows,
    .options = sizeof rows / sizeof *rows,
};
const struct cs_cli_command *const cs_cli_command_status = &command;

/* Name, title, kind of cell, and the member of a summary that is shown. NULL: see add_row. */
#define STATUS_COLUMNS(COLUMN)                                                                     \
    COLUMN("pid", "pid", CS_CELL_COUNT, "process.pid")                                             \
    COLUMN("program", "program", CS_CELL_TEXT, NULL)                                               \
    COLUMN("running_seconds", "running", CS_CELL_COUNT, NULL)                                      \
    COLUMN("calls", "calls", CS_CELL_COUNT, "totals.calls")                                        \
    COLUMN("tiled", "tiled", CS_CELL_COUNT, "totals.tiled")                                        \
    COLUMN("fallback", "fallback", CS_CELL_COUNT, "totals.fallback")                               \
    COLUMN("failed", "failed", CS_CELL_COUNT, "totals.failed")                                     \
    COLUMN("peak_without", "peak without convshim", CS_CELL_BYTES, "totals.peak_without")          \
    COLUMN("peak_with", "with", CS_CELL_BYTES, "totals.peak_with")                                 \
    COLUMN("required_max", "workspace without", CS_CELL_BYTES, "totals.required_max")              \
    COLUMN("reported_max", "with", CS_CELL_BYTES, "totals.reported_max")                           \
    COLUMN("possible_max", NULL, CS_CELL_BYTES, "totals.possible_max")                             \
    COLUMN("own_peak", "own scratch", CS_CELL_BYTES, "own.peak")                                   \
    COLUMN("age_seconds", "age", CS_CELL_COUNT, NULL)                                              \
    COLUMN("workspace", NULL, CS_CELL_TEXT, "config.options.workspace")                            \
    COLUMN("allocated_without", NULL, CS_CELL_BYTES, "totals.allocated_without")                   \
    COLUMN("allocated_with", NULL, CS_CELL_BYTES, "totals.allocated_with")                         \
    COLUMN("reserved", NULL, CS_CELL_BYTES, "totals.reserved")

static const struct cs_column columns[] = {
#define COLUMN(name, title, cell, way) {name, title, cell},
    STATUS_COLUMNS(COLUMN)
#undef COLUMN
};
static const char *const ways[] = {
#define COLUMN(name, title, cell, way) way,
    STATUS_COLUMNS(COLUMN)
#undef COLUMN
};

enum {
    COLUMNS = sizeof columns / sizeof *columns,
    PROGRAM = 1,
    RUNNING = 2,
    PEAK_WITHOUT = 7,
    PEAK_WITH = 8,
    REPORTED = 10,
    AGE = 13
};

/* Writes a duration as "1:02:03". */
static const char *clock_text(char text[CS_BYTES_TEXT], int64_t seconds)
{
    snprintf(text, CS_BYTES_TEXT, "%lld:%02d:%02d", (long long)(seconds / 3600),
             (int)(seconds / 60 % 60), (int)(seconds % 60));
    return text;
}

/* Returns the seconds since a moment in milliseconds since 1970. */
static int64_t seconds_since(int64_t then)
{
    int64_t seconds = (cs_clock(CLOCK_REALTIME) / CS_MILLISECOND - then) / 1000;
    return seconds > 0 ? seconds : 0;
}

/* Writes "512.3 MiB (148.3 MiB possible)" if nothing is tiled although it could be. Otherwise
 * returns NULL: the table then shows the size alone. */
static const char *reported_text(char text[64], const cJSON *run)
{
    const int64_t reported = cs_json_whole_at(run, "totals.reported_max", 0),
                  possible = cs_json_whole_at(run, "totals.possible_max", 0);
    char first[CS_BYTES_TEXT], second[CS_BYTES_TEXT];
    if (cs_json_double(run, "totals.tiled") > 0 || possible >= reported)
        return NULL;
    snprintf(text, 64, "%s (%s possible)", cs_table_bytes_text(first, reported),
             cs_table_bytes_text(second, possible));
    return text;
}

/* Shows the program's allocated peak if its allocator reports it, otherwise the peak of
 * convolutions. */
static void show_peak(struct cs_value *cell, char text[CS_BYTES_TEXT], const cJSON *run,
                      const char *allocated)
{
    const int64_t bytes = cs_json_whole_at(run, allocated, 0);
    if (bytes > 0)
        cell->shown = cs_table_bytes_text(text, bytes);
}

static void add_row(struct cs_table *table, const cJSON *run)
{
    const char *script = cs_json_text_at(run, "process.script", "");
    const int64_t lasted = seconds_since(cs_json_whole_at(run, "process.start_ms", 0)),
                  age = seconds_since(cs_json_whole_at(run, "process.end_ms", 0));
    char running[CS_BYTES_TEXT], old[CS_BYTES_TEXT], name[160], reported[64];
    char without[CS_BYTES_TEXT], with[CS_BYTES_TEXT];
    struct cs_value row[COLUMNS];
    cs_summary_row(run, columns, ways, COLUMNS, row);
    snprintf(name, sizeof name, "%.80s%s%.70s", cs_json_text_at(run, "process.program", ""),
             *script ? " " : "", script);
    show_peak(&row[PEAK_WITHOUT], without, run, "totals.allocated_without");
    show_peak(&row[PEAK_WITH], with, run, "totals.allocated_with");
    row[PROGRAM] = (struct cs_value){.text = name};
    row[RUNNING] = (struct cs_value){.number = lasted, .shown = clock_text(running, lasted)};
    row[AGE] = (struct cs_value){.number = age, .shown = clock_text(old, age)};
    row[REPORTED].shown = reported_text(reported, run);
    cs_table_add(table, row);
}

/* Adds a row for the process of the file PID.json, and removes files of processes that have ended.
 * Returns true if there is a row. */
static bool take_file(const struct request *request, const char *path, struct cs_table *table)
{
    static struct cs_process_files files;
    char error[CS_SUMMARY_ERROR];
    const char *name = cs_path_file(path);
    int64_t pid = strtoll(name, NULL, 10);
    if (pid <= 0 || (request->pid && pid != request->pid))
        return false;
    bool summary = strcmp(name + strspn(name, "0123456789"), ".json") == 0;
    if (!cs_process_files(pid, &files) || (summary && !*files.library)) {
        unlink(path);
        return false;
    }
    cJSON *run = summary ? cs_summary_read(path, error) : NULL;
    const bool good = run != NULL;
    if (good)
        add_row(table, run);
    cJSON_Delete(run);
    return good;
}

/* Adds a row for each process that has a summary. Returns the number of these processes. */
static int gather_rows(const struct request *request, const char *folder, struct cs_table *table)
{
    char pattern[CS_SESSION_PATH + 8];
    glob_t found;
    int count = 0;
    snprintf(pattern, sizeof pattern, "%s/[1-9]*", folder);
    if (!cs_session_is_private(folder) || glob(pattern, 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++)
        count += take_file(request, found.gl_pathv[i], table);
    globfree(&found);
    return count;
}

/* Returns the number of processes, or -1 if memory is short or the output cannot be written. */
static int show_table(const struct request *request, const char *folder)
{
    struct cs_table table;
    cs_table_init(&table, columns, sizeof columns / sizeof *columns);
    int found = gather_rows(request, folder, &table);
    if (request->watch && isatty(STDOUT_FILENO))
        fputs("\033[H\033[J", stdout);
    if (found > 0 || request->format != CS_FORMAT_TEXT)
        found = cs_table_print(&table, request->format, stdout) ? found : -1;
    cs_table_fini(&table);
    return fflush(stdout) == 0 ? found : -1;
}

/* Prints why a process is not in the table. */
static void explain_absence(int64_t pid)
{
    static struct cs_process_files files;
    if (!cs_process_files(pid, &files))
        cs_cli_complain("%lld: %s", (long long)pid, strerror(errno));
    else if (!*files.library)
        cs_cli_complain(
            "%lld (%s): this process has not loaded libconvshim.so. Start it again with "
            "'convshim run'. A script that sets LD_PRELOAD must keep its old value: "
            "LD_PRELOAD=mine.so:$LD_PRELOAD.",
            (long long)pid, files.program);
    else
        cs_cli_complain("%lld (%s): this process has loaded libconvshim.so%s, but has run no "
                        "convolution yet",
                        (long long)pid, files.program, *files.cudnn ? " and cuDNN" : "");
}

/* Prints the table, with --watch every second until no process is left. Returns the exit status. */
static int watch_processes(const struct request *request)
{
    const struct timespec second = {.tv_sec = 1};
    char folder[CS_SESSION_PATH];
    cs_session_folder(folder);
    int found = show_table(request, folder), first = found;
    while (request->watch && found > 0) {
        nanosleep(&second, NULL);
        found = show_table(request, folder);
    }
    if (found < 0)
        cs_cli_complain("standard output: not all rows could be written");
    else if (first == 0 && request->pid)
        explain_absence(request->pid);
    else if (first == 0)
        cs_cli_complain("No running process of yours has used convshim yet (looked in %s). To "
                        "start one: convshim run -- COMMAND",
                        folder);
    return found < 0 ? CS_CLI_NONE : first > 0 ? CS_CLI_OK : CS_CLI_NO;
}

int cs_cli_status(int argc, char **argv)
{
    struct request request = {.format = CS_FORMAT_TEXT};
    int operand, status = cs_cli_parse(&command, argc, argv, NULL, &request, &operand);
    if (status >= 0)
        return status;
    if (operand < argc && !(request.pid = cs_process_id(argv[operand])))
        return cs_cli_refuse(command.name, "\"%s\" is not a process id", argv[operand]);
    if (operand + 1 < argc)
        return cs_cli_refuse(command.name, "\"%s\": only one process id is allowed",
                             argv[operand + 1]);
    return watch_processes(&request);
}
