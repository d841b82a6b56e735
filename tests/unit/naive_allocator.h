/* A naive model of the large pool of PyTorch's caching allocator on one stream: best fit,
 * splitting, separate segments or one expandable segment, and a release of cached memory. It
 * makes a random program, event by event. All sizes are bytes. */
#ifndef NAIVE_ALLOCATOR_H
#define NAIVE_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    NAIVE_BLOCKS = 4096
};
#define NAIVE_MIB ((int64_t)1 << 20)

struct naive_block {
    uint64_t begin;
    int64_t bytes;
    bool used, first; /* first: a segment begins with it */
};

struct naive_allocator {
    uint64_t random;
    bool expandable;
    int count;
    struct naive_block block[NAIVE_BLOCKS]; /* by address; all mapped memory */
    uint64_t next;                          /* address of the next segment */
    int64_t reserved, allocated;
};

/* A report. bytes < 0: taken back. 0: no report. */
struct naive_event {
    uint64_t address;
    int64_t bytes, allocated, reserved;
};

static inline uint64_t naive_random(struct naive_allocator *a)
{
    a->random ^= a->random << 13;
    a->random ^= a->random >> 7;
    a->random ^= a->random << 17;
    return a->random * 0x9e3779b97f4a7c15 >> 20;
}

static inline void naive_begin(struct naive_allocator *a, unsigned seed, bool expandable)
{
    memset(a, 0, sizeof *a);
    a->random = seed * UINT64_C(0x2545f4914f6cdd1d);
    a->expandable = expandable;
    a->next = UINT64_C(1) << 40;
}

static inline void naive_insert(struct naive_allocator *a, int at, struct naive_block block)
{
    memmove(&a->block[at + 1], &a->block[at], (size_t)(a->count - at) * sizeof *a->block);
    a->block[at] = block;
    a->count++;
}

static inline void naive_remove(struct naive_allocator *a, int at)
{
    memmove(&a->block[at], &a->block[at + 1], (size_t)(a->count - at - 1) * sizeof *a->block);
    a->count--;
}

static inline int64_t naive_largest(const struct naive_allocator *a)
{
    int64_t largest = 0;
    for (int i = 0; i < a->count; i++)
        if (!a->block[i].used && a->block[i].bytes > largest)
            largest = a->block[i].bytes;
    return largest;
}

/* Gets memory from the device, and returns the index of the free block that has it. */
static inline int naive_grow(struct naive_allocator *a, int64_t bytes)
{
    const int64_t page = 20 * NAIVE_MIB;
    struct naive_block *last = a->count > 0 ? &a->block[a->count - 1] : NULL;
    if (!a->expandable) {
        int64_t segment = bytes < 10 * NAIVE_MIB
                              ? page
                              : (bytes + 2 * NAIVE_MIB - 1) / (2 * NAIVE_MIB) * 2 * NAIVE_MIB;
        naive_insert(a, a->count, (struct naive_block){a->next, segment, false, true});
        a->next += (uint64_t)(segment + (naive_random(a) % 2 ? 0 : 2 * NAIVE_MIB));
        a->reserved += segment;
        return a->count - 1;
    }
    int64_t tail =
        last && !last->used && last->begin + (uint64_t)last->bytes == a->next ? last->bytes : 0;
    int64_t pages = (bytes - tail + page - 1) / page * page;
    if (tail > 0)
        last->bytes += pages;
    else
        naive_insert(a, a->count, (struct naive_block){a->next, pages, false, !last});
    a->next += (uint64_t)pages;
    a->reserved += pages;
    return a->count - 1;
}

/* The index of the free block that a request gets, < 0: none. */
static inline int naive_best(const struct naive_allocator *a, int64_t bytes)
{
    int best = -1;
    for (int i = 0; i < a->count; i++)
        if (!a->block[i].used && a->block[i].bytes >= bytes &&
            (best < 0 || a->block[i].bytes < a->block[best].bytes))
            best = i;
    return best;
}

static inline struct naive_event naive_allocate(struct naive_allocator *a, int64_t bytes)
{
    int best = naive_best(a, bytes);
    if (best < 0)
        best = naive_grow(a, bytes);
    struct naive_block *block = &a->block[best];
    if (block->bytes - bytes > NAIVE_MIB) {
        const struct naive_block rest = {block->begin + (uint64_t)bytes, block->bytes - bytes,
                                         false, false};
        block->bytes = bytes;
        naive_insert(a, best + 1, rest);
    }
    block->used = true;
    a->allocated += block->bytes;
    return (struct naive_event){block->begin, block->bytes, a->allocated, a->reserved};
}

static inline bool naive_joins(const struct naive_allocator *a, int at)
{
    return at > 0 && at < a->count && !a->block[at].used && !a->block[at - 1].used &&
           !a->block[at].first &&
           a->block[at - 1].begin + (uint64_t)a->block[at - 1].bytes == a->block[at].begin;
}

static inline struct naive_event naive_free(struct naive_allocator *a, int at)
{
    struct naive_block was = a->block[at];
    a->block[at].used = false;
    a->allocated -= was.bytes;
    if (naive_joins(a, at + 1)) {
        a->block[at].bytes += a->block[at + 1].bytes;
        naive_remove(a, at + 1);
    }
    if (naive_joins(a, at)) {
        a->block[at - 1].bytes += a->block[at].bytes;
        naive_remove(a, at);
    }
    return (struct naive_event){was.begin, -was.bytes, a->allocated, a->reserved};
}

/* Returns free memory to the device: whole segments, or the pages at the end. */
static inline void naive_release(struct naive_allocator *a)
{
    const int64_t page = 20 * NAIVE_MIB;
    for (int i = a->count - 1; i >= 0 && !a->expandable; i--) {
        bool whole = a->block[i].first && (i + 1 == a->count || a->block[i + 1].first);
        if (a->block[i].used || !whole)
            continue;
        a->reserved -= a->block[i].bytes;
        naive_remove(a, i);
    }
    struct naive_block *last = a->count > 0 ? &a->block[a->count - 1] : NULL;
    if (a->expandable && last && !last->used && last->bytes >= page) {
        int64_t pages = last->bytes / page * page;
        last->bytes -= pages;
        a->next -= (uint64_t)pages;
        a->reserved -= pages;
        if (last->bytes == 0)
            a->count--;
    }
}

/* One step of a random program. `release`: cached memory is returned, without a report. */
static inline struct naive_event naive_step(struct naive_allocator *a, bool release)
{
    int used = 0;
    if (release) {
        naive_release(a);
        return (struct naive_event){0, 0, a->allocated, a->reserved};
    }
    for (int i = 0; i < a->count; i++)
        used += a->block[i].used;
    if (used > 0 && (naive_random(a) % 2 || used > 100)) {
        int which = (int)(naive_random(a) % (uint64_t)used);
        for (int i = 0; i < a->count; i++)
            if (a->block[i].used && which-- == 0)
                return naive_free(a, i);
    }
    int64_t scale = naive_random(a) % 8 ? 4 : 60;
    int64_t bytes =
        NAIVE_MIB + 512 + (int64_t)(naive_random(a) % (uint64_t)(scale * NAIVE_MIB)) / 512 * 512;
    return naive_allocate(a, bytes);
}

#endif
