/* As fit within a share: the workspaces of all call sites together stay within a total, and each
 * gets as much of it as makes the program fastest. */
#include "convshim/policy.h"

extern const struct cs_policy cs_policy_fit;
static const struct cs_policy *const base = &cs_policy_fit; /* who chooses within a share */

static int64_t budget_tiles(const struct cs_limits *limits)
{
    return base->tiles(limits);
}

static double budget_cost(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    return base->cost(candidate, limits);
}

const struct cs_policy cs_policy_budget = {
    .name = "budget",
    .summary = "divides a total of workspace among the program's convolutions",
    .divides = true,
    .tiles = budget_tiles,
    .cost = budget_cost,
};
