/* Looking beyond the fewest tiles, for policies that weigh what tilings cost. */
#ifndef CS_DECIDE_EXPLORE_H
#define CS_DECIDE_EXPLORE_H

#include "decide/search.h"

/* Lists tilings of the axes that can be cut, finer than the fewest tiles and on as many lanes as
 * limits allow, and divisions into tiles of several sizes. What each needs and costs is predicted
 * from what is listed already; only those for which the policy predicts less than for the best
 * that is listed are asked of the vendor. Nothing happens unless some tiling is listed. CS_OK
 * whether something was listed or not; CS_NOMEM. */
CS_MUST_CHECK enum cs_status cs_explore(struct cs_search *search, const struct cs_policy *policy,
                                        const struct cs_limits *limits);

/* The candidate that costs least; NULL if all are vetoed. */
const struct cs_candidate *cs_explore_best(const struct cs_shortlist *list,
                                           const struct cs_policy *policy,
                                           const struct cs_limits *limits);

#endif
