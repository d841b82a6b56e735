/* Starts the runs of a simulation, waits for them, and prints their progress during the wait. */
#include "base/clock.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/common/cli.h"
#include "cli/common/table.h"
#include "cli/simulate/simulation.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    NOT_FOUND = 127,
    LOOK_EVERY = 20 /* milliseconds */
};

/* Seconds until a terminal's line is written again, and until a log gets another one. */
static const double terminal_every = 0.2, log_every = 10;

static double read_clock(void)
{
    return (double)cs_clock(CLOCK_MONOTONIC) / CS_SECOND;
}

/* The data of a new process: its run, and the name of the fork server that it becomes. NULL: it is
 * only that run. */
struct start {
    const struct cs_simulation *simulation;
    const struct cs_simulated_run *run;
    const char *server;
};

/* Executes the program; called in the child. The program's output is kept in a file for the case
 * that it fails. */
static int become_program(void *ctx)
{
    const struct start *start = ctx;
    const struct cs_simulation *simulation = start->simulation;
    const struct cs_simulated_run *run = start->run;
    struct cs_child_variables variables = {.item = NULL};
    char path[PATH_MAX + 16];
    int error = cs_layers_enter(&simulation->layers, cs_path_file(run->folder));
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* after the namespaces, which would reset it */
    snprintf(path, sizeof path, "%s/output", run->folder);
    int input = open("/dev/null", O_RDONLY),
        output = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    cs_simulation_variables(simulation, run, &variables);
    if (start->server) {
        cs_simulation_variables_to_fork(start->server, &variables);
        cs_child_variables_set(&variables, "SIMDEV_FORK_PID", "%ld", (long)getpid());
    }
    if (input < 0 || output < 0 || !cs_child_variables_apply(&variables))
        return NOT_FOUND;
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    /* The program does not inherit the files of this process. */
    (void)close_range(STDERR_FILENO + 1, ~0U, 0);
    char **command = simulation->program.command;
    if (error != 0) {
        fprintf(stderr, "convshim: no private layer over %s: %s\n", simulation->layers.folder[0],
                strerror(error));
        return NOT_FOUND;
    }
    execvp(command[0], command);
    fprintf(stderr, "convshim: %s: %s\n", command[0], strerror(errno));
    return NOT_FOUND;
}

/* Creates the folder for the files that a process leaves: "with-rtx3060-7800MiB-3", from `kind`,
 * the device, a limit of its memory and the number of the run. */
static bool make_folder(struct cs_simulation *simulation, const char *kind,
                        const struct cs_simulated_run *run, char folder[PATH_MAX])
{
    const int64_t tebibyte = INT64_C(1) << 40; /* no GPU has it: memory to spare */
    const char *slash = strrchr(run->profile, '/'), *device = slash ? slash + 1 : run->profile;
    char size[32] = "";
    if (run->capacity > 0 && run->capacity < tebibyte)
        snprintf(size, sizeof size, "-%" PRId64 "MiB", run->capacity >> 20);
    int length = snprintf(folder, PATH_MAX, "%s/%s-%.*s%s-%d", simulation->work, kind,
                          (int)strcspn(device, "."), device, size, ++simulation->runs);
    if (length > 0 && length < PATH_MAX && mkdir(folder, 0700) == 0)
        return true;
    cs_cli_complain("%s: %s", folder, strerror(errno));
    return false;
}

static pid_t start_process(const struct cs_simulation *simulation,
                           const struct cs_simulated_run *run, const char *server)
{
    pid_t pid = cs_child_start(become_program, &(struct start){simulation, run, server});
    if (pid < 0)
        cs_cli_complain("cannot start a process: %s", strerror(errno));
    return pid;
}

static void end_run(struct cs_simulated_run *run, int status)
{
    run->state = CS_RUN_ENDED;
    run->seconds = read_clock() - run->seconds;
    run->status = status;
}

/* --- a process for each run --- */

static bool start_plain(struct cs_simulation *simulation, struct cs_simulated_run *run)
{
    if (!make_folder(simulation, run->name, run, run->folder))
        return false;
    run->seconds = read_clock();
    run->pid = start_process(simulation, run, NULL);
    run->state = run->pid > 0 ? CS_RUN_RUNNING : CS_RUN_WAITING;
    return run->pid > 0;
}

static void look_plain(struct cs_simulated_run *run)
{
    int status;
    if (run->state == CS_RUN_RUNNING && cs_child_ended(run->pid, &status))
        end_run(run, status);
}

/* --- runs forked from one process --- */

/* True if the run is forked from the server that loads the library. If both sides share a server,
 * it is that one, and the library is switched off in runs without it. */
static bool server_of(const struct cs_simulation *simulation, const struct cs_simulated_run *run)
{
    return run->with || simulation->shared;
}

