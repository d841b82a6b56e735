/* Starts the runs of a simulation, waits for them, and prints their progress during the wait. */
#include "simdev/simulate/runs.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/common/cli.h"
#include "cli/common/table.h"
#include "cli/common/variables.h"
#include "cli/program/child.h"
#include "simdev/simulate/temporary_folder.h"
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
    LOOK_EVERY = 20, /* milliseconds */
    LINE_EVERY = 10, /* seconds */
    PATIENCE = 5     /* seconds for a program to end after a signal */
};

/* Runs that are made together. */
struct batch {
    struct cs_simulation *simulation;
    struct cs_sim_run *const *run;
    size_t runs;
};

/* The data of a new process. `connection`: its end of the connection to a fork server; -1: the
 * process makes only this run. */
struct start {
    const struct cs_simulation *simulation;
    const struct cs_sim_run *run;
    int connection;
};

/* Lets the program inherit only the standard files and the connection, which it adds to the
 * variables. */
static void pass_files(int connection, struct cs_child_variables *variables)
{
    struct stat facts;
    (void)close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    if (connection < 0 || fcntl(connection, F_SETFD, 0) != 0 || fstat(connection, &facts) != 0)
        return;
    cs_child_variables_set(variables, "SIMDEV_FORK", "%ld:%d:%llu", (long)getpid(), connection,
                           (unsigned long long)facts.st_ino);
}

/* In the child: executes the program. The program's output is kept in a file for the case that it
 * fails. Returns only on failure. */
