/* Data for an outside observer: the progress of a program (SIMDEV_PROGRESS), and its memory over
 * time (SIMDEV_RECORD). Thread-safe. Does nothing without these settings. */
#ifndef CUDART_RECORD_H
#define CUDART_RECORD_H

#include "cudart_internal.h"

/* Content of the file SIMDEV_PROGRESS while the program runs. Other processes map it. */
struct simdev_progress {
    char magic[8]; /* "simdev1" */
    atomic_ullong convolutions, kernels, live_bytes, peak_bytes;
};

/* Reads both settings. False, after a violation that gives the reason, if a file cannot be written.
 */
bool simdev_record_init(void);

/* The sum of device memory over all devices has changed. */
void simdev_record_memory(const struct simdev_mem_totals *totals);
/* The cause of that change: this block was allocated, or freed (0 bytes). */
void simdev_record_block(const void *begin, size_t bytes);
/* A kernel or a library call was counted. */
void simdev_record_kernel(void);

#endif
