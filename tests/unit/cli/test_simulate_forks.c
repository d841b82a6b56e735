/* Runs that are forked from a process: what becomes of each by what that process says and how it
 * ends, and what is said meanwhile. The process's end of the line and the clock are the test's own.
 */
#include "base/clock.h"
#include "check.h"
#include "cli/common/cli.h"
#include "cli/common/table.h"
#include "cli/simulate/simulation.h"
#include <errno.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int64_t moment; /* the clock's */
static bool on_terminal;

/* --- in place of the system's --- */

static bool no_process; /* can be made */
static pid_t waited[8]; /* what each wait for a process of its own says; behind them: it ended */
static int errors[8];   /* errno of each */
static size_t waits, expected;

static pid_t fork_or_not(void)
{
    errno = EAGAIN;
    return no_process ? -1 : fork();
}

static pid_t wait_as_told(pid_t pid, int *status, int options)
{
    CHECK_INT(options, WNOHANG);
    if (waits < expected) {
        errno = errors[waits];
        return waited[waits++];
    }
    waits++;
    return waitpid(pid, status, 0);
}

/* The program of a run sees what was asked for. */
static int note_in_the_environment(int option, int signal)
{
    char text[32];
    snprintf(text, sizeof text, "%s by %d", option == PR_SET_PDEATHSIG ? "dies" : "?", signal);
    return setenv("ASKED_OF_SYSTEM", text, 1);
}

#define cs_clock(clock) (moment)
#define fork() fork_or_not()
#define waitpid(pid, status, options) wait_as_told(pid, status, options)
#define prctl(option, signal) note_in_the_environment(option, signal)
#define isatty(file) (on_terminal)
#include "cli/simulate/child_variables.c" /* NOLINT(bugprone-suspicious-include) */
#include "cli/simulate/simulate_runs.c"   /* NOLINT(bugprone-suspicious-include) */
#undef cs_clock
#undef fork
#undef waitpid
#undef prctl
#undef isatty

static char folder[] = "/tmp/convshim-forks-XXXXXX";
static char complaints[1024];
static struct cs_simulation simulation;

void cs_cli_complain(const char *format, ...)
{
    size_t length = strlen(complaints);
    va_list list;
    va_start(list, format);
    vsnprintf(complaints + length, sizeof complaints - length, format, list);
    va_end(list);
    strcat(complaints, "\n");
}

char *cs_table_bytes_text(char text[CS_BYTES_TEXT], int64_t bytes)
{
    snprintf(text, CS_BYTES_TEXT, "%lld B", (long long)bytes);
    return text;
}

void cs_simulation_variables(const struct cs_simulation *of, const struct cs_simulated_run *run,
                             struct cs_child_variables *variables)
{
    CHECK(of == &simulation);
    cs_child_variables_set(variables, "WHICH", "%s%s", run->name, run->with ? ", with" : "");
}

void cs_simulation_variables_to_fork(const char *server, struct cs_child_variables *variables)
{
    cs_child_variables_set(variables, "SERVER", "%s", server);
}

/* --- the other end --- */

/* What is heard at a look: what the server says, and the state that it is in from then on. Each
 * round of looks ends with one that is quiet. */
struct heard {
    enum cs_fork_state state;
    struct cs_fork_news news;
};

enum {
    SERVERS = 2,
    MOST_LOOKS = 100
};

static struct {
    const struct heard *heard;
    size_t count, at;
    int opened, closed;
} other[SERVERS];
static char asked[2048];  /* what was asked for, a line each */
static int64_t each_look; /* so much time goes by */
static bool no_socket, gone;

static size_t which(const struct cs_fork_server *server)
{
    return (size_t)(server - simulation.server);
}

bool cs_fork_server_open(struct cs_fork_server *server)
{
    size_t i = which(server);
    other[i].opened++;
    snprintf(server->name, sizeof server->name, "socket%zu", i);
    server->state = CS_FORK_STARTING;
    errno = EMFILE;
    return !no_socket;
}

void cs_fork_server_close(struct cs_fork_server *server)
{
    other[which(server)].closed++;
    *server = (struct cs_fork_server){.listening = -1, .connection = -1};
}

