/* A server's messages from and to its process. The process ends with the simulation, also if it
 * ignores the request. The test plays the process's end of the connection. */
#include "cli/simulate/simulation.h"

#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
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

static uid_t foreign; /* the user that connects; 0: the real one */
static bool unknown;  /* the user that connects cannot be determined */

int getsockopt(int file, int level, int name, void *restrict value, socklen_t *restrict bytes)
{
    long status = syscall(SYS_getsockopt, file, level, name, value, bytes);
    if (foreign > 0)
        ((struct ucred *)value)->uid = foreign;
    return unknown ? -1 : (int)status;
}

static void expect_gone(pid_t pid)
{
    errno = 0;
    CHECK_INT(waitpid(pid, NULL, WNOHANG), -1);
    CHECK_INT(errno, ECHILD);
    CHECK_INT(kill(pid, 0), -1);
}

/* A server's process ends at SIGTERM, or by SIGKILL after 250 looks if it ignores that. If it has
 * ended already, no process gets a signal: its id may belong to another one. */
static void closing_ends_the_process(void)
{
    static const struct {
        void (*handling)(int);
        enum cs_fork_state state;
        bool hurried;
        int least, most; /* looks */
    } rows[] = {{SIG_DFL, CS_FORK_READY, false, 0, 249},
                {SIG_IGN, CS_FORK_READY, true, 250, 250},
                {SIG_DFL, CS_FORK_ENDED, true, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int ready[2];
        char byte = 0;
        struct cs_fork_server server;
        CASE("row %zu", i);
        CHECK(cs_fork_server_open(&server));
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
        server.state = rows[i].state;
        hurried = rows[i].hurried;
        waits = 0;
        cs_fork_server_close(&server);
        CHECK(waits >= rows[i].least && waits <= rows[i].most);
        CHECK(server.listening == -1 && server.connection == -1 && !*server.name);
        if (rows[i].state == CS_FORK_ENDED) {
            CHECK_INT(waitpid(pid, NULL, WNOHANG), 0);
            kill(pid, SIGKILL);
            CHECK_INT(waitpid(pid, NULL, 0), pid);
        }
        expect_gone(pid);
    }
}

/* --- messages --- */

enum {
    MOST_ASKED =
        128 << 10 /* bytes of a request: the largest that the device accepts, and one more */
};

static struct cs_fork_server talking;

/* A program's end of the line. */
static int join_server(const struct cs_fork_server *server)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(server->name);
    memcpy(address.sun_path + 1, server->name, length);
    int joined = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK_INT(connect(joined, (struct sockaddr *)&address,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)),
              0);
    return joined;
}

/* A server with a program that has come, of which this test is the process. */
static int open_joined(void)
{
    CHECK(cs_fork_server_open(&talking));
    CHECK_INT(talking.state, CS_FORK_STARTING);
    talking.pid = getpid(); /* not a child: only code that ends it would use the id */
    int program = join_server(&talking);
    CHECK_INT(talking.connection, -1);
    return program;
}

static void close_joined(int program)
{
    talking.state = CS_FORK_ENDED;
    cs_fork_server_close(&talking);
    char byte;
    ssize_t left;
    while ((left = recv(program, &byte, 1, 0)) > 0) /* the request */
        ;
    CHECK_INT(left, 0); /* it sees the end */
    close(program);
}

static struct cs_fork_news heard(int program, const char *message, size_t bytes)
{
    CHECK_INT(send(program, message, bytes, MSG_NOSIGNAL), bytes);
    return cs_fork_server_look(&talking);
}

#define HEARD(program, text) heard(program, text, sizeof text)

/* Messages of one, two and three texts, as the device sends them. One that lacks its later texts
 * does not contain parts of earlier messages. */
static void each_message_has_its_news(void)
{
    static char whole[700] = "ended";
    memset(whole + 6, '9', sizeof whole - 7);
    static const struct {
        const char *message;
        size_t bytes;
        int what, pid, status;
        enum cs_fork_state state;
    } rows[] = {
        {"ready\0", 7, CS_FORK_QUIET, 0, 0, CS_FORK_READY},
        {"started\0"
         "4711",
         13, CS_FORK_STARTED, 4711, 0, CS_FORK_READY},
        {"ended\0"
         "4711\0"
         "256",
         15, CS_FORK_RUN_ENDED, 4711, 1, CS_FORK_READY},
        {whole, sizeof whole, CS_FORK_RUN_ENDED, -1, 0, CS_FORK_READY},
        {"started", 7, CS_FORK_STARTED, 0, 0, CS_FORK_READY},
        {"ended\0"
         "12",
         8, CS_FORK_RUN_ENDED, 12, 0, CS_FORK_READY},
    };
    int program = open_joined();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CASE("message %zu", i);
        struct cs_fork_news news = heard(program, rows[i].message, rows[i].bytes);
        CHECK_INT(news.what, rows[i].what);
        CHECK(rows[i].pid < 0 || news.pid == rows[i].pid);
        CHECK_INT(news.status, rows[i].status);
        CHECK_INT(talking.state, rows[i].state);
        CHECK_STR(talking.reason, "");
    }
    close_joined(program);
}