static bool start_server(struct cs_simulation *simulation, const struct cs_simulated_run *run)
{
    const bool with = server_of(simulation, run);
    struct cs_fork_server *server = &simulation->server[with];
    struct cs_simulated_run base = *run;
    base.with = with;
    cs_fork_server_close(server);
    if (!make_folder(simulation, "forked-from", run, base.folder))
        return false;
    if (!cs_fork_server_open(server)) {
        cs_cli_complain("cannot create a socket: %s", strerror(errno));
        return false;
    }
    snprintf(server->folder, sizeof server->folder, "%s", base.folder);
    server->pid = start_process(simulation, &base, server->name);
    return server->pid > 0;
}

static bool request_run(struct cs_simulation *simulation, struct cs_simulated_run *run)
{
    struct cs_fork_server *server = &simulation->server[server_of(simulation, run)];
    struct cs_child_variables variables = {.item = NULL};
    char output[PATH_MAX + 16];
    const bool single = server->state == CS_FORK_SINGLE;
    /* Other processes of the program may already use the folder of the single one. */
    if (single)
        snprintf(run->folder, sizeof run->folder, "%s", server->folder);
    else if (!make_folder(simulation, run->name, run, run->folder))
        return false;
    snprintf(output, sizeof output, "%s/output", run->folder);
    cs_simulation_variables(simulation, run, &variables);
    if (!run->with && simulation->shared)
        cs_child_variables_set(&variables, "CONVSHIM", "0");
    if (server->state == CS_FORK_READY)
        cs_child_variables_set(&variables, "SIMDEV_FORKED", "1");
    run->seconds = read_clock();
    if (single && !simulation->told_single) {
        cs_cli_complain("%s: every run starts the program from the beginning, which takes longer, "
                        "because at its first use of the GPU %s",
                        simulation->title, server->reason);
        simulation->told_single = true;
    }
    const bool asked = cs_fork_server_ask(server, output, &variables);
    cs_child_variables_free(&variables);
    if (!asked)
        cs_cli_complain("the program ended before a run could be forked from it");
    run->pid = server->pid;
    run->state = !asked ? CS_RUN_WAITING : single ? CS_RUN_RUNNING : CS_RUN_ASKED;
    return asked;
}

/* Starts the server of the run, requests the run from it, or does nothing yet, depending on the
 * server's state. */
static bool start_forked(struct cs_simulation *simulation, struct cs_simulated_run *run)
{
    switch (simulation->server[server_of(simulation, run)].state) {
    case CS_FORK_NONE:
    case CS_FORK_ENDED:
        return start_server(simulation, run);
    case CS_FORK_SINGLE:
        if (simulation->shared && !run->with) {
            simulation->shared = false; /* this process will be one run: not the one without */
            return true;
        }
        return request_run(simulation, run);
    case CS_FORK_READY:
        return request_run(simulation, run);
    case CS_FORK_STARTING:
    case CS_FORK_RUNNING:
        break;
    }
    return true;
}

/* The first run of server `with` in that state. `pid`: of that process only; 0: of any. */
static struct cs_simulated_run *find_run(const struct cs_simulation *simulation, bool with,
                                         struct cs_simulated_run *const *run, size_t runs,
                                         enum cs_run_state state, pid_t pid)
{
    for (size_t i = 0; i < runs; i++)
        if (server_of(simulation, run[i]) == with && run[i]->state == state &&
            (pid == 0 || run[i]->pid == pid))
            return run[i];
    return NULL;
}

/* The server's process ended before a run was requested: its status and folder are those of the run
 * that waited for it.
 */
static void end_without_device(const struct cs_fork_server *server, struct cs_simulated_run *run)
{
    snprintf(run->folder, sizeof run->folder, "%s", server->folder);
    run->seconds = read_clock();
    end_run(run, server->status);
}

/* Ends the runs in progress of a server that has ended. If there are none, ends the first run that
 * waited to be forked from it. */
static void look_ended(const struct cs_simulation *simulation, bool with,
                       struct cs_simulated_run *const *run, size_t runs)
{
    const struct cs_fork_server *server = &simulation->server[with];
    struct cs_simulated_run *lost,
        *waiting = find_run(simulation, with, run, runs, CS_RUN_WAITING, 0);
    bool any = false;
    while ((lost = find_run(simulation, with, run, runs, CS_RUN_RUNNING, 0)) ||
           (lost = find_run(simulation, with, run, runs, CS_RUN_ASKED, 0))) {
        end_run(lost, server->status);
        any = true;
    }
    if (waiting && !any)
        end_without_device(server, waiting);
}

