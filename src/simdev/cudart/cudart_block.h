/* Blocks of memory: their layout, and the guards and the poison that show stray writes. The caller
 * of every function holds the lock of the memory, or is the only user of the block. */
#ifndef CUDART_BLOCK_H
#define CUDART_BLOCK_H

#include "cudart_internal.h"

enum {
    ALIGNMENT = 512,
    /* A page and the alignment, so that no block has more than the alignment that CUDA promises. */
    GUARD_BEFORE = 4096 + ALIGNMENT,
    GUARD_AFTER = 4096,
    GUARD_BYTE = 0x5A,
    FRESH_BYTE = 0xCB,
    FREED_BYTE = 0xFB
};

enum block_state {
    BLOCK_LIVE,
    BLOCK_FREE_QUEUED,
    BLOCK_ABSENT, /* memory of a graph between its launches */
    BLOCK_FREED
};

struct block {
    uintptr_t map; /* start of the mapping, guards included */
    size_t map_bytes;
    unsigned char *begin;
    size_t bytes; /* bytes that the program requested */
    enum simdev_kind kind;
    enum simdev_place place;
    struct simdev_owner owner;
    enum block_state state;
    bool damaged;       /* reported already */
    struct block *next; /* in the quarantine, oldest first */
};

/* "device" or "page-locked". */
const char *simdev_block_place_name(const struct block *block);
/* True if a free fills the block with poison. */
bool simdev_block_is_small(const struct block *block);
/* True if the block owns its mapping. */
bool simdev_block_is_own(const struct block *block);
/* Reports damaged guards, or damaged poison of a freed block, as a violation, once. */
void simdev_block_check(struct block *block);
/* Fills bytes and guards. Account mode leaves the pages untouched. */
void simdev_block_poison(const struct block *block);
/* Fills a small block, which was freed. */
void simdev_block_poison_freed(const struct block *block);

#endif
