/* Derives the free blocks of PyTorch's allocator from its reports. */
#include "level/blocks.h"

#include "base/checked.h"
#include "base/invariant.h"
#include <string.h>

/* How the allocator gets large memory from the device (kLargeBuffer, kMinLargeAlloc and kRoundLarge
 * of CUDACachingAllocator). A segment has 20 MiB, or for blocks from 10 MiB the block's size
 * rounded up. An expandable segment grows by pages of 20 MiB. */
enum {
    PAGE = 20 << 20,
    LARGE = 10 << 20,
    ROUNDING = 2 << 20
};

/* The searches below halve the rest without a branch that depends on the data, which the processor
 * would mispredict at half of the steps. */

/* The index of the first free block that begins after an address. */
static int first_after(const struct cs_blocks *blocks, uint64_t address)
{
    int at = 0;
    for (int rest = blocks->free_blocks; rest > 0;) {
        const int half = (rest + 1) / 2;
        at += blocks->free[at + half - 1].begin <= address ? half : 0;
        rest -= half;
    }
    return at;
}

/* The index of the first edge at or after an address. */
static int edge_from(const struct cs_blocks *blocks, uint64_t address)
{
    int at = 0;
    for (int rest = blocks->edges; rest > 0;) {
        const int half = (rest + 1) / 2;
        at += blocks->edge[at + half - 1] < address ? half : 0;
        rest -= half;
    }
    return at;
}

static bool is_edge(const struct cs_blocks *blocks, uint64_t address)
{
    int at = edge_from(blocks, address);
    return at < blocks->edges && blocks->edge[at] == address;
}

/* True if free blocks are sorted and apart, or divided by an edge, and edges are sorted and not
 * inside of free blocks. */
static bool is_sound(const struct cs_blocks *blocks)
{
    for (int i = 0; i < blocks->free_blocks; i++) {
        const struct cs_block_free *block = &blocks->free[i];
        const int inside = edge_from(blocks, block->begin + 1);
        if (block->begin >= block->end ||
            (inside < blocks->edges && blocks->edge[inside] < block->end) ||
            (i > 0 && (block[-1].end > block->begin ||
                       (block[-1].end == block->begin && !is_edge(blocks, block->begin)))))
            return false;
    }
    for (int i = 1; i < blocks->edges; i++)
        if (blocks->edge[i - 1] >= blocks->edge[i])
            return false;
    return true;
}

static bool add_edge(struct cs_blocks *blocks, uint64_t address)
{
    int at = edge_from(blocks, address);
    if (at < blocks->edges && blocks->edge[at] == address)
        return true;
    if (blocks->edges == CS_BLOCKS_MAX)
        return false;
    memmove(&blocks->edge[at + 1], &blocks->edge[at],
            (size_t)(blocks->edges - at) * sizeof *blocks->edge);
    blocks->edge[at] = address;
    blocks->edges++;
    return true;
}

/* Removes edges inside begin < address < end: the allocator has one block there. */
static void remove_edges(struct cs_blocks *blocks, uint64_t begin, uint64_t end)
{
    int first = edge_from(blocks, begin + 1), after = edge_from(blocks, end);
    if (first == after)
        return;
    memmove(&blocks->edge[first], &blocks->edge[after],
            (size_t)(blocks->edges - after) * sizeof *blocks->edge);
    blocks->edges -= after - first;
}

static void remove_free(struct cs_blocks *blocks, int at, int count)
{
    memmove(&blocks->free[at], &blocks->free[at + count],
            (size_t)(blocks->free_blocks - at - count) * sizeof *blocks->free);
    blocks->free_blocks -= count;
}

static bool insert_free(struct cs_blocks *blocks, int at, uint64_t begin, uint64_t end)
{
    if (begin == end)
        return true;
    if (blocks->free_blocks == CS_BLOCKS_MAX)
        return false;
    memmove(&blocks->free[at + 1], &blocks->free[at],
            (size_t)(blocks->free_blocks - at) * sizeof *blocks->free);
    blocks->free[at] = (struct cs_block_free){begin, end};
    blocks->free_blocks++;
    return true;
}

static struct cs_block_live *live_slot(struct cs_blocks *blocks, uint64_t begin)
{
    uint64_t hash = (begin >> 9) * UINT64_C(0x9E3779B97F4A7C15);
    return &blocks->live[hash >> 52];
}

_Static_assert(CS_BLOCKS_LIVE == 1 << (64 - 52), "the hash has as many values as the table");

int64_t cs_blocks_live(const struct cs_blocks *blocks, uint64_t begin)
{
    const struct cs_block_live *live = live_slot((struct cs_blocks *)(uintptr_t)blocks, begin);
    return begin != 0 && live->begin == begin ? live->bytes : 0;
}

/* Takes [begin, end) out of the free blocks that it overlaps. A block begins where the allocator
 * has a free block, so a free block that begins before it consists of two. */
