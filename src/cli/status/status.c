/* `convshim status`: the counts of the running processes that have the library. */
#include "account/live.h"
#include "base/clock.h"
#include "cli/common/cli.h"
#include "cli/common/table.h"
#include "cli/program/command_facts.h"
#include "config/session.h"
#include "convshim/policy.h"
#include <errno.h>
#include <stdio.h>
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
             "A process is listed from its first convolution to its end. If PID is not listed,\n"
             "a line reports whether it has loaded convshim. The counters are in a file for\n"
             "each process in $XDG_RUNTIME_DIR/convshim, or in /tmp/convshim-UID if that\n"
             "folder does not exist.\n\n"
             "Status: 0; 1 if there is no such process.",
    .option = rows,
    .options = sizeof rows / sizeof *rows,
};
const struct cs_cli_command *const cs_cli_command_status = &command;

enum {
    MOST = 1024 /* processes that are shown */
};

static const struct cs_column columns[] = {
    {"pid", "pid", CS_CELL_COUNT},
    {"program", "program", CS_CELL_TEXT},
    {"running_seconds", "running", CS_CELL_COUNT},
    {"calls", "calls", CS_CELL_COUNT},
    {"tiled", "tiled", CS_CELL_COUNT},
    {"fallback", "fallback", CS_CELL_COUNT},
    {"failed", "failed", CS_CELL_COUNT},
    {"required_max_bytes", "required", CS_CELL_BYTES},
    {"reported_max_bytes", "reported", CS_CELL_BYTES},
    {"possible_max_bytes", NULL, CS_CELL_BYTES},
    {"limit_bytes", "limit", CS_CELL_BYTES},
    {"own_bytes", "own scratch", CS_CELL_BYTES},
    {"own_peak_bytes", "own peak", CS_CELL_BYTES},
    {"idle_seconds", "idle", CS_CELL_COUNT},
    {"policy", NULL, CS_CELL_TEXT},
    {"cudnn", NULL, CS_CELL_TEXT},
    {"version", NULL, CS_CELL_TEXT},
    {"run", NULL, CS_CELL_COUNT},
};

/* "1:02:03" */
static const char *clock_text(char text[CS_BYTES_TEXT], int64_t seconds)
{
    snprintf(text, CS_BYTES_TEXT, "%lld:%02d:%02d", (long long)(seconds / 3600),
             (int)(seconds / 60 % 60), (int)(seconds % 60));
    return text;
}

static int64_t seconds_since(int64_t then)
{
    int64_t seconds = (cs_clock(CLOCK_REALTIME) / CS_MILLISECOND - then) / 1000;
    return seconds > 0 ? seconds : 0;
}

/* "512.3 MiB (148.3 MiB possible)" if the policy only reports. NULL: the size alone. */
static const char *reported_text(char text[64], const struct cs_live_page *page)
{
    char reported[CS_BYTES_TEXT], possible[CS_BYTES_TEXT];
    const struct cs_policy *policy = cs_policy_find(page->policy);
    if (!policy || !policy->report_only || page->tiled > 0 ||
        page->possible_max >= page->reported_max)
        return NULL;
    snprintf(text, 64, "%s (%s possible)", cs_table_bytes_text(reported, page->reported_max),
             cs_table_bytes_text(possible, page->possible_max));
    return text;
}

static void add_row(struct cs_table *table, const struct cs_live_page *page)
{
    char running[CS_BYTES_TEXT], idle[CS_BYTES_TEXT], name[160], reported[64];
    const char *shown = reported_text(reported, page);
    int64_t age = seconds_since(page->start_ms), pause = seconds_since(page->changed_ms);
    snprintf(name, sizeof name, "%s%s%s", page->program, *page->script ? " " : "", page->script);
    cs_table_add(table,
                 (const struct cs_value[]){{.number = page->pid},
                                           {.text = name},
                                           {.number = age, .shown = clock_text(running, age)},
                                           {.number = page->calls},
                                           {.number = page->tiled},
                                           {.number = page->fallback},
                                           {.number = page->failed},
                                           {.number = page->required_max},
                                           {.number = page->reported_max, .shown = shown},
                                           {.number = page->possible_max},
                                           {.number = page->workspace},
                                           {.number = page->own_held},
                                           {.number = page->own_peak},
                                           {.number = pause, .shown = clock_text(idle, pause)},
                                           {.text = page->policy},
                                           {.text = page->vendor},
                                           {.text = page->release},
                                           {.number = page->run > 0 ? page->run : -1}});
}

/* Of one process that counts nothing, why. */
static void explain_absence(int64_t pid)
{
    static struct cs_process_files files;
    char run[32];
    if (!cs_process_files(pid, &files))
        cs_cli_complain(errno == ESRCH
                            ? "%lld: no such process"
                            : "%lld: This process belongs to another user or is protected. Run "
                              "convshim status as its user.",
                        (long long)pid);
    else if (*files.library)
        cs_cli_complain("%lld (%s) has loaded convshim, but has run no convolution yet%s",
                        (long long)pid, files.program,
                        *files.cudnn ? "" : ", because it has not loaded cuDNN");
    else
        cs_cli_complain(
            "%lld (%s) has not loaded convshim%s. To find out why: convshim doctor --pid %lld",
            (long long)pid, files.program,
            cs_process_variable(pid, "CONVSHIM_RUN", run, sizeof run) && *run
                ? ", although convshim run started it or its parent"
                : "",
            (long long)pid);
}

/* Adds a row for each process that has counts. Returns the number of these processes. */
static int gather_rows(const struct request *request, const char *folder, struct cs_table *table)
{
    static int64_t pids[MOST];
    static struct cs_live_page page;
    int count = 1, found = 0;
    pids[0] = request->pid;
    if (!request->pid)
        count = cs_live_list(folder, pids, MOST);
    for (int i = 0; i < count && i < MOST; i++)
        if (cs_live_read(folder, pids[i], &page)) {
            add_row(table, &page);
            found++;
        }
    return found;
}

/* -1: out of memory. */
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
    return first > 0 && found >= 0 ? CS_CLI_OK : CS_CLI_NO;
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
