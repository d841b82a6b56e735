/* Runs of a simulation: each in a folder of its own with what it prints, as processes of this one
 * or asked of one that they are forked from. */
#include "check.h"
#include "cli/common/cli.h"
#include "cli/common/table.h"
#include "cli/simulate/simulation.h"
#include "file_contents.h"
#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/convshim-runs-XXXXXX";
static char asked[2 * PATH_MAX]; /* the output file of the last run that was asked for */
static int complaints;
static struct cs_fork_news news; /* what the server says next */

void cs_cli_complain(const char *format, ...)
{
    (void)format;
    complaints++;
}

char *cs_table_bytes_text(char text[CS_BYTES_TEXT], int64_t bytes)
{
    snprintf(text, CS_BYTES_TEXT, "%lld", (long long)bytes);
    return text;
}

void cs_simulation_variables(const struct cs_simulation *simulation,
                             const struct cs_simulated_run *run,
                             struct cs_child_variables *variables)
{
    (void)simulation;
    cs_child_variables_set(variables, "WHICH", "%s", run->name);
}

void cs_simulation_variables_to_fork(const char *server, struct cs_child_variables *variables)
{
    (void)server, (void)variables;
    CHECK(!"a server");
}

bool cs_fork_server_open(struct cs_fork_server *server)
{
    (void)server;
    return false;
}

struct cs_fork_news cs_fork_server_look(struct cs_fork_server *server)
{
    struct cs_fork_news told = news;
    news.what = CS_FORK_QUIET;
    if (told.what == CS_FORK_QUIET && *asked)
        server->state = CS_FORK_ENDED;
    return told;
}

/* The run starts, and ends with status 3. */
bool cs_fork_server_ask(struct cs_fork_server *server, const char *output,
                        const struct cs_child_variables *variables)
{
    CHECK(server->state == CS_FORK_READY && variables->items > 0);
    snprintf(asked, sizeof asked, "%s", output);
    news = (struct cs_fork_news){CS_FORK_STARTED, server->pid, 0};
    server->state = CS_FORK_RUNNING;
    server->status = 3 << 8;
    return true;
}

void cs_fork_server_close(struct cs_fork_server *server)
{
    (void)server;
}

static const char *contents_in(const char *of, const char *name)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", of, name);
    return contents(path);
}

static struct cs_simulation simulation;

static void start(char **command)
{
    memset(&simulation, 0, sizeof simulation);
    simulation.title = "simulate";
    simulation.jobs = 2;
    simulation.program.command = command;
    snprintf(simulation.work, sizeof simulation.work, "%s", folder);
    complaints = 0;
}

static void what_a_run_prints_is_in_its_folder(void)
{
    char *command[] = {"sh", "-c", "echo $WHICH; echo wrong >&2; cat; exit $((${#WHICH} - 2))",
                       NULL};
    struct cs_simulated_run run[] = {{.name = "one"}, {.name = "three"}};
    start(command);
    CHECK(cs_simulation_run(&simulation, run, 2));
    for (int i = 0; i < 2; i++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "%s\nwrong\n", run[i].name);
        CHECK_INT(run[i].state, CS_RUN_ENDED);
        CHECK_INT(run[i].status, i == 0 ? 1 : 3);
        CHECK_STR(contents_in(run[i].folder, "output"), wanted);
    }
    CHECK(strcmp(run[0].folder, run[1].folder) != 0);
    CHECK_INT(complaints, 0);
}

static void how_a_run_ends(void)
{
    char *none[] = {"./no-such-program", NULL}, *ended[] = {"sh", "-c", "kill -9 $$", NULL};
    struct cs_simulated_run run = {.name = "one"};
    start(none);
    simulation.runs = 10; /* the folders of the runs before are there */
    CHECK(cs_simulation_run(&simulation, &run, 1));
    CHECK_INT(run.status, 127);
    CHECK_STR(contents_in(run.folder, "output"),
              "convshim: ./no-such-program: No such file or directory\n");
    start(ended);
    simulation.runs = 20;
    run = (struct cs_simulated_run){.name = "one"};
    CHECK(cs_simulation_run(&simulation, &run, 1));
    CHECK_INT(run.status, 128 + 9);
}

/* A folder with as long a path as there can be. */
static void make_long(char *path, size_t length)
{
    size_t at = strlen(path);
    while (at < length) {
        size_t name = length - at - 1 < 200 ? length - at - 1 : 200;
        name = length - at - 1 - name == 1 ? name - 1 : name; /* no slash without a name */
        path[at++] = '/';
        memset(path + at, 'a', name);
        path[at += name] = '\0';
        CHECK(mkdir(path, 0700) == 0);
    }
    CHECK_INT(strlen(path), length);
}

