/* The comparison of a policy's best candidates, for a policy that does not trust its own costs. */
#ifndef CS_DECIDE_CONTEST_H
#define CS_DECIDE_CONTEST_H

#include "decide/shortlist.h"

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

#endif
