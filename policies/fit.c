/* As few rounds of tiles as the limit allows, then as little of the input read twice or copied,
 * then as few plans to build. A round is as many tiles as there are lanes. Lanes overlap what their
 * tiles do (layout conversions of one, arithmetic of another), so a round of several counts four
 * fifths, rounded up. */
#include "convshim/policy.h"
#include <math.h>

/* A tile beside another on its own lane takes so many parts of the time that it takes alone. A
 * choice; no GPU has confirmed it. LANES_GAIN of src/flow/measure.c and LANE_TILES of
 * src/decide/decide.c are the same figure. */
enum {
    BESIDE = 4,
    ALONE = 5
};

static int64_t fit_tiles(const struct cs_limits *limits)
{
    (void)limits;
    return 0;
}

static int64_t rounds_of(const struct cs_candidate *candidate)
{
    int64_t lanes = candidate->tiling.lanes;
    if (lanes < 2)
        return candidate->tiles;
    int64_t rounds = (candidate->tiles + lanes - 1) / lanes;
    return (rounds * BESIDE + ALONE - 1) / ALONE;
}

/* Rounds, halo in KiB and shapes as the digits of one number below 2^53, so that no digit rounds
 * another away. */
static double fit_cost(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    const int64_t shapes = 32, halos = INT64_C(1) << 37;
    int64_t halo = candidate->halo / 1024 + candidate->copied / 1024;
    if (candidate->workspace > limits->workspace)
        return INFINITY;
    if (halo >= halos)
        halo = halos - 1;
    return (double)((rounds_of(candidate) * halos + halo) * shapes + candidate->shapes);
}

const struct cs_policy cs_policy_fit = {
    .name = "fit",
    .summary = "the fewest tiles that come under the workspace limit",
    .tiles = fit_tiles,
    .cost = fit_cost,
};
