/* Selects the best candidates like policy fit. Each is run on scratch data once, and the fastest is
 * stored for later runs. */
#include "convshim/policy.h"

extern const struct cs_policy cs_policy_fit;
static const struct cs_policy *const base = &cs_policy_fit; /* selects the candidates */

static int64_t measure_tiles(const struct cs_limits *limits)
{
    return base->tiles(limits);
}

static double measure_cost(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    return base->cost(candidate, limits);
}

const struct cs_policy cs_policy_measure = {
    .name = "measure",
    .summary = "times the best candidates on the GPU once and keeps the fastest",
    .contenders = 4,
    .tiles = measure_tiles,
    .cost = measure_cost,
};
