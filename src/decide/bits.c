/* Knows which tilings leave the sums of a result whole. */
#include "decide/bits.h"

bool cs_decide_keeps_sums(const struct cs_plan *plan)
{
    for (int cut = 0; cut < plan->cuts; cut++)
        for (int64_t slice = 0; slice < plan->cut[cut].slices; slice++)
            if (plan->cut[cut].slice[slice].accumulates)
                return false;
    return true;
}
