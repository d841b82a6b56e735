/* The race check: the order of work by vector clocks, and the last accesses to each piece of device
 * memory. Order comes from streams, events, the legacy default stream, the edges of a graph, and
 * waits of the host. The actual execution order has no influence.
 *
 * Off unless SIMDEV_RACES=1. Then all clocks are NULL, so skipping the check is cheap. The queue's
 * lock guards clocks. The access records have a separate lock. */
#ifndef CUDART_RACE_H
#define CUDART_RACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SIMDEV_CHAINS = 256 /* streams that clocks distinguish; further streams share an entry */
};

/* For each stream, how much of its work is ordered before an operation. */
struct simdev_clock {
    uint32_t at[SIMDEV_CHAINS];
};

/* Reads SIMDEV_RACES. */
void simdev_race_init(void);
bool simdev_race_on(void);

/* A number for a new stream. */
unsigned simdev_race_chain(uint64_t stream);
/* NULL is a clock of zeros. Returns NULL if the check is off or memory is short. */
struct simdev_clock *simdev_clock_new(void);
void simdev_clock_join(struct simdev_clock *clock, const struct simdev_clock *other);

/* Between begin and end, accesses of the calling thread belong to the work of this clock. */
void simdev_race_begin(const struct simdev_clock *clock, unsigned chain);
void simdev_race_end(void);
/* The clock passed last. NULL outside of begin and end. */
const struct simdev_clock *simdev_race_now(void);

/* In a graph launch: bit a * steps + b of `before` is set if a path of edges leads from step a to
 * step b. NULL ends the launch. */
void simdev_race_step(const unsigned char *before, size_t steps, size_t step);

/* New memory: it has no accesses. */
void simdev_race_forget(const void *memory, size_t bytes);

#endif
