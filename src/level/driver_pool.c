/* Keeps the level of each pool of the CUDA driver. */
#include "level/driver_pool.h"

#include "base/checked.h"

enum {
    MOST_DOUBTS = 3 /* after that many the pool is not trusted again */
};

struct cs_level_pool *cs_level_pool_find(struct cs_level_pools *pools, const void *handle)
{
    for (int i = 0; handle && i < CS_LEVEL_POOLS; i++) {
        const void *owner = NULL;
        if (atomic_compare_exchange_strong(&pools->pool[i].handle, &owner, handle) ||
            owner == handle)
            return &pools->pool[i];
    }
    return NULL;
}

struct cs_level_pool *cs_level_pool_known(struct cs_level_pools *pools, const void *handle)
{
    for (int i = 0; handle && i < CS_LEVEL_POOLS; i++)
        if (atomic_load(&pools->pool[i].handle) == handle)
            return &pools->pool[i];
    return NULL;
}

/* Trusts the pool again if it has returned memory. */
static bool is_doubted(struct cs_level_pool *pool, int64_t reserved)
{
    int64_t grown_to = atomic_load(&pool->grown_to);
    if (grown_to > 0 && reserved < grown_to && atomic_load(&pool->doubts) < MOST_DOUBTS)
        atomic_compare_exchange_strong(&pool->grown_to, &grown_to, 0);
    return atomic_load(&pool->grown_to) > 0;
}

static uintptr_t number_of(const void *stream)
{
    return (uintptr_t)stream + 1;
}

enum cs_refusal cs_level_pool_ask(struct cs_level_pool *pool,
                                  const struct cs_level_pool_numbers *now, const void *stream,
                                  struct cs_level_room *room_p)
{
    cs_raise_atomic(&pool->high, now->high);
    *room_p =
        (struct cs_level_room){.device = -1,
                               .pool = pool,
                               .allocated = now->used,
                               .high = atomic_load(&pool->high),
                               .reserved = now->reserved,
                               .block = now->reserved - now->used,
                               .page = CS_LEVEL_POOL_PAGE,
                               .first_stream = atomic_load(&pool->stream) != number_of(stream)};
    if (atomic_load(&pool->several_streams))
        return CS_REFUSAL_STREAMS;
    if (is_doubted(pool, now->reserved))
        return CS_REFUSAL_DOUBT;
    return atomic_load(&pool->in_use) ? CS_REFUSAL_BUSY : CS_REFUSAL_NONE;
}

struct cs_level_peaks cs_level_pool_peaks(const struct cs_level_pool *pool,
                                          const struct cs_level_pool_numbers *now,
                                          const struct cs_level_call *call)
{
    const int64_t high = atomic_load(&pool->high);
    int64_t without;
    if (!cs_add(now->used - cs_level_rounded(call->provided), cs_level_rounded(call->required),
                &without))
        without = high;
    return (struct cs_level_peaks){
        .allocated = high, .without = cs_max(high, without), .reserved = now->most};
}

bool cs_level_pool_stream(struct cs_level_pool *pool, const void *stream)
{
    uintptr_t known = 0;
    if (!atomic_compare_exchange_strong(&pool->stream, &known, number_of(stream)) &&
        known != number_of(stream))
        atomic_store(&pool->several_streams, true);
    return !atomic_load(&pool->several_streams);
}

bool cs_level_pool_begin(struct cs_level_pool *pool)
{
    return !atomic_exchange(&pool->in_use, true);
}

void cs_level_pool_end(struct cs_level_pool *pool)
{
    atomic_store(&pool->in_use, false);
}

bool cs_level_pool_taken(struct cs_level_pool *pool, int64_t before, int64_t after, bool may_grow)
{
    if (after <= before || may_grow)
        return true;
    atomic_store(&pool->grown_to, after);
    atomic_fetch_add(&pool->doubts, 1);
    return false;
}
