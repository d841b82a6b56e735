/* Takes and gives blocks of scratch: finds room by limit, stream and capture, waits only on the
 * device. */
#include "exec/pool.h"

#include "base/checked.h"
#include "base/clock.h"
#include "convshim/plan.h"
#include <errno.h>
#include <string.h>

enum {
    PATIENCE_NS = 100000000, /* the longest wait for calls that start */
    MAX_QUERIED = 64,        /* marks that one call queries; the others count as busy */
    MAX_GROWN = 4            /* times that one call tries to allocate */
};

/* A call that needs scratch. */
struct taker {
    struct cs_arena *arena;
    const struct cs_device *device;
    struct cs_pool *pool;
    void *stream;
    uint64_t id;
    struct cs_capture capture;
    int64_t bytes;
    struct cs_mark *mark; /* for the end of the lease */
    int grown;            /* times that it has tried to allocate */
};

/* Consecutive blocks of a slab that together are large enough. */
struct run {
    struct cs_slab *slab;
    struct cs_block *first, *last;
    int64_t bytes;
    int waits;     /* events to wait for */
    bool has_idle; /* includes memory without work, which other callers may need more */
};

void cs_arena_init(struct cs_arena *arena, int64_t limit)
{
    memset(arena, 0, sizeof *arena);
    arena->facts.limit = limit > 0 ? limit : 0;
    cs_lock_init(&arena->lock, CS_RANK_ARENA);
    cs_lock_condition_init(&arena->given);
}

/* Work that may still run in a block. */
enum pending {
    NOTHING,
    OWN,    /* work of the taker's stream: ordered, except in a capture */
    OTHERS, /* work of another stream: the taker's stream must wait for its end */
    REFUSED /* the taker may not use the block, with or without work in it */
};

static bool is_own(const struct cs_block *block, const struct taker *taker)
{
    return taker->id != 0 && block->mark->stream == taker->id;
}

/* The work in a block that the taker has to follow, or REFUSED. */
static enum pending pending_in(const struct cs_block *block, const struct taker *taker)
{
    if (block->use != CS_BLOCK_FREE || (block->owner && block->owner->capture != taker->capture.id))
        return REFUSED;
    if (!block->mark)
        return NOTHING;
    if (taker->capture.id != 0 && !block->owner) /* a replay would not wait for the mark */
        return REFUSED;
    return is_own(block, taker) ? OWN : OTHERS;
}

/* True if the block can become usable for the taker at some time. */
static bool usable_later(const struct cs_block *block, const struct taker *taker)
{
    return block->use != CS_BLOCK_LOST &&
           (!block->owner || block->owner->capture == taker->capture.id);
}

/* True if the block is usable now, or when the calls that are being started return their blocks. */
static bool usable_when_given(const struct cs_block *block, const struct taker *taker)
{
    if (block->use != CS_BLOCK_LEASED)
        return pending_in(block, taker) != REFUSED;
    return taker->capture.id ? block->owner && block->owner->capture == taker->capture.id
                             : !block->owner;
}

static bool not_lost(const struct cs_block *block, const struct taker *taker)
{
    (void)taker;
    return block->use != CS_BLOCK_LOST;
}

/* True if consecutive blocks that `may` allows are large enough. */
static bool run_fits(const struct taker *taker,
                     bool (*may)(const struct cs_block *block, const struct taker *taker))
{
    for (const struct cs_slab *slab = taker->pool->slabs; slab; slab = slab->next) {
        int64_t bytes = 0;
        for (const struct cs_block *block = slab->first; block; block = block->next) {
            bytes = may(block, taker) ? bytes + block->bytes : 0;
            if (bytes >= taker->bytes)
                return true;
        }
    }
    return false;
}

/* Finds the shortest run that begins at `first`. False if it is too short or the taker may not use
 * it. `after_others`: its blocks may have work of other streams, for which the taker's stream
 * waits. */
static bool find_run_at(const struct taker *taker, struct cs_slab *slab, struct cs_block *first,
                        bool after_others, struct run *run)
{
    *run = (struct run){.slab = slab, .first = first};
    for (struct cs_block *block = first; block && run->bytes < taker->bytes; block = block->next) {
        enum pending pending = pending_in(block, taker);
        if (pending == REFUSED || (pending == OTHERS && !after_others))
            return false;
        run->waits += pending == OTHERS;
        run->has_idle |= pending == NOTHING;
        run->bytes += block->bytes;
        run->last = block;
    }
    return run->last && run->bytes >= taker->bytes;
}

/* True if `a` needs fewer waits, or else leaves more idle memory, or else is shorter. */
static bool run_is_better(const struct run *a, const struct run *b)
{
    if (a->waits != b->waits)
        return a->waits < b->waits;
    if (a->has_idle != b->has_idle)
        return b->has_idle;
    return a->bytes < b->bytes;
}

