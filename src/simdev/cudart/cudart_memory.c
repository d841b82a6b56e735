/* Blocks: their location, their guards, and their state after a free.
 *
 * A block's mapping is
 *    | guard | the program's bytes | guard to the end of the page |
 * A freed block keeps its mapping for a while (quarantine), so that its addresses are not reused at
 * once. Small blocks are filled with poison, whose damage shows a write after free. Large blocks
 * lose their pages.
 *
 * In account mode, blocks have no guards and no poison, and no page is touched: cudart_bytes.c
 * records which bytes were written. Ranges that the driver mapped or the program registered are
 * blocks too, but do not own their memory. */
#include "cudart_account.h"
#include "cudart_block.h"
#include "cudart_bytes.h"
#include "cudart_context.h"
#include "cudart_race.h"
#include "cudart_record.h"
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

enum {
    QUARANTINE_BLOCKS = 4096
};
static const size_t quarantine_resident = 64 * MIB;
static const size_t quarantine_reserved = (size_t)16 << 40;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *tree;                      /* of every block, freed ones too, by address */
static struct simdev_mem_totals totals; /* of all devices */
static struct simdev_mem_totals of_device[SIMDEV_MAX_DEVICES]; /* of each */
static struct {
    struct block *oldest, *newest;
    size_t blocks, resident, reserved;
} quarantine;

/* Blocks that share an address compare equal, so a block of one byte finds the block around it. */
static int compare_blocks(const void *left, const void *right)
{
    const struct block *a = left, *b = right;
    if (a->map + a->map_bytes <= b->map)
        return -1;
    return b->map + b->map_bytes <= a->map;
}

static struct block *find_block(const void *ptr)
{
    const struct block key = {.map = (uintptr_t)ptr, .map_bytes = 1};
    void *node = tfind(&key, &tree, compare_blocks);
    return node ? *(struct block **)node : NULL;
}

static void evict_oldest(void)
{
    struct block *block = quarantine.oldest;
    if (!block)
        return;
    simdev_block_check(block);
    quarantine.oldest = block->next;
    if (!quarantine.oldest)
        quarantine.newest = NULL;
    quarantine.blocks--;
    *(simdev_block_is_small(block) ? &quarantine.resident : &quarantine.reserved) -=
        block->map_bytes;
    tdelete(block, &tree, compare_blocks);
    munmap((void *)block->map, block->map_bytes);
    free(block);
}

