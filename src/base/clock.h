/* Time by the system's clocks. Thread-safe; may be called in signal handlers. */
#ifndef CS_BASE_CLOCK_H
#define CS_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CS_SECOND INT64_C(1000000000) /* nanoseconds */
#define CS_MILLISECOND INT64_C(1000000)

/* The time of a clock in nanoseconds. CLOCK_REALTIME counts from 1970, CLOCK_MONOTONIC from an
 * arbitrary moment. Their coarse forms cost less and are some milliseconds late. */
static inline int64_t cs_clock(clockid_t clock)
{
    struct timespec time = {0};
    clock_gettime(clock, &time);
    return time.tv_sec * CS_SECOND + time.tv_nsec;
}

/* Seconds of CLOCK_MONOTONIC. */
static inline double cs_clock_seconds(void)
{
    return (double)cs_clock(CLOCK_MONOTONIC) / (double)CS_SECOND;
}

#endif