static bool cut_out(struct cs_blocks *blocks, uint64_t begin, uint64_t end)
{
    int first = first_after(blocks, begin);
    struct cs_block_free *before = first > 0 ? &blocks->free[first - 1] : NULL;
    if (before && before->begin == begin && before->end > end) {
        before->begin = end; /* the usual case */
        return true;
    }
    if (before && before->begin == begin) {
        first--;
    } else if (before && before->end > begin) {
        uint64_t rest = before->end;
        before->end = begin;
        if (!add_edge(blocks, begin) || (rest > end && !insert_free(blocks, first, end, rest)))
            return false;
    }
    int after = first;
    while (after < blocks->free_blocks && blocks->free[after].end <= end)
        after++;
    remove_free(blocks, first, after - first);
    if (first < blocks->free_blocks && blocks->free[first].begin < end)
        blocks->free[first].begin = end;
    remove_edges(blocks, begin, end);
    return true;
}

/* The bytes of the segment that the allocator gets for a block without expandable segments. */
static int64_t segment_of(int64_t bytes)
{
    return bytes < LARGE ? PAGE : (bytes + ROUNDING - 1) / ROUNDING * ROUNDING;
}

/* Adds the memory that the allocator has just received for a block. It is a new segment, or new
 * pages at the end of an expandable one, whose last free block the new block then begins with. */
static bool grow(struct cs_blocks *blocks, uint64_t begin, int64_t bytes, int64_t grown)
{
    const uint64_t end = begin + (uint64_t)bytes;
    int next = first_after(blocks, begin);
    struct cs_block_free *last = next > 0 ? &blocks->free[next - 1] : NULL;
    bool continues = last && last->end > begin;
    while (continues && next < blocks->free_blocks && blocks->free[next].begin == last->end) {
        last->end = blocks->free[next].end; /* the edge between them was none */
        remove_free(blocks, next, 1);
    }
    uint64_t from = continues ? last->end : begin, to = from + (uint64_t)grown;
    if ((continues && (end <= from || grown % PAGE != 0)) || end > to ||
        (grown % PAGE != 0 && grown != segment_of(bytes)) ||
        (next < blocks->free_blocks && blocks->free[next].begin < to))
        return false;
    if (continues) {
        last->end = to;
        remove_edges(blocks, begin, to);
        return true;
    }
    return (grown != segment_of(bytes) || add_edge(blocks, begin)) &&
           insert_free(blocks, next, from, to);
}

bool cs_blocks_take(struct cs_blocks *blocks, uint64_t begin, int64_t bytes, int64_t grown)
{
    *live_slot(blocks, begin) = (struct cs_block_live){begin, bytes};
    blocks->largest = -1;
    bool consistent = (grown == 0 || grow(blocks, begin, bytes, grown)) &&
                      cut_out(blocks, begin, begin + (uint64_t)bytes);
    CS_INVARIANT(!consistent || is_sound(blocks));
    return consistent;
}

bool cs_blocks_give(struct cs_blocks *blocks, uint64_t begin, int64_t bytes)
{
    const uint64_t end = begin + (uint64_t)bytes;
    struct cs_block_live *live = live_slot(blocks, begin);
    if (live->begin == begin)
        live->begin = 0;
    int next = first_after(blocks, begin);
    struct cs_block_free *after = next < blocks->free_blocks ? &blocks->free[next] : NULL;
    struct cs_block_free *before = next > 0 ? &blocks->free[next - 1] : NULL;
    blocks->largest = -1;
    if ((before && before->end > begin) || (after && after->begin < end))
        return false;
    remove_edges(blocks, begin, end); /* the allocator had one block there */
    bool joins_before = before && before->end == begin && !is_edge(blocks, begin);
    bool joins_after = after && after->begin == end && !is_edge(blocks, end);
    if (joins_before && joins_after) {
        before->end = after->end;
        remove_free(blocks, next, 1);
    } else if (joins_before) {
        before->end = end;
    } else if (joins_after) {
        after->begin = begin;
    } else if (!insert_free(blocks, next, begin, end)) {
        return false;
    }
    CS_INVARIANT(is_sound(blocks));
    return true;
}

void cs_blocks_forget(struct cs_blocks *blocks)
{
    blocks->free_blocks = 0;
    blocks->largest = 0;
}

static int64_t bytes_of(const struct cs_block_free *block)
{
    return (int64_t)(block->end - block->begin);
}

int64_t cs_blocks_after(const struct cs_blocks *blocks, uint64_t address, int64_t *least_p)
{
    const int at = first_after(blocks, address) - 1;
    if (at < 0 || blocks->free[at].begin != address || is_edge(blocks, address))
        return 0;
    const int64_t bytes = bytes_of(&blocks->free[at]);
    *least_p = 1;
    for (int i = 0; i < blocks->free_blocks; i++) {
        int64_t other = bytes_of(&blocks->free[i]);
        if (other == bytes && i < at)
            return 0; /* of equal blocks the allocator takes the first */
        if (other < bytes)
            cs_raise(least_p, other + 1);
    }
    return bytes;
}

int64_t cs_blocks_largest(struct cs_blocks *blocks)
{
    if (blocks->largest >= 0)
        return blocks->largest;
    blocks->largest = 0;
    for (int i = 0; i < blocks->free_blocks; i++)
        cs_raise(&blocks->largest, bytes_of(&blocks->free[i]));
    return blocks->largest;
}