static void bury_block(struct block *block)
{
    block->state = BLOCK_FREED;
    if (simdev_account_on())
        simdev_bytes_forget(block->begin, block->bytes);
    if (simdev_block_is_small(block))
        simdev_block_poison_freed(block);
    else
        /* If this fails, the block stays mapped. The only effect is that an access is not detected.
         */
        (void)mmap((void *)block->map, block->map_bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    block->next = NULL;
    *(quarantine.newest ? &quarantine.newest->next : &quarantine.oldest) = block;
    quarantine.newest = block;
    quarantine.blocks++;
    *(simdev_block_is_small(block) ? &quarantine.resident : &quarantine.reserved) +=
        block->map_bytes;
}

/* Ends the memory of a block that the program has freed. */
static void end_block(struct block *block)
{
    if (block->kind == SIMDEV_KIND_GRAPH)
        block->state = BLOCK_ABSENT;
    else
        bury_block(block);
}

static void trim_quarantine(void)
{
    while (quarantine.blocks > QUARANTINE_BLOCKS || quarantine.resident > quarantine_resident ||
           quarantine.reserved > quarantine_reserved)
        evict_oldest();
}

static void raise_live(struct simdev_mem_totals *t, size_t bytes)
{
    t->live_bytes += bytes;
    if (t->live_bytes > t->peak_bytes)
        t->peak_bytes = t->live_bytes;
}

static void add_allocation(struct simdev_mem_totals *t, size_t bytes)
{
    if (bytes > t->largest_allocation)
        t->largest_allocation = bytes;
    t->allocations++;
}

/* Memory that the device counts for its pool, which holds more than it has allocated. */
static bool is_pooled(const struct block *block)
{
    return block->owner.pool != 0;
}

/* `frees`: 1 if the program freed it, 0 if it was destroyed with its context, -1 to undo a free. */
static void count_free(const struct block *block, int frees)
{
    struct simdev_mem_totals *device = &of_device[block->owner.device];
    const size_t counted = is_pooled(block) ? 0 : block->bytes;
    const size_t bytes = frees < 0 ? -counted : counted;
    if (block->place != SIMDEV_DEVICE || block->kind == SIMDEV_KIND_IMAGE)
        return;
    totals.live_bytes -= bytes;
    totals.frees += (uint64_t)frees;
    device->live_bytes -= bytes;
    device->frees += (uint64_t)frees;
    simdev_record_memory(block->owner.device, device, &totals);
    simdev_record_block(block->begin, frees < 0 ? block->bytes : 0);
}

static void note_refusal(struct simdev_mem_totals *t, size_t bytes, size_t live)
{
    t->refused++;
    t->last_refused_bytes = bytes;
    t->last_refused_live = live;
}

/* Raises the live bytes, unless they would exceed the capacity. Then `requested` bytes were
 * refused. Caller holds the lock. */
static bool hold_bytes(int device, size_t bytes, size_t requested)
{
    const size_t capacity = simdev_device_capacity(device);
    const size_t held = of_device[device].live_bytes + simdev_record_others(device);
    if (bytes <= capacity && held <= capacity - bytes) {
        raise_live(&totals, bytes);
        raise_live(&of_device[device], bytes);
        return true;
    }
    note_refusal(&totals, requested, held);
    note_refusal(&of_device[device], requested, held);
    simdev_record_refused(&totals);
    return false;
}

bool simdev_mem_hold(int device, size_t bytes, size_t requested)
{
    pthread_mutex_lock(&lock);
    const bool fits = hold_bytes(device, bytes, requested);
    pthread_mutex_unlock(&lock);
    return fits;
}

void simdev_mem_give_back(int device, size_t bytes)
{
    pthread_mutex_lock(&lock);
    totals.live_bytes -= bytes;
    of_device[device].live_bytes -= bytes;
    simdev_record_memory(device, &of_device[device], &totals);
    pthread_mutex_unlock(&lock);
}

static bool count_allocation(struct simdev_owner owner, size_t bytes)
{
    pthread_mutex_lock(&lock);
    const bool fits = owner.pool != 0 || hold_bytes(owner.device, bytes, bytes);
    if (fits) {
        add_allocation(&totals, bytes);
        add_allocation(&of_device[owner.device], bytes);
        simdev_record_memory(owner.device, &of_device[owner.device], &totals);
    }
    pthread_mutex_unlock(&lock);
    return fits;
}

static void uncount_allocation(struct simdev_owner owner, size_t bytes, bool freed)
{
    const size_t counted = owner.pool != 0 ? 0 : bytes;
    struct simdev_mem_totals *device = &of_device[owner.device];
    pthread_mutex_lock(&lock);
    totals.live_bytes -= counted;
    device->live_bytes -= counted;
    *(freed ? &totals.frees : &totals.allocations) += freed ? 1 : (uint64_t)-1;
    *(freed ? &device->frees : &device->allocations) += freed ? 1 : (uint64_t)-1;
    simdev_record_memory(owner.device, device, &totals);
    pthread_mutex_unlock(&lock);
}

bool simdev_mem_count(int device, size_t bytes)
{
    return count_allocation((struct simdev_owner){.device = device}, bytes);
}

void simdev_mem_uncount(int device, size_t bytes, bool freed)
{
    uncount_allocation((struct simdev_owner){.device = device}, bytes, freed);
}

static struct block *map_block(size_t bytes, enum simdev_place place, struct simdev_owner owner,
                               enum simdev_kind kind)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t map_bytes;
    if (__builtin_add_overflow(bytes, GUARD_BEFORE + GUARD_AFTER + page - 1, &map_bytes))
        return NULL;
    map_bytes -= map_bytes % page;
    struct block *block = calloc(1, sizeof(*block));
    if (!block)
        return NULL;
    const bool is_empty = simdev_account_on() || kind == SIMDEV_KIND_GRAPH;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (is_empty ? MAP_NORESERVE : 0);
    void *map = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (map == MAP_FAILED) {
        simdev_violation("this machine cannot back an allocation of %zu bytes", bytes);
        free(block);
        return NULL;
    }
    *block = (struct block){.map = (uintptr_t)map,
                            .map_bytes = map_bytes,
                            .begin = (unsigned char *)map + GUARD_BEFORE,
                            .bytes = bytes,
                            .kind = kind,
                            .place = place,
                            .owner = owner,
                            .state = kind == SIMDEV_KIND_GRAPH ? BLOCK_ABSENT : BLOCK_LIVE};
    if (kind != SIMDEV_KIND_GRAPH)
        simdev_block_poison(block);
    return block;
}

