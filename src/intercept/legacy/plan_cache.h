/* Keeps the rewritings of legacy convolutions. The legacy API has no plan object to store them in,
 * so they are kept for each handle and problem until the handle is destroyed. One thread at a time
 * uses a handle and its entries. The table that all handles share is thread-safe. */
#ifndef CS_INTERCEPT_LEGACY_PLAN_CACHE_H
#define CS_INTERCEPT_LEGACY_PLAN_CACHE_H

#include "cudnn/bind/real.h"
#include "decide/memo.h"
#include "flow/flow.h"

/* The decision on one problem under one limit. */
struct cs_plan_cache_entry {
    struct cs_plan_cache_entry *next; /* owned by the cache */
    cudnnHandle_t handle;
    int64_t required; /* bytes of workspace, by cuDNN */
    struct cs_verdict verdict;
    bool captured;     /* a CUDA graph may hold the tiles of its calls */
    struct cs_key key; /* last, because only the words in use are allocated */
};

/* The entry of that key, or NULL. */
struct cs_plan_cache_entry *cs_plan_cache_find(const struct cs_key *key);

/* A new entry of that key, to be filled in and inserted. NULL if memory is short. */
struct cs_plan_cache_entry *cs_plan_cache_new(const struct cs_key *key);

/* Takes ownership of an entry. If a handle has too many, its other entries are destroyed, except
 * those that were captured. */
void cs_plan_cache_insert(struct cs_plan_cache_entry *entry);

/* Destroys the entries of a handle that is about to be destroyed. Captured ones stay allocated,
 * because a CUDA graph that uses their plans may outlive the handle. */
void cs_plan_cache_forget(cudnnHandle_t handle);

/* Locks the table before a fork, and unlocks it after it. */
void cs_plan_cache_fork(bool before);

#endif
