/* Shared work, and sets of handles. */
#include "cudart_internal.h"
#include <search.h>
#include <stdlib.h>

struct simdev_item *simdev_item_create(const struct simdev_work *work)
{
    struct simdev_item *item = malloc(sizeof(*item));
    if (item) {
        item->work = *work;
        atomic_init(&item->refs, 1);
    }
    return item;
}

struct simdev_item *simdev_item_retain(struct simdev_item *item)
{
    atomic_fetch_add(&item->refs, 1);
    return item;
}

void simdev_item_release(struct simdev_item *item)
{
    if (!item || atomic_fetch_sub(&item->refs, 1) > 1)
        return;
    if (item->work.release)
        item->work.release(item->work.arg);
    free(item);
}

void simdev_item_abandon(struct simdev_item *item)
{
    free(item);
}

static int compare_handles(const void *a, const void *b)
{
    return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

bool simdev_handle_add(void **set, void *handle)
{
    return tsearch(handle, set, compare_handles) != NULL;
}

bool simdev_handle_known(void *const *set, const void *handle)
{
    return handle && tfind(handle, set, compare_handles);
}

void simdev_handle_remove(void **set, const void *handle)
{
    tdelete(handle, set, compare_handles);
}
