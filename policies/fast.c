/* The least predicted time of what stays under the limit. Predictions are rough, and tiles cost a
 * little even where they are right: tiles must save something that counts. Where the device
 * is not known, as fit. */
#include "convshim/policy.h"
#include <math.h>

extern const struct cs_policy cs_policy_fit;

static int64_t fast_tiles(const struct cs_limits *limits)
{
    return cs_policy_fit.tiles(limits);
}

/* Whoever has provided less than the whole requires cannot run the whole. Huge tensors are cut for
 * another engine's sake, not for memory's. */
static bool saves_enough(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    bool untiled =
        candidate->tiling.axis[0] == CS_AXIS_NONE && candidate->workspace == candidate->required;
    return untiled || limits->provided || candidate->tiling.relaxation == CS_TILE_HEURISTICS ||
           candidate->required - candidate->workspace >= limits->min_saving;
}

static double fast_cost(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    if (candidate->workspace > limits->workspace || !saves_enough(candidate, limits))
        return INFINITY;
    return candidate->seconds > 0 ? candidate->seconds : cs_policy_fit.cost(candidate, limits);
}

const struct cs_policy cs_policy_fast = {
    .name = "fast",
    .summary = "the least predicted time under the workspace limit",
    .predicts = true,
    .tiles = fast_tiles,
    .cost = fast_cost,
};
