/* The slabs and blocks of a context's scratch, and the events and captures that own them. */
#include "exec/pool.h"

#include "base/checked.h"
#include "base/invariant.h"
#include <stdlib.h>
#include <string.h>

enum {
    SLAB_BYTES = 2 << 20, /* the driver's own granularity */
    SLAB_MARKS = 4,       /* made with a slab, so that few have to be made later */
    MAX_POOLS = 32        /* contexts: no machine has more devices */
};

/* States of an owner. */
enum {
    KEPT,
    GONE,     /* the capture's graphs are destroyed */
    FORGOTTEN /* its pool is gone */
};

struct cs_mark *cs_pool_spare_mark(struct cs_pool *pool)
{
    struct cs_mark *mark = pool->spare;
    if (mark)
        pool->spare = mark->next;
    return mark;
}

struct cs_mark *cs_pool_new_mark(const struct cs_device *device)
{
    struct cs_mark *mark = calloc(1, sizeof *mark);
    if (mark && device->event_create(device->ctx, &mark->event) == 0)
        return mark;
    free(mark);
    return NULL;
}

void cs_pool_put_mark(struct cs_pool *pool, struct cs_mark *mark)
{
    mark->next = pool->spare;
    pool->spare = mark;
}

void cs_pool_leave_mark(struct cs_pool *pool, struct cs_mark *mark)
{
    if (--mark->users == 0)
        cs_pool_put_mark(pool, mark);
}

void cs_pool_drop_mark(struct cs_block *block)
{
    struct cs_mark *mark = block->mark;
    block->mark = NULL;
    if (mark)
        cs_pool_leave_mark(block->slab->pool, mark);
}

/* Marks an owner as gone, and frees it if its pool was forgotten. The device calls it when the
 * graphs of a capture are destroyed: on any thread, in the middle of a device's call. */
static void report_gone(void *arg)
{
    struct cs_owner *owner = arg;
    if (atomic_exchange(&owner->state, GONE) == FORGOTTEN)
        free(owner);
}

/* Marks an owner as forgotten by its pool, and frees it if its graphs are gone. */
static void forget_owner(struct cs_owner *owner)
{
    if (atomic_exchange(&owner->state, FORGOTTEN) == GONE)
        free(owner);
}

void cs_pool_forget(struct cs_arena *arena, struct cs_pool *pool)
{
    for (const struct cs_slab *slab = pool->slabs; slab; slab = slab->next)
        arena->facts.held -= slab->bytes;
    pool->next = arena->trash.pools;
    arena->trash.pools = pool;
}

/* Frees a pool's host memory. Its device memory and events are gone with the context. */
static void pool_destroy(struct cs_pool *pool)
{
    while (pool->slabs) {
        struct cs_slab *slab = pool->slabs;
        pool->slabs = slab->next;
        for (struct cs_block *block = slab->first; block; block = block->next) {
            cs_pool_drop_mark(block);
            free(block->end);
        }
        free(slab);
    }
    while (pool->spare) {
        struct cs_mark *mark = pool->spare;
        pool->spare = mark->next;
        free(mark);
    }
    while (pool->owners) {
        struct cs_owner *owner = pool->owners;
        pool->owners = owner->next;
        forget_owner(owner);
    }
    free(pool);
}

/* Counts the blocks of a slab that have a mark. */
static int blocks_with(const struct cs_slab *slab, const struct cs_mark *mark)
{
    int blocks = 0;
    for (const struct cs_block *block = slab->first; block; block = block->next)
        blocks += block->mark == mark;
    return blocks;
}

/* True if the block begins at `offset`, and its mark, lease and owner are consistent. */
static bool block_is_sound(const struct cs_pool *pool, const struct cs_slab *slab,
                           const struct cs_block *block, int64_t offset)
{
    const struct cs_owner *owner = pool->owners;
    while (owner && owner != block->owner)
        owner = owner->next;
    return block->slab == slab && block->offset == offset && block->bytes > 0 &&
           (!block->mark || block->mark->users >= blocks_with(slab, block->mark)) &&
           (!block->end || (block->use == CS_BLOCK_LEASED && !block->mark)) &&
           owner == block->owner;
}

/* True if the slab's blocks follow each other without gaps and none is missing. Adds those that
 * are leased to *leases and *leased (bytes). */