/* At most 100 bytes of the reason are kept. */
static void why_it_cannot_be_forked(void)
{
    static char reason[160] = "single";
    memset(reason + 7, 'r', 102);
    for (size_t length = 99; length < 102; length++) {
        int program = open_joined();
        reason[7 + length] = '\0';
        CHECK_INT(heard(program, reason, 7 + length + 1).what, CS_FORK_QUIET);
        CHECK_INT(talking.state, CS_FORK_SINGLE);
        CHECK_INT(strspn(talking.reason, "r"), length < 100 ? length : 100);
        CHECK_INT(strlen(talking.reason), length < 100 ? length : 100);
        close_joined(program);
        reason[7 + length] = 'r';
    }
}

/* Further processes of the program may connect. They are disconnected, and receive no request. */
static void first_connection_is_the_program(void)
{
    char byte;
    int program = open_joined();
    (void)HEARD(program, "ready\0");
    int other = join_server(&talking);
    CHECK_INT(send(other, "single", 7, MSG_NOSIGNAL), 7);
    struct cs_fork_news news = HEARD(program, "started\0"
                                              "5");
    CHECK_INT(news.pid, 5);
    CHECK_INT(talking.state, CS_FORK_READY);
    ssize_t got = recv(other, &byte, 1, 0);
    CHECK(got == 0 || (got < 0 && errno == ECONNRESET));
    close(other);
    close_joined(program);
}

/* Any process of the machine can connect, also before the program. */
static void foreign_processes_are_disconnected(void)
{
    for (int as = 0; as < 2; as++) {
        CHECK(cs_fork_server_open(&talking));
        talking.pid = -1;
        foreign = as == 0 ? geteuid() + 1 : 0;
        unknown = as == 1;
        int other = join_server(&talking);
        CHECK_INT(send(other, "ready", 6, MSG_NOSIGNAL), 6);
        talking.state = CS_FORK_NONE; /* so that no process is looked for */
        CHECK_INT(cs_fork_server_look(&talking).what, CS_FORK_QUIET);
        CHECK_INT(talking.state, CS_FORK_NONE);
        CHECK_INT(talking.connection, -1);
        foreign = 0;
        unknown = false;
        int program = join_server(&talking);
        HEARD(program, "ready\0");
        CHECK_INT(talking.state, CS_FORK_READY);
        close(other);
        close_joined(program);
    }
}

/* Either end may be descriptor 0 where this process has no standard input. */
static void ends_of_any_number(void)
{
    for (int first = 0; first < 2; first++) {
        pid_t pid = fork();
        if (pid == 0) {
            check_failures = 0;
            if (first == 0)
                close(STDIN_FILENO);
            CHECK(cs_fork_server_open(&talking));
            int program = join_server(&talking);
            if (first == 1)
                close(STDIN_FILENO);
            talking.pid = -1;
            HEARD(program, "ready\0");
            CHECK_INT(first == 0 ? talking.listening : talking.connection, 0);
            CHECK_INT(talking.state, CS_FORK_READY);
            CHECK(cs_fork_server_ask(&talking, "/", &(struct cs_child_variables){.items = 0}));
            close_joined(program);
            CHECK(fcntl(0, F_GETFD) < 0);
            fflush(stdout);
            _exit(check_failures > 0);
        }
        int status = -1;
        CHECK_INT(waitpid(pid, &status, 0), pid);
        CHECK_INT(status, 0);
    }
}

/* --- requests --- */

static void requests(void)
{
    static char taken[256];
    static const char wanted[] = "/run1/output\0A=1\0B\0C=two words";
    struct cs_child_variables variables = {.item = NULL};
    int program = open_joined();
    HEARD(program, "ready\0");
    cs_child_variables_set(&variables, "A", "%d", 1);
    cs_child_variables_remove(&variables, "B");
    cs_child_variables_set(&variables, "C", "two words");
    CHECK(cs_fork_server_ask(&talking, "/run1/output", &variables));
    CHECK_INT(talking.state, CS_FORK_READY);
    CHECK_INT(recv(program, taken, sizeof taken, 0), sizeof wanted);
    CHECK(memcmp(taken, wanted, sizeof wanted) == 0);
    HEARD(program, "single\0x");
    CHECK(cs_fork_server_ask(&talking, "", &variables));
    CHECK_INT(talking.state, CS_FORK_RUNNING);
    CHECK_INT(recv(program, taken, sizeof taken, 0), sizeof wanted - strlen("/run1/output"));
    variables.broken = true;
    talking.state = CS_FORK_SINGLE;
    CHECK(!cs_fork_server_ask(&talking, "", &variables));
    CHECK_INT(talking.state, CS_FORK_SINGLE);
    variables.broken = false;
    close(program);
    CHECK(!cs_fork_server_ask(&talking, "", &variables)); /* and no signal ends this process */
    CHECK_INT(talking.state, CS_FORK_SINGLE);
    cs_child_variables_free(&variables);
    talking.state = CS_FORK_ENDED;
    cs_fork_server_close(&talking);
}

/* The largest request that the other end accepts, in the file's name or in a variable after
 * another; one byte more is refused. */