/* Finds the best run of all slabs. False if there is none. */
static bool find_best_run(const struct taker *taker, bool after_others, struct run *best)
{
    struct run run;
    *best = (struct run){.first = NULL};
    for (struct cs_slab *slab = taker->pool->slabs; slab; slab = slab->next)
        for (struct cs_block *block = slab->first; block; block = block->next)
            if (find_run_at(taker, slab, block, after_others, &run) &&
                (!best->last || run_is_better(&run, best)))
                *best = run;
    return best->last != NULL;
}

/* Marks that are queried without the lock. */
struct queried {
    struct cs_mark *mark[MAX_QUERIED];
    bool done[MAX_QUERIED]; /* the work before the mark is complete */
    int count;
};

static void add_queried(struct queried *queried, struct cs_mark *mark)
{
    if (queried->count == MAX_QUERIED ||
        (queried->count > 0 && queried->mark[queried->count - 1] == mark))
        return;
    mark->users++;
    queried->mark[queried->count++] = mark;
}

/* True if the mark of the block's last work is to be queried. Not in a capture: the device refuses
 * to query events that were recorded in one. */
static bool may_be_done(const struct cs_block *block)
{
    return block->use == CS_BLOCK_FREE && !block->owner && block->mark;
}

static bool is_done(const struct queried *queried, const struct cs_mark *mark)
{
    for (int i = 0; i < queried->count; i++)
        if (queried->mark[i] == mark)
            return queried->done[i];
    return false;
}

/* Drops marks whose work is complete. Releases the lock while it queries. It counts as a user of
 * the marks: otherwise another call could record a mark again in a capture, and the query would
 * invalidate that capture. */
static void forget_done(const struct taker *taker)
{
    const struct cs_device *device = taker->device;
    struct queried queried = {.count = 0};
    for (const struct cs_slab *slab = taker->pool->slabs; slab; slab = slab->next)
        for (const struct cs_block *block = slab->first; block; block = block->next)
            if (may_be_done(block))
                add_queried(&queried, block->mark);
    if (queried.count == 0)
        return;
    cs_unlock(&taker->arena->lock);
    for (int i = 0; i < queried.count; i++)
        queried.done[i] = device->done(device->ctx, queried.mark[i]->event);
    cs_lock(&taker->arena->lock);
    for (const struct cs_slab *slab = taker->pool->slabs; slab; slab = slab->next)
        for (struct cs_block *block = slab->first; block; block = block->next)
            if (may_be_done(block) && is_done(&queried, block->mark))
                cs_pool_drop_mark(block);
    for (int i = 0; i < queried.count; i++)
        cs_pool_leave_mark(taker->pool, queried.mark[i]);
}

/* Finds a run, if possible without work of other streams. `after_others`: see find_run_at. */
static bool find_run(const struct taker *taker, bool after_others, struct run *run)
{
    if (find_best_run(taker, false, run))
        return true;
    forget_done(taker);
    return find_best_run(taker, after_others, run);
}

/* Cuts a run to `bytes`. The rest of its last block becomes a block with the same mark. If the slab
 * has no spare block for it, the run keeps the rest. */
static void run_cut(struct run *run, int64_t bytes)
{
    struct cs_block *last = run->last, *rest = run->slab->spare;
    int64_t surplus = run->bytes - bytes;
    if (surplus == 0 || !rest)
        return;
    run->slab->spare = rest->next;
    *rest = *last;
    rest->offset += rest->bytes - surplus;
    rest->bytes = surplus;
    if (rest->mark)
        rest->mark->users++;
    last->bytes -= surplus;
    last->next = rest;
    run->bytes = bytes;
}

static void set_use(const struct run *run, enum cs_use use)
{
    for (struct cs_block *block = run->first; block != run->last; block = block->next)
        block->use = use;
    run->last->use = use;
}

/* True if the taker's work follows the block's without a wait. Work on a stream is ordered, but not
 * in a capture: cudaStreamUpdateCaptureDependencies may have changed the order. A wait in a capture
 * is free. */
static bool in_order(const struct cs_block *block, const struct taker *taker)
{
    return !block->mark || (is_own(block, taker) && taker->capture.id == 0);
}

static int count_waits(const struct taker *taker, const struct run *run)
{
    int waits = 0;
    for (const struct cs_block *block = run->first;; block = block->next) {
        waits += !in_order(block, taker);
        if (block == run->last)
            return waits;
    }
}

/* Makes the taker's stream wait for the work in a leased run, whose marks stay. Called without the
 * lock, because the host waits if the stream's queue is full. */
static bool wait_for(const struct taker *taker, const struct run *run)
{
    const struct cs_device *device = taker->device;
    for (const struct cs_block *block = run->first;; block = block->next) {
        if (!in_order(block, taker) &&
            device->wait(device->ctx, taker->stream, block->mark->event) != 0)
            return false;
        if (block == run->last)
            return true;
    }
}

