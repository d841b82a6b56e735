/* A simulation: the state that all runs of a program share, and the environment of a run. One
 * thread. */
#ifndef SIMDEV_SIMULATE_SIMULATION_H
#define SIMDEV_SIMULATE_SIMULATION_H

#include "simdev/simulate/fork_server.h"
#include "simdev/simulate/private_layers.h"
#include "simdev/simulate/program.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct cs_sim_run;

/* A simulation: the state that all runs of a program share. */
struct cs_simulation {
    const char *title; /* at the begin of its messages: "simulate" */
    struct cs_sim_program program;
    struct cs_child_variables options; /* of the library, from the command line */
    char library[PATH_MAX];            /* libconvshim.so */
    char preset[PATH_MAX];             /* "": none */
    char device[PATH_MAX];             /* the folder of the simulated device's libraries */
    char work[PATH_MAX];               /* this simulation's folder; "": there is none */
    bool keep;                         /* `work` is the user's */
    struct cs_private_layers layers;   /* over the folders that programs write to */
    int jobs;                          /* runs at once, at most */
    int runs;                          /* made so far */
    bool redirects; /* calls of CUDA runtimes inside of programs go to the simulated one */
    bool forks;     /* runs are forked from one process if the program allows it */
    bool shared;    /* runs of both sides are forked from one process with the library */
    struct cs_fork_server server;
};

/* Finds the simulated device and the library, and makes the simulation's folder with the stand-ins
 * and Python's hook in it. `keep` names the folder; NULL: a temporary one. False after printing the
 * reason. */
bool cs_simulation_begin(struct cs_simulation *simulation, const char *library, const char *keep);
/* Ends fork servers and removes the folders. Ends this process if a signal has interrupted it. */
void cs_simulation_end(struct cs_simulation *simulation);

/* Returns the user's settings of PyTorch's allocator; NULL: there are none. The runs then have
 * expandable segments. */
const char *cs_sim_pytorch_settings(void);

/* Sets the variables of a run's process. Numerical libraries get one thread, unless the user sets
 * the number, because a process with threads cannot be forked. */
void cs_simulation_variables(const struct cs_simulation *simulation, const struct cs_sim_run *run,
                             struct cs_child_variables *variables);

#endif
