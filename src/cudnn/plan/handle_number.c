/* A table of the handles that decisions were made for, by address. */
#include "cudnn/plan/handle_number.h"

#include "base/lock.h"
#include <stdlib.h>

enum {
    BUCKETS = 64,
    ALIGNMENT_BITS = 4 /* low bits of an address, which are always 0 */
};

struct number {
    struct number *next;
    cudnnHandle_t handle;
    int64_t number;
};

static struct cs_lock lock = CS_LOCK_INITIALIZER(HANDLES);
static struct number *buckets[BUCKETS];
static int64_t given;

static struct number **bucket_of(cudnnHandle_t handle)
{
    return &buckets[((uintptr_t)handle >> ALIGNMENT_BITS) % BUCKETS];
}

static struct number **link_of_locked(cudnnHandle_t handle)
{
    struct number **link = bucket_of(handle);
    while (*link && (*link)->handle != handle)
        link = &(*link)->next;
    return link;
}

/* Returns the number of a handle. If it is not in the table, *new_p is added to it. 0 if *new_p is
 * NULL. */
static int64_t number_or_add(cudnnHandle_t handle, struct number **new_p)
{
    cs_lock(&lock);
    struct number **link = link_of_locked(handle);
    if (!*link && *new_p) {
        **new_p = (struct number){NULL, handle, ++given};
        *link = *new_p;
        *new_p = NULL;
    }
    int64_t number = *link ? (*link)->number : 0;
    cs_unlock(&lock);
    return number;
}

/* A number that belongs to no handle. The address cannot be the number, because a later handle may
 * have the same address. */
static int64_t unused_number(void)
{
    cs_lock(&lock);
    int64_t number = ++given;
    cs_unlock(&lock);
    return number;
}

int64_t cs_handle_number(cudnnHandle_t handle)
{
    struct number *none = NULL;
    int64_t number = handle ? number_or_add(handle, &none) : 0;
    if (!handle || number != 0)
        return number;
    struct number *new = malloc(sizeof *new); /* not while the lock is held */
    if (!new)
        return unused_number();
    number = number_or_add(handle, &new);
    free(new); /* another thread was faster */
    return number;
}

void cs_handle_retire(cudnnHandle_t handle)
{
    cs_lock(&lock);
    struct number **link = link_of_locked(handle), *gone = *link;
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