/* Joins the blocks of a leased run into its first one, and drops their marks. */
static struct cs_block *run_merge(const struct run *run)
{
    struct cs_block *first = run->first, *next = first->next, *end = run->last->next;
    cs_pool_drop_mark(first);
    while (next != end) {
        struct cs_block *part = next;
        next = part->next;
        cs_pool_drop_mark(part);
        part->next = run->slab->spare;
        run->slab->spare = part;
    }
    first->next = end;
    first->bytes = run->bytes;
    return first;
}

static void count_taken(struct cs_arena *arena, int64_t bytes)
{
    arena->facts.used += bytes;
    if (arena->facts.used > arena->facts.used_peak)
        arena->facts.used_peak = arena->facts.used;
}

/* True if the taker has a mark and, in a capture, an owner. */
static bool is_ready(struct taker *taker)
{
    if (!taker->mark)
        taker->mark = cs_pool_spare_mark(taker->pool);
    return taker->mark && (taker->capture.id == 0 || cs_pool_owner(taker->pool, taker->capture.id));
}

/* Creates the missing mark and owner. Releases the lock during the calls of the device or the heap.
 */
static bool make_ready(struct taker *taker)
{
    struct cs_arena *arena = taker->arena;
    struct cs_owner *owner = NULL;
    bool owned = taker->capture.id == 0 || cs_pool_owner(taker->pool, taker->capture.id);
    cs_unlock(&arena->lock);
    if (!taker->mark)
        taker->mark = cs_pool_new_mark(taker->device);
    if (taker->mark && !owned)
        owner = cs_pool_new_owner(taker->device, &taker->capture);
    cs_lock(&arena->lock);
    if (owner)
        cs_pool_add_owner(taker->pool, owner);
    return taker->mark && (owned || owner);
}

/* Leases a run to a taker that is ready. False if its stream cannot wait for the run. */
static bool block_claim(struct taker *taker, struct run *run, struct cs_lease *lease)
{
    struct cs_arena *arena = taker->arena;
    struct cs_owner *owner =
        taker->capture.id ? cs_pool_owner(taker->pool, taker->capture.id) : NULL;
    run_cut(run, taker->bytes);
    set_use(run, CS_BLOCK_LEASED);
    int waits = count_waits(taker, run);
    if (waits > 0) {
        cs_unlock(&arena->lock);
        bool waiting = wait_for(taker, run);
        cs_lock(&arena->lock);
        if (!waiting) {
            set_use(run, CS_BLOCK_FREE);
            cs_lock_condition_wake(&arena->given);
            return false;
        }
        arena->facts.waits += waits;
    }
    struct cs_block *block = run_merge(run);
    block->end = taker->mark;
    block->end->stream = taker->id;
    taker->mark = NULL;
    block->owner = owner;
    count_taken(arena, block->bytes);
    *lease = (struct cs_lease){block, run->slab->memory + block->offset};
    return true;
}

/* Waits for a returned block. False after PATIENCE_NS. *until begins as 0, and becomes the
 * deadline. */
static bool wait_given(struct cs_arena *arena, int64_t *until)
{
    if (*until == 0)
        *until = cs_clock(CLOCK_MONOTONIC) + PATIENCE_NS;
    return cs_lock_condition_wait(&arena->given, &arena->lock, *until);
}

/* Allocates memory. True if the caller should search again: after an allocation, or after another
 * thread has finished one, during which its memory is not available. */
static bool pool_grow(struct taker *taker, bool patient, int64_t *until)
{
    enum cs_sacrifice sacrifice = taker->capture.id != 0 ? CS_SPARE_ALL : CS_FREE_DONE;
    if (taker->grown++ == MAX_GROWN)
        return false;
    return cs_pool_grow(taker->arena, taker->pool, taker->device, taker->bytes, sacrifice) ||
           (patient && taker->arena->growing > 0 && wait_given(taker->arena, until));
}

/* Finds a run. A patient taker waits for blocks that calls on other threads will return. *until: as
 * in wait_given. */
static bool await_run(const struct taker *taker, bool patient, int64_t *until, struct run *run)
{
    cs_pool_reclaim(taker->arena, taker->pool);
    while (!find_run(taker, patient, run)) {
        if (!patient || !run_fits(taker, usable_when_given) || !wait_given(taker->arena, until))
            return false;
        cs_pool_reclaim(taker->arena, taker->pool);
    }
    return true;
}

/* Leases a block: searches for a run, and allocates if there is none. An impatient taker does not
 * allocate if a block of any owner is large enough. False if it gets no memory. */
