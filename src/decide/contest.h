/* Where a policy requires its best few compared instead of trusting its own numbers: who they are.
 */
#ifndef CS_DECIDE_CONTEST_H
#define CS_DECIDE_CONTEST_H

#include "decide/search.h"

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

/* The policy's best candidate of each way to cut (axes and lanes), the best ones first: at most
 * `most`, none that the policy vetoes or finds worse than the untiled call. Returns how many. */
int cs_contest_contenders(const struct cs_search *search, const struct cs_policy *policy,
                          const struct cs_limits *limits, int most,
                          const struct cs_candidate *contender[CS_MAX_CONTENDERS]);

/* What the referee chooses among as many as the policy asks for; `best`, the policy's own choice,
 * where there is no referee, nothing to choose, or where every plan takes seconds to build. */
const struct cs_candidate *cs_contest(const struct cs_search *search,
                                      const struct cs_policy *policy,
                                      const struct cs_limits *limits,
                                      const struct cs_referee *referee,
                                      const struct cs_candidate *best);

#endif
