/* As many tiles as the user says, on the axis where that needs the least workspace; among equals
 * with the least halo. */
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
    .summary = "the number of tiles that the option tiles says",
    .tiles = fixed_tiles,
    .cost = fixed_cost,
};