static void requests_of_any_length(void)
{
    static char text[MOST_ASKED + 8], taken[MOST_ASKED + 8];
    memset(text, 't', sizeof text - 1);
    int program = open_joined();
    HEARD(program, "ready\0");
    for (int as = 0; as < 3; as++)
        for (size_t bytes = MOST_ASKED - 2; bytes <= MOST_ASKED + 2; bytes++) {
            char *items[] = {"A=1", as == 1 ? "B" : text}; /* the last fills the remaining space */
            const struct cs_child_variables variables = {.item = items, .items = (size_t)as};
            size_t before = as == 0 ? 0 : as == 1 ? strlen("A=1") + 1 : strlen("A=1") + 1 + 2;
            size_t length = bytes - before - 1;
            text[length] = '\0';
            bool sent = cs_fork_server_ask(&talking, as == 2 ? "/" : text, &variables);
            CHECK_INT(sent, bytes < MOST_ASKED);
            ssize_t got = recv(program, taken, sizeof taken, 0);
            CHECK_INT(got, sent ? (ssize_t)bytes : -1);
            text[length] = 't';
        }
    close_joined(program);
}

/* --- how it ends --- */

/* Its earlier messages come first, then its end, once. */
static void end_of_a_process_is_reported_once(void)
{
    CHECK(cs_fork_server_open(&talking));
    talking.pid = fork();
    if (talking.pid == 0) {
        int program = join_server(&talking);
        (void)!send(program, "ready\0", 7, 0);
        _exit(9);
    }
    siginfo_t ended;
    CHECK_INT(waitid(P_PID, (id_t)talking.pid, &ended, WEXITED | WNOWAIT), 0);
    CHECK_INT(cs_fork_server_look(&talking).what, CS_FORK_QUIET);
    CHECK_INT(talking.state, CS_FORK_READY);
    CHECK_INT(cs_fork_server_look(&talking).what, CS_FORK_QUIET);
    CHECK_INT(talking.state, CS_FORK_ENDED);
    CHECK_INT(talking.status, 9);
    expect_gone(talking.pid);
    talking.status = 5;
    CHECK_INT(cs_fork_server_look(&talking).what, CS_FORK_QUIET);
    CHECK_INT(talking.status, 5);
    cs_fork_server_close(&talking);
    talking.state = CS_FORK_NONE; /* no process is waited for */
    talking.pid = getpid();
    cs_fork_server_look(&talking);
    CHECK_INT(talking.state, CS_FORK_NONE);
}

/* A process that does not use the device, and one whose id no longer exists. */
static void silent_process_is_starting_until_its_end(void)
{
    CHECK(cs_fork_server_open(&talking));
    talking.pid = fork();
    if (talking.pid == 0)
        for (;;)
            pause();
    cs_fork_server_look(&talking);
    CHECK_INT(talking.state, CS_FORK_STARTING);
    kill(talking.pid, SIGKILL);
    siginfo_t ended;
    CHECK_INT(waitid(P_PID, (id_t)talking.pid, &ended, WEXITED | WNOWAIT), 0);
    cs_fork_server_look(&talking);
    CHECK_INT(talking.state, CS_FORK_ENDED);
    CHECK_INT(talking.status, 128 + SIGKILL);
    talking.state = CS_FORK_RUNNING;
    cs_fork_server_look(&talking);
    CHECK_INT(talking.state, CS_FORK_ENDED);
    cs_fork_server_close(&talking);
}

static int descriptors(void)
{
    int open = 0;
    for (int i = 0; i < 64; i++)
        open += fcntl(i, F_GETFD) >= 0;
    return open;
}

/* Each server has its own name, which is removed at its end. */
static void no_file_stays_open(void)
{
    char name[sizeof talking.name] = "";
    for (int joins = 0; joins < 4; joins++) {
        int before = descriptors(), program = -1;
        CHECK(cs_fork_server_open(&talking));
        CHECK(strcmp(talking.name, name) != 0);
        strcpy(name, talking.name);
        talking.pid = joins == 1 ? 0 : -1; /* no process has been made */
        if (joins & 1)
            program = join_server(&talking);
        if (joins & 2)
            cs_fork_server_look(&talking);
        CHECK(fcntl(talking.listening, F_GETFD) & FD_CLOEXEC);
        CHECK(talking.connection < 0 || fcntl(talking.connection, F_GETFD) & FD_CLOEXEC);
        cs_fork_server_close(&talking);
        cs_fork_server_close(&talking); /* the second one does nothing */
        if (program >= 0)
            close(program);
        CHECK_INT(descriptors(), before);
    }
}

int main(void)
{
    TEST(each_message_has_its_news);
    TEST(why_it_cannot_be_forked);
    TEST(first_connection_is_the_program);
    TEST(foreign_processes_are_disconnected);
    TEST(ends_of_any_number);
    TEST(requests);
    TEST(requests_of_any_length);
    TEST(end_of_a_process_is_reported_once);
    TEST(silent_process_is_starting_until_its_end);
    TEST(no_file_stays_open);
    TEST(closing_ends_the_process);
    return REPORT();
}