/* False if memory is short, or if a block is already there. tdelete may free the node of another
 * block, so nodes are read only under the lock. */
static bool plant_block(struct block *block)
{
    pthread_mutex_lock(&lock);
    void *node = tsearch(block, &tree, compare_blocks);
    const bool planted = node && *(struct block **)node == block;
    pthread_mutex_unlock(&lock);
    return planted;
}

static cudaError_t allocate_block(enum simdev_place place, struct simdev_owner owner, size_t bytes,
                                  enum simdev_kind kind, void **out)
{
    struct block *block = map_block(bytes, place, owner, kind);
    if (!block)
        return cudaErrorMemoryAllocation;
    if (!plant_block(block)) {
        munmap((void *)block->map, block->map_bytes);
        free(block);
        return cudaErrorMemoryAllocation;
    }
    *out = block->begin;
    simdev_race_forget(*out, bytes);
    return cudaSuccess;
}

cudaError_t simdev_mem_allocate(enum simdev_place place, struct simdev_owner owner, size_t bytes,
                                enum simdev_kind kind, void **out)
{
    const bool counts =
        place == SIMDEV_DEVICE && kind != SIMDEV_KIND_IMAGE && kind != SIMDEV_KIND_GRAPH;
    if (bytes == 0) {
        *out = NULL;
        return cudaSuccess;
    }
    if (counts && !count_allocation(owner, bytes))
        return cudaErrorMemoryAllocation;
    const cudaError_t error = allocate_block(place, owner, bytes, kind, out);
    if (error != cudaSuccess && counts)
        uncount_allocation(owner, bytes, false);
    else if (counts)
        simdev_record_block(*out, bytes);
    return error;
}

cudaError_t simdev_mem_allocate_image(int device, size_t bytes, const void *initial, void **out)
{
    const struct simdev_owner owner = {.device = device};
    cudaError_t error =
        simdev_mem_allocate(SIMDEV_DEVICE, owner, bytes ? bytes : 1, SIMDEV_KIND_IMAGE, out);
    if (error != cudaSuccess)
        return error;
    if (simdev_account_on() && initial)
        simdev_bytes_write(*out, initial, bytes);
    else if (simdev_account_on())
        simdev_bytes_set(*out, "", 1, bytes);
    else if (initial)
        memcpy(*out, initial, bytes);
    else
        memset(*out, 0, bytes);
    return cudaSuccess;
}

cudaError_t simdev_mem_add(enum simdev_place place, struct simdev_owner owner, void *begin,
                           size_t bytes, enum simdev_kind kind)
{
    struct block *block = calloc(1, sizeof(*block));
    if (!block)
        return cudaErrorMemoryAllocation;
    *block = (struct block){.map = (uintptr_t)begin,
                            .map_bytes = bytes,
                            .begin = begin,
                            .bytes = bytes,
                            .kind = kind,
                            .place = place,
                            .owner = owner};
    if (plant_block(block))
        return cudaSuccess;
    free(block);
    return kind == SIMDEV_KIND_REGISTERED ? cudaErrorHostMemoryAlreadyRegistered
                                          : cudaErrorInvalidValue;
}

bool simdev_mem_remove(const void *begin, size_t bytes, enum simdev_kind kind)
{
    pthread_mutex_lock(&lock);
    struct block *block = find_block(begin);
    const bool found = block && block->kind == kind && block->begin == begin &&
                       (bytes == 0 || block->bytes == bytes);
    if (found)
        tdelete(block, &tree, compare_blocks);
    pthread_mutex_unlock(&lock);
    if (found)
        free(block);
    return found;
}

/* The live block that starts at `ptr`, or NULL after a violation. Caller holds the lock. */
static struct block *find_freeable(const char *function, enum simdev_place place, const void *ptr)
{
    struct block *block = find_block(ptr);
    if (!block)
        simdev_violation("%s: %p was never allocated", function, ptr);
    else if (block->state != BLOCK_LIVE)
        simdev_violation("%s: %p was freed before (%zu bytes)", function, ptr, block->bytes);
    else if (block->begin != ptr)
        simdev_violation("%s: %p is not the start of its allocation (%p, %zu bytes)", function, ptr,
                         (void *)block->begin, block->bytes);
    else if (block->place != place || !simdev_block_is_own(block))
        simdev_violation("%s: %p is %s memory", function, ptr, simdev_block_place_name(block));
    else
        return block;
    return NULL;
}

