/* What an arena's memory consists of: pools of slabs that are divided into blocks, the marks
 * recorded after what runs in them, the captures that own them. Only arena.c uses this. The caller
 * of every function holds the arena's lock, unless it says otherwise. */
#ifndef CS_EXEC_POOL_H
#define CS_EXEC_POOL_H

#include "exec/arena.h"
#include <stdatomic.h>

enum {
    CS_SLAB_BLOCKS = 64 /* a slab is divided into at most: bounds what a take looks at */
};

/* The end of what was started in a block. Shared by the parts of a block that was split. */
struct cs_mark {
    struct cs_mark *next; /* of those to spare */
    void *event;
    uint64_t stream; /* 0: unknown */
    int users;       /* blocks that have it, and calls that ask it without the lock */
};

/* A capture, until all graphs made from it are gone. Whoever comes second, the device that tells so
 * or the pool that forgets it, frees it. */
struct cs_owner {
    struct cs_owner *next;
    uint64_t capture;
    bool reported; /* to whoever watches */
    atomic_int state;
};

enum cs_use {
    CS_BLOCK_FREE,
    CS_BLOCK_LEASED,
    CS_BLOCK_LOST /* something may run in it that no event follows */
};

struct cs_block {
    struct cs_block *next; /* behind it in the slab, or to spare */
    struct cs_slab *slab;
    int64_t offset, bytes;
    enum cs_use use;
    struct cs_mark *mark;   /* after what may still run in it; NULL: nothing does */
    struct cs_mark *end;    /* of a lease: to be recorded when it is given back */
    struct cs_owner *owner; /* NULL: none */
};

struct cs_slab {
    struct cs_slab *next;
    struct cs_pool *pool;
    char *memory;
    int64_t number; /* from 1, never given twice */
    int64_t bytes;
    struct cs_block *first, *spare;
    struct cs_block block[CS_SLAB_BLOCKS];
};

struct cs_pool {
    struct cs_pool *next; /* used before this one */
    uint64_t context;
    void *handle; /* of the context */
    int users;    /* calls and leases; 0: may be forgotten */
    struct cs_slab *slabs;
    struct cs_mark *spare;
    struct cs_owner *owners;
};

/* What may be freed to make room. */
enum cs_sacrifice {
    CS_SPARE_ALL,
    CS_FREE_DONE, /* slabs that nothing runs in */
    CS_FREE_IDLE  /* also those that no call has any more: waits for the device */
};

/* The pool of a context, made if there is none, which frees the lock meanwhile. Contexts come and
 * go, and do not say: whenever a new one comes, those that are gone are forgotten, and of very
 * many the oldest. NULL out of host memory. The caller leaves it. */
struct cs_pool *cs_pool_enter(struct cs_arena *arena, const struct cs_device *device,
                              uint64_t context);
void cs_pool_leave(struct cs_pool *pool);

/* Forgets a pool that is in no list any more; its memory and its events went with the context. */
void cs_pool_forget(struct cs_arena *arena, struct cs_pool *pool);

/* Frees the lock, and then what is in the trash. */
void cs_pool_unlock(struct cs_arena *arena);

/* A mark that nobody has, NULL if none is there; a new one, NULL if none can be made, which is
 * asked without the lock. */
struct cs_mark *cs_pool_spare_mark(struct cs_pool *pool);
struct cs_mark *cs_pool_new_mark(const struct cs_device *device);
void cs_pool_put_mark(struct cs_pool *pool, struct cs_mark *mark);

/* Nothing runs in the block any more, or the block has been waited for. */
void cs_pool_drop_mark(struct cs_block *block);

/* One of its users has done with it: after the last it is to spare, and may be recorded again. */
void cs_pool_leave_mark(struct cs_pool *pool, struct cs_mark *mark);

/* The owner of a capture's blocks in this pool; NULL if there is none yet. */
struct cs_owner *cs_pool_owner(const struct cs_pool *pool, uint64_t capture);

/* Makes one, without the lock; NULL if the capture's graph would not tell when it is gone. */
struct cs_owner *cs_pool_new_owner(const struct cs_device *device,
                                   const struct cs_capture *capture);
void cs_pool_add_owner(struct cs_pool *pool, struct cs_owner *owner);

/* True if a block belongs to a capture whose graphs are not all gone. */
bool cs_pool_captured(const struct cs_block *block);

/* Blocks whose graphs are gone become free, with nothing running in them. */
void cs_pool_reclaim(struct cs_arena *arena, struct cs_pool *pool);

/* Tells whoever watches; `event` lacks what is held and used. */
void cs_pool_report(const struct cs_arena *arena, struct cs_scratch_event event);

/* Adds a slab of at least `bytes`, within the limit. Frees the lock meanwhile, in which time
 * `growing` counts it, and tells all who wait for scratch when it is done. */
bool cs_pool_grow(struct cs_arena *arena, struct cs_pool *pool, const struct cs_device *device,
                  int64_t bytes, enum cs_sacrifice sacrifice);

#endif