struct cs_fork_news cs_fork_server_look(struct cs_fork_server *server)
{
    size_t i = which(server);
    moment += each_look;
    if (other[i].at >= other[i].count) {
        if (other[i].at++ > MOST_LOOKS)
            exit(1); /* it would look for ever */
        return (struct cs_fork_news){.what = CS_FORK_QUIET};
    }
    const struct heard *heard = &other[i].heard[other[i].at++];
    if (heard->state == CS_FORK_ENDED)
        server->status = 7 << 8;
    if (heard->state == CS_FORK_SINGLE)
        strcpy(server->reason, "has threads");
    server->state = heard->state;
    return heard->news;
}

bool cs_fork_server_ask(struct cs_fork_server *server, const char *output,
                        const struct cs_child_variables *variables)
{
    size_t length = strlen(asked);
    const char *file = strstr(output, "/run");
    length += (size_t)snprintf(asked + length, sizeof asked - length, "%zu: %s:", which(server),
                               file ? file + 1 : output);
    for (size_t i = 0; i < variables->items; i++)
        length +=
            (size_t)snprintf(asked + length, sizeof asked - length, " %s", variables->item[i]);
    snprintf(asked + length, sizeof asked - length, "\n");
    if (server->state == CS_FORK_SINGLE)
        server->state = CS_FORK_RUNNING;
    return !gone;
}

/* --- scenes --- */

static char *quick[] = {"false", NULL};
static struct cs_simulated_run run[4];

static void hear(size_t server, const struct heard *heard, size_t count)
{
    other[server].heard = heard;
    other[server].count = count;
}

/* Two runs without and two with the library. */
static void begin(int jobs)
{
    char remove[128];
    snprintf(remove, sizeof remove, "rm -rf %s/*", folder);
    CHECK(system(remove) == 0);
    memset(&simulation, 0, sizeof simulation);
    memset(other, 0, sizeof other);
    memset(run, 0, sizeof run);
    simulation.title = "simulate";
    simulation.many = true;
    simulation.jobs = jobs;
    simulation.program.command = quick;
    snprintf(simulation.work, sizeof simulation.work, "%s", folder);
    for (int i = 0; i < 4; i++) {
        run[i].name = (const char *const[]){"one", "two", "three", "four"}[i];
        run[i].with = i >= 2;
    }
    asked[0] = complaints[0] = '\0';
    moment = 100 * CS_SECOND;
    each_look = 0;
    no_socket = gone = no_process = false;
    waits = expected = 0;
}

static const char *folder_of(const struct cs_simulated_run *of)
{
    return *of->folder ? strrchr(of->folder, '/') + 1 : "";
}

#define QUIET                                                                                      \
    {                                                                                              \
        CS_FORK_QUIET, 0, 0                                                                        \
    }

/* Two at once of one process: who has started and ended is known by the process. */
static void runs_of_one_process(void)
{
    static const struct heard heard[] = {
        {CS_FORK_STARTING, QUIET},
        {CS_FORK_READY, QUIET},
        {CS_FORK_READY, {CS_FORK_STARTED, 901, 0}},
        {CS_FORK_READY, {CS_FORK_STARTED, 902, 0}},
        {CS_FORK_READY, {CS_FORK_STARTED, 903, 0}}, /* nobody asked for it */
        {CS_FORK_READY, QUIET},
        {CS_FORK_READY, {CS_FORK_RUN_ENDED, 902, 4 << 8}},
        {CS_FORK_READY, {CS_FORK_RUN_ENDED, 777, 5 << 8}}, /* nobody's */
        {CS_FORK_READY, QUIET},
        {CS_FORK_READY, {CS_FORK_RUN_ENDED, 901, 9}},
        {CS_FORK_READY, QUIET}};
    begin(2);
    hear(0, heard, sizeof heard / sizeof *heard);
    each_look = CS_SECOND;
    CHECK(cs_simulation_run(&simulation, run, 2));
    CHECK_INT(other[0].at, other[0].count);
    CHECK_STR(asked, "0: run2/output: WHICH=one SIMDEV_FORKED=1\n"
                     "0: run3/output: WHICH=two SIMDEV_FORKED=1\n");
    CHECK_INT(run[0].pid, 901);
    CHECK_INT(run[1].pid, 902);
    CHECK_INT(run[0].status, 128 + 9);
    CHECK_INT(run[1].status, 4);
    CHECK_INT(run[0].seconds, 9 - 1);
    CHECK_INT(run[1].seconds, 5 - 0);
    CHECK_INT(other[0].opened + other[1].opened, 1);
    CHECK_STR(complaints, "");
}

/* The process is lost: so are those that it had, and the next one of those that wait gets another.
 */
