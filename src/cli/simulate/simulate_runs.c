/* Starts the runs of a simulation, waits for them, and says meanwhile how far they are. */
#include "cli/common/cli.h"
#include "cli/common/table.h"
#include "cli/simulate/simulation.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    NOT_FOUND = 127,
    LOOK_EVERY = 20 /* milliseconds */
};

/* Seconds until a terminal's line is written again, and until a log gets another one. */
static const double terminal_every = 0.2, log_every = 10;

/* What the device tells while it runs: cudart_record.h. */
struct progress {
    char magic[8];
    unsigned long long convolutions, kernels, live_bytes, peak_bytes;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* In the child. What the program prints is kept for the case that it fails. */
static void become(const struct cs_simulation *simulation, const struct cs_simulated_run *run)
{
    struct cs_child_variables variables = {.item = NULL};
    char path[PATH_MAX + 16];
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    snprintf(path, sizeof path, "%s/output", run->folder);
    int input = open("/dev/null", O_RDONLY),
        output = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    cs_simulation_variables(simulation, run, &variables);
    if (input < 0 || output < 0 || !cs_child_variables_apply(&variables))
        _exit(NOT_FOUND);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    char **command = simulation->program.command;
    execvp(command[0], command);
    fprintf(stderr, "convshim: %s: %s\n", command[0], strerror(errno));
    _exit(NOT_FOUND);
}

static bool start(struct cs_simulation *simulation, struct cs_simulated_run *run)
{
    int length =
        snprintf(run->folder, sizeof run->folder, "%s/run%d", simulation->work, ++simulation->runs);
    bool made = length > 0 && (size_t)length < sizeof run->folder && mkdir(run->folder, 0700) == 0;
    fflush(NULL);
    run->seconds = now();
    run->pid = made ? fork() : -1;
    if (run->pid == 0)
        become(simulation, run);
    if (run->pid < 0)
        cs_cli_complain("%s: %s", run->folder, strerror(errno));
    run->running = run->pid > 0;
    return run->running;
}

static void look(struct cs_simulated_run *run)
{
    int status;
    pid_t ended = run->running ? waitpid(run->pid, &status, WNOHANG) : 0;
    if (ended == 0 || (ended < 0 && errno == EINTR))
        return;
    run->running = false;
    run->seconds = now() - run->seconds;
    run->status = ended < 0           ? NOT_FOUND
                  : WIFEXITED(status) ? WEXITSTATUS(status)
                                      : 128 + WTERMSIG(status);
}

static bool read_progress(const struct cs_simulated_run *run, struct progress *progress)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/progress", run->folder);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool good = file >= 0 && read(file, progress, sizeof *progress) == sizeof *progress;
    if (file >= 0)
        close(file);
    return good;
}

/* "without 3 s: 24 convolutions, 1.2 GiB". */
static int say_one(const struct cs_simulated_run *run, char *text, size_t size)
{
    struct progress progress;
    char bytes[CS_BYTES_TEXT];
    int length = snprintf(text, size, "%s %.0f s", run->name, now() - run->seconds);
    if (read_progress(run, &progress) && length > 0 && (size_t)length < size)
        length += snprintf(text + length, size - (size_t)length, ": %llu convolutions, %s",
                           progress.convolutions,
                           cs_table_bytes_text(bytes, (int64_t)progress.peak_bytes));
    return length;
}

static void say(const struct cs_simulation *simulation, const struct cs_simulated_run *run,
                size_t runs, bool terminal)
{
    char line[512] = "";
    size_t length = 0;
    for (size_t i = 0; i < runs && length < sizeof line; i++) {
        if (!run[i].running)
            continue;
        if (length > 0)
            length += (size_t)snprintf(line + length, sizeof line - length, "; ");
        if (length < sizeof line)
            length += (size_t)say_one(&run[i], line + length, sizeof line - length);
    }
    if (length == 0)
        return;
    fprintf(stderr, terminal ? "\r\033[Kconvshim: %s: %.100s" : "convshim: %s: %.200s\n",
            simulation->title, line);
    fflush(stderr);
}

bool cs_simulation_run(struct cs_simulation *simulation, struct cs_simulated_run *run, size_t runs)
{
    const struct timespec pause = {.tv_nsec = LOOK_EVERY * 1000000L};
    const bool terminal = isatty(STDERR_FILENO);
    const double every = terminal ? terminal_every : log_every;
    double said = now();
    size_t begun = 0, running = 0;
    bool good = true;
    while (good || running > 0) {
        running = 0;
        for (size_t i = 0; i < begun; i++) {
            look(&run[i]);
            running += run[i].running;
        }
        for (; good && begun < runs && running < (size_t)simulation->jobs; running++)
            good = start(simulation, &run[begun++]);
        if (running == 0 && (begun == runs || !good))
            break;
        nanosleep(&pause, NULL);
        if (now() - said >= every) {
            say(simulation, run, begun, terminal);
            said = now();
        }
    }
    if (terminal)
        fputs("\r\033[K", stderr);
    return good;
}
