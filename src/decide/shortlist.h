/* The candidates of a decision: the untiled call first, then every tiling that was found to fit. */
#ifndef CS_DECIDE_SHORTLIST_H
#define CS_DECIDE_SHORTLIST_H

#include "convshim/policy.h"
#include "decide/decide.h"

enum {
    /* Each but the untiled one has cost an ask. Those for prices and for the least come where
     * nothing else is listed. */
    CS_MAX_CANDIDATES = CS_MAX_ASKS - CS_PRICE_ASKS - CS_LEAST_ASKS + 1
};

struct cs_shortlist {
    int count; /* at least 1 */
    struct cs_candidate candidate[CS_MAX_CANDIDATES];
};

/* What a candidate costs: nothing is taken that is dear. */
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

/* Forgets the tilings. */
static inline void cs_shortlist_clear(struct cs_shortlist *list)
{
    list->count = 1;
}

/* The candidate that costs least; NULL if all are vetoed. */
const struct cs_candidate *cs_shortlist_best(const struct cs_shortlist *list,
                                             const struct cs_policy *policy,
                                             const struct cs_limits *limits);

/* The tiling of the fewest tiles, then of the least halo, then of the fewest tile shapes, of those
 * that are not dear. Valid until the list changes; NULL if there is none. */
const struct cs_candidate *cs_shortlist_fewest(const struct cs_shortlist *list);

#endif
