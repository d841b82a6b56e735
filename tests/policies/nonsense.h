/* For policies that break the contract: NONSENSE(name, expression of tiles, expression of cost),
 * which can use `candidate` and `limits`. No such policy may break a call. */
#ifndef NONSENSE_H
#define NONSENSE_H

#include "convshim/policy.h"
#include <math.h>

#define NONSENSE(policy, tiles_, cost_)                                                            \
    static int64_t tiles_of(const struct cs_limits *limits)                                        \
    {                                                                                              \
        (void)limits;                                                                              \
        return tiles_;                                                                             \
    }                                                                                              \
    static double cost_of(const struct cs_candidate *candidate, const struct cs_limits *limits)    \
    {                                                                                              \
        (void)candidate, (void)limits;                                                             \
        return cost_;                                                                              \
    }                                                                                              \
    const struct cs_policy cs_policy_##policy = {                                                  \
        .name = #policy, .summary = "nonsense, for the tests", .tiles = tiles_of, .cost = cost_of}

#endif