static bool slab_is_sound(const struct cs_pool *pool, const struct cs_slab *slab, int *leases,
                          int64_t *leased)
{
    int64_t end = 0;
    int blocks = 0;
    for (const struct cs_block *block = slab->first; block; block = block->next) {
        if (++blocks > CS_SLAB_BLOCKS || !block_is_sound(pool, slab, block, end))
            return false;
        end += block->bytes;
        *leases += block->end != NULL;
        *leased += block->end ? block->bytes : 0;
    }
    for (const struct cs_block *spare = slab->spare; spare; spare = spare->next)
        if (++blocks > CS_SLAB_BLOCKS)
            return false;
    return slab->pool == pool && end == slab->bytes && blocks == CS_SLAB_BLOCKS;
}

/* True if the facts are those of the pools, and all pools are sound. While memory is allocated or
 * freed without the lock, it is in no pool. */
static bool is_sound(const struct cs_arena *arena)
{
    const struct cs_arena_facts *facts = &arena->facts;
    int64_t held = 0, leased = 0;
    for (const struct cs_pool *pool = arena->pools; pool; pool = pool->next) {
        int leases = 0;
        for (const struct cs_slab *slab = pool->slabs; slab; slab = slab->next) {
            held += slab->bytes;
            if (!slab_is_sound(pool, slab, &leases, &leased))
                return false;
        }
        if (pool->users < leases)
            return false;
    }
    return (arena->growing > 0 ? held <= facts->held : held == facts->held) &&
           leased == facts->used && facts->held <= facts->peak && facts->used <= facts->used_peak &&
           arena->promised >= 0 && facts->held + arena->promised <= facts->limit;
}

void cs_pool_unlock(struct cs_arena *arena)
{
    CS_INVARIANT(is_sound(arena));
    struct cs_pool *pools = arena->trash.pools;
    struct cs_slab *slabs = arena->trash.slabs;
    struct cs_owner *owners = arena->trash.owners;
    memset(&arena->trash, 0, sizeof arena->trash);
    cs_unlock(&arena->lock);
    while (pools) {
        struct cs_pool *pool = pools;
        pools = pool->next;
        pool_destroy(pool);
    }
    while (slabs) {
        struct cs_slab *slab = slabs;
        slabs = slab->next;
        free(slab);
    }
    while (owners) {
        struct cs_owner *owner = owners;
        owners = owner->next;
        free(owner);
    }
}

/* If there are too many pools, forgets the least recently used one without users. */
static void forget_oldest(struct cs_arena *arena)
{
    struct cs_pool **oldest = NULL;
    int pools = 0;
    for (struct cs_pool **link = &arena->pools; *link; link = &(*link)->next) {
        pools++;
        if ((*link)->users == 0)
            oldest = link;
    }
    if (pools < MAX_POOLS || !oldest)
        return;
    struct cs_pool *pool = *oldest;
    *oldest = pool->next;
    cs_pool_forget(arena, pool);
}

/* Forgets the context's pool if it has no users. */
static void forget_unused(struct cs_arena *arena, uint64_t context)
{
    for (struct cs_pool **link = &arena->pools; *link; link = &(*link)->next) {
        struct cs_pool *pool = *link;
        if (pool->context != context || pool->users > 0)
            continue;
        *link = pool->next;
        cs_pool_forget(arena, pool);
        return;
    }
}

/* Forgets the pools of destroyed contexts, whose memory no longer counts. Releases the lock while
 * it queries the device. */
static void forget_gone(struct cs_arena *arena, const struct cs_device *device)
{
    struct {
        void *handle;
        uint64_t context;
    } unused[MAX_POOLS];
    int count = 0;
    for (const struct cs_pool *pool = arena->pools; pool && count < MAX_POOLS; pool = pool->next) {
        if (pool->users > 0)
            continue;
        unused[count].handle = pool->handle;
        unused[count++].context = pool->context;
    }
    if (count == 0)
        return;
    cs_unlock(&arena->lock);
    for (int i = 0; i < count; i++)
        if (device->lives(device->ctx, unused[i].handle, unused[i].context))
            unused[i].context = 0; /* keep its pool */
    cs_lock(&arena->lock);
    for (int i = 0; i < count; i++)
        if (unused[i].context != 0)
            forget_unused(arena, unused[i].context);
}

/* The link to the context's pool, or to NULL at the end of the list. */
static struct cs_pool **pool_find(struct cs_arena *arena, uint64_t context)
{
    struct cs_pool **link = &arena->pools;
    while (*link && (*link)->context != context)
        link = &(*link)->next;
    return link;
}

