/* Data for an outside observer: the progress of a program (SIMDEV_PROGRESS), and its memory over
 * time (SIMDEV_RECORD). Thread-safe. Does nothing without these settings. */
#ifndef CUDART_RECORD_H
#define CUDART_RECORD_H

#include "cudart_internal.h"

enum {
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

/* Reads both settings. False, after a violation that gives the reason, if a file cannot be written.
 */
bool simdev_record_init(void);

/* The memory on a device has changed: `there` are its totals, `totals` those of all devices. */
void simdev_record_memory(int device, const struct simdev_mem_totals *there,
                          const struct simdev_mem_totals *totals);
/* The cause of that change: this block was allocated, or freed (0 bytes). */
void simdev_record_block(const void *begin, size_t bytes);
/* An allocation was refused. */
void simdev_record_refused(const struct simdev_mem_totals *totals);
/* A convolution ran: bytes of its tensors; or used this workspace. */
void simdev_record_traffic(size_t tensor_bytes);
void simdev_record_workspace(size_t bytes);
/* Memory of a device that is not available to this process: of the other living processes that
 * share the file, and of all contexts, of which this process's is made by the first such call. */
size_t simdev_record_others(int device);
/* This planner plans the sizes, also those of processes that are forked from this one. */
void simdev_record_planning(const char *text);
/* The program selected a device of this number, which does not exist. */
void simdev_record_missing_device(int ordinal);
/* A launch or a library call was counted. */
void simdev_record_counted(enum simdev_counter counter);

#endif