static void a_process_that_ends(void)
{
    static const struct heard heard[] = {{CS_FORK_READY, QUIET},
                                         {CS_FORK_READY, {CS_FORK_STARTED, 901, 0}},
                                         {CS_FORK_READY, QUIET},
                                         {CS_FORK_ENDED, QUIET},
                                         {CS_FORK_READY, QUIET},
                                         {CS_FORK_READY, {CS_FORK_STARTED, 904, 0}},
                                         {CS_FORK_READY, {CS_FORK_RUN_ENDED, 904, 0}},
                                         {CS_FORK_READY, QUIET}};
    begin(2);
    hear(0, heard, sizeof heard / sizeof *heard);
    run[2].with = false;
    CHECK(cs_simulation_run(&simulation, run, 3));
    CHECK_INT(run[0].pid, 901); /* it had begun; the second was asked for, no more */
    CHECK(run[1].pid != 904);
    for (int i = 0; i < 2; i++)
        CHECK_INT(run[i].status, 7);
    CHECK_INT(run[2].status, 0);
    CHECK_STR(folder_of(&run[2]), "run5");
    CHECK_INT(other[0].opened, 2);
    CHECK_INT(other[0].closed, 2);
}

/* It ends before any run was asked for: that is what became of the first that waits. */
static void a_process_that_never_comes_to_the_device(void)
{
    static const struct heard heard[] = {{CS_FORK_STARTING, QUIET},
                                         {CS_FORK_ENDED, QUIET},
                                         {CS_FORK_READY, QUIET},
                                         {CS_FORK_ENDED, {CS_FORK_STARTED, 905, 0}},
                                         {CS_FORK_ENDED, QUIET}};
    begin(2);
    hear(0, heard, sizeof heard / sizeof *heard);
    CHECK(cs_simulation_run(&simulation, run, 2));
    CHECK_INT(run[0].status, 7);
    CHECK_STR(folder_of(&run[0]), "base1");
    CHECK(run[0].seconds == 0);
    CHECK_INT(run[1].status, 7);
    CHECK_STR(folder_of(&run[1]), "run3");
    CHECK_INT(run[1].pid, 905);
    CHECK_STR(complaints, "");
}

/* Runs of either side are of that side's process, unless one serves both. */
static void a_process_for_each_side(void)
{
    static const struct heard without[] = {{CS_FORK_READY, QUIET},
                                           {CS_FORK_READY, {CS_FORK_STARTED, 901, 0}},
                                           {CS_FORK_READY, {CS_FORK_RUN_ENDED, 902, 1 << 8}},
                                           {CS_FORK_READY, {CS_FORK_RUN_ENDED, 901, 2 << 8}}},
                              with[] = {{CS_FORK_READY, QUIET},
                                        {CS_FORK_READY, {CS_FORK_STARTED, 902, 0}},
                                        {CS_FORK_READY, {CS_FORK_RUN_ENDED, 901, 3 << 8}},
                                        {CS_FORK_READY, {CS_FORK_RUN_ENDED, 902, 4 << 8}}};
    static const struct heard both[] = {{CS_FORK_READY, QUIET},
                                        {CS_FORK_READY, {CS_FORK_STARTED, 901, 0}},
                                        {CS_FORK_READY, {CS_FORK_STARTED, 902, 0}},
                                        {CS_FORK_READY, {CS_FORK_RUN_ENDED, 901, 1 << 8}},
                                        {CS_FORK_READY, {CS_FORK_RUN_ENDED, 902, 2 << 8}},
                                        {CS_FORK_READY, QUIET}};
    begin(2);
    hear(0, without, sizeof without / sizeof *without);
    hear(1, with, sizeof with / sizeof *with);
    CHECK(cs_simulation_run(&simulation, run + 1, 2));
    CHECK_STR(asked, "0: run3/output: WHICH=two SIMDEV_FORKED=1\n"
                     "1: run4/output: WHICH=three, with SIMDEV_FORKED=1\n");
    CHECK_INT(run[1].status, 2);
    CHECK_INT(run[2].status, 4);
    CHECK_INT(other[0].opened, 1);
    CHECK_INT(other[1].opened, 1);
    begin(2);
    simulation.shared = true;
    hear(1, both, sizeof both / sizeof *both);
    CHECK(cs_simulation_run(&simulation, run + 1, 2));
    CHECK_STR(asked, "1: run2/output: WHICH=two CONVSHIM=0 SIMDEV_FORKED=1\n"
                     "1: run3/output: WHICH=three, with SIMDEV_FORKED=1\n");
    CHECK_INT(run[1].status, 1);
    CHECK_INT(run[2].status, 2);
    CHECK_INT(other[0].opened, 0);
    CHECK_INT(other[1].opened, 1);
}

