/* A server's messages from and to its process. The process ends with the simulation, also if it
 * ignores the request. The test uses the process's end of the connection. */
#include "cli/program/child.h"
#include "simdev/simulate/fork_server.h"

#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
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

static void expect_gone(pid_t pid)
{
    errno = 0;
    CHECK_INT(waitpid(pid, NULL, WNOHANG), -1);
    CHECK_INT(errno, ECHILD);
    CHECK_INT(kill(pid, 0), -1);
}

/* A server's process ends at SIGTERM, or by SIGKILL after 250 looks if it ignores that. */
static void closing_ends_the_process(void)
{
    static const struct {
        void (*handling)(int);
        bool hurried;
        int least, most; /* looks */
    } rows[] = {{SIG_DFL, false, 0, 249}, {SIG_IGN, true, 250, 250}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int ready[2];
        char byte = 0;
        struct cs_fork_server server;
        CASE("row %zu", i);
        CHECK(close(cs_fork_server_open(&server)) == 0);
        CHECK_INT(pipe(ready), 0);
        const pid_t pid = server.pid = fork();
        if (pid == 0) {
            signal(SIGTERM, rows[i].handling);
            (void)!write(ready[1], &byte, 1);
            for (;;)
                pause();
        }
        CHECK_INT(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        close(ready[1]);
        hurried = rows[i].hurried;
        waits = 0;
        cs_fork_server_close(&server);
        CHECK(waits >= rows[i].least && waits <= rows[i].most);
        expect_gone(pid);
    }
}

/* --- messages --- */

enum {
    MOST_ASKED = 128 << 10 /* bytes of a request: one more than the device accepts */
};

static struct cs_fork_server talking;

static struct cs_fork_news heard(int program, const char *message, size_t bytes)
{
    CHECK_INT(send(program, message, bytes, MSG_NOSIGNAL), bytes);
    return cs_fork_server_look(&talking);
}

static void each_message_has_its_news(void)
{
    static char whole[700];
    memset(whole, '9', sizeof whole - 1);
    static const struct {
        const char *message;
        int what, pid, status;
        bool ready;
    } rows[] = {{"started 5 0", CS_FORK_STARTED, 5, 0, false},
                {"ready 11 0", CS_FORK_READY, 11, 0, true},
                {"started 4711 0", CS_FORK_STARTED, 4711, 0, true},
                {"ended 4711 256", CS_FORK_RUN_ENDED, 4711, 1, true},
                {"ended 4712 9", CS_FORK_RUN_ENDED, 4712, 128 + SIGKILL, true},
                {"", CS_FORK_QUIET, 0, 0, true},
                {"started", CS_FORK_QUIET, 0, 0, true},
                {whole, CS_FORK_QUIET, 0, 0, true}};
    const int program = cs_fork_server_open(&talking);
    CHECK_INT(cs_fork_server_look(&talking).what, CS_FORK_QUIET);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CASE("message %zu", i);
        const struct cs_fork_news news =
            heard(program, rows[i].message, strlen(rows[i].message) + 1);
        CHECK_INT(news.what, rows[i].what);
        CHECK_INT(news.pid, rows[i].pid);
        CHECK_INT(news.status, rows[i].status);
        CHECK_INT(talking.ready, rows[i].ready);
    }
    close(program);
    CHECK_INT(cs_fork_server_look(&talking).what, CS_FORK_QUIET);
    CHECK_INT(cs_fork_server_leave(&talking), -1);
}

/* --- requests --- */

static void requests(void)
{
    static char taken[256];
    static const char wanted[] = "/run1/output\0A=1\0B\0C=two words";
    struct cs_child_variables variables = {.item = NULL};
    const int program = cs_fork_server_open(&talking);
    cs_child_variables_set(&variables, "A", "%d", 1);
    cs_child_variables_remove(&variables, "B");
    cs_child_variables_set(&variables, "C", "two words");
    CHECK(cs_fork_server_ask(&talking, "/run1/output", &variables));
    CHECK_INT(recv(program, taken, sizeof taken, 0), sizeof wanted);
    CHECK(memcmp(taken, wanted, sizeof wanted) == 0);
    variables.broken = true;
    CHECK(!cs_fork_server_ask(&talking, "", &variables));
    variables.broken = false;
    close(program);
    CHECK(!cs_fork_server_ask(&talking, "", &variables)); /* and no signal ends this process */
    cs_child_variables_free(&variables);
    (void)cs_fork_server_leave(&talking);
}

/* The largest request that the other end accepts, in the file's name or in a variable after
 * another; one byte more is refused. */
static void requests_of_any_length(void)
{
    static char text[MOST_ASKED + 8], taken[MOST_ASKED + 8];
    memset(text, 't', sizeof text - 1);
    const int program = cs_fork_server_open(&talking);
    for (int as = 0; as < 3; as++)
        for (size_t bytes = MOST_ASKED - 2; bytes <= MOST_ASKED + 2; bytes++) {
            char *items[] = {"A=1", as == 1 ? "B" : text}; /* the last fills the remaining space */
            const struct cs_child_variables variables = {.item = items, .items = (size_t)as};
            size_t before = as == 0 ? 0 : as == 1 ? strlen("A=1") + 1 : strlen("A=1") + 1 + 2;
            size_t length = bytes - before - 1;
            text[length] = '\0';
            bool sent = cs_fork_server_ask(&talking, as == 2 ? "/" : text, &variables);
            CHECK_INT(sent, bytes < MOST_ASKED);
            ssize_t got = recv(program, taken, sizeof taken, MSG_DONTWAIT);
            CHECK_INT(got, sent ? (ssize_t)bytes : -1);
            text[length] = 't';
        }
    close(program);
    (void)cs_fork_server_leave(&talking);
}

/* --- how it ends --- */

/* A process that is left is not ended, and sees the end of the connection. */
static void leaving_closes_the_connection_only(void)
{
    char byte;
    const int program = cs_fork_server_open(&talking);
    talking.pid = fork();
    if (talking.pid == 0) {
        close(talking.connection);
        _exit(recv(program, &byte, 1, 0) == 0 ? 9 : 1);
    }
    close(program);
    const pid_t pid = cs_fork_server_leave(&talking);
    CHECK_INT(talking.pid, 0);
    CHECK_INT(cs_child_wait(pid), 9);
}

static int descriptors(void)
{
    int open = 0;
    for (int i = 0; i < 64; i++)
        open += fcntl(i, F_GETFD) >= 0;
    return open;
}

/* Also if the process was not started. Further calls do nothing. */
static void no_file_stays_open(void)
{
    const int before = descriptors();
    const int program = cs_fork_server_open(&talking);
    CHECK(fcntl(program, F_GETFD) & FD_CLOEXEC);
    CHECK(fcntl(talking.connection, F_GETFD) & FD_CLOEXEC);
    close(program);
    for (int i = 0; i < 2; i++) {
        cs_fork_server_close(&talking);
        CHECK_INT(descriptors(), before);
    }
}

int main(void)
{
    TEST(each_message_has_its_news);
    TEST(requests);
    TEST(requests_of_any_length);
    TEST(leaving_closes_the_connection_only);
    TEST(no_file_stays_open);
    TEST(closing_ends_the_process);
    return REPORT();
}
