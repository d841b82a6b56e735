/* The candidates of a decision: the untiled call first, then every tiling that fits. */
#ifndef CS_DECIDE_SHORTLIST_H
#define CS_DECIDE_SHORTLIST_H

#include "convshim/choices.h"
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

/* Determines the fastest of several candidates. */
struct cs_referee {
    void *ctx;
    /* The index of the fastest contender of `count`, at least two. 0 is the policy's best, and the
     * result if no comparison is possible. The same contenders give the same result. The vendor's
     * `build` must use the relaxation with which the contenders were found. */
    int (*choose)(void *ctx, const struct cs_candidate *const contender[], int count);
};

enum {
    CS_MAX_CONTENDERS = 8
};

/* The referee's choice among the policy's best candidates of each way to cut (axes and lanes): at
 * most policy->contenders, best first, without candidates that it vetoes or that cost more than the
 * untiled call. `best`, the policy's own choice, without a referee (NULL) or with fewer than two
 * contenders. */
const struct cs_candidate *cs_contest(const struct cs_shortlist *list,
                                      const struct cs_policy *policy,
                                      const struct cs_limits *limits,
                                      const struct cs_referee *referee,
                                      const struct cs_candidate *best);

/* Records the listed candidates with the policy's costs, for a call that requires `required` bytes.
 * `picked` is one of them, or NULL. */
void cs_choice_record_add(const struct cs_shortlist *list, int64_t required,
                          const struct cs_policy *policy, const struct cs_limits *limits,
                          const struct cs_candidate *picked, struct cs_choices *choices);

#endif