/* Where it cannot be forked each run is a process of its own, which is said once, and one with the
 * library in it is not taken for a run without. */
static void processes_of_one_run_each(void)
{
    static const struct heard heard[] = {{CS_FORK_SINGLE, QUIET}, {CS_FORK_RUNNING, QUIET},
                                         {CS_FORK_ENDED, QUIET},  {CS_FORK_STARTING, QUIET},
                                         {CS_FORK_SINGLE, QUIET}, {CS_FORK_ENDED, QUIET}};
    begin(1);
    hear(0, heard, sizeof heard / sizeof *heard);
    CHECK(cs_simulation_run(&simulation, run, 2));
    CHECK_STR(asked, "0: run2/output: WHICH=one\n"
                     "0: run4/output: WHICH=two\n");
    for (int i = 0; i < 2; i++)
        CHECK_INT(run[i].status, 7);
    CHECK_INT(other[0].opened, 2);
    CHECK_STR(complaints, "simulate: each run loads the program anew, since where it first uses "
                          "the GPU has threads\n");
    begin(2);
    simulation.shared = simulation.told_single = true;
    hear(0, heard, 3);
    hear(1, heard, 3);
    CHECK(cs_simulation_run(&simulation, run + 1, 2));
    CHECK_STR(asked, "1: run2/output: WHICH=three, with\n"
                     "0: run4/output: WHICH=two\n");
    CHECK(!simulation.shared);
    CHECK_STR(complaints, "");
}

/* The run keeps waiting, and nobody is asked again. */
static void what_cannot_be_had_ends_it(void)
{
    static const struct heard heard[] = {{CS_FORK_READY, QUIET}};
    begin(2);
    no_socket = true;
    CHECK(!cs_simulation_run(&simulation, run, 2));
    CHECK_STR(complaints, "no socket can be had: Too many open files\n");
    CHECK_INT(simulation.runs, 1);
    for (int ready = 0; ready < 2; ready++) {
        begin(2);
        strcat(simulation.work, "/none");
        hear(0, heard, 1);
        simulation.server[0].state = ready ? CS_FORK_READY : CS_FORK_NONE;
        CHECK(!cs_simulation_run(&simulation, run, 2));
        CHECK(strstr(complaints, ready ? "/none/run1: No such file or directory\n"
                                       : "/none/base1: No such file or directory\n"));
        CHECK(strchr(complaints, '\n')[1] == '\0');
        CHECK_STR(asked, "");
        CHECK_INT(other[0].opened, 0);
    }
    begin(2);
    gone = true;
    hear(0, heard, 1);
    CHECK(!cs_simulation_run(&simulation, run, 2));
    CHECK_STR(complaints, "the program that runs are forked from is gone\n");
    CHECK_INT(run[0].state, CS_RUN_WAITING);
    CHECK_INT(run[1].state, CS_RUN_WAITING);
    CHECK_STR(asked, "0: run2/output: WHICH=one SIMDEV_FORKED=1\n");
}

/* No more at once than asked for, where each is a process of this one or of another. */
static void so_many_at_once(void)
{
    static const struct heard heard[] = {{CS_FORK_READY, QUIET}};
    for (int jobs = 1; jobs < 4; jobs++) {
        begin(jobs);
        hear(0, heard, 1);
        simulation.server[0].state = CS_FORK_READY;
        for (int i = 0; i < 4; i++)
            run[i].with = false;
        CHECK(start_some(&simulation, run, 4, 0));
        for (int i = 0; i < 4; i++)
            CHECK_INT(run[i].state, i < jobs ? CS_RUN_ASKED : CS_RUN_WAITING);
        CHECK_INT(look(&simulation, run, 4), jobs);
        run[0].state = CS_RUN_ENDED;
        CHECK(start_some(&simulation, run, 4, (size_t)jobs - 1));
        CHECK_INT(run[jobs].state, CS_RUN_ASKED);
        CHECK(start_some(&simulation, run, 4, (size_t)jobs));
        CHECK_INT(look(&simulation, run, 4), jobs);
    }
}

/* --- processes of this one --- */

static void hear_of_processes(pid_t said, int error)
{
    waited[expected] = said;
    errors[expected++] = error;
}

/* However often it is looked for while it runs; where nobody knows it any more it has ended, too.
 */
