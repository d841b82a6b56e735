/* The progress of a simulated run, which the device keeps in a mapped file. The file also outlives
 * a process that is killed. */
#ifndef CS_CLI_SIMULATE_SIMULATED_PROGRESS_H
#define CS_CLI_SIMULATE_SIMULATED_PROGRESS_H

#include "cli/simulate/simulation.h"

enum {
    CS_MOST_PROCESSES = 64,
    CS_MOST_GPUS = 16
};

/* As src/simdev/cudart/cudart_record.h has it. */
struct cs_process_progress {
    unsigned long long pid; /* 0: unused */
    unsigned long long convolutions, kernels, live_bytes, peak_bytes;
    unsigned long long largest_workspace, tensor_bytes;
    unsigned long long refused, last_refused_bytes, last_refused_live;
    char planning[32]; /* the planner of its sizes; empty: nothing was planned */
    unsigned long long live_on[CS_MOST_GPUS], context_on[CS_MOST_GPUS];
};

struct cs_gpu_progress {
    unsigned long long live_bytes, peak_bytes, context_bytes, needed_bytes;
};

struct cs_simulated_progress {
    char magic[8];
    unsigned long long convolutions, kernels, live_bytes, peak_bytes; /* of all processes */
    unsigned long long unlisted;
    struct cs_gpu_progress gpu[CS_MOST_GPUS];
    struct cs_process_progress process[CS_MOST_PROCESSES];
};

/* False: no process of that run has used the device yet. */
bool cs_simulated_progress_read(const struct cs_simulated_run *run,
                                struct cs_simulated_progress *progress);

#endif
