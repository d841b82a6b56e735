/* Computes costs by the policy, within the limits. */
#include "decide/question.h"

/* Costs of a policy are below FITS. Costs of candidates above the user's limit are above it for any
 * scratch and time, because beyond_limit multiplies BEYOND by 1e-80 to 1e90. */
static const double FITS = 1e100, BEYOND = 1e200;

/* The cost of a candidate above the user's limit. Half of the scratch is worth 256 times the time.
 */
static double beyond_limit(const struct cs_candidate *candidate)
{
    double gibibytes = (double)candidate->workspace / (1 << 30);
    double square = gibibytes * gibibytes, fourth = square * square;
    return BEYOND * fourth * fourth * candidate->seconds;
}

double cs_question_cost(const struct cs_question *question, const struct cs_candidate *candidate)
{
    bool tiled = candidate->tiling.axis[0] != CS_AXIS_NONE;
    if (candidate->seconds > question->slowest || (tiled && candidate->workspace > question->limit))
        return __builtin_inf();
    double cost = question->policy->cost(candidate, question->limits);
    if (!__builtin_isfinite(cost))
        return __builtin_inf();
    return candidate->workspace > question->written ? beyond_limit(candidate) : cost;
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
