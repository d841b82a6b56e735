/* Where a policy requires its best few compared instead of trusting its own numbers: who they are.
 */
#ifndef CS_DECIDE_CONTEST_H
#define CS_DECIDE_CONTEST_H

#include "decide/shortlist.h"

/* Says which of several ways is the fastest; knows how to find out. */
struct cs_referee {
    void *ctx;
    /* The number of one contender, of `count`, at least two; 0 is the best as the policy sees it
     * and the answer if nothing can be found out. The same question gets the same answer. The
     * relaxation of the vendor's `build` is that which the contenders were found with. */
    int (*choose)(void *ctx, const struct cs_candidate *const contender[], int count);
};

enum {
    CS_MAX_CONTENDERS = 8
};

/* What the referee chooses among the policy's best candidates of each way to cut (axes and lanes):
 * as many as it asks for, the best ones first, none that it vetoes or finds worse than the untiled
 * call. `best`, the policy's own choice, where there is no referee (NULL) or nothing to choose. */
const struct cs_candidate *cs_contest(const struct cs_shortlist *list,
                                      const struct cs_policy *policy,
                                      const struct cs_limits *limits,
                                      const struct cs_referee *referee,
                                      const struct cs_candidate *best);

#endif
