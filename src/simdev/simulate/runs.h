/* One run of a program, and the start of several. */
#ifndef SIMDEV_SIMULATE_RUNS_H
#define SIMDEV_SIMULATE_RUNS_H

#include "cli/common/data_files.h"
#include "simdev/simulate/run_outcome.h"
#include "simdev/simulate/simulation.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One run, and its outcome. */
struct cs_sim_run {
    const char *name; /* "without", also in its folder's name; NULL: there is no such run */
    const struct cs_device_file *device;
    int64_t memory;  /* of the GPU, with the context */
    int64_t context; /* of it, bytes that a process takes before it allocates */
    int gpus;        /* that the program sees; 0: one */
    bool with;       /* with the library */
    bool history;    /* record the held memory over time */
    int process; /* the one whose figures are read: its number in the order of first use, from 1; 0:
                    the process that held most */

    /* From here on filled in. */
    char folder[PATH_MAX]; /* of the files that it leaves */
    char origin[PATH_MAX]; /* of the process from which it was forked; "": none */
    enum cs_run_state {
        CS_RUN_WAITING,
        CS_RUN_RUNNING,
        CS_RUN_ENDED
    } state;
    pid_t pid; /* 0: of a forked run, not known yet */
    struct cs_sim_outcome outcome;
};

/* Makes all runs, at most simulation->jobs of them at the same time. Prints a line about their
 * progress every ten seconds. False after printing the reason if one could not be started, or after
 * a signal, which is passed on to the runs. Those that then ended are CS_RUN_ENDED. */
bool cs_sim_runs_start(struct cs_simulation *simulation, struct cs_sim_run *const *run,
                       size_t runs);

/* Makes all runs as cs_sim_runs_start does and reads their results, which replace earlier ones.
 * False after printing the reason. */
bool cs_sim_runs_make(struct cs_simulation *simulation, struct cs_sim_run **run, size_t runs);

/* Ends the fork server. From here on each run has its own process. */
void cs_sim_runs_stop_forks(struct cs_simulation *simulation);

#endif
