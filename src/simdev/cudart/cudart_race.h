/* The race check: which work comes behind which, by vector clocks, and who touched each piece of
 * device memory. Order comes from streams, events, the legacy default stream, the edges of a graph,
 * and what the host has seen to be over. What order things happened to run in plays no part.
 *
 * Off unless SIMDEV_RACES=1; then everything here is cheap to skip: clocks are NULL. The queue's
 * lock guards clocks; memory has a lock of its own. */
#ifndef CUDART_RACE_H
#define CUDART_RACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SIMDEV_CHAINS = 256 /* streams that clocks tell apart; beyond that they share */
};

/* How much of each stream comes before something. */
struct simdev_clock {
    uint32_t at[SIMDEV_CHAINS];
};

/* Reads SIMDEV_RACES. */
void simdev_race_init(void);
bool simdev_race_on(void);

/* A number for a new stream. */
unsigned simdev_race_chain(uint64_t stream);
/* NULL is a clock of zeros, and none is made while the check is off or memory is short. */
struct simdev_clock *simdev_clock_new(void);
void simdev_clock_join(struct simdev_clock *clock, const struct simdev_clock *other);

/* Between the two, what the calling thread touches belongs to the work of this clock. */
void simdev_race_begin(const struct simdev_clock *clock, unsigned chain);
void simdev_race_end(void);
/* The clock given last; NULL outside the two. */
const struct simdev_clock *simdev_race_now(void);

/* Of a graph's launch: `before` tells for steps a and b, as bit a * steps + b, whether an edge or a
 * path of them leads from a to b. NULL ends it. */
void simdev_race_step(const unsigned char *before, size_t steps, size_t step);

/* New memory: nobody has touched it. */
void simdev_race_forget(const void *memory, size_t bytes);

#endif
