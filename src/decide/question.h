/* The subject of a decision, and the one cost by which all its tilings are compared: guesses,
 * tilings that the vendor has confirmed, and the untiled call. Pure. */
#ifndef CS_DECIDE_QUESTION_H
#define CS_DECIDE_QUESTION_H

#include "convshim/policy.h"
#include "convshim/vendor.h"

struct cs_question {
    const struct cs_problem *problem;
    const struct cs_vendor *vendor;
    const struct cs_profile *profile; /* device that times are predicted for */
    const struct cs_policy *policy;
    const struct cs_limits *limits;
    int64_t required; /* bytes of the untiled plan */
    int64_t limit;    /* the most bytes of workspace */
    double slowest;   /* the longest allowed seconds */
    bool copies;      /* tiles may work on packed copies */
};

/* The cost of a candidate by the policy. Infinite if the policy vetoes the candidate, if it takes
 * too long, or if it exceeds the limit. */
double cs_question_cost(const struct cs_question *question, const struct cs_candidate *candidate);

/* The untiled call as a candidate that takes this long. */
struct cs_candidate cs_question_untiled(const struct cs_question *question, int64_t workspace,
                                        double seconds);

#endif