cudaError_t simdev_mem_free(const char *function, enum simdev_place place, void *ptr)
{
    pthread_mutex_lock(&lock);
    struct block *block = find_freeable(function, place, ptr);
    if (block) {
        simdev_block_check(block);
        count_free(block, 1);
        end_block(block);
        trim_quarantine();
    }
    pthread_mutex_unlock(&lock);
    return block ? cudaSuccess : cudaErrorInvalidValue;
}

void simdev_mem_graph_begin(void *ptr)
{
    pthread_mutex_lock(&lock);
    struct block *block = find_block(ptr);
    if (block && block->state != BLOCK_FREED) {
        struct simdev_mem_totals *device = &of_device[block->owner.device];
        block->state = BLOCK_LIVE;
        if (simdev_account_on())
            simdev_bytes_forget(block->begin, block->bytes);
        simdev_block_poison(block);
        add_allocation(&totals, block->bytes);
        add_allocation(device, block->bytes);
        simdev_record_memory(block->owner.device, device, &totals);
        simdev_record_block(block->begin, block->bytes);
    }
    pthread_mutex_unlock(&lock);
}

void simdev_mem_graph_pause(void *ptr)
{
    pthread_mutex_lock(&lock);
    struct block *block = find_block(ptr);
    const bool is_there = block && block->state == BLOCK_LIVE;
    if (is_there) {
        simdev_block_check(block);
        count_free(block, 1);
        end_block(block);
    }
    pthread_mutex_unlock(&lock);
    if (!is_there)
        simdev_violation("a graph frees memory at %p that is not there", ptr);
}

void simdev_mem_graph_end(void *ptr)
{
    pthread_mutex_lock(&lock);
    struct block *block = find_block(ptr);
    if (block && block->state != BLOCK_FREED)
        bury_block(block);
    pthread_mutex_unlock(&lock);
}

cudaError_t simdev_mem_queue_free(void *ptr)
{
    pthread_mutex_lock(&lock);
    struct block *block = find_freeable("cudaFreeAsync", SIMDEV_DEVICE, ptr);
    if (block) {
        count_free(block, 1);
        block->state = BLOCK_FREE_QUEUED;
    }
    pthread_mutex_unlock(&lock);
    return block ? cudaSuccess : cudaErrorInvalidValue;
}

void simdev_mem_unqueue_free(void *ptr)
{
    pthread_mutex_lock(&lock);
    struct block *block = find_block(ptr);
    block->state = BLOCK_LIVE;
    count_free(block, -1);
    pthread_mutex_unlock(&lock);
}

void simdev_mem_free_queued(void *ptr)
{
    pthread_mutex_lock(&lock);
    struct block *block = find_block(ptr);
    if (block && block->state == BLOCK_FREE_QUEUED) {
        simdev_block_check(block);
        end_block(block);
        trim_quarantine();
    }
    pthread_mutex_unlock(&lock);
}

/* A block is alive for work that is already queued, until its free in stream order runs. A program
 * may name absent memory of a graph in a call. Work finds it absent if it is so then. */
static bool is_alive(const struct block *block)
{
    const bool works = simdev_queue_on_worker();
    return block->state == BLOCK_LIVE || (block->state == BLOCK_FREE_QUEUED && works) ||
           (block->state == BLOCK_ABSENT && !works);
}

/* Adjacent mapped ranges are one range to the program. */
static bool inside_mapped(uintptr_t begin, size_t bytes)
{
    const uintptr_t end = begin + bytes;
    while (begin < end) {
        const struct block *block = find_block((void *)begin);
        if (!block || block->kind != SIMDEV_KIND_MAPPED)
            return false;
        begin = block->map + block->map_bytes;
    }
    return true;
}

/* The block that [begin, begin + bytes) touches. NULL if it touches none. `*place` is the result of
 * the check that it is inside. */