static void a_long_path_is_whole(void)
{
    char *command[] = {"sh", NULL};
    struct cs_simulated_run run = {.name = "one"};
    char wanted[PATH_MAX + 32];
    start(command);
    make_long(simulation.work, PATH_MAX - 8);
    simulation.many = true;
    simulation.server[0] = (struct cs_fork_server){.state = CS_FORK_READY, .pid = 77};
    CHECK(cs_simulation_run(&simulation, &run, 1));
    CHECK_INT(strlen(run.folder), PATH_MAX - 3);
    snprintf(wanted, sizeof wanted, "%s/output", run.folder);
    CHECK_STR(asked, wanted);
    CHECK_INT(run.status, 3);
}

/* Up to the longest path that the system takes; where it takes none the program is not begun. */
static void a_long_path_of_a_process_of_its_own(void)
{
    char *command[] = {"sh", "-c", "echo long", NULL};
    const size_t longest = PATH_MAX - 1 - strlen("/run1") - strlen("/output");
    for (size_t more = 0; more < 3; more++) {
        struct cs_simulated_run run = {.name = "one"};
        start(command);
        snprintf(simulation.work, sizeof simulation.work, "%s/%zu", folder, more);
        CHECK(mkdir(simulation.work, 0700) == 0);
        make_long(simulation.work, longest + more);
        CHECK(cs_simulation_run(&simulation, &run, 1));
        CHECK_INT(run.status, more == 0 ? 0 : 127);
        CHECK_STR(contents_in(run.folder, "output"), more == 0 ? "long\n" : "(none)");
    }
}

/* In a child, which may lack its standard streams. */
static int run_without_streams(int streams)
{
    char *command[] = {"sh", "-c", "cat; echo out; echo error >&2; true <&3 || echo no more", NULL};
    struct cs_simulated_run run = {.name = "one"};
    pid_t pid = fork();
    if (pid == 0) {
        start(command);
        simulation.runs = 100 * (streams + 1);
        /* What this process may read is not the program's. */
        int readable = open("/proc/self/cmdline", O_RDONLY);
        if (readable > STDIN_FILENO && dup2(readable, STDIN_FILENO) == STDIN_FILENO)
            close(readable);
        for (int stream = 0; stream < 3; stream++)
            if (streams >> stream & 1)
                close(stream);
        _exit(!cs_simulation_run(&simulation, &run, 1) ? 126 : run.status);
    }
    int status = 0;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Whatever this process lacks, a program has all three, and nothing else; what it prints is for its
 * owner alone. */
static void streams_that_are_closed(void)
{
    fflush(stdout);
    for (int streams = 0; streams < 8; streams++) {
        char name[64], where[PATH_MAX];
        struct stat file;
        CHECK_INT(run_without_streams(streams), 0);
        snprintf(name, sizeof name, "run%d/output", 100 * (streams + 1) + 1);
        CHECK(strncmp(contents_in(folder, name), "out\nerror\n", 10) == 0);
        CHECK(strstr(contents_in(folder, name), "no more"));
        snprintf(where, sizeof where, "%s/%s", folder, name);
        CHECK(stat(where, &file) == 0);
        CHECK_INT(file.st_mode & 0777, 0600);
    }
}

static void a_folder_that_cannot_be_made_ends_it(void)
{
    char *command[] = {"sh", "-c", "exit 0", NULL};
    struct cs_simulated_run run = {.name = "one"};
    start(command);
    snprintf(simulation.work, sizeof simulation.work, "%s/none", folder);
    CHECK(!cs_simulation_run(&simulation, &run, 1));
    CHECK_INT(run.state, CS_RUN_WAITING);
    CHECK_INT(complaints, 1);
    for (size_t length = PATH_MAX - 5; length < PATH_MAX; length++) { /* "/run1" behind it */
        start(command);
        memset(simulation.work, '/', length);
        memcpy(simulation.work, folder, strlen(folder));
        simulation.work[length] = '\0';
        CHECK(!cs_simulation_run(&simulation, &run, 1));
        CHECK_INT(run.state, CS_RUN_WAITING);
        CHECK_INT(complaints, 1);
    }
}

int main(void)
{
    char remove[64];
    if (!mkdtemp(folder))
        return 1;
    TEST(what_a_run_prints_is_in_its_folder);
    TEST(how_a_run_ends);
    TEST(a_long_path_is_whole);
    TEST(a_long_path_of_a_process_of_its_own);
    TEST(streams_that_are_closed);
    TEST(a_folder_that_cannot_be_made_ends_it);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || system(remove) != 0;
}
