/* Policy fit: the cost is the predicted time, and a price for each byte of scratch that raises the
 * program's peak. */
#include "convshim/policy.h"

static int64_t fit_tiles(const struct cs_limits *limits)
{
    (void)limits;
    return 0;
}

static double fit_cost(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    double beyond = (double)candidate->workspace - (double)limits->free;
    return candidate->seconds + (beyond > 0 ? limits->byte_seconds * beyond : 0);
}

const struct cs_policy cs_policy_fit = {
    .name = "fit",
    .summary = "least predicted time, plus price for each byte that raises the program's peak",
    .tiles = fit_tiles,
    .cost = fit_cost,
};
