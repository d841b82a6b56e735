/* Keeps the level of each device from the reports of PyTorch's allocator. */
#include "level/level.h"

#include "base/checked.h"
#include "base/pages.h"
#include "level/blocks.h"

enum {
    MOST_DOUBTS = 3 /* after that many the table of free memory is not trusted again */
};

struct cs_device_level {
    struct cs_lock lock;
    int64_t allocated, reserved; /* in the last report */
    int64_t own;                 /* part of `allocated` that is the library's scratch */
    int64_t high;                /* the most that the program has had allocated */
    const void *stream;          /* the stream of the device's convolutions */
    bool has_stream, several_streams;
    bool in_use;   /* a thread holds scratch of the library */
    bool own_grew; /* the library's scratch made the allocator grow; reset by cs_level_begin */
    const void *own_block;            /* its last address */
    bool full;                        /* the table of free memory overflowed */
    bool doubted;                     /* until reserved memory shrinks */
    int doubts;                       /* how often */
    const struct cs_level_pool *pool; /* whose peaks are the facts. NULL: the allocator reports */
    bool several_pools;
    struct cs_level_facts facts;
    struct cs_blocks blocks;
};

struct cs_levels cs_levels;

/* True while the calling thread uses the allocator for the library. */
static __thread bool own_use __attribute__((tls_model("initial-exec")));

static struct cs_device_level *level_of(struct cs_levels *levels, int device)
{
    return device >= 0 && device < CS_LEVEL_DEVICES
               ? atomic_load_explicit(&levels->device[device], memory_order_acquire)
               : NULL;
}

/* Returns the level of a device, and makes it at its first report. NULL if that is not possible. */
static struct cs_device_level *level_for(struct cs_levels *levels, int device)
{
    struct cs_device_level *level = level_of(levels, device);
    if (level || device < 0 || device >= CS_LEVEL_DEVICES)
        return level;
    struct cs_device_level *made = cs_pages(sizeof *made);
    if (!made)
        return NULL;
    cs_lock_init(&made->lock, CS_RANK_LEVEL);
    if (atomic_compare_exchange_strong(&levels->device[device], &level, made))
        return made;
    cs_pages_free(made, sizeof *made);
    return level;
}

static void doubt(struct cs_device_level *level)
{
    cs_blocks_forget(&level->blocks);
    level->doubts += !level->doubted;
    level->doubted = true;
}

/* Records a block above CS_BLOCKS_SMALL. If the allocator grew although it had a free block, the
 * table contains memory of other streams or pools. */
static void note_block(struct cs_device_level *level, uint64_t begin, int64_t bytes, int64_t grown)
{
    if (level->full)
        return;
    if (bytes > 0 && grown > 0 && cs_blocks_largest(&level->blocks) >= bytes)
        doubt(level);
    bool consistent = bytes > 0 ? cs_blocks_take(&level->blocks, begin, bytes, grown)
                                : cs_blocks_give(&level->blocks, begin, -bytes);
    if (consistent)
        return;
    level->full =
        level->blocks.free_blocks == CS_BLOCKS_MAX || level->blocks.edges == CS_BLOCKS_MAX;
    cs_blocks_forget(&level->blocks);
}

/* Forgets free blocks if the allocator has returned memory to the device. Returns the bytes that it
 * has received. */
static int64_t note_reserved(struct cs_device_level *level, int64_t reserved)
{
    int64_t grown = reserved - level->reserved;
    level->reserved = reserved;
    cs_raise(&level->facts.reserved, reserved);
    if (grown >= 0)
        return grown;
    cs_blocks_forget(&level->blocks);
    level->doubted = level->doubts >= MOST_DOUBTS;
    return 0;
}

static void note_allocated(struct cs_device_level *level, int64_t allocated, int64_t bytes)
{
    level->allocated = allocated;
    level->own += own_use ? bytes : 0;
    cs_raise(&level->facts.allocated, allocated);
    cs_raise(&level->high, allocated - level->own);
    cs_raise(&level->facts.without, allocated - level->own);
}

