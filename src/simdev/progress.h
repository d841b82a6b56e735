/* The progress of a program on the simulated device: a file that all its processes map, and that
 * `convshim simulate` reads while they run. It also outlives a process that is killed. */
#ifndef SIMDEV_PROGRESS_H
#define SIMDEV_PROGRESS_H

#include <stdatomic.h>

enum {
    SIMDEV_MAX_DEVICES = 16,
    SIMDEV_MOST_PROCESSES = 64,
    SIMDEV_PLANNING_TEXT = 32
};

/* One process that used the device. It stays in the file after the process has ended. */
struct simdev_process {
    atomic_ullong pid; /* 0: unused */
    atomic_ullong convolutions, kernels, library_calls, live_bytes, peak_bytes;
    atomic_ullong largest_workspace, tensor_bytes; /* of convolutions */
    atomic_ullong refused, last_refused_bytes, last_refused_live;
    char planning[SIMDEV_PLANNING_TEXT]; /* the planner of its sizes; empty: nothing was planned */
    atomic_ullong live_on[SIMDEV_MAX_DEVICES];    /* of live_bytes, on each device */
    atomic_ullong context_on[SIMDEV_MAX_DEVICES]; /* bytes of its context there */
};

/* Memory of all processes on one device. */
struct simdev_shared_device {
    atomic_ullong live_bytes, peak_bytes; /* without contexts */
    atomic_ullong context_bytes;
    atomic_ullong needed_bytes; /* the maximum over time of live_bytes + context_bytes */
};

/* Content of the file SIMDEV_PROGRESS, which all processes of a run map. `live_bytes` is their sum
 * over all devices, `peak_bytes` the maximum of that sum over time. A process locks the byte of its
 * number in `process` (fcntl), so that the others see its end. Its bytes are then subtracted. */
struct simdev_progress {
    char magic[8]; /* "simdev6" */
    atomic_ullong convolutions, kernels, live_bytes, peak_bytes;
    atomic_ullong unlisted; /* processes for which `process` had no room */
    atomic_ullong missing;  /* highest number of a device that was selected and does not exist */
    struct simdev_shared_device device[SIMDEV_MAX_DEVICES];
    struct simdev_process process[SIMDEV_MOST_PROCESSES];
};

#endif
