/* As fit, but where workspace is auto a convolution gets as much of it as does no harm to the
 * program's peak, which is known from the second run of a program on. */
#include "convshim/policy.h"

extern const struct cs_policy cs_policy_fit;
static const struct cs_policy *const base = &cs_policy_fit; /* who chooses under the limit */

static int64_t peak_tiles(const struct cs_limits *limits)
{
    return base->tiles(limits);
}

static double peak_cost(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    return base->cost(candidate, limits);
}

const struct cs_policy cs_policy_peak = {
    .name = "peak",
    .summary = "as fit in the first run; later ones tile only what makes the program's peak",
    .watches = true,
    .tiles = peak_tiles,
    .cost = peak_cost,
};
