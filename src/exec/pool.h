/* The parts of an arena: pools of slabs divided into blocks, marks recorded after the work in them,
 * and captures that own them. Only arena.c uses this. The caller of each function holds the arena's
 * lock unless noted otherwise. */
#ifndef CS_EXEC_POOL_H
#define CS_EXEC_POOL_H

#include "exec/arena.h"
#include <stdatomic.h>

enum {
    CS_SLAB_BLOCKS = 64 /* most blocks of a slab: bounds the search of a take */
};

/* An event recorded at the end of the work in a block. The parts of a split block share it. */
struct cs_mark {
    struct cs_mark *next; /* the next spare one */
    void *event;
    uint64_t stream; /* 0: unknown */
    int users;       /* blocks that have it, and calls that query it without the lock */
};

/* A capture, until all graphs made from it are destroyed. The later of two events frees it: the
 * device's notice, or the pool's release. */
struct cs_owner {
    struct cs_owner *next;
    uint64_t capture;
    atomic_int state;
};

enum cs_use {
    CS_BLOCK_FREE,
    CS_BLOCK_LEASED,
    CS_BLOCK_LOST /* it may contain work that no event follows */
};

struct cs_block {
    struct cs_block *next; /* the next one in the slab, or the next spare one */
    struct cs_slab *slab;
    int64_t offset, bytes;
    enum cs_use use;
    struct cs_mark *mark;   /* after the work in it. NULL: idle */
    struct cs_mark *end;    /* mark of the current lease, recorded when the block is returned */
    struct cs_owner *owner; /* NULL: none */
};

struct cs_slab {
    struct cs_slab *next;
    struct cs_pool *pool;
    char *memory;
    int64_t bytes;
    struct cs_block *first, *spare;
    struct cs_block block[CS_SLAB_BLOCKS];
};

struct cs_pool {
    struct cs_pool *next; /* used before this one */
    uint64_t context;
    void *handle; /* the context's handle */
    int users;    /* calls and leases; 0: may be forgotten */
    struct cs_slab *slabs;
    struct cs_mark *spare;
    struct cs_owner *owners;
};

/* Memory that may be freed to make room. */
enum cs_sacrifice {
    CS_SPARE_ALL,
    CS_FREE_DONE, /* slabs without running work */
    CS_FREE_IDLE /* also slabs with running work that no call has leased: freeing them waits for the
                    device */
};

/* Finds or creates the pool of a context, and counts the caller as a user. The lock is released
 * while a pool is created. CUDA does not report that a context is destroyed. So before a pool is
 * created, pools of destroyed contexts are removed, and the oldest one if there are too many. NULL
 * if host memory is exhausted. The caller calls cs_pool_leave. */
struct cs_pool *cs_pool_enter(struct cs_arena *arena, const struct cs_device *device,
                              uint64_t context);
void cs_pool_leave(struct cs_pool *pool);

/* Moves a pool that is in no list any more to the trash. Its memory and events are gone with the
 * context. */
void cs_pool_forget(struct cs_arena *arena, struct cs_pool *pool);

/* Releases the lock, then frees the objects in the trash. Checks the invariants of the arena before
 * that. */
void cs_pool_unlock(struct cs_arena *arena);

/* cs_pool_spare_mark takes a spare mark, NULL if there is none. cs_pool_new_mark creates one,
 * called without the lock, NULL if that fails. cs_pool_put_mark makes an unused mark spare again.
 */
struct cs_mark *cs_pool_spare_mark(struct cs_pool *pool);
struct cs_mark *cs_pool_new_mark(const struct cs_device *device);
void cs_pool_put_mark(struct cs_pool *pool, struct cs_mark *mark);

/* Removes the block's mark: its work is complete or was waited for. */
void cs_pool_drop_mark(struct cs_block *block);

/* Removes one user. Without users the mark becomes spare, and may be recorded again. */
void cs_pool_leave_mark(struct cs_pool *pool, struct cs_mark *mark);

/* The owner of a capture's blocks in this pool; NULL if there is none yet. */
struct cs_owner *cs_pool_owner(const struct cs_pool *pool, uint64_t capture);

/* Creates an owner, without the lock. NULL if the device cannot report the end of the capture's
 * graph. */
struct cs_owner *cs_pool_new_owner(const struct cs_device *device,
                                   const struct cs_capture *capture);
void cs_pool_add_owner(struct cs_pool *pool, struct cs_owner *owner);

/* True if a block belongs to a capture whose graphs are not all gone. */
bool cs_pool_captured(const struct cs_block *block);

/* Frees the blocks whose graphs are gone. No work runs in them. */
void cs_pool_reclaim(struct cs_arena *arena, struct cs_pool *pool);

/* Adds a slab of at least `bytes`, within the limit. False if that is not possible. Releases the
 * lock while it allocates. During that time `growing` counts it. Afterwards it wakes all threads
 * that wait for scratch. */
bool cs_pool_grow(struct cs_arena *arena, struct cs_pool *pool, const struct cs_device *device,
                  int64_t bytes, enum cs_sacrifice sacrifice);

#endif
