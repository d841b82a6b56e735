/* The stack of named ranges of a thread (NVTX push and pop). */
#include "base/range.h"

#include <string.h>

/* The TLS model is explained in base/nest.h. */
static __thread struct {
    int depth;
    char name[CS_RANGES][CS_RANGE_NAME];
} ranges __attribute__((tls_model("initial-exec")));

int cs_range_push(const char *name)
{
    if (ranges.depth < CS_RANGES) {
        char *to = ranges.name[ranges.depth];
        to[0] = '\0';
        strncat(to, name ? name : "", CS_RANGE_NAME - 1);
    }
    return ranges.depth++;
}

int cs_range_pop(void)
{
    return ranges.depth > 0 ? --ranges.depth : -1;
}

const char *cs_range_name(void)
{
    int depth = ranges.depth < CS_RANGES ? ranges.depth : CS_RANGES;
    return depth > 0 ? ranges.name[depth - 1] : "";
}
