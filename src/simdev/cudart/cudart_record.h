/* What somebody outside can follow: how far a program is (SIMDEV_PROGRESS), and what memory it held when
 * (SIMDEV_RECORD). Thread-safe; nothing happens without these settings. */
#ifndef CUDART_RECORD_H
#define CUDART_RECORD_H

#include "cudart_internal.h"

/* What the file SIMDEV_PROGRESS holds while the program runs: for who has it mapped. */
struct simdev_progress {
    char magic[8]; /* "simdev1" */
    atomic_ullong convolutions, kernels, live_bytes, peak_bytes;
};

/* Reads both settings. False (a violation says why) if a file cannot be written. */
bool simdev_record_init(void);

/* Device memory of all devices together has changed. */
void simdev_record_memory(const struct simdev_mem_totals *totals);
/* A kernel or a call of a library was counted. */
void simdev_record_kernel(void);

#endif
