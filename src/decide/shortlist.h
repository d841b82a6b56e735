/* The candidates of a decision: the untiled call first, then every tiling that fits. */
#ifndef CS_DECIDE_SHORTLIST_H
#define CS_DECIDE_SHORTLIST_H

#include "convshim/policy.h"
#include "decide/decide.h"

enum {
    CS_MAX_CANDIDATES = 144 /* more are not listed */
};

struct cs_shortlist {
    int count; /* at least 1 */
    struct cs_candidate candidate[CS_MAX_CANDIDATES];
};

/* The cost of a candidate. Infinite if it is slower than max_slowdown allows. */
static inline double cs_shortlist_cost(const struct cs_candidate *candidate,
                                       const struct cs_policy *policy,
                                       const struct cs_limits *limits)
{
    return candidate->dear ? __builtin_inf() : policy->cost(candidate, limits);
}

/* True if no tiling was found yet. */
static inline bool cs_shortlist_empty(const struct cs_shortlist *list)
{
    return list->count == 1;
}

/* The candidate of least cost, or NULL if all are vetoed. */
const struct cs_candidate *cs_shortlist_best(const struct cs_shortlist *list,
                                             const struct cs_policy *policy,
                                             const struct cs_limits *limits);

#endif