static void a_process_that_is_waited_for(void)
{
    for (int lost = 0; lost < 2; lost++) {
        begin(1);
        simulation.many = false;
        run->with = true;
        hear_of_processes(0, 0);
        hear_of_processes(0, ECHILD); /* of some call before */
        hear_of_processes(-1, EINTR);
        hear_of_processes(0, 0);
        if (lost)
            hear_of_processes(-1, ECHILD);
        moment = 7 * CS_SECOND;
        CHECK(cs_simulation_run(&simulation, run, 1));
        CHECK_INT(waits, 5);
        CHECK_INT(run->status, lost ? 127 : 1);
        CHECK(run->seconds == 0);
        look_plain(run); /* nobody is asked of what has ended */
        CHECK_INT(waits, 5);
    }
}

static void no_process_can_be_made(void)
{
    begin(2);
    no_process = true;
    simulation.many = false;
    CHECK(!cs_simulation_run(&simulation, run, 2));
    CHECK_STR(complaints, "no process can be made: Resource temporarily unavailable\n");
    CHECK_INT(run[0].state, CS_RUN_WAITING);
    CHECK_STR(folder_of(&run[0]), "run1");
    CHECK_STR(folder_of(&run[1]), "");
    begin(2);
    no_process = true;
    CHECK(!cs_simulation_run(&simulation, run, 2));
    CHECK_STR(complaints, "no process can be made: Resource temporarily unavailable\n");
    CHECK_INT(other[0].opened, 1);
    CHECK_INT(run[0].state, CS_RUN_WAITING);
}

