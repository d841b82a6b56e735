/* The free memory of PyTorch's caching allocator on one device, as its reports show it. The
 * allocator reports each block that it hands out or takes back. It never reports free blocks, so
 * this table derives them: memory that the device has given to the allocator, minus the blocks that
 * it has handed out. The table may miss free memory. It contains memory that is not free only if
 * the allocator keeps it for another stream or pool, or if it has returned memory to the device and
 * received as much again before its next report.
 *
 * Only blocks above CS_BLOCKS_SMALL are reported here. The allocator serves smaller ones from
 * segments of their own. Addresses and sizes are bytes. Memory of fixed size, no lock: the caller
 * has one. */
#ifndef CS_LEVEL_BLOCKS_H
#define CS_LEVEL_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CS_BLOCKS_SMALL = 1 << 20, /* blocks up to this size have their own segments */
    CS_BLOCKS_MAX = 8192,      /* free blocks, and segments */
    CS_BLOCKS_LIVE = 4096      /* blocks in use that are remembered; a power of two */
};

/* A free block. */
struct cs_block_free {
    uint64_t begin, end;
};

/* A block in use. */
struct cs_block_live {
    uint64_t begin; /* 0: none */
    int64_t bytes;
};

struct cs_blocks {
    int free_blocks, edges;
    int64_t largest; /* bytes of the largest free block; < 0: not computed */
    struct cs_block_free
        free[CS_BLOCKS_MAX];      /* sorted, apart from each other or divided by edges */
    uint64_t edge[CS_BLOCKS_MAX]; /* sorted addresses that no free block spans */
    struct cs_block_live live[CS_BLOCKS_LIVE]; /* by address. A newer block replaces an older one */
};

/* Records a block that the allocator hands out, after it has received `grown` >= 0 bytes from the
 * device. False if this contradicts the table, which the caller then has to forget, or if the table
 * is full. */
bool cs_blocks_take(struct cs_blocks *blocks, uint64_t begin, int64_t bytes, int64_t grown);

/* Records a block that the allocator takes back. False as cs_blocks_take. */
bool cs_blocks_give(struct cs_blocks *blocks, uint64_t begin, int64_t bytes);

/* Forgets all free blocks, because the allocator has returned memory to the device. Blocks in use
 * stay known, and become free when the program returns them. */
void cs_blocks_forget(struct cs_blocks *blocks);

/* Returns the bytes of the largest free block, 0 without one. */
int64_t cs_blocks_largest(struct cs_blocks *blocks);

/* Returns the bytes of the free block that begins at an address and belongs to the memory before
 * it. 0: none. The allocator takes the smallest free block that is large enough. *least_p: from
 * this size on a request gets that block. */
int64_t cs_blocks_after(const struct cs_blocks *blocks, uint64_t address, int64_t *least_p);

/* Returns the bytes of the block in use that begins at an address, 0 if none is known. */
int64_t cs_blocks_live(const struct cs_blocks *blocks, uint64_t begin);

#endif