/* Creates a pool that is in no list. NULL if host memory is exhausted. Releases the lock while it
 * allocates. */
static struct cs_pool *pool_create(struct cs_arena *arena, const struct cs_device *device,
                                   uint64_t context)
{
    cs_unlock(&arena->lock);
    struct cs_pool *pool = calloc(1, sizeof *pool);
    if (pool)
        *pool = (struct cs_pool){.context = context, .handle = device->handle(device->ctx)};
    cs_lock(&arena->lock);
    return pool;
}

struct cs_pool *cs_pool_enter(struct cs_arena *arena, const struct cs_device *device,
                              uint64_t context)
{
    struct cs_pool *made = NULL;
    if (!*pool_find(arena, context)) {
        forget_gone(arena, device);
        forget_oldest(arena);
        made = pool_create(arena, device, context);
    }
    struct cs_pool **link = pool_find(arena, context), *pool = *link;
    if (pool)
        *link = pool->next;
    if (pool && made)
        cs_pool_forget(arena, made); /* another thread was quicker */
    pool = pool ? pool : made;
    if (!pool)
        return NULL;
    pool->next = arena->pools;
    arena->pools = pool;
    pool->users++;
    return pool;
}

void cs_pool_leave(struct cs_pool *pool)
{
    pool->users--;
}

/* Frees the owner's blocks, except leased ones. True if a lease keeps the owner. */
static bool free_owned(struct cs_pool *pool, const struct cs_owner *owner)
{
    bool leased = false;
    for (struct cs_slab *slab = pool->slabs; slab; slab = slab->next)
        for (struct cs_block *block = slab->first; block; block = block->next) {
            if (block->owner != owner)
                continue;
            if (block->use == CS_BLOCK_LEASED) {
                leased = true;
                continue;
            }
            cs_pool_drop_mark(block);
            block->owner = NULL;
            block->use = CS_BLOCK_FREE;
        }
    return leased;
}

bool cs_pool_captured(const struct cs_block *block)
{
    return block->owner &&
           (block->use == CS_BLOCK_LEASED || atomic_load(&block->owner->state) != GONE);
}

void cs_pool_reclaim(struct cs_arena *arena, struct cs_pool *pool)
{
    for (struct cs_owner **link = &pool->owners; *link;) {
        struct cs_owner *owner = *link;
        if (atomic_load(&owner->state) != GONE || free_owned(pool, owner)) {
            link = &owner->next;
            continue;
        }
        *link = owner->next;
        owner->next = arena->trash.owners;
        arena->trash.owners = owner;
    }
}

struct cs_owner *cs_pool_owner(const struct cs_pool *pool, uint64_t capture)
{
    struct cs_owner *owner = pool->owners;
    while (owner && owner->capture != capture)
        owner = owner->next;
    return owner;
}

struct cs_owner *cs_pool_new_owner(const struct cs_device *device, const struct cs_capture *capture)
{
    struct cs_owner *owner = calloc(1, sizeof *owner);
    if (!owner)
        return NULL;
    owner->capture = capture->id;
    atomic_init(&owner->state, KEPT);
    if (device->keep(device->ctx, capture->graph, report_gone, owner) == 0)
        return owner;
    free(owner);
    return NULL;
}

void cs_pool_add_owner(struct cs_pool *pool, struct cs_owner *owner)
{
    owner->next = pool->owners;
    pool->owners = owner;
}

static int64_t pool_room(const struct cs_arena *arena)
{
    return arena->facts.limit - arena->facts.held - arena->promised;
}

/* Divides a new slab: one free block has all bytes, and the others are spare. */
static void slab_begin(struct cs_slab *slab)
{
    slab->first = &slab->block[0];
    *slab->first = (struct cs_block){.slab = slab, .bytes = slab->bytes};
    for (int i = CS_SLAB_BLOCKS - 1; i > 0; i--) {
        slab->block[i].next = slab->spare;
        slab->spare = &slab->block[i];
    }
}

/* Creates a slab with memory, in no list. NULL if that fails. Called without the lock. */
static struct cs_slab *new_slab(const struct cs_device *device, int64_t bytes)
{
    void *memory = NULL;
    struct cs_slab *slab = calloc(1, sizeof *slab);
    if (slab && device->allocate(device->ctx, bytes, &memory) == 0) {
        slab->memory = memory;
        slab->bytes = bytes;
        return slab;
    }
    free(slab);
    return NULL;
}

