/* The time model: what work takes on a GPU of the profile, by the bytes that it moves and what it
 * computes. Not exact, and the same every time; it decides what programs choose by measuring. */
#ifndef CUDART_TIME_H
#define CUDART_TIME_H

#include "cudart_internal.h"

/* Reads SIMDEV_TIME: "model" (the default in account mode) or "clock". False (a violation says why)
 * if it is neither. */
bool simdev_time_init(void);
/* True if events tell the model's time; false: the clock's. */
bool simdev_time_modelled(void);

/* Nanoseconds of one piece of work. */
uint64_t simdev_time_of_work(const struct simdev_work *work);
uint64_t simdev_time_of(const struct simdev_task *task);

/* Somebody asked how long something took. */
void simdev_time_told(void);
uint64_t simdev_times_told(void);

#endif
