/* A server's process is ended with the simulation, whether it heeds the request or not. */
#include "cli/simulate/fork_server.h"

#include "check.h"
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool hurried; /* no time passes between looks */
static int waits;

int nanosleep(const struct timespec *pause, struct timespec *left)
{
    waits++;
    return hurried ? 0 : clock_nanosleep(CLOCK_MONOTONIC, 0, pause, left);
}

/* A process that is ready for SIGTERM, as its handling says. */
static struct cs_fork_server server_of(void (*handling)(int))
{
    int ready[2];
    char byte = 0;
    struct cs_fork_server server;
    CHECK(cs_fork_server_open(&server));
    CHECK_INT(pipe(ready), 0);
    server.pid = fork();
    if (server.pid == 0) {
        signal(SIGTERM, handling);
        (void)!write(ready[1], &byte, 1);
        for (;;)
            pause();
    }
    CHECK(server.pid > 0);
    CHECK_INT(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    server.state = CS_FORK_READY;
    waits = 0;
    return server;
}

static void gone(pid_t pid)
{
    errno = 0;
    CHECK_INT(waitpid(pid, NULL, WNOHANG), -1);
    CHECK_INT(errno, ECHILD);
    CHECK_INT(kill(pid, 0), -1);
}

static void who_heeds_the_request_is_not_killed(void)
{
    struct cs_fork_server server = server_of(SIG_DFL);
    pid_t pid = server.pid;
    hurried = false;
    cs_fork_server_close(&server);
    gone(pid);
    CHECK(waits < 250);
    CHECK_INT(server.listening, -1);
    CHECK_INT(server.connection, -1);
    CHECK_STR(server.name, "");
}

static void who_ignores_it_is_killed(void)
{
    struct cs_fork_server server = server_of(SIG_IGN);
    pid_t pid = server.pid;
    hurried = true;
    cs_fork_server_close(&server);
    gone(pid);
    CHECK_INT(waits, 250);
}

/* Whoever has ended is no process of ours any more: its number may be another's. */
static void who_has_ended_gets_no_signal(void)
{
    struct cs_fork_server server = server_of(SIG_DFL);
    pid_t pid = server.pid;
    server.state = CS_FORK_ENDED;
    cs_fork_server_close(&server);
    CHECK_INT(waitpid(pid, NULL, WNOHANG), 0);
    kill(pid, SIGKILL);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
    TEST(who_heeds_the_request_is_not_killed);
    TEST(who_ignores_it_is_killed);
    TEST(who_has_ended_gets_no_signal);
    return REPORT();
}
