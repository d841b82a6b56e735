/* Tiled plans of legacy convolutions by handle and problem, since the legacy API has no plan
 * object. */
#include "intercept/legacy/plan_cache.h"

#include "base/lock.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUCKETS = 256,
    /* The number of entries at which a handle's entries are destroyed. An entry takes 14 KB if the
     * call is tiled and 1 KB if not, plus cuDNN's memory for a plan. */
    MAX_PER_HANDLE = 256
};

static struct cs_lock lock = CS_LOCK_INITIALIZER(LEGACY);
static struct cs_plan_cache_entry *buckets[BUCKETS];
static struct cs_plan_cache_entry *captured; /* entries that outlive their handles */

static void destroy_entry(struct cs_plan_cache_entry *entry)
{
    cs_rewrite_discard(entry->verdict.rewrite);
    free(entry);
}

/* The number of a handle's entries that were not captured. */
static int count_locked(cudnnHandle_t handle)
{
    int count = 0;
    for (int i = 0; i < BUCKETS; i++)
        for (const struct cs_plan_cache_entry *entry = buckets[i]; entry; entry = entry->next)
            count += entry->handle == handle && !entry->captured;
    return count;
}

/* Removes a handle's entries from the table: those that were captured, or the others. Returns them
 * as a list. */
static struct cs_plan_cache_entry *detach_locked(cudnnHandle_t handle, bool was_captured)
{
    struct cs_plan_cache_entry *detached = NULL;
    for (int i = 0; i < BUCKETS; i++) {
        struct cs_plan_cache_entry **link = &buckets[i];
        while (*link) {
            struct cs_plan_cache_entry *entry = *link;
            if (entry->handle != handle || entry->captured != was_captured) {
                link = &entry->next;
                continue;
            }
            *link = entry->next;
            entry->next = detached;
            detached = entry;
        }
    }
    return detached;
}

static void destroy_all(struct cs_plan_cache_entry *entry)
{
    while (entry) {
        struct cs_plan_cache_entry *next = entry->next;
        destroy_entry(entry);
        entry = next;
    }
}

struct cs_plan_cache_entry *cs_plan_cache_find(const struct cs_key *key)
{
    cs_lock(&lock);
    struct cs_plan_cache_entry *entry = buckets[key->hash % BUCKETS];
    while (entry && !cs_memo_key_equal(&entry->key, key))
        entry = entry->next;
    cs_unlock(&lock);
    return entry;
}

struct cs_plan_cache_entry *cs_plan_cache_new(const struct cs_key *key)
{
    /* A key has room for the largest fused graph. Most need an eighth of it. */
    size_t used = offsetof(struct cs_key, word) + (size_t)key->words * sizeof *key->word;
    struct cs_plan_cache_entry *entry = malloc(offsetof(struct cs_plan_cache_entry, key) + used);
    if (entry)
        memcpy(&entry->key, key, used);
    return entry;
}

void cs_plan_cache_insert(struct cs_plan_cache_entry *entry)
{
    struct cs_plan_cache_entry *stale = NULL;
    cs_lock(&lock);
    if (count_locked(entry->handle) >= MAX_PER_HANDLE)
        stale = detach_locked(entry->handle, false);
    struct cs_plan_cache_entry **bucket = &buckets[entry->key.hash % BUCKETS];
    entry->next = *bucket;
    *bucket = entry;
    cs_unlock(&lock);
    destroy_all(stale);
}

void cs_plan_cache_forget(cudnnHandle_t handle)
{
    cs_lock(&lock);
    struct cs_plan_cache_entry *detached = detach_locked(handle, false);
    struct cs_plan_cache_entry *kept = detach_locked(handle, true);
    while (kept) {
        struct cs_plan_cache_entry *next = kept->next;
        kept->next = captured;
        captured = kept;
        kept = next;
    }
    cs_unlock(&lock);
    destroy_all(detached);
}

void cs_plan_cache_fork(bool before)
{
    if (before)
        cs_lock(&lock);
    else
        cs_unlock(&lock);
}
