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
    atomic_ullong convolutions, kernels, live_bytes, peak_bytes;
    atomic_ullong largest_workspace, tensor_bytes; /* of convolutions */
    atomic_ullong refused, last_refused_bytes, last_refused_live;
    char planning[SIMDEV_PLANNING_TEXT]; /* the planner of its sizes; empty: nothing was planned */
};

/* Content of the file SIMDEV_PROGRESS, which all processes of a run map. `live_bytes` is their sum.
 * `peak_bytes` is the maximum of that sum over time. A process locks the byte of its number in
 * `process` (fcntl), so that the others see its end. Its bytes are then subtracted. */
struct simdev_progress {
    char magic[8]; /* "simdev3" */
    atomic_ullong convolutions, kernels, live_bytes, peak_bytes;
    atomic_ullong unlisted; /* processes for which `process` had no room */
    struct simdev_process process[SIMDEV_MOST_PROCESSES];
};

/* Reads both settings. False, after a violation that gives the reason, if a file cannot be written.
 */
bool simdev_record_init(void);

/* The sum of device memory over all devices has changed. */
void simdev_record_memory(const struct simdev_mem_totals *totals);
/* The cause of that change: this block was allocated, or freed (0 bytes). */
void simdev_record_block(const void *begin, size_t bytes);
/* An allocation was refused. */
void simdev_record_refused(const struct simdev_mem_totals *totals);
/* A convolution ran: bytes of its tensors; or used this workspace. */
void simdev_record_traffic(size_t tensor_bytes);
void simdev_record_workspace(size_t bytes);
/* Device memory of the other living processes that share the file. 0 with several devices. */
size_t simdev_record_others(void);
/* This planner plans the sizes, also those of processes that are forked from this one. */
void simdev_record_planning(const char *text);
/* A kernel or a library call was counted. */
void simdev_record_kernel(void);

#endif
