/* The range of addresses of a loaded object. */
#ifndef CS_INTERCEPT_LOADER_OBJECT_RANGE_H
#define CS_INTERCEPT_LOADER_OBJECT_RANGE_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct cs_object_range {
    uintptr_t from,
        to; /* the first address, and the first one after the object; from > to: unknown */
};

/* Returns the whole range that the loader has reserved for an object of dl_iterate_phdr: from its
 * first segment to the end of its last, gaps included. The loader places no other object in the
 * gaps. */
struct cs_object_range cs_object_range_of(const struct dl_phdr_info *object);

static inline bool cs_object_range_has(struct cs_object_range range, uintptr_t address)
{
    return address >= range.from && address < range.to;
}

#endif