bool cs_level_note(struct cs_levels *levels, int device, const void *address, int64_t bytes,
                   int64_t allocated, int64_t reserved)
{
    struct cs_device_level *level = level_for(levels, device);
    const bool possible =
        allocated >= 0 && reserved >= 0 && bytes > -INT64_MAX / 4 && bytes < INT64_MAX / 4;
    if (!level || !possible)
        return true;
    cs_lock(&level->lock);
    level->facts.events++;
    int64_t grown = note_reserved(level, reserved);
    note_allocated(level, allocated, bytes);
    if (bytes > CS_BLOCKS_SMALL || bytes < -CS_BLOCKS_SMALL)
        note_block(level, (uint64_t)(uintptr_t)address, bytes, grown);
    if (own_use && bytes > 0) {
        level->own_grew = grown > 0;
        level->own_block = address;
    }
    cs_unlock(&level->lock);
    return !own_use;
}

/* Records the size that the program would have allocated at a call without convshim: with the
 * workspace that its plan requires instead of `block` bytes. */
static void note_without(struct cs_device_level *level, int64_t block, int64_t required)
{
    int64_t without;
    if (cs_add(level->allocated - level->own - block, cs_level_rounded(required), &without))
        cs_raise(&level->facts.without, without);
}

void cs_level_raise(struct cs_levels *levels, int device, const struct cs_level_pool *pool,
                    const struct cs_level_peaks *peaks)
{
    struct cs_device_level *level = level_for(levels, device);
    if (!level)
        return;
    cs_lock(&level->lock);
    if (level->facts.events == 0) {
        level->several_pools |= !pool || (level->pool && level->pool != pool);
        level->pool = pool;
        level->facts.pool = true;
        cs_raise(&level->facts.allocated, peaks->allocated);
        cs_raise(&level->facts.without, peaks->without);
        cs_raise(&level->facts.reserved, peaks->reserved);
    }
    cs_unlock(&level->lock);
}

static enum cs_refusal refusal_of(const struct cs_device_level *level)
{
    if (level->several_streams)
        return CS_REFUSAL_STREAMS;
    if (level->doubted || level->full)
        return CS_REFUSAL_DOUBT;
    return level->in_use ? CS_REFUSAL_BUSY : CS_REFUSAL_NONE;
}

/* As cs_level_ask for one device. CS_REFUSAL_UNKNOWN if the call's memory is not the level's. */
static enum cs_refusal ask_level(struct cs_device_level *level, const struct cs_level_call *call,
                                 struct cs_level_room *room_p)
{
    enum cs_refusal refusal = CS_REFUSAL_UNKNOWN;
    cs_lock(&level->lock);
    const bool large = call->provided > CS_BLOCKS_SMALL;
    const void *address = large ? call->workspace : call->output;
    int64_t block = cs_blocks_live(&level->blocks, (uint64_t)(uintptr_t)address);
    if (block > 0) {
        note_without(level, large ? block : cs_level_rounded(call->provided), call->required);
        refusal = refusal_of(level);
        *room_p = (struct cs_level_room){
            .allocated = level->allocated,
            .high = level->high,
            .reserved = level->reserved,
            .block = refusal == CS_REFUSAL_NONE ? cs_blocks_largest(&level->blocks) : 0,
            .page = CS_LEVEL_PAGE,
            .first_stream = !level->has_stream || level->stream != call->stream};
    }
    cs_unlock(&level->lock);
    return refusal;
}

enum cs_refusal cs_level_ask(struct cs_levels *levels, const struct cs_level_call *call,
                             struct cs_level_room *room_p)
{
    enum cs_refusal refusal = CS_REFUSAL_UNKNOWN;
    for (int device = 0; device < CS_LEVEL_DEVICES && refusal == CS_REFUSAL_UNKNOWN; device++) {
        struct cs_device_level *level = level_of(levels, device);
        if (level)
            refusal = ask_level(level, call, room_p);
        room_p->device = refusal == CS_REFUSAL_UNKNOWN ? -1 : device;
    }
    return refusal;
}

bool cs_level_extend(struct cs_levels *levels, int device, const struct cs_level_call *call,
                     struct cs_level_extension *extension_p)
{
    struct cs_device_level *level = level_of(levels, device);
    const uint64_t begin = (uint64_t)(uintptr_t)call->workspace;
    struct cs_level_extension found = {.after = 0};
    if (!level)
        return false;
    cs_lock(&level->lock);
    found.block = cs_blocks_live(&level->blocks, begin);
    if (found.block == cs_level_rounded(call->provided))
        found.after = cs_blocks_after(&level->blocks, begin + (uint64_t)found.block, &found.least);
    cs_unlock(&level->lock);
    *extension_p = found;
    return found.after > 0;
}

