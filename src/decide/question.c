/* Computes costs by the policy, within the limits. */
#include "decide/question.h"

/* Costs of a policy are below FITS. Those of candidates above the user's limit are above it, in the
 * same order. */
static const double FITS = 1e100, BEYOND = 1e200;

double cs_question_cost(const struct cs_question *question, const struct cs_candidate *candidate)
{
    const bool tiled = candidate->tiling.axis[0] != CS_AXIS_NONE;
    const bool above = candidate->workspace > question->written;
    if (candidate->seconds > (above ? question->slowest_above : question->slowest) ||
        (tiled && candidate->workspace > question->limit))
        return __builtin_inf();
    double cost = question->policy->cost(candidate, question->limits);
    if (!__builtin_isfinite(cost))
        return __builtin_inf();
    return above ? BEYOND * (1 + cost) : cost;
}

bool cs_question_fits(double cost)
{
    return cost < FITS;
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
