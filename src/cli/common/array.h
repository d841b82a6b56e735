/* Arrays that grow by one element. */
#ifndef CS_CLI_COMMON_ARRAY_H
#define CS_CLI_COMMON_ARRAY_H

#include <stdlib.h>
#include <string.h>

/* Adds a zeroed element of `size` bytes to the array whose address is at `items_p`, and raises
 * *count_p. All elements must have been added here, because the room is derived from *count_p.
 * Returns the element. NULL: memory is short, and the array is unchanged. */
static inline void *cs_array_add(void *items_p, size_t *count_p, size_t size)
{
    char *items;
    memcpy(&items, items_p, sizeof items);
    if ((*count_p & (*count_p - 1)) == 0) {
        char *grown = reallocarray(items, *count_p > 0 ? 2 * *count_p : 1, size);
        if (!grown)
            return NULL;
        memcpy(items_p, &grown, sizeof grown);
        items = grown;
    }
    return memset(items + (*count_p)++ * size, 0, size);
}

#endif
