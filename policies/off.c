/* Policy off: makes the decision of policy fit, and only reports it. */
#include "convshim/policy.h"

extern const struct cs_policy cs_policy_fit;

static int64_t off_tiles(const struct cs_limits *limits)
{
    return cs_policy_fit.tiles(limits);
}

static double off_cost(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    return cs_policy_fit.cost(candidate, limits);
}

const struct cs_policy cs_policy_off = {
    .name = "off",
    .summary = "tiles no convolution, reports possible savings",
    .report_only = true,
    .tiles = off_tiles,
    .cost = off_cost,
};
