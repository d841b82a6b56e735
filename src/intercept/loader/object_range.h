/* Where a loaded object lies. */
#ifndef CS_INTERCEPT_LOADER_OBJECT_RANGE_H
#define CS_INTERCEPT_LOADER_OBJECT_RANGE_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct cs_object_range {
    uintptr_t from,
        to; /* the first address, and the one behind the last; from > to: it is nowhere */
};

/* All that the loader has reserved for an object, as dl_iterate_phdr gives it: from its first
 * segment to the end of its last, with the gaps between, where no other object is laid. Pure. */
struct cs_object_range cs_object_range_of(const struct dl_phdr_info *object);

static inline bool cs_object_range_has(struct cs_object_range range, uintptr_t address)
{
    return address >= range.from && address < range.to;
}

#endif
