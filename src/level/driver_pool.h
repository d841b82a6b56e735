/* The level of a pool of the CUDA driver (cudaMallocAsync). The driver counts the pool's memory, so
 * its numbers are read when a call needs scratch. It does not report where free memory is. So
 * scratch of a size that the pool should have may still make it grow. This is found out after the
 * scratch was allocated: nothing more is taken from that pool until its reserved memory shrinks,
 * and after three times for good.
 *
 * Pools are known by their handle. All functions are thread-safe and take no lock. Sizes are bytes.
 */
#ifndef CS_LEVEL_DRIVER_POOL_H
#define CS_LEVEL_DRIVER_POOL_H

#include "level/level.h"

enum {
    CS_LEVEL_POOLS = 16, /* later pools have no level */

    /* Bytes by which a pool may grow beyond a request. */
    CS_LEVEL_POOL_PAGE = 32 << 20
};

/* The driver's numbers about a pool. */
struct cs_level_pool_numbers {
    int64_t used;     /* allocated now */
    int64_t high;     /* the most that was, since the program reset it */
    int64_t reserved; /* memory of the device that the pool holds now */
    int64_t most;     /* the most that it held */
};

/* A pool. Zeros: unused. */
struct cs_level_pool {
    _Atomic(const void *) handle;
    _Atomic uintptr_t stream; /* of the pool's convolutions, + 1. 0: none yet */
    _Atomic int64_t high;     /* the most that was allocated */
    _Atomic int64_t grown_to; /* reserved bytes after it grew unexpectedly. 0: trusted */
    _Atomic int doubts;       /* how often it grew */
    _Atomic bool in_use;      /* a thread holds scratch of the library */
    _Atomic bool several_streams;
};

/* The pools of a process. Zeros: none. */
struct cs_level_pools {
    struct cs_level_pool pool[CS_LEVEL_POOLS];
};

/* Returns the pool of a handle. NULL if too many are known. */
struct cs_level_pool *cs_level_pool_find(struct cs_level_pools *pools, const void *handle);

/* The same, but NULL if the handle is not known. */
struct cs_level_pool *cs_level_pool_known(struct cs_level_pools *pools, const void *handle);

/* Reads the room of a call on `stream`, as cs_level_ask does. */
enum cs_refusal cs_level_pool_ask(struct cs_level_pool *pool,
                                  const struct cs_level_pool_numbers *now, const void *stream,
                                  struct cs_level_room *room_p);

/* Returns the pool's peaks at a call that may need scratch, after cs_level_pool_ask for it. */
struct cs_level_peaks cs_level_pool_peaks(const struct cs_level_pool *pool,
                                          const struct cs_level_pool_numbers *now,
                                          const struct cs_level_call *call);

/* As cs_level_stream, for a pool. */
bool cs_level_pool_stream(struct cs_level_pool *pool, const void *stream);

/* Begins and ends the use of a pool for scratch of the library, as cs_level_begin and cs_level_end.
 */
bool cs_level_pool_begin(struct cs_level_pool *pool);
void cs_level_pool_end(struct cs_level_pool *pool);

/* Records that scratch was allocated: the pool had `before` reserved bytes, and has `after` now.
 * False if it grew although `may_grow` is false. The scratch must be returned unused then. */
bool cs_level_pool_taken(struct cs_level_pool *pool, int64_t before, int64_t after, bool may_grow);

#endif
