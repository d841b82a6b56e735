/* Decides on other engines with the decisions of this process. */
#include "flow/refusal.h"

#include "flow/decisions.h"

struct rivals {
    struct cs *cs;
    const struct cs_request *request;
};

static struct cs_decision decide_rival(void *ctx, const struct cs_engine *engine, int64_t required,
                                       const struct cs_vendor *vendor)
{
    struct rivals *rivals = ctx;
    struct cs_request request = *rivals->request;
    struct cs_key key;
    request.engine = *engine;
    request.required = required;
    return cs_decisions_get(rivals->cs, &request, vendor, &key);
}

/* The value of option untileable that applies to a request. With auto, an application that named
 * the engine keeps its plan, because it has no list of others. */
static enum cs_untileable option_for(const struct cs *cs, const struct cs_request *request)
{
    enum cs_untileable option = (enum cs_untileable)cs->config.untileable;
    if (request->source == CS_SOURCE_NONE || request->limit > 0 ||
        (option == CS_UNTILEABLE_AUTO && request->source != CS_SOURCE_LISTED))
        return CS_UNTILEABLE_RUN;
    return option;
}

bool cs_refusal_is_due(struct cs *cs, const struct cs_request *request,
                       const struct cs_vendor *vendor, const struct cs_key *key,
                       struct cs_decision *decision, enum cs_reason reason)
{
    struct rivals rivals = {cs, request};
    const int known = decision->elsewhere;
    bool due = cs_decide_refuses(option_for(cs, request), decision, reason, &request->engine,
                                 vendor, &(struct cs_rivals){&rivals, decide_rival});
    if (decision->elsewhere != known)
        cs_memo_put(&cs->memo, key, decision);
    return due;
}