/* A process to fork from knows its socket and itself, besides what its first run has. */
static void what_a_process_to_fork_from_gets(void)
{
    static char *command[] = {
        "sh", "-c",
        "echo $WHICH, $SERVER, $ASKED_OF_SYSTEM; test \"$SIMDEV_FORK_PID\" = $$ && echo itself",
        NULL};
    static const struct {
        int run;
        bool shared, with; /* which of the processes it is */
        const char *which;
    } rows[] = {
        {0, false, false, "one"}, {2, false, true, "three, with"}, {0, true, true, "one, with"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct cs_fork_server *server = &simulation.server[rows[i].with];
        char wanted[64], text[256] = "", path[PATH_MAX + 32];
        struct stat facts;
        begin(1);
        simulation.shared = rows[i].shared;
        simulation.program.command = command;
        CHECK(start_server(&simulation, &run[rows[i].run]));
        CHECK_INT(waitpid(server->pid, NULL, 0), server->pid);
        CHECK_STR(strrchr(server->folder, '/'), "/base1");
        CHECK(stat(server->folder, &facts) == 0);
        CHECK_INT(facts.st_mode & 0777, 0700);
        snprintf(path, sizeof path, "%s/output", server->folder);
        FILE *file = fopen(path, "re");
        CHECK(file && fread(text, 1, sizeof text - 1, file) > 0);
        fclose(file);
        snprintf(wanted, sizeof wanted, "%s, socket%d, dies by 15\nitself\n", rows[i].which,
                 rows[i].with);
        CHECK_STR(text, wanted);
    }
}

/* --- what is said meanwhile --- */

static int kept = -1;

static void listen_to_errors(void)
{
    FILE *file = tmpfile();
    CHECK(file);
    kept = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    fclose(file);
}

static const char *heard_errors(void)
{
    static char text[4096];
    ssize_t length = pread(STDERR_FILENO, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    dup2(kept, STDERR_FILENO);
    close(kept);
    return text;
}

static const char *said(size_t runs, bool to_terminal)
{
    listen_to_errors();
    say(&simulation, run, runs, to_terminal);
    return heard_errors();
}

static void put_progress(struct cs_simulated_run *of, unsigned long long convolutions,
                         unsigned long long peak, size_t bytes)
{
    char path[PATH_MAX + 32];
    struct progress progress = {"magic", convolutions, 1, 2, peak};
    snprintf(of->folder, sizeof of->folder, "%s/%s", folder, of->name);
    snprintf(path, sizeof path, "%s/progress", of->folder);
    CHECK(mkdir(of->folder, 0700) == 0);
    FILE *file = fopen(path, "we");
    CHECK(file && fwrite(&progress, bytes, 1, file) == 1 && fclose(file) == 0);
}

/* Of all that run, with what is known of them; not of those that wait or have ended. */
static void how_far_runs_are(void)
{
    begin(4);
    CHECK_STR(said(4, false), "convshim: simulate: the program is loading\n");
    run[0].state = run[2].state = CS_RUN_RUNNING;
    run[1].state = CS_RUN_ENDED;
    put_progress(&run[0], 24, 4096, sizeof(struct progress));
    put_progress(&run[2], 1, 1, sizeof(struct progress) - 1); /* not whole */
    run[0].seconds = 97.6;
    run[2].seconds = 58;
    CHECK_STR(said(4, false), "convshim: simulate: one 2 s: 24 convolutions, 4096 B; three 42 s\n");
    CHECK_STR(said(1, false), "convshim: simulate: one 2 s: 24 convolutions, 4096 B\n");
    CHECK_STR(said(4, true),
              "\r\033[Kconvshim: simulate: one 2 s: 24 convolutions, 4096 B; three 42 s");
    run[0].state = CS_RUN_ENDED;
    run[3].state = CS_RUN_ASKED;
    run[3].seconds = 100;
    CHECK_STR(said(4, false), "convshim: simulate: three 42 s; four 0 s\n");
}

/* However long the names are: a terminal gets a hundred characters, a log two hundred. */
static void how_far_runs_of_long_names_are(void)
{
    static char name[600], whole[4 * sizeof name];
    for (size_t length = 1; length < sizeof name - 2; length += length < 490 ? 40 : 1) {
        const char *line;
        size_t at = 0;
        begin(4);
        memset(name, 'n', length);
        for (int i = 0; i < 4; i++) {
            run[i].name = name;
            run[i].state = CS_RUN_RUNNING;
            run[i].seconds = 99;
            at += (size_t)snprintf(whole + at, sizeof whole - at, "%s%s 1 s", i > 0 ? "; " : "",
                                   name);
        }
        line = said(4, false);
        CHECK_INT(strlen(line), (at < 200 ? at : 200) + strlen("convshim: simulate: \n"));
        CHECK(strncmp(line + strlen("convshim: simulate: "), whole, at < 200 ? at : 200) == 0);
        line = said(4, true);
        CHECK_INT(strlen(line), (at < 100 ? at : 100) + strlen("\r\033[Kconvshim: simulate: "));
    }
}

/* A log gets a line every ten seconds, a terminal one every fifth of a second, which goes in the
 * end. */
static void how_often_it_is_said(void)
{
    static const struct heard heard[] = {{CS_FORK_STARTING, QUIET}, {CS_FORK_STARTING, QUIET},
                                         {CS_FORK_STARTING, QUIET}, {CS_FORK_STARTING, QUIET},
                                         {CS_FORK_STARTING, QUIET}, {CS_FORK_ENDED, QUIET}};
    static const struct {
        bool terminal;
        int64_t milliseconds;
        int lines;
    } rows[] = {{false, 1000, 0}, {false, 1999, 0},  {false, 2000, 1}, {false, 4999, 1},
                {false, 5000, 2}, {false, 10000, 5}, {true, 20, 0},    {true, 39, 0},
                {true, 41, 1},    {true, 99, 1},     {true, 101, 2},   {true, 250, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int lines = 0;
        begin(1);
        hear(0, heard, sizeof heard / sizeof *heard);
        each_look = rows[i].milliseconds * CS_MILLISECOND;
        on_terminal = rows[i].terminal;
        listen_to_errors();
        CHECK(cs_simulation_run(&simulation, run, 1));
        const char *text = heard_errors();
        for (const char *at = text; (at = strstr(at, "simulate: the program")); at++)
            lines++;
        CHECK_INT(lines, rows[i].lines);
        size_t length = strlen(text);
        CHECK(length == 0 ||
              strcmp(text + length - (on_terminal ? 4 : 1), on_terminal ? "\r\033[K" : "\n") == 0);
        CHECK(!on_terminal || length >= 4);
    }
    on_terminal = false;
}

int main(void)
{
    char remove[64];
    if (!mkdtemp(folder))
        return 1;
    TEST(runs_of_one_process);
    TEST(a_process_that_ends);
    TEST(a_process_that_never_comes_to_the_device);
    TEST(a_process_for_each_side);
    TEST(processes_of_one_run_each);
    TEST(what_cannot_be_had_ends_it);
    TEST(so_many_at_once);
    TEST(a_process_that_is_waited_for);
    TEST(no_process_can_be_made);
    TEST(what_a_process_to_fork_from_gets);
    TEST(how_far_runs_are);
    TEST(how_far_runs_of_long_names_are);
    TEST(how_often_it_is_said);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || system(remove) != 0;
}
