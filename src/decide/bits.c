/* Knows which tiles give the bits of the untiled call. */
#include "decide/bits.h"

/* Engines whose order of sums depends on the extents of the problem. */
static const int64_t varying_engines[] = {67};

bool cs_decide_keeps_bits(const struct cs_plan *plan, int64_t engine)
{
    for (size_t i = 0; i < sizeof varying_engines / sizeof *varying_engines; i++)
        if (engine == varying_engines[i])
            return false;
    for (int cut = 0; cut < plan->cuts; cut++)
        for (int64_t slice = 0; slice < plan->cut[cut].slices; slice++)
            if (plan->cut[cut].slice[slice].accumulates)
                return false;
    return true;
}
