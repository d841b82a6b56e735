/* The decision for a request, remembered or new. */
#include "flow/decisions.h"

#include "base/hash.h"
#include "flow/scoped_limit.h"

struct cs_settings cs_decisions_settings(const struct cs *cs, int64_t limit)
{
    bool bounded = cs->limits.lent && cs->exec.arena.facts.limit > 0;
    struct cs_limits limits = cs->limits;
    if (limit > 0)
        limits.workspace = limit;
    return (struct cs_settings){.rules = &cs->rules,
                                .program = cs->program,
                                .script = cs->script,
                                .policy = cs->policy,
                                .limits = limits,
                                .most = bounded ? cs->exec.arena.facts.limit : INT64_MAX};
}

/* The scope of a request's key. A decision under a limit of the program, or by its record, is
 * separate from one without. */
static int64_t scope_of(const struct cs_request *request, int64_t limit)
{
    uint64_t scope = (uint64_t)request->scope ^ (uint64_t)limit * CS_HASH_PRIME;
    return (int64_t)(request->recorded ? scope ^ CS_HASH_START : scope);
}

/* Makes the decision for a request, by the record of the program if it is `recorded`. */
static struct cs_decision decide_request(struct cs *cs, const struct cs_request *request,
                                         const struct cs_vendor *vendor, int64_t limit)
{
    const struct cs_settings settings = cs_decisions_settings(cs, limit);
    const struct cs_decide_call call = {.problem = &request->problem,
                                        .required = request->required,
                                        .engine = request->engine.index,
                                        .provided = request->limit};
    if (!request->recorded)
        return cs_decide_by_rules(&settings, &call, vendor, NULL);
    const struct cs_peak_level level =
        cs_peak_level(&cs->peak, cs_instance_context(cs), &request->problem);
    return cs_decide_by_rules(&settings, &call, vendor, &level);
}

struct cs_decision cs_decisions_get(struct cs *cs, const struct cs_request *request,
                                    const struct cs_vendor *vendor, struct cs_key *key)
{
    struct cs_decision decision;
    const int64_t limit = cs_scoped_limit();
    cs_memo_key_make(&request->problem, &request->engine, request->required, request->limit,
                     scope_of(request, limit), key);
    if (cs_memo_get(&cs->memo, key, &decision))
        return decision;
    decision = decide_request(cs, request, vendor, limit);
    /* A temporary lack of memory is not a property of the problem. */
    if (decision.reason != CS_REASON_HOST_MEMORY)
        cs_memo_add(&cs->memo, key, &decision);
    return decision;
}
