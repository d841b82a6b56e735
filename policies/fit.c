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
    const int64_t kinds = 32, halos = INT64_C(1) << 37;
    int64_t halo = candidate->halo / 1024;
    if (candidate->workspace > limits->workspace)
        return INFINITY;
    if (halo >= halos)
        halo = halos - 1;
    return (double)((candidate->tiles * halos + halo) * kinds + candidate->kinds);
}

const struct cs_policy cs_policy_fit = {
    .name = "fit",
    .summary = "the fewest tiles that come under the workspace limit",
    .tiles = fit_tiles,
    .cost = fit_cost,
};
