/* As few launches as the limit allows, then as little of the input read twice, then as few plans to
 * build. */
#include "convshim/policy.h"
#include <math.h>

static int64_t fit_tiles(const struct cs_limits *limits)
{
    (void)limits;
    return 0;
}

/* Tiles, halo in KiB and kinds as the digits of one number below 2^53, so that no digit rounds
 * another away. */
static double fit_cost(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    const double kinds = 32, halos = 137438953472.0; /* 2^37 KiB */
    if (candidate->workspace > limits->workspace)
        return INFINITY;
    double halo = (double)(candidate->halo / 1024);
    if (halo > halos - 1)
        halo = halos - 1;
    return ((double)candidate->tiles * halos + halo) * kinds + (double)candidate->kinds;
}

const struct cs_policy cs_policy_fit = {
    .name = "fit",
    .summary = "the fewest tiles that come under the workspace limit",
    .tiles = fit_tiles,
    .cost = fit_cost,
};
