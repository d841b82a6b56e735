/* A race check by vector clocks: finds two accesses to one range of device memory that no event
 * orders. */
#include "cudart_race.h"
#include "cudart_internal.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRANULE = 2, /* bytes of a cell: the smallest element of a computation */
    PAGE = 4096,
    CELLS = PAGE / GRANULE,
    READS = 6, /* readers that a cell remembers */
    BUCKETS = 1 << 14
};

/* An access to a cell: an operation and, in a graph launch, the step. */
struct touch {
    uint32_t tick; /* of its chain; 0: no access */
    uint16_t chain;
    uint16_t step;
};

struct cell {
    struct touch write, read[READS];
};

struct page {
    struct page *next;
    uintptr_t number;
    struct cell cell[CELLS];
};

static bool on;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct page *pages[BUCKETS];
static uint64_t stream_of[SIMDEV_CHAINS];
static unsigned next_chain;
static struct touch
    told[2]; /* the last reported pair, so that two operations cause only one line */

static _Thread_local const struct simdev_clock *now;
static _Thread_local unsigned now_chain;
static _Thread_local const unsigned char *now_before;
static _Thread_local size_t now_steps, now_step;

void simdev_race_init(void)
{
    const char *value = getenv("SIMDEV_RACES");
    on = value && strcmp(value, "1") == 0;
}

bool simdev_race_on(void)
{
    return on;
}

unsigned simdev_race_chain(uint64_t stream)
{
    pthread_mutex_lock(&lock);
    const unsigned chain = next_chain++ % SIMDEV_CHAINS;
    stream_of[chain] = stream;
    pthread_mutex_unlock(&lock);
    return chain;
}

struct simdev_clock *simdev_clock_new(void)
{
    return on ? calloc(1, sizeof(struct simdev_clock)) : NULL;
}

void simdev_clock_join(struct simdev_clock *clock, const struct simdev_clock *other)
{
    for (int i = 0; clock && other && i < SIMDEV_CHAINS; i++)
        if (other->at[i] > clock->at[i])
            clock->at[i] = other->at[i];
}

void simdev_race_begin(const struct simdev_clock *clock, unsigned chain)
{
    now = clock;
    now_chain = chain;
    now_before = NULL;
}

void simdev_race_end(void)
{
    now = NULL;
}

const struct simdev_clock *simdev_race_now(void)
{
    return now;
}

void simdev_race_step(const unsigned char *before, size_t steps, size_t step)
{
    now_before = before;
    now_steps = steps;
    now_step = step;
}

/* --- cells; the caller holds the lock --- */

static struct page *find_page(uintptr_t number, bool make)
{
    struct page **link = &pages[number % BUCKETS];
    while (*link && (*link)->number != number)
        link = &(*link)->next;
    if (!*link && make && (*link = calloc(1, sizeof(struct page))))
        (*link)->number = number;
    return *link;
}

static bool before_now(struct touch touch)
{
    if (touch.tick == 0)
        return true;
    if (touch.chain != now_chain || touch.tick != now->at[now_chain])
        return now->at[touch.chain] >= touch.tick;
    const size_t bit = touch.step * now_steps + now_step;
    return !now_before || touch.step == now_step || now_before[bit / 8] >> bit % 8 & 1;
}

static bool is_same_touch(struct touch a, struct touch b)
{
    return a.chain == b.chain && a.tick == b.tick && a.step == b.step;
}

static void report_race(struct touch other, struct touch me, bool wrote, bool writes,
                        uintptr_t address)
{
    struct simdev_mem_info info = {.begin = (void *)address};
    if (is_same_touch(told[0], other) && is_same_touch(told[1], me))
        return;
    told[0] = other;
    told[1] = me;
    (void)simdev_mem_block((void *)address, &info);
    simdev_violation("race: work %u of stream %llu %s and work %u of stream %llu %s byte %zu of an "
                     "allocation of %zu, and their order is undefined",
                     other.tick, (unsigned long long)stream_of[other.chain],
                     wrote ? "writes" : "reads", me.tick, (unsigned long long)stream_of[me.chain],
                     writes ? "writes" : "reads", (size_t)(address - (uintptr_t)info.begin),
                     info.bytes);
}

static void note_read(struct cell *cell, struct touch me)
{
    struct touch *place = &cell->read[0];
    for (int i = 0; i < READS; i++) {
        struct touch *read = &cell->read[i];
        if (read->tick == 0 || (read->chain == me.chain && before_now(*read))) {
            *read = me;
            return;
        }
        if (before_now(*read))
            place = read; /* can be replaced: work ordered after `me` is ordered after it too */
    }
    *place = me;
}

static void touch_cell(struct cell *cell, struct touch me, bool write, uintptr_t address)
{
    if (!before_now(cell->write))
        report_race(cell->write, me, true, write, address);
    if (!write) {
        note_read(cell, me);
        return;
    }
    for (int i = 0; i < READS; i++) {
        if (!before_now(cell->read[i]))
            report_race(cell->read[i], me, false, true, address);
        cell->read[i].tick = 0;
    }
    cell->write = me;
}

static void touch_range(uintptr_t begin, size_t bytes, bool write)
{
    const struct touch me = {now->at[now_chain], (uint16_t)now_chain,
                             (uint16_t)(now_before ? now_step : 0)};
    struct page *page = NULL;
    for (uintptr_t at = begin / GRANULE * GRANULE; at < begin + bytes; at += GRANULE) {
        if (!page || page->number != at / PAGE)
            page = find_page(at / PAGE, true);
        if (!page)
            return;
        touch_cell(&page->cell[at % PAGE / GRANULE], me, write, at);
    }
}

/* --- from work that runs --- */

bool simdev_racing(void)
{
    return now != NULL;
}

void simdev_touch(const void *memory, size_t bytes, bool write)
{
    if (!now || !memory || bytes == 0)
        return;
    pthread_mutex_lock(&lock);
    touch_range((uintptr_t)memory, bytes, write);
    pthread_mutex_unlock(&lock);
}

void simdev_race_forget(const void *memory, size_t bytes)
{
    if (!on)
        return;
    pthread_mutex_lock(&lock);
    for (uintptr_t at = (uintptr_t)memory; at < (uintptr_t)memory + bytes;) {
        const uintptr_t next = (at / PAGE + 1) * PAGE;
        const uintptr_t end = next < (uintptr_t)memory + bytes ? next : (uintptr_t)memory + bytes;
        struct page *page = find_page(at / PAGE, false);
        if (page)
            memset(&page->cell[at % PAGE / GRANULE], 0,
                   (end - at + GRANULE - 1) / GRANULE * sizeof(struct cell));
        at = next;
    }
    pthread_mutex_unlock(&lock);
}