bool cs_level_stream(struct cs_levels *levels, int device, const void *stream)
{
    struct cs_device_level *level = level_of(levels, device);
    if (!level)
        return false;
    cs_lock(&level->lock);
    if (!level->has_stream)
        level->stream = stream;
    level->has_stream = true;
    level->several_streams |= level->stream != stream;
    bool single = !level->several_streams;
    cs_unlock(&level->lock);
    return single;
}

bool cs_level_begin(struct cs_levels *levels, int device)
{
    struct cs_device_level *level = level_of(levels, device);
    if (!level)
        return false;
    cs_lock(&level->lock);
    bool mine = !level->in_use;
    if (mine) {
        level->in_use = true;
        level->own_grew = false;
        level->own_block = NULL;
    }
    cs_unlock(&level->lock);
    own_use = mine;
    return mine;
}

bool cs_level_taken(struct cs_levels *levels, int device, const void *memory, bool may_grow)
{
    struct cs_device_level *level = level_of(levels, device);
    own_use = false;
    if (!memory || !level)
        return false;
    cs_lock(&level->lock);
    bool expected = level->own_block == memory;
    if (!expected || (level->own_grew && !may_grow)) {
        expected = false;
        level->facts.grown += level->own_grew;
        doubt(level);
    }
    cs_unlock(&level->lock);
    return expected;
}

void cs_level_resume(void)
{
    own_use = true;
}

void cs_level_end(struct cs_levels *levels, int device)
{
    struct cs_device_level *level = level_of(levels, device);
    own_use = false;
    if (!level)
        return;
    cs_lock(&level->lock);
    level->in_use = false;
    cs_unlock(&level->lock);
}

void cs_level_count(struct cs_levels *levels, int device, enum cs_level_way way, int64_t launches,
                    enum cs_refusal why)
{
    struct cs_device_level *level = level_of(levels, device);
    if (!level) {
        atomic_fetch_add_explicit(&levels->calls[way], 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&levels->launches[way], launches, memory_order_relaxed);
        atomic_fetch_add_explicit(&levels->refused[why], 1, memory_order_relaxed);
        return;
    }
    cs_lock(&level->lock);
    level->facts.calls[way]++;
    level->facts.launches[way] += launches;
    level->facts.refused[why]++;
    cs_unlock(&level->lock);
}

bool cs_level_facts(struct cs_levels *levels, int device, struct cs_level_facts *facts_p)
{
    struct cs_device_level *level = level_of(levels, device);
    if (!level)
        return false;
    cs_lock(&level->lock);
    *facts_p = level->facts;
    bool known = !level->several_pools;
    cs_unlock(&level->lock);
    return known;
}

const char *cs_level_refusal_id(enum cs_refusal refusal)
{
    static const char *const ids[CS_REFUSALS] = {
        "",
#define CS_REFUSAL(id, text) #id,
#include "level/refusals.def"
#undef CS_REFUSAL
    };
    return refusal > CS_REFUSAL_NONE && refusal < CS_REFUSALS ? ids[refusal] : "";
}

const char *cs_level_refusal_text(enum cs_refusal refusal)
{
    static const char *const texts[CS_REFUSALS] = {
        "",
#define CS_REFUSAL(id, text) text,
#include "level/refusals.def"
#undef CS_REFUSAL
    };
    return refusal > CS_REFUSAL_NONE && refusal < CS_REFUSALS ? texts[refusal] : "";
}

void cs_level_fork(struct cs_levels *levels, bool before)
{
    /* Those that this thread holds. A device may report for the first time during the fork. */
    static __thread struct cs_device_level *held[CS_LEVEL_DEVICES];
    for (int device = 0; device < CS_LEVEL_DEVICES; device++) {
        if (before)
            held[device] = level_of(levels, device);
        if (!held[device])
            continue;
        if (before)
            cs_lock_next(&held[device]->lock);
        else
            cs_unlock(&held[device]->lock);
    }
}
