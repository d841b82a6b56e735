/* What was prepared for convolutions of the legacy API, which has no plan object to hang it on: it
 * is remembered here, per handle and problem, until the handle is destroyed. A handle belongs to
 * one thread at a time, and so do its entries; the table that all handles share is thread-safe. */
#ifndef CS_INTERCEPT_LEGACY_PLAN_CACHE_H
#define CS_INTERCEPT_LEGACY_PLAN_CACHE_H

#include "cudnn/bind/real.h"
#include "decide/memo.h"
#include "flow/flow.h"

/* One problem under one limit. */
struct cs_plan_cache_entry {
    struct cs_plan_cache_entry *next; /* the cache's own */
    cudnnHandle_t handle;
    int64_t required;
    struct cs_verdict verdict;
    bool captured;     /* a CUDA graph may hold the tiles of its calls */
    struct cs_key key; /* last: of its words only those in use are allocated */
};

/* The entry of that key; NULL if there is none. */
struct cs_plan_cache_entry *cs_plan_cache_find(const struct cs_key *key);

/* An entry of that key, to be filled in and inserted; NULL without memory. */
struct cs_plan_cache_entry *cs_plan_cache_new(const struct cs_key *key);

/* Takes over an entry. A handle with very many starts afresh: its other entries are destroyed,
 * except those that were captured. */
void cs_plan_cache_insert(struct cs_plan_cache_entry *entry);

/* Forgets everything of a handle that is about to be destroyed. What was captured stays allocated:
 * a graph outlives the handle, and the legacy API has no plan for the application to keep. */
void cs_plan_cache_forget(cudnnHandle_t handle);

/* Holds (before) or frees (after) the table across a fork. */
void cs_plan_cache_fork(bool before);

#endif
