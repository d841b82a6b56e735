/* The decision for a request, remembered or new. */
#include "flow/decisions.h"

struct cs_settings cs_decisions_settings(const struct cs *cs)
{
    bool bounded = cs->limits.lent && cs->exec.arena.facts.limit > 0;
    return (struct cs_settings){.rules = &cs->rules,
                                .program = cs->program,
                                .script = cs->script,
                                .policy = cs->policy,
                                .limits = cs->limits,
                                .most = bounded ? cs->exec.arena.facts.limit : INT64_MAX};
}

static struct cs_decision decide(const struct cs_settings *settings,
                                 const struct cs_request *request, const struct cs_vendor *vendor)
{
    const struct cs_decide_call call = {.problem = &request->problem,
                                        .required = request->required,
                                        .engine = request->engine.index,
                                        .provided = request->limit};
    return cs_decide_by_rules(settings, &call, vendor);
}

struct cs_decision cs_decisions_get(struct cs *cs, const struct cs_request *request,
                                    const struct cs_vendor *vendor, struct cs_key *key)
{
    struct cs_decision decision;
    cs_memo_key_make(&request->problem, &request->engine, request->required, request->limit,
                     request->scope, key);
    if (cs_memo_get(&cs->memo, key, &decision))
        return decision;
    if (vendor->profile && !vendor->profile(vendor->ctx)) /* no size is made for a typical GPU */
        return cs_decide_leave(CS_REASON_UNSEEN, request->required);
    const struct cs_settings settings = cs_decisions_settings(cs);
    decision = decide(&settings, request, vendor);
    /* A temporary lack of memory is not a property of the problem. */
    if (decision.reason != CS_REASON_HOST_MEMORY)
        cs_memo_add(&cs->memo, key, &decision);
    return decision;
}

struct cs_decision cs_decisions_fewer(const struct cs *cs, const struct cs_request *request,
                                      const struct cs_vendor *vendor)
{
    struct cs_settings settings = cs_decisions_settings(cs);
    settings.limits.lanes = 1;
    return decide(&settings, request, vendor);
}
