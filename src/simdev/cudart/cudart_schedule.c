/* Orders of execution, derived from a seed. */
#include "cudart_internal.h"
#include <pthread.h>
#include <stdlib.h>

/* The strategy of a seed. */
enum manner {
    ANY,
    NEWEST, /* usually the operation queued last */
    STARVE, /* one stream runs only when no other can */
    OLDEST, /* usually in the order of the calls, which hides mistakes */
    MANNERS
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool seeded;
static uint64_t state;
static enum manner manner;
static uint64_t starved;

/* splitmix64 */
static uint64_t draw_number(void)
{
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

void simdev_seed(uint64_t seed)
{
    pthread_mutex_lock(&lock);
    state = seed;
    manner = (enum manner)(draw_number() % MANNERS);
    starved = 0;
    atomic_store(&seeded, seed != 0);
    pthread_mutex_unlock(&lock);
    if (simdev_usable() == cudaSuccess)
        simdev_queue_wake();
}

void simdev_schedule_init(void)
{
    const char *value = getenv("SIMDEV_SEED");
    state = value ? strtoull(value, NULL, 10) : 0;
    atomic_store(&seeded, state != 0);
    manner = (enum manner)(draw_number() % MANNERS);
}

bool simdev_schedule_on(void)
{
    return atomic_load(&seeded);
}

static size_t pick_by_strategy(const uint64_t *stream, size_t count)
{
    const size_t any = (size_t)(draw_number() % count);
    switch (manner) {
    case NEWEST:
        return draw_number() % 8 ? count - 1 : any;
    case OLDEST:
        return draw_number() % 8 ? 0 : any;
    case STARVE:
        if (starved == 0)
            starved = stream[any];
        return stream[any] == starved ? (any + 1) % count : any;
    default:
        return any;
    }
}

size_t simdev_schedule_pick(const uint64_t *stream, size_t count)
{
    if (!simdev_schedule_on())
        return count - 1;
    pthread_mutex_lock(&lock);
    const size_t picked = pick_by_strategy(stream, count);
    pthread_mutex_unlock(&lock);
    return picked;
}
