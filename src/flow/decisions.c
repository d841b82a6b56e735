/* The decision for a request: remembered, or by the example of the same engine with other knobs, or
 * new from the record of this process. */
#include "flow/decisions.h"

#include "base/hash.h"
#include "decide/example.h"
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

/* State for cs_decide_help. */
struct help {
    struct cs *cs;
    const struct cs_problem *problem;
};

static struct cs_peak_level level(void *ctx)
{
    const struct help *help = ctx;
    return cs_peak_level(&help->cs->peak, cs_instance_context(help->cs), help->problem);
}

static struct cs_decision decide_anew(struct cs *cs, const struct cs_request *request,
                                      const struct cs_vendor *vendor, int64_t limit)
{
    struct help help = {.cs = cs, .problem = &request->problem};
    const struct cs_settings settings = cs_decisions_settings(cs, limit);
    const struct cs_decide_call call = {.problem = &request->problem,
                                        .required = request->required,
                                        .engine = request->engine.index,
                                        .provided = request->limit};
    return cs_decide_by_rules(&settings, &call, vendor, &(struct cs_decide_help){&help, level});
}

/* A decision under a limit of the program is separate from one without. */
static int64_t scope_of(const struct cs_request *request, int64_t limit)
{
    return (int64_t)((uint64_t)request->scope ^ (uint64_t)limit * CS_HASH_PRIME);
}

/* The key of the example for a request: the same, with the engine's properties that predictions use
 * instead of its knobs. False if they are unknown. */
static bool example_key(const struct cs_request *request, const struct cs_vendor *vendor,
                        int64_t limit, struct cs_key *key)
{
    const struct cs_profile *profile = vendor->profile ? vendor->profile(vendor->ctx) : NULL;
    if (!profile || !profile->engine.known)
        return false;
    const struct cs_engine engine = {.index = request->engine.index,
                                     .knobs = 3,
                                     .knob_type = {-1, -2, -3}, /* no knobs' */
                                     .knob_value = {profile->engine.splits,
                                                    profile->engine.winograd,
                                                    profile->engine.tensor_cores}};
    cs_memo_key_make(&request->problem, &engine, request->required, request->limit,
                     scope_of(request, limit), key);
    return true;
}

/* Follows the example of the same engine with other knobs. Without one it searches. */
static struct cs_decision decide_new(struct cs *cs, const struct cs_request *request,
                                     const struct cs_vendor *vendor, int64_t limit)
{
    struct cs_decision decision, example;
    struct cs_key key;
    bool keyed = vendor->many && example_key(request, vendor, limit, &key);
    if (keyed && cs_memo_get(&cs->memo, &key, &example) &&
        cs_decide_by_example(&example, &request->problem, vendor, &decision))
        return decision;
    decision = decide_anew(cs, request, vendor, limit);
    if (decision.exemplary && (keyed || example_key(request, vendor, limit, &key)) &&
        (!cs_memo_get(&cs->memo, &key, &example) ||
         cs_decide_is_better_example(&decision, &example)))
        cs_memo_put(&cs->memo, &key, &decision);
    return decision;
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
    decision = decide_new(cs, request, vendor, limit);
    /* A temporary lack of memory is not a property of the problem. */
    if (decision.reason != CS_REASON_HOST_MEMORY)
        cs_memo_add(&cs->memo, key, &decision);
    return decision;
}
