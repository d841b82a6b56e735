/* A fork server: a process of the program that waits at its first use of the simulated device. Runs
 * are forked from it, so that the steps before that point (mainly Python's imports) are executed
 * once. The device's side is src/simdev/cudart/cudart_fork.c. A program that cannot be forked in
 * its state sends nothing, and continues as a single run. */
#ifndef SIMDEV_SIMULATE_FORK_SERVER_H
#define SIMDEV_SIMULATE_FORK_SERVER_H

#include "cli/common/variables.h"
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct cs_fork_server {
    pid_t pid;  /* 0: there is no server; -1: its process was not started */
    bool ready; /* it waits for requests; else it has not yet used the device */
    int connection;
    char folder[PATH_MAX]; /* of its output; set by the caller */
};

/* A message of a server. */
struct cs_fork_news {
    enum {
        CS_FORK_QUIET, /* there is none */
        CS_FORK_READY,
        CS_FORK_STARTED,
        CS_FORK_RUN_ENDED
    } what;
    pid_t pid;  /* of the run that started or ended */
    int status; /* of the run that ended, as of cs_child_status */
};

/* Opens the connection to a new server. Returns the program's end, which the program inherits
 * (SIMDEV_FORK). The caller starts the process, stores its pid and closes this end. -1 with errno.
 */
int cs_fork_server_open(struct cs_fork_server *server);

/* Returns the server's next message without waiting. */
struct cs_fork_news cs_fork_server_look(struct cs_fork_server *server);

/* Requests a run with its output in this file. Returns false if the server has ended, or memory is
 * short. */
bool cs_fork_server_ask(const struct cs_fork_server *server, const char *output,
                        const struct cs_child_variables *variables);

/* Closes the connection and returns the id of the process, which is not ended. If nothing was
 * forked from it, it continues as a single run of the program. */
pid_t cs_fork_server_leave(struct cs_fork_server *server);

/* Ends the process, if there is one, and closes the connection. */
void cs_fork_server_close(struct cs_fork_server *server);

#endif
