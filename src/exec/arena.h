/* The library's scratch memory: one pool for each context, shared by all calls and streams. One
 * limit holds for all pools of the process.
 *
 * A block belongs to one call from cs_arena_take until the device has completed the work before
 * cs_arena_give. If the next user is on another stream, that stream waits on an event. The host
 * never blocks. A block taken in a capture belongs to the capture until every graph made from it is
 * destroyed, because graphs may be replayed in parallel with any work. So a capture gets only idle
 * memory. Memory is allocated when a plan is prepared (cs_arena_reserve). cs_arena_take allocates
 * only as a last resort. In the steady state there is no allocation, no free and no
 * synchronisation.
 *
 * All functions are thread-safe. Streams, captures and memory are those of the context that is
 * current in the calling thread. The lock is not held during calls of the device or the heap. */
#ifndef CS_EXEC_ARENA_H
#define CS_EXEC_ARENA_H

#include "base/lock.h"
#include "convshim/gpu.h"

struct cs_pool; /* a context's memory, blocks and events */
struct cs_slab;
struct cs_owner;

struct cs_arena_facts {
    int64_t limit;     /* bytes */
    int64_t held;      /* bytes of device memory now */
    int64_t peak;      /* the most that was ever held */
    int64_t used;      /* bytes that calls have taken now, as the host sees it */
    int64_t used_peak; /* the most that they had taken at once */
    int64_t allocations;
    int64_t captured; /* bytes that belong to captures now */
    int64_t lost;     /* bytes that are never used again */
    int64_t waits;   /* event waits on the device: for blocks of other streams and, in captures, for
                        all */
    int64_t refused; /* patient takes that found no block */
};

struct cs_arena {
    struct cs_lock lock;
    struct cs_condition given; /* a block was returned, or an allocation ended */
    struct cs_pool *pools;     /* the most recently used first */
    int64_t promised;          /* bytes that are being allocated, not held yet */
    int growing; /* calls that allocate or free, and have released the lock meanwhile */
    struct cs_arena_facts facts;
    struct { /* removed from all lists; freed after the lock is released */
        struct cs_pool *pools;
        struct cs_slab *slabs;
        struct cs_owner *owners;
    } trash;
};

struct cs_block; /* opaque */

/* A block that a call holds until cs_arena_give. */
struct cs_lease {
    struct cs_block *block; /* NULL: none */
    void *memory;           /* aligned to CS_SCRATCH_ALIGNMENT */
};

/* Initializes an arena that holds at most `limit` bytes. `limit` < 1: it never allocates. */
void cs_arena_init(struct cs_arena *arena, int64_t limit);

/* Makes sure that one block of `bytes` exists in the current context, within the limit. May
 * allocate. At the limit it may free idle blocks and so wait for the device. Best effort. */
void cs_arena_reserve(struct cs_arena *arena, const struct cs_device *device, int64_t bytes);

/* Leases `bytes` for work on `stream`: memory that this stream used last, or idle memory. A
 * `patient` call also takes memory that other streams still use, after them. If calls that start on
 * other threads hold all suitable memory, it waits for them, for a bounded time. If no memory is
 * found, it allocates. An impatient call allocates only if no block of any owner is large enough.
 * False: no memory, and the lease is empty. The caller holds no other lease. */
bool cs_arena_take(struct cs_arena *arena, const struct cs_device *device, void *stream,
                   const struct cs_capture *capture, int64_t bytes, bool patient,
                   struct cs_lease *lease);

/* Returns a block after the work on `stream`, for which it was taken. If that point cannot be
 * marked (`lost`, or the device fails), the block is never used again. In a capture, it is not used
 * before its graphs are destroyed. An empty lease is ignored. */
void cs_arena_give(struct cs_arena *arena, const struct cs_device *device, void *stream, bool lost,
                   struct cs_lease *lease);

/* A copy of the counters. May be called in a signal's handler, in a thread that holds no lock:
 * takes and frees no memory. */
struct cs_arena_facts cs_arena_facts(struct cs_arena *arena);

/* Takes the lock before a fork, and releases it after it. `child`: forgets the device memory, which
 * belongs to the parent. */
void cs_arena_process_fork(struct cs_arena *arena, bool before, bool child);

#endif
