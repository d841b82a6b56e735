/* The time model: the time of work on a GPU of the profile, from the bytes it moves and the
 * operations it computes. It is approximate and deterministic. Programs that choose by measuring
 * base their choice on it. */
#ifndef CUDART_TIME_H
#define CUDART_TIME_H

#include "cudart_internal.h"

/* Nanoseconds of one operation. */
uint64_t simdev_time_of_work(const struct simdev_work *work);
uint64_t simdev_time_of(const struct simdev_task *task);

/* Records that the program queried a duration. */
void simdev_time_told(void);
uint64_t simdev_times_told(void);

#endif