static int become_program(void *ctx)
{
    const struct start *start = ctx;
    const struct cs_simulation *simulation = start->simulation;
    const struct cs_sim_run *run = start->run;
    struct cs_child_variables variables = {.item = NULL};
    char path[PATH_MAX + 16];
    setpgid(0, 0); /* signals of the terminal go to this command, which passes them on */
    int error = cs_private_layers_enter(&simulation->layers, cs_path_file(run->folder));
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* after the namespaces, which would reset it */
    snprintf(path, sizeof path, "%s/output", run->folder);
    int input = open("/dev/null", O_RDONLY),
        output = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    cs_simulation_variables(simulation, run, &variables);
    pass_files(start->connection, &variables);
    if (input < 0 || output < 0 || !cs_child_variables_apply(&variables))
        return NOT_FOUND;
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
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
 * the device, the limit of its memory if there is one, and the number of the run. */
static bool make_folder(struct cs_simulation *simulation, const char *kind,
                        const struct cs_sim_run *run, char folder[PATH_MAX])
{
    const int64_t tebibyte = INT64_C(1) << 40; /* a run with more has no limit */
    const char *device = cs_path_file(run->device->path);
    char size[32] = "";
    if (run->memory != run->device->memory && run->memory < tebibyte)
        snprintf(size, sizeof size, "-%" PRId64 "MiB", run->memory >> 20);
    int length = snprintf(folder, PATH_MAX, "%s/%s-%.*s%s-%d", simulation->work, kind,
                          (int)strcspn(device, "."), device, size, ++simulation->runs);
    if (length > 0 && length < PATH_MAX && mkdir(folder, 0700) == 0)
        return true;
    cs_cli_complain("%s: %s", folder, strerror(errno));
    return false;
}

static pid_t start_process(const struct cs_simulation *simulation, const struct cs_sim_run *run,
                           int connection)
{
    pid_t pid = cs_child_start(become_program, &(struct start){simulation, run, connection});
    if (pid < 0)
        cs_cli_complain("cannot start a process: %s", strerror(errno));
    return pid;
}

static void begin_run(struct cs_sim_run *run, pid_t pid)
{
    run->pid = pid;
    run->state = CS_RUN_RUNNING;
    run->outcome.seconds = cs_clock_seconds();
}

static void end_run(struct cs_sim_run *run, int status)
{
    run->state = CS_RUN_ENDED;
    run->outcome.seconds = cs_clock_seconds() - run->outcome.seconds;
    run->outcome.status = status;
}

/* --- a process for each run --- */

static bool start_plain(struct cs_simulation *simulation, struct cs_sim_run *run)
{
    if (!make_folder(simulation, run->name, run, run->folder))
        return false;
    const pid_t pid = start_process(simulation, run, -1);
    if (pid > 0)
        begin_run(run, pid);
    return pid > 0;
}

/* --- runs forked from one process --- */

/* Returns the first run in that state; NULL: there is none. `pid`: of that process only; -1: of
 * any. */
static struct cs_sim_run *find_run(const struct batch *batch, enum cs_run_state state, pid_t pid)
{
    for (size_t i = 0; i < batch->runs; i++)
        if (batch->run[i]->state == state && (pid < 0 || batch->run[i]->pid == pid))
            return batch->run[i];
    return NULL;
}

/* Returns the waiting run for which the server's process is started. The process becomes that run
 * if it cannot be forked. If both sides share the process, a run with the library comes first.
 * NULL: none is waiting. */
static struct cs_sim_run *run_of_server(const struct batch *batch)
{
    for (size_t i = 0; i < batch->runs; i++)
        if (batch->run[i]->state == CS_RUN_WAITING &&
            (batch->run[i]->with || !batch->simulation->shared))
            return batch->run[i];
    return find_run(batch, CS_RUN_WAITING, -1);
}

/* Starts the process from which runs are forked. False after printing the reason. */
static bool start_server(struct cs_simulation *simulation, const struct cs_sim_run *run)
{
    struct cs_fork_server *server = &simulation->server;
    struct cs_sim_run base = *run;
    base.with = run->with || simulation->shared;
    if (!make_folder(simulation, "forked-from", run, base.folder))
        return false;
    const int connection = cs_fork_server_open(server);
    if (connection < 0) {
        cs_cli_complain("cannot create a socket: %s", strerror(errno));
        return false;
    }
    snprintf(server->folder, sizeof server->folder, "%s", base.folder);
    server->pid = start_process(simulation, &base, connection);
    close(connection);
    return server->pid > 0;
}

/* Requests that the server forks a run. False after printing the reason. */
static bool request_run(struct cs_simulation *simulation, struct cs_sim_run *run)
{
    struct cs_child_variables variables = {.item = NULL};
    char output[PATH_MAX + 16];
    if (!make_folder(simulation, run->name, run, run->folder))
        return false;
    snprintf(output, sizeof output, "%s/output", run->folder);
    snprintf(run->origin, sizeof run->origin, "%s", simulation->server.folder);
    cs_simulation_variables(simulation, run, &variables);
    cs_child_variables_set(&variables, "SIMDEV_FORKED", "1");
    if (!run->with && simulation->shared)
        cs_child_variables_set(&variables, "CONVSHIM", "0");
    const bool asked = cs_fork_server_ask(&simulation->server, output, &variables);
    cs_child_variables_free(&variables);
    if (asked)
        begin_run(run, 0);
    else
        cs_cli_complain(
            "%s: the process from which runs are forked has ended, so no further run can "
            "start",
            simulation->title);
    return asked;
}

void cs_sim_runs_stop_forks(struct cs_simulation *simulation)
{
    cs_fork_server_close(&simulation->server);
    simulation->forks = false;
}

/* Makes the server's process the run for which it was started, because it was not forked. Returns
 * that run. */
static struct cs_sim_run *leave_server(const struct batch *batch)
{
    struct cs_simulation *simulation = batch->simulation;
    struct cs_sim_run *single = run_of_server(batch);
    snprintf(single->folder, sizeof single->folder, "%s", simulation->server.folder);
    begin_run(single, cs_fork_server_leave(&simulation->server));
    simulation->forks = false;
    return single;
}

/* Ends the runs that were forked from the server's process, because it has ended. If it did not
 * wait for requests, it was one run. */
static void end_server(const struct batch *batch, int status)
{
    struct cs_sim_run *lost;
    if (!batch->simulation->server.ready) {
        end_run(leave_server(batch), status);
        return;
    }
    (void)cs_fork_server_leave(&batch->simulation->server);
    while ((lost = find_run(batch, CS_RUN_RUNNING, -1)))
        end_run(lost, status);
}

/* True if the server's process has used the device before it waited for requests, so that it is a
 * single run. */
static bool has_used_device(const struct cs_fork_server *server)
{
    struct simdev_progress progress;
    return !server->ready && cs_sim_progress_read(server->folder, &progress) &&
           (progress.peak_bytes > 0 || progress.kernels > 0 || progress.convolutions > 0);
}

/* Takes the messages of the server, and updates the states of its runs. */
static void look_at_server(const struct batch *batch)
{
    struct cs_fork_server *server = &batch->simulation->server;
    struct cs_fork_news news;
    int status;
    if (has_used_device(server)) {
        (void)leave_server(batch);
        return;
    }
    while ((news = cs_fork_server_look(server)).what != CS_FORK_QUIET) {
        struct cs_sim_run *of =
            find_run(batch, CS_RUN_RUNNING, news.what == CS_FORK_STARTED ? 0 : news.pid);
        if (of && news.what == CS_FORK_STARTED)
            of->pid = news.pid;
        if (of && news.what == CS_FORK_RUN_ENDED)
            end_run(of, news.status);
    }
    if (cs_child_ended(server->pid, &status))
        end_server(batch, status);
}

/* --- progress --- */

/* Puts the progress of a run: "without 3 s: 24 convolutions, 1.2 GiB". */
static void put_run(const struct cs_sim_run *run, struct cs_text *text)
{
    struct simdev_progress progress;
    char bytes[CS_BYTES_TEXT];
    cs_text_put(text, "%s%s %.0f s", text->length > 0 ? "; " : "", run->name,
                cs_clock_seconds() - run->outcome.seconds);
    if (cs_sim_progress_read(run->folder, &progress))
        cs_text_put(text, ": %llu convolution%s, %s", progress.convolutions,
                    progress.convolutions == 1 ? "" : "s",
                    cs_table_bytes_text(bytes, (int64_t)progress.peak_bytes));
}

/* Prints a line about the runs since the clock's time `began`. */
static void print_progress(const struct batch *batch, double began)
{
    char line[256] = "";
    struct cs_text text = {line, sizeof line, 0};
    for (size_t i = 0; i < batch->runs; i++)
        if (batch->run[i]->state == CS_RUN_RUNNING)
            put_run(batch->run[i], &text);
    if (text.length == 0)
        cs_text_put(&text, "the program is loading, %.0f s", cs_clock_seconds() - began);
    cs_cli_complain("%s: %s", batch->simulation->title, line);
}

/* Updates the states of all runs by the messages of the server and the processes that have ended.
 */
static void update_states(const struct batch *batch)
{
    int status;
    if (batch->simulation->server.pid > 0)
        look_at_server(batch);
    if (batch->simulation->forks)
        return;
    for (size_t i = 0; i < batch->runs; i++)
        if (batch->run[i]->state == CS_RUN_RUNNING && cs_child_ended(batch->run[i]->pid, &status))
            end_run(batch->run[i], status);
}

static size_t count_running(const struct batch *batch)
{
    size_t running = 0;
    for (size_t i = 0; i < batch->runs; i++)
        running += batch->run[i]->state == CS_RUN_RUNNING;
    return running;
}

/* Starts waiting runs until as many run as simulation->jobs, or a server until it is ready. False
 * after printing the reason. */
static bool start_some(const struct batch *batch)
{
    struct cs_simulation *simulation = batch->simulation;
    const struct cs_fork_server *server = &simulation->server;
    struct cs_sim_run *next;
    bool good = true;
    while (good && (server->pid <= 0 || server->ready) &&
           count_running(batch) < (size_t)simulation->jobs &&
           (next = find_run(batch, CS_RUN_WAITING, -1))) {
        if (!simulation->forks)
            good = start_plain(simulation, next);
        else if (server->ready)
            good = request_run(simulation, next);
        else
            good = start_server(simulation, run_of_server(batch));
    }
    return good;
}

/* Sends a signal to all processes of the runs. */
static void signal_runs(const struct batch *batch, int number)
{
    for (size_t i = 0; i < batch->runs; i++) {
        const struct cs_sim_run *run = batch->run[i];
        if (run->state == CS_RUN_RUNNING && run->pid > 0 && kill(-run->pid, number) != 0)
            (void)kill(run->pid, number);
    }
}

/* Ends all runs with the signal that this process got, so that they can write their files, or else
 * with SIGKILL. A server that they were forked from ends with the simulation. */
static void end_all(const struct batch *batch)
{
    const struct timespec pause = {.tv_nsec = LOOK_EVERY * 1000000L};
    const int numbers[] = {cs_interrupted() == SIGINT ? SIGINT : SIGTERM, SIGKILL};
    for (int i = 0; i < 2; i++) {
        const double end = cs_clock_seconds() + PATIENCE;
        signal_runs(batch, numbers[i]);
        while (count_running(batch) > 0 && cs_clock_seconds() < end) {
            nanosleep(&pause, NULL);
            update_states(batch);
        }
    }
}

bool cs_sim_runs_start(struct cs_simulation *simulation, struct cs_sim_run *const *run, size_t runs)
{
    const struct timespec pause = {.tv_nsec = LOOK_EVERY * 1000000L};
    const struct batch batch = {simulation, run, runs};
    const double began = cs_clock_seconds();
    double printed = began;
    bool good = true;
    for (;;) {
        update_states(&batch);
        if (cs_interrupted()) {
            end_all(&batch);
            return false;
        }
        good = good && start_some(&batch);
        if (count_running(&batch) == 0 && (!good || !find_run(&batch, CS_RUN_WAITING, -1)))
            return good;
        nanosleep(&pause, NULL);
        if (cs_clock_seconds() - printed >= LINE_EVERY) {
            print_progress(&batch, began);
            printed = cs_clock_seconds();
        }
    }
}
