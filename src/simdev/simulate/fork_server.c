/* Talks to a simulated program that waits to be forked. */
#include "simdev/simulate/fork_server.h"
#include "cli/program/child.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    MESSAGE = 128 << 10,
    PATIENCE = 250 /* waits of 20 ms for a program to end, until it is killed */
};

int cs_fork_server_open(struct cs_fork_server *server)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    *server = (struct cs_fork_server){.pid = -1, .connection = ends[0]};
    return ends[1];
}

struct cs_fork_news cs_fork_server_look(struct cs_fork_server *server)
{
    struct cs_fork_news news = {.what = CS_FORK_QUIET};
    char message[64] = "", what[16] = "";
    long pid;
    int status;
    if (recv(server->connection, message, sizeof message - 1, MSG_DONTWAIT) <= 0 ||
        sscanf(message, "%15s %ld %d", what, &pid, &status) != 3)
        return news;
    news.pid = (pid_t)pid;
    news.status = cs_child_status(status);
    news.what = strcmp(what, "ready") == 0     ? CS_FORK_READY
                : strcmp(what, "started") == 0 ? CS_FORK_STARTED
                                               : CS_FORK_RUN_ENDED;
    server->ready = server->ready || news.what == CS_FORK_READY;
    return news;
}

/* Writes the path of the output and the variables, each with its NUL byte. Returns the bytes; 0:
 * they are too many. */
static size_t put_request(char *message, const char *output,
                          const struct cs_child_variables *variables)
{
    size_t length = 0;
    for (size_t i = 0; i <= variables->items; i++) {
        const char *text = i == 0 ? output : variables->item[i - 1];
        const size_t bytes = strlen(text) + 1;
        if (length + bytes >= MESSAGE)
            return 0;
        memcpy(message + length, text, bytes);
        length += bytes;
    }
    return length;
}

bool cs_fork_server_ask(const struct cs_fork_server *server, const char *output,
                        const struct cs_child_variables *variables)
{
    char *message = variables->broken ? NULL : malloc(MESSAGE);
    const size_t bytes = message ? put_request(message, output, variables) : 0;
    const bool sent =
        bytes > 0 && send(server->connection, message, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
    free(message);
    return sent;
}

/* Ends the program with SIGTERM first, because it may have files to write, and then with SIGKILL.
 */
static void end_process(pid_t pid)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    int status;
    kill(pid, SIGTERM);
    for (int i = 0; i < PATIENCE; i++) {
        if (cs_child_ended(pid, &status))
            return;
        nanosleep(&pause, NULL);
    }
    kill(pid, SIGKILL);
    (void)cs_child_wait(pid);
}

pid_t cs_fork_server_leave(struct cs_fork_server *server)
{
    const pid_t pid = server->pid;
    if (pid != 0)
        close(server->connection);
    *server = (struct cs_fork_server){.pid = 0};
    return pid;
}

void cs_fork_server_close(struct cs_fork_server *server)
{
    if (server->pid > 0)
        end_process(server->pid);
    (void)cs_fork_server_leave(server);
}