/* Adds a new slab to a pool and counts it. */
static void link_slab(struct cs_arena *arena, struct cs_pool *pool, struct cs_slab *slab)
{
    slab->pool = pool;
    slab_begin(slab);
    slab->next = pool->slabs;
    pool->slabs = slab;
    arena->facts.allocations++;
    arena->facts.held += slab->bytes;
    if (arena->facts.held > arena->facts.peak)
        arena->facts.peak = arena->facts.held;
}

/* Allocates a slab, and some spare marks. Releases the lock during the calls of the device or the
 * heap. */
static bool add_slab(struct cs_arena *arena, struct cs_pool *pool, const struct cs_device *device,
                     int64_t bytes)
{
    struct cs_mark *made[SLAB_MARKS];
    int marks = 0;
    arena->promised += bytes;
    cs_unlock(&arena->lock);
    struct cs_slab *slab = new_slab(device, bytes);
    while (slab && marks < SLAB_MARKS && (made[marks] = cs_pool_new_mark(device)))
        marks++;
    cs_lock(&arena->lock);
    arena->promised -= bytes;
    if (!slab)
        return false;
    link_slab(arena, pool, slab);
    while (marks > 0)
        cs_pool_put_mark(pool, made[--marks]);
    return true;
}

/* The size of a new slab for `bytes`, rounded up if the limit allows it. 0 if there is no room. */
static int64_t slab_bytes(const struct cs_arena *arena, int64_t bytes)
{
    const int64_t room = pool_room(arena), rounded = cs_round_up(bytes, SLAB_BYTES);
    return bytes > room ? 0 : rounded > room ? bytes : rounded;
}

static bool may_free(const struct cs_slab *slab, enum cs_sacrifice sacrifice)
{
    for (const struct cs_block *block = slab->first; block; block = block->next)
        if (block->use != CS_BLOCK_FREE || block->owner ||
            (block->mark && sacrifice != CS_FREE_IDLE))
            return false;
    return sacrifice != CS_SPARE_ALL;
}

/* Removes idle slabs that together make room for `bytes`. NULL if they do not suffice. */
static struct cs_slab *take_idle(const struct cs_arena *arena, struct cs_pool *pool, int64_t bytes,
                                 enum cs_sacrifice sacrifice)
{
    struct cs_slab *taken = NULL;
    int64_t freed = pool_room(arena);
    for (const struct cs_slab *slab = pool->slabs; slab; slab = slab->next)
        freed += may_free(slab, sacrifice) ? slab->bytes : 0;
    if (freed < bytes)
        return NULL;
    freed = pool_room(arena);
    for (struct cs_slab **link = &pool->slabs; *link && freed < bytes;) {
        struct cs_slab *slab = *link;
        if (!may_free(slab, sacrifice)) {
            link = &slab->next;
            continue;
        }
        *link = slab->next;
        slab->next = taken;
        taken = slab;
        freed += slab->bytes;
    }
    return taken;
}

/* Frees idle slabs, if they make room for `bytes`. Releases the lock during the calls of the device
 * or the heap. */
static void make_room(struct cs_arena *arena, struct cs_pool *pool, const struct cs_device *device,
                      int64_t bytes, enum cs_sacrifice sacrifice)
{
    struct cs_slab *taken = take_idle(arena, pool, bytes, sacrifice);
    if (!taken)
        return;
    cs_unlock(&arena->lock);
    for (const struct cs_slab *slab = taken; slab; slab = slab->next)
        device->free(device->ctx, slab->memory);
    cs_lock(&arena->lock);
    while (taken) {
        struct cs_slab *slab = taken;
        taken = slab->next;
        arena->facts.held -= slab->bytes;
        for (struct cs_block *block = slab->first; block; block = block->next)
            cs_pool_drop_mark(block);
        slab->next = arena->trash.slabs;
        arena->trash.slabs = slab;
    }
}

bool cs_pool_grow(struct cs_arena *arena, struct cs_pool *pool, const struct cs_device *device,
                  int64_t bytes, enum cs_sacrifice sacrifice)
{
    arena->growing++;
    if (pool_room(arena) < bytes)
        forget_gone(arena, device);
    if (pool_room(arena) < bytes)
        make_room(arena, pool, device, bytes, sacrifice);
    int64_t size = slab_bytes(arena, bytes);
    bool grown = size > 0 && add_slab(arena, pool, device, size);
    arena->growing--;
    cs_lock_condition_wake(&arena->given);
    return grown;
}
