/* Guards and poison of blocks. */
#include "cudart_block.h"
#include "cudart_account.h"
#include <string.h>
#include <sys/mman.h>

#define MIB ((size_t)1 << 20)

static const size_t small_block = MIB / 4;

bool simdev_block_is_small(const struct block *block)
{
    return block->bytes < small_block && !simdev_account_on();
}

bool simdev_block_is_own(const struct block *block)
{
    return block->kind != SIMDEV_KIND_MAPPED && block->kind != SIMDEV_KIND_REGISTERED;
}

/* The first byte of [begin, begin + bytes) that differs from `value`, or NULL. */
static const unsigned char *first_other(const unsigned char *begin, size_t bytes,
                                        unsigned char value)
{
    if (bytes == 0 || (*begin == value && memcmp(begin, begin + 1, bytes - 1) == 0))
        return NULL;
    while (*begin == value)
        begin++;
    return begin;
}

const char *simdev_block_place_name(const struct block *block)
{
    return block->place == SIMDEV_DEVICE ? "device" : "page-locked";
}

static void check_guards(struct block *block)
{
    const unsigned char *begin = block->begin;
    const unsigned char *end = begin + block->bytes;
    const size_t after = block->map_bytes - GUARD_BEFORE - block->bytes;
    const unsigned char *bad = first_other(end, after, GUARD_BYTE);
    if (bad)
        simdev_violation("write %zu bytes past the end of the %s allocation %p of %zu bytes",
                         (size_t)(bad - end), simdev_block_place_name(block), (const void *)begin,
                         block->bytes);
    const unsigned char *early = first_other(begin - GUARD_BEFORE, GUARD_BEFORE, GUARD_BYTE);
    if (early)
        simdev_violation("write %zu bytes before the start of the %s allocation %p of %zu bytes",
                         (size_t)(begin - early), simdev_block_place_name(block),
                         (const void *)begin, block->bytes);
    block->damaged = bad || early;
}

static void check_poison(struct block *block)
{
    const unsigned char *begin = block->begin;
    const unsigned char *bad = first_other(begin, block->bytes, FREED_BYTE);
    if (bad)
        simdev_violation("write after free at offset %zu of the %s allocation %p of %zu bytes",
                         (size_t)(bad - begin), simdev_block_place_name(block), (const void *)begin,
                         block->bytes);
    block->damaged = bad != NULL;
}

void simdev_block_check(struct block *block)
{
    if (block->damaged || !simdev_block_is_own(block) || block->state == BLOCK_ABSENT ||
        simdev_account_on())
        return;
    if (block->state != BLOCK_FREED)
        check_guards(block);
    else if (simdev_block_is_small(block))
        check_poison(block);
}

void simdev_block_poison(const struct block *block)
{
    unsigned char *begin = block->begin;
    if (simdev_account_on())
        return;
    if (block->map_bytes >= 2 * MIB)
        madvise((void *)block->map, block->map_bytes, MADV_HUGEPAGE); /* four times faster */
    memset((void *)block->map, GUARD_BYTE, GUARD_BEFORE);
    memset(begin, FRESH_BYTE, block->bytes);
    memset(begin + block->bytes, GUARD_BYTE, block->map_bytes - GUARD_BEFORE - block->bytes);
}

void simdev_block_poison_freed(const struct block *block)
{
    memset(block->begin, FREED_BYTE, block->bytes);
}
