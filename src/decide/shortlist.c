/* Chooses the listed candidate of least cost. */
#include "decide/shortlist.h"

const struct cs_candidate *cs_shortlist_best(const struct cs_shortlist *list,
                                             const struct cs_policy *policy,
                                             const struct cs_limits *limits)
{
    const struct cs_candidate *best = NULL;
    double least = 0;
    for (int i = 0; i < list->count; i++) {
        double cost = cs_shortlist_cost(&list->candidate[i], policy, limits);
        if (__builtin_isfinite(cost) && (!best || cost < least)) {
            best = &list->candidate[i];
            least = cost;
        }
    }
    return best;
}
