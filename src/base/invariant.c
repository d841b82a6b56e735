/* Counts and prints broken invariants. */
#include "base/invariant.h"

#include "base/log.h"
#include <stdatomic.h>

static atomic_int faults;

void cs_invariant_broken(const char *condition, const char *file, int line)
{
    static struct cs_log_cap cap;
    atomic_fetch_add(&faults, 1);
    cs_log_capped(&cap, CS_LOG_ERROR, "invariant broken: %s (%s:%d)", condition, file, line);
}

int cs_invariant_faults(void)
{
    return atomic_load(&faults);
}
