/* The ways to run a convolution from much to little workspace, for dividing a total. */
#include "decide/offers.h"

#include "base/checked.h"
#include "decide/split.h"

enum {
    COMPILED_OFFERS = 2 /* where every plan takes seconds to build */
};

/* What a launch costs that need not be, and a byte that is read again at 1 TB/s. Only how sites
 * compare with each other matters. */
static const int64_t LAUNCH = 10000000, HALO_BYTE = 1;

static int64_t cost_of(const struct cs_problem *problem, const struct cs_decision *decision)
{
    struct cs_plan plan;
    int64_t launches, halo = 0, cost;
    if (decision->reason != CS_REASON_NONE)
        return 0;
    if (cs_plan_cut(problem, &decision->tiling, &plan) == CS_OK)
        halo = plan.halo;
    if (!cs_mul(decision->tiles - 1, LAUNCH, &launches) || !cs_mul(halo, HALO_BYTE, &cost) ||
        !cs_add(launches, cost, &cost))
        return INT64_MAX / CS_SPLIT_SITES / 2;
    return cost;
}

/* Those that no other beats, in order of bytes. */
static int sort_offers(const struct cs_offer all[CS_MAX_OFFERS], int count,
                       struct cs_offer offer[CS_MAX_OFFERS])
{
    struct cs_point point[CS_MAX_OFFERS];
    for (int i = 0; i < count; i++)
        point[i] = (struct cs_point){all[i].bytes, all[i].cost, i};
    int left = cs_split_pareto(point, count);
    for (int i = 0; i < left; i++)
        offer[i] = all[point[i].tag];
    return left;
}

int cs_offers(const struct cs_problem *problem, int64_t required, const struct cs_policy *policy,
              const struct cs_limits *limits, const struct cs_vendor *vendor,
              struct cs_offer offer[CS_MAX_OFFERS])
{
    struct cs_offer all[CS_MAX_OFFERS];
    struct cs_limits under = *limits;
    int most = vendor->compiles ? COMPILED_OFFERS : CS_MAX_OFFERS, count = 0;
    int64_t asked = 0;
    while (count < most && asked < CS_OFFER_ASKS && under.workspace > 0) {
        struct cs_decision decision = cs_decide(problem, required, policy, &under, vendor);
        bool untiled = decision.reason == CS_REASON_SMALL;
        asked += decision.asked;
        if (decision.reason != CS_REASON_NONE && !untiled)
            break;
        all[count++] =
            (struct cs_offer){decision.reported, cost_of(problem, &decision), under.workspace};
        /* Left alone whatever its share is: it has nothing else to offer. */
        if (required <= limits->threshold)
            break;
        under.workspace = under.most = decision.reported / 2;
        under.threshold = 0;
    }
    if (count == 0)
        all[count++] = (struct cs_offer){required, 0, limits->workspace};
    return sort_offers(all, count, offer);
}