static const struct block *find_touched(uintptr_t begin, size_t bytes, enum simdev_place *place)
{
    const struct block key = {.map = begin, .map_bytes = bytes};
    void *node = tfind(&key, &tree, compare_blocks);
    *place = SIMDEV_PAGEABLE;
    if (!node)
        return NULL;
    const struct block *block = *(struct block **)node;
    const uintptr_t first = (uintptr_t)block->begin;
    bool inside = begin >= first && bytes <= block->bytes && begin - first <= block->bytes - bytes;
    if (!inside && block->kind == SIMDEV_KIND_MAPPED)
        inside = inside_mapped(begin, bytes);
    *place = inside && is_alive(block) ? block->place : SIMDEV_DEAD;
    return block;
}

/* The same for a range passed by a program. */
static const struct block *touched_by(const void *ptr, size_t bytes, enum simdev_place *place)
{
    const uintptr_t begin = (uintptr_t)ptr;
    if (bytes == 0)
        bytes = 1;
    *place = SIMDEV_DEAD;
    return begin > UINTPTR_MAX - bytes ? NULL : find_touched(begin, bytes, place);
}

enum simdev_place simdev_mem_place(const void *ptr, size_t bytes)
{
    enum simdev_place place;
    pthread_mutex_lock(&lock);
    (void)touched_by(ptr, bytes, &place);
    pthread_mutex_unlock(&lock);
    return place;
}

/* Contexts have separate address spaces. The device's pool is shared. */
static bool can_use(struct simdev_owner user, struct simdev_owner owner)
{
    return owner.context == 0 ? user.device == owner.device : user.context == owner.context;
}

bool simdev_range_alive(const void *ptr, size_t bytes)
{
    if (simdev_owner_current().context == 0)
        (void)simdev_use_context(); /* as a library's first use of the runtime in this thread */
    const struct simdev_owner user = simdev_owner_current();
    enum simdev_place place;
    pthread_mutex_lock(&lock);
    const struct block *block = touched_by(ptr, bytes, &place);
    const bool alive =
        place == SIMDEV_DEVICE && block->state != BLOCK_ABSENT && can_use(user, block->owner);
    pthread_mutex_unlock(&lock);
    return alive;
}

bool simdev_mem_block(const void *ptr, struct simdev_mem_info *info)
{
    pthread_mutex_lock(&lock);
    enum simdev_place found;
    const struct block *block = touched_by(ptr, 1, &found);
    const bool alive = found == SIMDEV_DEVICE || found == SIMDEV_PINNED;
    if (alive) {
        *info = (struct simdev_mem_info){.begin = block->begin,
                                         .bytes = block->bytes,
                                         .kind = block->kind,
                                         .place = found,
                                         .owner = block->owner};
    }
    pthread_mutex_unlock(&lock);
    return alive;
}

struct simdev_mem_totals simdev_mem_totals(int device)
{
    pthread_mutex_lock(&lock);
    struct simdev_mem_totals copy = device < 0 ? totals : of_device[device];
    pthread_mutex_unlock(&lock);
    return copy;
}

static void check_node(const void *node, VISIT visit, int depth)
{
    (void)depth;
    if (visit == postorder || visit == leaf)
        simdev_block_check(*(struct block *const *)node);
}

void simdev_mem_check(void)
{
    pthread_mutex_lock(&lock);
    twalk(tree, check_node);
    pthread_mutex_unlock(&lock);
}

struct reset {
    struct simdev_owner owner;
    bool pool;
};

static void reset_node(const void *node, VISIT visit, void *arg)
{
    struct block *block = *(struct block *const *)node;
    const struct reset *reset = arg;
    const uint64_t context = block->owner.context;
    if ((visit != postorder && visit != leaf) || block->state == BLOCK_FREED ||
        !simdev_block_is_own(block))
        return;
    if (context == reset->owner.context ||
        (context == 0 && reset->pool && block->owner.device == reset->owner.device)) {
        simdev_block_check(block);
        if (block->state == BLOCK_LIVE)
            count_free(block, 0);
        bury_block(block);
    }
}

void simdev_mem_reset(struct simdev_owner owner, bool pool)
{
    struct reset reset = {.owner = owner, .pool = pool};
    pthread_mutex_lock(&lock);
    twalk_r(tree, reset_node, &reset);
    trim_quarantine();
    pthread_mutex_unlock(&lock);
}

void simdev_mem_lock(void)
{
    pthread_mutex_lock(&lock);
}

void simdev_mem_unlock(void)
{
    pthread_mutex_unlock(&lock);
}
