/* A policy to start from: a copy of this file in policies/, with `example` replaced by the name of
 * the file, is a policy already. As few tiles as possible on one lane, without raising the
 * program's peak. If the peak rises anyway, each MiB costs as much as a tile. */
#include "convshim/policy.h"
#include <math.h>

/* 0: let the core search for the numbers of tiles with the least cost. */
static int64_t example_tiles(const struct cs_limits *limits)
{
    (void)limits;
    return 0;
}

/* The least cost wins. The core asks for guesses, for tilings that cuDNN confirmed, and for the
 * untiled call, which is one tile. */
static double example_cost(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    const double mebibyte = 1048576;
    const double beyond = (double)candidate->workspace - (double)limits->free;

    /* INFINITY: never. */
    if (candidate->tiling.lanes > 1)
        return INFINITY;

    return (double)candidate->tiles + (beyond > 0 ? beyond / mebibyte : 0);
}

const struct cs_policy cs_policy_example = {
    .name = "example",
    .summary = "the fewest tiles that do not raise the peak, on one lane",
    .tiles = example_tiles,
    .cost = example_cost,
};
