/* A fork server: a process of the program that waits at its first use of the simulated device. Runs
 * are forked from it, so that the steps before that point (mainly Python's imports) are executed
 * once. The device's side is src/simdev/cudart/cudart_fork.c. A program that cannot be forked in
 * its state continues as a single run. One thread. */
#ifndef CS_CLI_SIMULATE_FORK_SERVER_H
#define CS_CLI_SIMULATE_FORK_SERVER_H

#include "cli/program/child.h"
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum cs_fork_state {
    CS_FORK_NONE,     /* no process: start one */
    CS_FORK_STARTING, /* it has not yet used the device */
    CS_FORK_READY,    /* runs can be asked for */
    CS_FORK_SINGLE,   /* one run can be asked for */
    CS_FORK_RUNNING,  /* and was: the process is that run */
    CS_FORK_ENDED     /* the process has ended, `status` is how */
};

struct cs_fork_server {
    enum cs_fork_state state;
    pid_t pid;                  /* of the process */
    int listening, connection;  /* -1: none */
    char name[64], reason[128]; /* of the socket ("": there is none); why it is single */
    char folder[PATH_MAX];      /* where its output is; the caller's */
    int status;                 /* of cs_child_status */
};

/* A message of a server. */
struct cs_fork_news {
    enum {
        CS_FORK_QUIET,
        CS_FORK_STARTED,
        CS_FORK_RUN_ENDED
    } what;
    pid_t pid;
    int status;
};

/* Opens the socket, whose name is passed to the program in SIMDEV_FORK. The caller starts the
 * process and stores its pid. */
bool cs_fork_server_open(struct cs_fork_server *server);

/* Returns the server's next message, or CS_FORK_QUIET, without waiting. Updates the server's state.
 */
struct cs_fork_news cs_fork_server_look(struct cs_fork_server *server);

/* Requests a run with its output in this file. Returns false if the server has ended. */
bool cs_fork_server_ask(struct cs_fork_server *server, const char *output,
                        const struct cs_child_variables *variables);

/* Ends the process, unless it has ended, and closes everything. */
void cs_fork_server_close(struct cs_fork_server *server);

#endif
