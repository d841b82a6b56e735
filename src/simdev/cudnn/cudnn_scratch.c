/* Host memory for the arithmetic of one execution. */
#include <pthread.h>
#include <stdlib.h>

#include "cudnn_internal.h"

/* Blocks are kept, because fresh pages cost more than the arithmetic of a small convolution. */

enum {
    HEADER = 64,
    KEPT_BLOCKS = 32
};
static const size_t kept_bytes_limit = (size_t)2 << 30;

struct block {
    size_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *kept[KEPT_BLOCKS];
static int kept_count;
static size_t kept_bytes;

static struct block *take_kept(size_t bytes)
{
    int best = -1;
    for (int i = 0; i < kept_count; i++)
        if (kept[i]->bytes >= bytes && kept[i]->bytes / 4 <= bytes &&
            (best < 0 || kept[i]->bytes < kept[best]->bytes))
            best = i;
    if (best < 0)
        return NULL;
    struct block *block = kept[best];
    kept[best] = kept[--kept_count];
    kept_bytes -= block->bytes;
    return block;
}

void *simdev_scratch_take(size_t bytes)
{
    bytes = (bytes + 63) / 64 * 64;
    pthread_mutex_lock(&lock);
    struct block *block = take_kept(bytes);
    pthread_mutex_unlock(&lock);
    if (!block) {
        block = aligned_alloc(64, bytes + HEADER);
        if (!block)
            return NULL;
        block->bytes = bytes;
    }
    return (char *)block + HEADER;
}

void simdev_scratch_give(void *memory)
{
    if (!memory)
        return;
    struct block *block = (struct block *)(void *)((char *)memory - HEADER);
    pthread_mutex_lock(&lock);
    const bool keep = kept_count < KEPT_BLOCKS && kept_bytes + block->bytes <= kept_bytes_limit;
    if (keep) {
        kept[kept_count++] = block;
        kept_bytes += block->bytes;
    }
    pthread_mutex_unlock(&lock);
    if (!keep)
        free(block);
}

void simdev_scratch_release_kept(void)
{
    pthread_mutex_lock(&lock);
    while (kept_count > 0)
        free(kept[--kept_count]);
    kept_bytes = 0;
    pthread_mutex_unlock(&lock);
}
