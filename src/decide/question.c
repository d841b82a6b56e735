/* Computes costs by the policy, within the limits. */
#include "decide/question.h"

double cs_question_cost(const struct cs_question *question, const struct cs_candidate *candidate)
{
    if (candidate->seconds > question->slowest || candidate->workspace > question->limit)
        return __builtin_inf();
    double cost = question->policy->cost(candidate, question->limits);
    return __builtin_isfinite(cost) ? cost : __builtin_inf();
}

struct cs_candidate cs_question_untiled(const struct cs_question *question, int64_t workspace,
                                        double seconds)
{
    return (struct cs_candidate){
        .tiling = {.step = {1, 1}},
        .tiles = 1,
        .shapes = 1,
        .workspace = workspace,
        .required = question->required,
        .seconds = seconds,
    };
}
