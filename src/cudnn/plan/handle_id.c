/* A table of handles by address. */
#include "cudnn/plan/handle_id.h"

#include "base/lock.h"
#include <stdlib.h>

enum {
    BUCKETS = 64,
    ALIGNMENT_BITS = 4 /* low bits of an address, which are always 0 */
};

struct known {
    struct known *next;
    cudnnHandle_t handle;
    struct cs_handle_id id;
};

static struct cs_lock lock = CS_LOCK_INITIALIZER(HANDLES);
static struct known *buckets[BUCKETS];
static int64_t given;

static struct known **bucket_of(cudnnHandle_t handle)
{
    return &buckets[((uintptr_t)handle >> ALIGNMENT_BITS) % BUCKETS];
}

static struct known **link_of_locked(cudnnHandle_t handle)
{
    struct known **link = bucket_of(handle);
    while (*link && (*link)->handle != handle)
        link = &(*link)->next;
    return link;
}

/* Returns the identity of a handle. If it is not in the table, *new_p is added to it, with this
 * GPU. Zeros if *new_p is NULL. */
static struct cs_handle_id find_or_add(cudnnHandle_t handle, struct known **new_p, int gpu)
{
    cs_lock(&lock);
    struct known **link = link_of_locked(handle);
    if (!*link && *new_p) {
        **new_p = (struct known){NULL, handle, {++given, gpu}};
        *link = *new_p;
        *new_p = NULL;
    }
    struct cs_handle_id id = *link ? (*link)->id : (struct cs_handle_id){0, CS_GPU_UNKNOWN};
    cs_unlock(&lock);
    return id;
}

/* An identity that belongs to no handle. The address cannot be the number, because a later handle
 * may have the same address. */
static struct cs_handle_id unused_id(void)
{
    cs_lock(&lock);
    struct cs_handle_id id = {++given, CS_GPU_UNKNOWN};
    cs_unlock(&lock);
    return id;
}

static struct cs_handle_id add(cudnnHandle_t handle, int gpu)
{
    struct known *new = malloc(sizeof *new); /* not while the lock is held */
    if (!new)
        return unused_id();
    struct cs_handle_id id = find_or_add(handle, &new, gpu);
    free(new); /* another thread was faster */
    return id;
}

void cs_handle_created(cudnnHandle_t handle, int gpu)
{
    cs_handle_retire(handle); /* one of this address whose end was not seen */
    add(handle, gpu);
}

struct cs_handle_id cs_handle_id(cudnnHandle_t handle)
{
    struct known *none = NULL;
    struct cs_handle_id id = find_or_add(handle, &none, CS_GPU_UNKNOWN);
    if (!handle || id.number != 0)
        return id;
    return add(handle, CS_GPU_UNKNOWN);
}

void cs_handle_retire(cudnnHandle_t handle)
{
    cs_lock(&lock);
    struct known **link = link_of_locked(handle), *gone = *link;
    if (gone)
        *link = gone->next;
    cs_unlock(&lock);
    free(gone);
}

void cs_handle_fork(bool before)
{
    if (before)
        cs_lock(&lock);
    else
        cs_unlock(&lock);
}
