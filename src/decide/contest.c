/* Lists the best candidates of each way to tile, for a policy with contenders. */
#include "decide/contest.h"

#include <math.h>

static bool same_way(const struct cs_tiling *a, const struct cs_tiling *b)
{
    int lanes_a = a->lanes > 1 ? a->lanes : 1, lanes_b = b->lanes > 1 ? b->lanes : 1;
    return a->axis[0] == b->axis[0] && a->axis[1] == b->axis[1] && lanes_a == lanes_b;
}

static bool is_new(const struct cs_candidate *candidate,
                   const struct cs_candidate *const contender[], int count)
{
    for (int i = 0; i < count; i++)
        if (same_way(&candidate->tiling, &contender[i]->tiling))
            return false;
    return true;
}

/* The policy's best candidate of each way to cut (axes and lanes), best first: at most `most`,
 * without candidates that the policy vetoes or that cost more than the untiled call. Returns how
 * many. */
static int contenders(const struct cs_shortlist *list, const struct cs_policy *policy,
                      const struct cs_limits *limits, int most,
                      const struct cs_candidate *contender[CS_MAX_CONTENDERS])
{
    int count = 0;
    for (; count < most && count < CS_MAX_CONTENDERS; count++) {
        double least = INFINITY;
        contender[count] = NULL;
        for (int i = 0; i < list->count; i++) {
            const struct cs_candidate *candidate = &list->candidate[i];
            double cost = cs_shortlist_cost(candidate, policy, limits);
            if (cost < least && is_new(candidate, contender, count)) {
                contender[count] = candidate;
                least = cost;
            }
        }
        if (!contender[count] || contender[count]->tiling.axis[0] == CS_AXIS_NONE)
            break;
    }
    return count;
}

const struct cs_candidate *cs_contest(const struct cs_shortlist *list,
                                      const struct cs_policy *policy,
                                      const struct cs_limits *limits,
                                      const struct cs_referee *referee,
                                      const struct cs_candidate *best)
{
    const struct cs_candidate *contender[CS_MAX_CONTENDERS];
    if (!referee || policy->contenders < 2 || !best || best->tiling.axis[0] == CS_AXIS_NONE)
        return best;
    int count = contenders(list, policy, limits, policy->contenders, contender);
    int chosen = count > 1 ? referee->choose(referee->ctx, contender, count) : 0;
    return count > 0 && chosen >= 0 && chosen < count ? contender[chosen] : best;
}
