/* A simulation: where the device is, how programs get it, and one run of a program on it. One
 * thread. */
#ifndef CS_CLI_SIMULATE_SIMULATION_H
#define CS_CLI_SIMULATE_SIMULATION_H

#include "cli/common/library_options.h"
#include "cli/layers/device_files.h"
#include "cli/program/child.h"
#include "cli/simulate/fork_server.h"
#include "cli/simulate/private_layer.h"
#include "cli/simulate/simulated_program.h"
#include "cli/simulate/temporary_folder.h"
#include <stdint.h>
#include <sys/types.h>

/* The state that all runs share. */
struct cs_simulation {
    const char *title; /* of the command that simulates: "simulate" */
    struct cs_simulated_program program;
    struct cs_library_options options;
    char library[PATH_MAX];               /* libconvshim.so */
    char preset[PATH_MAX];                /* "": none */
    char device[PATH_MAX];                /* the folder of the simulated device's libraries */
    char work[PATH_MAX];                  /* a folder of this simulation's own */
    struct cs_temporary_folder temporary; /* the same, unless it is kept */
    bool keep;
    struct cs_private_layers layers; /* over the folders that programs write to */
    int jobs;                        /* runs at once, at least */
    int runs;                        /* made so far */
    bool told_single;                /* that they cannot be forked; or it does not matter */
    bool shared; /* both sides are forked from one process, with the library in it */
    bool many;   /* more than one run a side: they are forked where that can be done */
    struct cs_fork_server server[2]; /* without and with the library */
};

/* Finds device and library, makes the folder (`keep`: that one) with stand-ins and the hook in it.
 * False, having said why. */
bool cs_simulation_begin(struct cs_simulation *simulation, const char *library, const char *keep);
void cs_simulation_end(struct cs_simulation *simulation);

/* One run. */
struct cs_simulated_run {
    const char *name;    /* for people, and of its folder: "without" */
    const char *profile; /* the file of the device's profile */
    int64_t capacity;    /* 0: the profile's */
    int64_t context;     /* of it, bytes that a process takes before it allocates */
    int gpus;            /* that the program sees; 0: one */
    bool with;           /* the library */
    const char *file; /* an ini file that alone has its options; NULL: as this process has them */
    bool history;     /* record the held memory over time */
    int process; /* whose figures: the number of the process in the order of first use, from 1; 0:
                    of the one that held most */

    /* From here on filled in. */
    char folder[PATH_MAX]; /* of the files that it leaves */
    enum cs_run_state {
        CS_RUN_WAITING,
        CS_RUN_ASKED, /* of a server, whose pid is not known yet */
        CS_RUN_RUNNING,
        CS_RUN_ENDED
    } state;
    pid_t pid;
    int status; /* the program's, 128 + the signal that ended it */
    double seconds;
};

/* Runs all of them, as many at once as simulation->jobs, with a sign of life on standard error.
 * False if one could not be started: a line has said why. */
bool cs_simulation_run(struct cs_simulation *simulation, struct cs_simulated_run *run, size_t runs);

/* --- inside of it --- */

/* The variables of a run's process. */
void cs_simulation_variables(const struct cs_simulation *simulation,
                             const struct cs_simulated_run *run,
                             struct cs_child_variables *variables);

/* The additional variables of a process from which runs are forked. They set one thread, unless the
 * program sets the number itself. */
void cs_simulation_variables_to_fork(const char *server, struct cs_child_variables *variables);

#endif
