/* A policy to start from: a copy of this file in policies/, with `example` replaced by the name of
 * the file, is a policy already. As few tiles as possible on one lane; where that is the same, the
 * axis that reads least of the input twice. */
#include "convshim/policy.h"
#include <math.h>

/* 0: let the core look for the fewest tiles on each axis that come under the limit. */
static int64_t example_tiles(const struct cs_limits *limits)
{
    (void)limits;
    return 0;
}

/* Cheaper is better. Tiles and halo as the digits of one number: a single tile less is worth more
 * than any halo. */
static double example_cost(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    const double halos = 1099511627776.0; /* bytes, more than any halo */

    /* Candidates may need more than the user allows; the untiled call is the first of them. */
    if (candidate->workspace > limits->workspace)
        return INFINITY;

    /* Offered if the user sets lanes, or in a second round if one lane was the best. */
    if (candidate->tiling.lanes > 1)
        return INFINITY;

    const double halo = (double)candidate->halo;
    return (double)candidate->tiles * halos + (halo < halos ? halo : halos - 1);
}

const struct cs_policy cs_policy_example = {
    .name = "example",
    .summary = "the fewest tiles on one lane",
    .tiles = example_tiles,
    .cost = example_cost,
};
