/* Events of the library's scratch memory, for tests, which check that leases never overlap. Numbers
 * identify memory. They are unrelated to addresses. Pure values. */
#ifndef CS_EXEC_SCRATCH_EVENTS_H
#define CS_EXEC_SCRATCH_EVENTS_H

#include <stdint.h>

enum cs_scratch_happening {
    CS_SCRATCH_ALLOCATED, /* a slab was allocated on the device */
    CS_SCRATCH_FREED,     /* a slab was freed, or its context is gone */
    CS_SCRATCH_TAKEN,     /* a block of a slab was taken for a call on a stream */
    CS_SCRATCH_GIVEN,     /* a block was returned. Work that was started in it may still run */
    CS_SCRATCH_LOST,    /* a block was returned without an event after its work, so it is never used
                           again */
    CS_SCRATCH_KEPT,    /* the first block was taken for a graph, which keeps its blocks */
    CS_SCRATCH_RELEASED /* a graph and everything made from it are gone: its blocks are free */
};

struct cs_scratch_event {
    enum cs_scratch_happening what;
    int64_t slab;     /* number, from 1; 0: no slab */
    int64_t offset;   /* bytes from the slab's start to the block */
    int64_t bytes;    /* bytes of the slab or block; CS_SCRATCH_RELEASED: of all released blocks */
    uint64_t stream;  /* CS_SCRATCH_TAKEN: the stream's number (struct cs_device) */
    uint64_t capture; /* the capture of the block or the graph; 0: no capture */
    int64_t waits; /* CS_SCRATCH_TAKEN: the number of events of other streams that it waits for */
    int64_t held, used; /* bytes of the whole process after the event: see struct cs_arena_facts */
};

/* NULL: no watcher. Called with the arena's lock held, so it must not call the arena. */
struct cs_scratch_watch {
    void (*see)(void *ctx, const struct cs_scratch_event *event);
    void *ctx;
};

#endif
