/* Facts about the vendor's library and the process. The entry passes them with the first call, so
 * that the flow does not depend on them. */
#ifndef CS_FLOW_HOST_H
#define CS_FLOW_HOST_H

#include "convshim/gpu.h"
#include "convshim/profile.h"
#include <stdbool.h>
#include <stddef.h>

struct cs_memory;

enum {
    CS_HOST_MEMORIES = 2
};

struct cs_host {
    /* The device that the vendor's library runs on. */
    const struct cs_device *device;

    /* The program's own allocators, for scratch below its peak, in the order in which they are
     * queried. NULL: none, or no more. */
    const struct cs_memory *memory[CS_HOST_MEMORIES];

    /* Fills `text` with the vendor library's name and version, "" if it is not loaded. */
    void (*version)(char *text, size_t size);

    /* Fills `text` with the path of the loaded vendor's library, or "". */
    void (*file)(char *text, size_t size);

    /* True if the vendor's library has a supported version. */
    bool (*supported)(void);

    /* The file of another, inactive copy of this library, later in the loader's list, or NULL. */
    const char *(*second_copy)(void);

    /* Locks the entries' tables before a fork, and unlocks them after it. */
    void (*fork)(bool before);

    /* Fills `text` with the names of objects whose calls do not reach the entries, or "". Returns
     * their number. */
    size_t (*bypassed)(char *text, size_t size);
};

#endif
