/* Talks to a simulated program that waits to be forked. */
#include "cli/simulate/simulation.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    MESSAGE = 128 << 10,
    PATIENCE = 250 /* waits of 20 ms for a program to end, until it is killed */
};

bool cs_fork_server_open(struct cs_fork_server *server)
{
    static int opened;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    *server = (struct cs_fork_server){.listening = -1, .connection = -1};
    snprintf(server->name, sizeof server->name, "convshim-simulate-%ld-%d", (long)getpid(),
             ++opened);
    memcpy(address.sun_path + 1, server->name, strlen(server->name)); /* abstract: no file */
    socklen_t bytes =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(server->name));
    server->listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server->listening < 0 || bind(server->listening, (struct sockaddr *)&address, bytes) != 0 ||
        listen(server->listening, 1) != 0)
        return false;
    server->state = CS_FORK_STARTING;
    return true;
}

/* True if the peer belongs to this user. All users of this machine can connect to the socket. */
static bool is_ours(int connection)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
           peer.uid == geteuid();
}

/* The first process that connects is the program. Later ones run unchanged. */
static void accept_program(struct cs_fork_server *server)
{
    int connection = accept4(server->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0)
        return;
    if (server->connection < 0 && is_ours(connection))
        server->connection = connection;
    else
        close(connection);
}

/* Updates the state if the process has ended. */
static void look_at_process(struct cs_fork_server *server)
{
    if (server->state == CS_FORK_ENDED || server->state == CS_FORK_NONE)
        return;
    if (cs_child_ended(server->pid, &server->status))
        server->state = CS_FORK_ENDED;
}

/* A message of up to three texts, each followed by a NUL byte. */
static struct cs_fork_news take_message(struct cs_fork_server *server, const char *message)
{
    struct cs_fork_news news = {CS_FORK_QUIET, 0, 0};
    const char *first = message + strlen(message) + 1, *second = first + strlen(first) + 1;
    if (strcmp(message, "ready") == 0) {
        server->state = CS_FORK_READY;
    } else if (strcmp(message, "single") == 0) {
        server->state = CS_FORK_SINGLE;
        snprintf(server->reason, sizeof server->reason, "%.100s", first);
    } else {
        news.what = strcmp(message, "started") == 0 ? CS_FORK_STARTED : CS_FORK_RUN_ENDED;
        news.pid = (pid_t)atol(first);
        news.status = cs_child_status(atoi(second));
    }
    return news;
}

struct cs_fork_news cs_fork_server_look(struct cs_fork_server *server)
{
    char message[512] = "";
    struct cs_fork_news quiet = {CS_FORK_QUIET, 0, 0};
    if (server->listening >= 0)
        accept_program(server);
    ssize_t bytes = server->connection < 0
                        ? -1
                        : recv(server->connection, message, sizeof message - 4, MSG_DONTWAIT);
    if (bytes > 0)
        return take_message(server, message);
    look_at_process(server);
    return quiet;
}

/* Writes the path of the output and the variables, each with its NUL byte. Returns the bytes; 0:
 * they are too many. */
static size_t put_request(char *message, const char *output,
                          const struct cs_child_variables *variables)
{
    size_t length = strlen(output) + 1;
    if (length >= MESSAGE)
        return 0;
    memcpy(message, output, length);
    for (size_t i = 0; i < variables->items; i++) {
        size_t more = strlen(variables->item[i]) + 1;
        if (length + more >= MESSAGE)
            return 0;
        memcpy(message + length, variables->item[i], more);
        length += more;
    }
    return length;
}

bool cs_fork_server_ask(struct cs_fork_server *server, const char *output,
                        const struct cs_child_variables *variables)
{
    char *message = variables->broken ? NULL : malloc(MESSAGE);
    size_t bytes = message ? put_request(message, output, variables) : 0;
    bool sent =
        bytes > 0 && send(server->connection, message, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
    if (sent && server->state == CS_FORK_SINGLE)
        server->state = CS_FORK_RUNNING;
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

void cs_fork_server_close(struct cs_fork_server *server)
{
    if (!*server->name)
        return;
    if (server->listening >= 0)
        close(server->listening);
    if (server->connection >= 0)
        close(server->connection);
    bool lives = server->state != CS_FORK_NONE && server->state != CS_FORK_ENDED;
    if (lives && server->pid > 0) {
        end_process(server->pid);
    }
    *server = (struct cs_fork_server){.listening = -1, .connection = -1};
}