/* Takes the messages of a server, and updates the states of its runs. */
static void look_forked(struct cs_simulation *simulation, bool with,
                        struct cs_simulated_run *const *run, size_t runs)
{
    struct cs_fork_server *server = &simulation->server[with];
    if (server->state == CS_FORK_NONE || server->state == CS_FORK_ENDED)
        return;
    for (;;) {
        struct cs_fork_news news = cs_fork_server_look(server);
        struct cs_simulated_run *of = NULL;
        if (news.what == CS_FORK_QUIET)
            break;
        if (news.what == CS_FORK_STARTED &&
            (of = find_run(simulation, with, run, runs, CS_RUN_ASKED, 0))) {
            of->pid = news.pid;
            of->state = CS_RUN_RUNNING;
        }
        if (news.what == CS_FORK_RUN_ENDED &&
            (of = find_run(simulation, with, run, runs, CS_RUN_RUNNING, news.pid)))
            end_run(of, news.status);
    }
    if (server->state == CS_FORK_ENDED)
        look_ended(simulation, with, run, runs);
}

/* --- progress --- */

static bool is_running(const struct cs_simulated_run *run)
{
    return run->state == CS_RUN_ASKED || run->state == CS_RUN_RUNNING;
}

/* "without 3 s: 24 convolutions, 1.2 GiB". */
static void put_run(const struct cs_simulated_run *run, struct cs_text *text)
{
    struct cs_simulated_progress progress;
    char bytes[CS_BYTES_TEXT];
    cs_text_put(text, "%s%s %.0f s", text->length > 0 ? "; " : "", run->name,
                read_clock() - run->seconds);
    if (cs_simulated_progress_read(run, &progress))
        cs_text_put(text, ": %llu convolution%s, %s", progress.convolutions,
                    progress.convolutions == 1 ? "" : "s",
                    cs_table_bytes_text(bytes, (int64_t)progress.peak_bytes));
}

static void print_progress(const struct cs_simulation *simulation,
                           struct cs_simulated_run *const *run, size_t runs, double began,
                           bool terminal)
{
    char line[512] = "";
    struct cs_text text = {line, sizeof line, 0};
    for (size_t i = 0; i < runs; i++)
        if (is_running(run[i]))
            put_run(run[i], &text);
    if (text.length == 0)
        snprintf(line, sizeof line, "the program is loading, %.0f s", read_clock() - began);
    fprintf(stderr, terminal ? "\r\033[Kconvshim: %s: %.100s" : "convshim: %s: %.200s\n",
            simulation->title, line);
    fflush(stderr);
}

/* Updates the states of all runs. Returns how many are running. */
static size_t update_states(struct cs_simulation *simulation, struct cs_simulated_run *const *run,
                            size_t runs)
{
    size_t running = 0;
    for (int with = 0; simulation->many && with < 2; with++)
        look_forked(simulation, with, run, runs);
    for (size_t i = 0; i < runs; i++) {
        if (!simulation->many)
            look_plain(run[i]);
        running += is_running(run[i]);
    }
    return running;
}

/* Starts waiting runs until as many run as simulation->jobs. False after printing the reason. */
static bool start_some(struct cs_simulation *simulation, struct cs_simulated_run *const *run,
                       size_t runs, size_t running)
{
    for (size_t i = 0; i < runs && running < (size_t)simulation->jobs; i++) {
        if (run[i]->state != CS_RUN_WAITING)
            continue;
        if (!(simulation->many ? start_forked(simulation, run[i])
                               : start_plain(simulation, run[i])))
            return false;
        running += is_running(run[i]);
    }
    return true;
}

static bool all_ended(struct cs_simulated_run *const *run, size_t runs)
{
    for (size_t i = 0; i < runs; i++)
        if (run[i]->state != CS_RUN_ENDED)
            return false;
    return true;
}

/* Ends all runs. The servers that they were forked from end with the simulation. */
static void end_all(struct cs_simulated_run *const *run, size_t runs)
{
    for (size_t i = 0; i < runs; i++)
        if (run[i]->state == CS_RUN_RUNNING && kill(run[i]->pid, SIGTERM) == 0)
            (void)cs_child_wait(run[i]->pid);
}

bool cs_simulation_run(struct cs_simulation *simulation, struct cs_simulated_run *const *run,
                       size_t runs)
{
    const struct timespec pause = {.tv_nsec = LOOK_EVERY * 1000000L};
    const bool terminal = isatty(STDERR_FILENO);
    const double every = terminal ? terminal_every : log_every;
    const double began = read_clock();
    double printed = began;
    bool good = true;
    for (;;) {
        size_t running = update_states(simulation, run, runs);
        if (cs_interrupted()) {
            end_all(run, runs);
            good = false;
            break;
        }
        good = good && start_some(simulation, run, runs, running);
        if (all_ended(run, runs) || (!good && running == 0))
            break;
        nanosleep(&pause, NULL);
        if (read_clock() - printed >= every) {
            print_progress(simulation, run, runs, began, terminal);
            printed = read_clock();
        }
    }
    if (terminal)
        fputs("\r\033[K", stderr);
    return good;
}
