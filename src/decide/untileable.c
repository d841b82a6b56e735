/* Refuses plans that are untiled, or whose limit was raised. */
#include "decide/untileable.h"

enum {
    MOST_RIVALS = 4 /* most other engines for which a decision is made, if no tiling of one fits */
};

/* A search for another engine that fits the limit. */
struct search {
    const struct cs_rivals *rivals;
    const struct cs_engine *engine;
    int64_t required, limit;
    int decided;
};

/* True if the engine fits the limit, untiled or in tiles. */
static bool rival_fits(void *to, const struct cs_engine *engine, int64_t required,
                       const struct cs_vendor *vendor)
{
    struct search *search = to;
    if (required <= search->limit)
        return true;
    if ((engine->index == search->engine->index && required == search->required) ||
        search->decided++ >= MOST_RIVALS)
        return false;
    const struct cs_decision decision =
        search->rivals->decide(search->rivals->ctx, engine, required, vendor);
    return decision.reason == CS_REASON_NONE && !decision.raised;
}

/* True if another engine of the vendor fits the limit. The answer is kept in the decision. */
static bool fits_elsewhere(struct cs_decision *decision, const struct cs_engine *engine,
                           const struct cs_vendor *vendor, const struct cs_rivals *rivals)
{
    struct search search = {rivals, engine, decision->required, decision->free, 0};
    if (decision->elsewhere == 0)
        decision->elsewhere =
            vendor->others && vendor->others(vendor->ctx, rival_fits, &search) ? 1 : -1;
    return decision->elsewhere > 0;
}

bool cs_decide_refuses(enum cs_untileable option, struct cs_decision *decision,
                       enum cs_reason reason, const struct cs_engine *engine,
                       const struct cs_vendor *vendor, const struct cs_rivals *rivals)
{
    bool slow = reason == CS_REASON_SLOW || reason == CS_REASON_NO_GAIN;
    bool raised = reason == CS_REASON_NONE && decision->raised;
    bool untileable = reason == CS_REASON_NO_TILING || reason == CS_REASON_NO_FALLBACK ||
                      reason == CS_REASON_VENDOR || raised;
    if (decision->required <= decision->free)
        return false;
    if (option == CS_UNTILEABLE_REFUSE)
        return untileable || slow;
    return option == CS_UNTILEABLE_AUTO && untileable &&
           fits_elsewhere(decision, engine, vendor, rivals);
}