static bool block_take(struct taker *taker, bool patient, struct cs_lease *lease)
{
    int64_t until = 0;
    struct run run;
    for (;;) {
        if (await_run(taker, patient, &until, &run)) {
            if (is_ready(taker))
                return block_claim(taker, &run, lease);
            if (!make_ready(taker))
                return false;
            /* Search again: make_ready released the lock, so the run may be taken. */
        } else {
            bool others_suffice = !patient && run_fits(taker, usable_later);
            if (others_suffice || !pool_grow(taker, patient, &until))
                return false;
        }
    }
}

/* The current context, or 0 if no pool of it can have the bytes. */
static uint64_t context_for(const struct taker *taker)
{
    const struct cs_device *device = taker->device;
    bool possible = taker->bytes > 0 && taker->bytes <= taker->arena->facts.limit;
    return possible ? device->context(device->ctx) : 0;
}

bool cs_arena_take(struct cs_arena *arena, const struct cs_device *device, void *stream,
                   const struct cs_capture *capture, int64_t bytes, bool patient,
                   struct cs_lease *lease)
{
    *lease = (struct cs_lease){NULL, NULL};
    struct taker taker = {.arena = arena,
                          .device = device,
                          .stream = stream,
                          .capture = *capture,
                          .bytes = cs_round_up(bytes, CS_SCRATCH_ALIGNMENT)};
    uint64_t context = context_for(&taker);
    taker.id = context ? device->stream_id(device->ctx, stream) : 0;
    cs_lock(&arena->lock);
    taker.pool = context ? cs_pool_enter(arena, device, context) : NULL;
    bool taken = taker.pool && block_take(&taker, patient, lease);
    if (taker.mark)
        cs_pool_put_mark(taker.pool, taker.mark);
    if (!taken && taker.pool)
        cs_pool_leave(taker.pool);
    arena->facts.refused += patient && !taken;
    cs_pool_unlock(arena);
    return taken;
}

void cs_arena_give(struct cs_arena *arena, const struct cs_device *device, void *stream, bool lost,
                   struct cs_lease *lease)
{
    struct cs_block *block = lease->block;
    *lease = (struct cs_lease){NULL, NULL};
    if (!block)
        return;
    struct cs_mark *end = block->end;
    bool marked = !lost && device->record(device->ctx, end->event, stream) == 0;
    cs_lock(&arena->lock);
    struct cs_pool *pool = block->slab->pool;
    arena->facts.used -= block->bytes;
    block->end = NULL;
    if (marked) {
        end->users = 1;
        block->mark = end;
        block->use = CS_BLOCK_FREE;
    } else {
        cs_pool_put_mark(pool, end);
        block->use = CS_BLOCK_LOST;
        arena->facts.lost += block->owner ? 0 : block->bytes;
    }
    cs_pool_leave(pool);
    cs_lock_condition_wake(&arena->given);
    cs_pool_unlock(arena);
}

void cs_arena_reserve(struct cs_arena *arena, const struct cs_device *device, int64_t bytes)
{
    struct taker taker = {
        .arena = arena, .device = device, .bytes = cs_round_up(bytes, CS_SCRATCH_ALIGNMENT)};
    uint64_t context = device ? context_for(&taker) : 0;
    if (context == 0)
        return;
    cs_lock(&arena->lock);
    taker.pool = cs_pool_enter(arena, device, context);
    if (taker.pool) {
        cs_pool_reclaim(arena, taker.pool);
        if (!run_fits(&taker, not_lost))
            (void)cs_pool_grow(arena, taker.pool, device, taker.bytes, CS_FREE_IDLE);
        cs_pool_leave(taker.pool);
    }
    cs_pool_unlock(arena);
}

static int64_t captured_bytes(const struct cs_arena *arena)
{
    int64_t bytes = 0;
    for (const struct cs_pool *pool = arena->pools; pool; pool = pool->next)
        for (const struct cs_slab *slab = pool->slabs; slab; slab = slab->next)
            for (const struct cs_block *block = slab->first; block; block = block->next)
                bytes += cs_pool_captured(block) ? block->bytes : 0;
    return bytes;
}

struct cs_arena_facts cs_arena_facts(struct cs_arena *arena)
{
    cs_lock(&arena->lock);
    struct cs_arena_facts facts = arena->facts;
    facts.captured = captured_bytes(arena);
    cs_unlock(&arena->lock);
    return facts;
}

void cs_arena_process_fork(struct cs_arena *arena, bool before, bool child)
{
    if (before) {
        cs_lock(&arena->lock);
        return;
    }
    if (child) {
        while (arena->pools) {
            struct cs_pool *pool = arena->pools;
            arena->pools = pool->next;
            cs_pool_forget(arena, pool);
        }
        arena->promised = 0;
        arena->growing = 0;
        arena->facts = (struct cs_arena_facts){.limit = arena->facts.limit};
        cs_lock_condition_init(&arena->given); /* waiting threads do not exist in the child */
    }
    cs_pool_unlock(arena);
}
