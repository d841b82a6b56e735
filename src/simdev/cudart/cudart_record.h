/* Data for an outside observer: the progress of a program (SIMDEV_PROGRESS), and its memory over
 * time (SIMDEV_RECORD). Thread-safe. Does nothing without these settings. */
#ifndef CUDART_RECORD_H
#define CUDART_RECORD_H

#include "cudart_internal.h"
#include "progress.h"

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
