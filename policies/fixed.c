/* Policy fixed: the number of tiles in option tiles, on the axis with the least workspace. Among
 * equals the least halo wins. */
#include "convshim/policy.h"
#include <math.h>

static int64_t fixed_tiles(const struct cs_limits *limits)
{
    return limits->tiles;
}

static double fixed_cost(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    (void)limits;
    if (candidate->tiling.axis[0] == CS_AXIS_NONE)
        return INFINITY;
    double halo = (double)candidate->halo + (double)candidate->copied;
    return (double)candidate->workspace + halo / (halo + 1073741824.0); /* a fraction of one byte */
}

const struct cs_policy cs_policy_fixed = {
    .name = "fixed",
    .summary = "the number of tiles in option tiles",
    .tiles = fixed_tiles,
    .cost = fixed_cost,
};
