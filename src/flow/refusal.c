/* Option `untileable`: refuses a plan that no tiling makes small enough, so that the application
 * takes another engine. Such a plan is untiled, or its limit was raised. */
#include "flow/refusal.h"

#include "flow/decisions.h"

enum {
    MOST_RIVALS = 4 /* engines that are tried instead of one that no tiling fits */
};

/* Requirements for another engine. */
struct rival {
    struct cs *cs;
    const struct cs_request *request;
    int64_t limit;
    int looks;
};

/* True if the engine fits the limit, untiled or in tiles. Few engines are examined. */
static bool look_at_rival(void *to, const struct cs_engine *engine, int64_t required,
                          const struct cs_vendor *vendor)
{
    struct rival *rival = to;
    struct cs_request request = *rival->request;
    struct cs_decision decision;
    struct cs_key key;
    if (required <= rival->limit)
        return true;
    if (engine->index == request.engine.index && required == request.required)
        return false;
    request.engine = *engine;
    request.required = required;
    if (rival->looks++ >= MOST_RIVALS)
        return false;
    decision = cs_decisions_get(rival->cs, &request, vendor, &key);
    return decision.reason == CS_REASON_NONE && !decision.raised;
}

/* True if cuDNN lists another engine that fits the limit. The result is stored in the decision. */
static bool is_had_elsewhere(struct cs *cs, const struct cs_request *request,
                             const struct cs_vendor *vendor, const struct cs_key *key,
                             struct cs_decision *decision)
{
    struct rival rival = {cs, request, decision->limit, 0};
    if (decision->elsewhere == 0) {
        bool had = vendor->others && vendor->others(vendor->ctx, look_at_rival, &rival);
        decision->elsewhere = had ? 1 : -1;
        cs_memo_put(&cs->memo, key, decision);
    }
    return decision->elsewhere > 0;
}

bool cs_refusal_is_due(struct cs *cs, const struct cs_request *request,
                       const struct cs_vendor *vendor, const struct cs_key *key,
                       struct cs_decision *decision, enum cs_reason reason)
{
    bool dear = reason == CS_REASON_DEAR || reason == CS_REASON_NO_GAIN;
    bool raised = reason == CS_REASON_NONE && decision->raised;
    bool untileable = reason == CS_REASON_NO_TILING || reason == CS_REASON_NO_FALLBACK ||
                      reason == CS_REASON_VENDOR || raised;
    if (request->source == CS_SOURCE_NONE || request->limit > 0 ||
        request->required <= decision->limit || !(untileable || dear))
        return false;
    switch ((enum cs_untileable)cs->config.untileable) {
    case CS_UNTILEABLE_REFUSE:
        return true;
    case CS_UNTILEABLE_AUTO:
        return untileable && request->source == CS_SOURCE_LISTED &&
               is_had_elsewhere(cs, request, vendor, key, decision);
    default:
        return false;
    }
}
