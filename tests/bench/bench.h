/* Time and medians for the benchmarks. */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* Nanoseconds of a clock. */
static inline int64_t bench_now(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int bench_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nanoseconds of one call of `work`: the median of many batches, so that disturbances of some of
 * them do not count. BENCH_BATCHES is their number if it is set. */
static inline double bench_median(void (*work)(void))
{
    enum {
        BATCHES = 301,
        CALLS = 1000
    };
    static double taken[BATCHES];
    const char *text = getenv("BENCH_BATCHES");
    int asked = text ? atoi(text) : BATCHES,
        batches = asked > 0 && asked < BATCHES ? asked : BATCHES;
    for (int batch = 0; batch < batches; batch++) {
        int64_t start = bench_now(CLOCK_MONOTONIC);
        for (int i = 0; i < CALLS; i++)
            work();
        taken[batch] = (double)(bench_now(CLOCK_MONOTONIC) - start) / CALLS;
    }
    qsort(taken, (size_t)batches, sizeof *taken, bench_order);
    return taken[batches / 2];
}

#endif
