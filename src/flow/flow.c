/* The order of the steps for one convolution: decide, plan, build, validate, later run and account.
 */
#include "flow/flow.h"

#include "base/checked.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/range.h"
#include "decide/bits.h"
#include "decide/cost.h"
#include "flow/build.h"
#include "flow/decisions.h"
#include "flow/refusal.h"
#include <string.h>

static const struct cs_rule *rule_at(const struct cs *cs, int number)
{
    return number > 0 ? &cs->rules.rule[number - 1] : NULL;
}

/* The reason that a failed build gives for not tiling. */
static enum cs_reason reason_of(enum cs_status status)
{
    switch (status) {
    case CS_OK:
        return CS_REASON_NONE;
    case CS_OVERFLOW:
        return CS_REASON_OVERFLOW;
    case CS_NOMEM:
        return CS_REASON_HOST_MEMORY;
    case CS_REFUSED:
        return CS_REASON_VENDOR;
    case CS_ILLEGAL:
    case CS_INVALID:
        break;
    }
    return CS_REASON_INVARIANT;
}

static int64_t reported_of(const struct cs_request *request, const struct cs_decision *decision,
                           enum cs_reason reason)
{
    return reason == CS_REASON_NONE ? decision->reported : request->required;
}

bool cs_flow_small(const struct cs *cs, int64_t required)
{
    const struct cs_settings settings = cs_decisions_settings(cs);
    return cs_decide_is_small(&settings, required);
}

int64_t cs_flow_reported(struct cs *cs, const struct cs_request *request,
                         const struct cs_vendor *vendor)
{
    struct cs_key key;
    struct cs_decision decision = cs_decisions_get(cs, request, vendor, &key);
    return reported_of(request, &decision, decision.reason);
}

/* The bytes that would be reported if a policy that only reports applied its decisions. */
static int64_t reportable_of(const struct cs_request *request, const struct cs_decision *decision,
                             enum cs_reason reason)
{
    return reason == CS_REASON_REPORT_ONLY ? decision->reported
                                           : reported_of(request, decision, reason);
}

static int64_t nanoseconds(double seconds)
{
    return seconds < 1e9 ? (int64_t)(seconds * 1e9) : INT64_MAX;
}

static struct cs_times untiled_times(const struct cs_request *request,
                                     const struct cs_profile *profile)
{
    const struct cs_cost cost = cs_cost_untiled(&request->problem, request->required, profile);
    return cs_cost_times(&cost);
}

/* Sets the predicted times of `facts`, if a summary shows them. `rewrite`: NULL or judged. */
static void predict_times(const struct cs *cs, const struct cs_request *request,
                          const struct cs_vendor *vendor, const struct cs_rewrite *rewrite,
                          struct cs_site_facts *facts)
{
    const struct cs_profile *profile =
        cs_describes_all(cs) && vendor->profile ? vendor->profile(vendor->ctx) : NULL;
    if (!profile)
        return;
    const struct cs_times untiled = untiled_times(request, profile);
    facts->untiled_ns = nanoseconds(untiled.least);
    facts->untiled_most_ns = nanoseconds(untiled.most);
    facts->predicted_ns = facts->untiled_ns + (rewrite ? rewrite->added_ns : 0);
    facts->predicted_most_ns = facts->untiled_most_ns + (rewrite ? rewrite->added_most_ns : 0);
}

static void announce_site(const struct cs *cs, const struct cs_site_facts *facts)
{
    char text[512];
    if (cs->config.log < CS_LOG_INFO)
        return;
    cs_site_text(facts, text, sizeof text);
    const struct cs_rule *rule = rule_at(cs, facts->rule);
    cs_log(CS_LOG_INFO, "%s%s%s", text, rule ? ", rule " : "", rule ? rule->name : "");
}

/* Makes the verdict of a request, logs it, and adds its site to the account. */
static struct cs_verdict verdict_of(struct cs *cs, const struct cs_request *request,
                                    const struct cs_vendor *vendor,
                                    const struct cs_decision *decision, enum cs_reason reason,
                                    struct cs_rewrite *rewrite)
{
    /* Tiles in the library's scratch use more than is reported. The larger size counts. */
    int64_t possible = reportable_of(request, decision, reason);
    if ((reason == CS_REASON_NONE || reason == CS_REASON_REPORT_ONLY) &&
        possible < decision->scratch)
        possible = decision->scratch;
    struct cs_site_facts facts = {
        .problem = request->problem,
        .engine = request->engine.index,
        .reason = reason,
        .tiling = decision->tiling,
        .tiles = decision->tiles,
        .required = request->required,
        .possible = possible,
        .queries = decision->queries,
        .free = decision->free,
        .raised = decision->raised && (reason == CS_REASON_NONE || reason == CS_REASON_REPORT_ONLY),
        .rule = decision->rule};
    predict_times(cs, request, vendor, rewrite, &facts);
    announce_site(cs, &facts);
    return (struct cs_verdict){.reason = reason,
                               .rewrite = rewrite,
                               .reported = reported_of(request, decision, reason),
                               .reportable = reportable_of(request, decision, reason),
                               .site = cs_account_site(&cs->account, &facts, cs_range_name())};
}

/* Stores the name of the device for the summary, once. */
static void name_device(struct cs *cs, const struct cs_vendor *vendor)
{
    if (!cs_describes_all(cs) || !vendor->profile || atomic_exchange(&cs->device_named, true))
        return;
    const struct cs_profile *profile = vendor->profile(vendor->ctx);
    if (!profile)
        return;
    cs_lock(&cs->account.lock); /* a summary may be in progress */
    memcpy(cs->device, profile->name, sizeof cs->device);
    cs_unlock(&cs->account.lock);
}

/* A request on its way from the decision to the verdict. */
struct preparing {
    struct cs *cs;
    const struct cs_request *request;
    const struct cs_vendor *vendor;
    struct cs_built_plans built;
    struct cs_key key;
    struct cs_decision decision;
    enum cs_reason reason;
    struct cs_rewrite *rewrite; /* NULL: not tiled */
    bool refused;
};

static void decide_tiles(struct preparing *p)
{
    p->decision = cs_decisions_get(p->cs, p->request, &p->built.vendor, &p->key);
    p->reason = p->decision.reason;
    if (p->reason == CS_REASON_NONE)
        p->reason =
            reason_of(cs_build_tiles(&p->request->problem, &p->decision, &p->built, &p->rewrite));
}

/* Returns a workspace smaller than required on which the application may rely: the one that it
 * provided, or the decided one, which another process may have reported. -1: there is none. */
static int64_t held_size(const struct preparing *p)
{
    const struct cs_request *request = p->request;
    if (request->limit > 0)
        return request->limit < request->required && p->reason != CS_REASON_RULE ? request->limit
                                                                                 : -1;
    return p->decision.reason == CS_REASON_NONE ? p->decision.reported : -1;
}

/* True if the application has requested a plan, which can be refused. */
static bool may_refuse(const struct cs_request *request)
{
    return request->limit == 0 && request->source != CS_SOURCE_NONE;
}

/* Handles a failed build, and a provided workspace that no tiling fits. If the application may rely
 * on a smaller size, it gets the fallback plan or, without one, a plan that refuses. Otherwise the
 * problem is not tiled. */
static void fall_back(struct preparing *p)
{
    static struct cs_log_cap cap; /* programs may query again at every step */
    if (p->reason == CS_REASON_NONE)
        return;
    const int64_t held = held_size(p);
    if (held >= 0 && cs_build_fallback(held, &p->built, &p->rewrite) == CS_OK) {
        p->decision.reported = p->decision.scratch = held;
        p->reason = CS_REASON_NONE;
        return;
    }
    if (held >= 0)
        cs_log_capped(&cap, CS_LOG_ERROR,
                      "A plan is refused, because it cannot run in the workspace that was reported "
                      "for it (%s). The program has to use another plan.",
                      cs_account_reason_text(p->reason));
    p->refused = held >= 0 && may_refuse(p->request);
    if (p->decision.reason == CS_REASON_NONE) { /* to tile, but a build failed */
        const struct cs_decision decided = p->decision;
        p->decision = cs_decide_leave(p->reason, p->request->required);
        p->decision.rule = decided.rule;
        p->decision.free = decided.free;
        p->decision.queries = decided.queries;
    }
}

/* Decides whether the plan is refused, and counts it. */
static void settle_refusal(struct preparing *p)
{
    bool due = cs_refusal_is_due(p->cs, p->request, p->vendor, &p->key, &p->decision, p->reason);
    if (due && p->rewrite) {
        cs_rewrite_discard(p->rewrite);
        p->rewrite = NULL;
        p->reason = CS_REASON_NO_TILING;
    }
    /* A size that another process may have reported cannot be computed if host memory is short. */
    const bool unknown = p->reason == CS_REASON_HOST_MEMORY && may_refuse(p->request);
    p->refused = p->refused || due || unknown;
    if (p->refused)
        cs_account_refused(&p->cs->account);
}

/* The most bytes of scratch that a call may take at run time: a workspace that the user wrote. Only
 * tiles that the price decides on take any. */
static int64_t most_scratch(const struct cs *cs, const struct cs_decision *decision)
{
    const struct cs_rule *rule = rule_at(cs, decision->rule);
    const struct cs_limits limits =
        rule ? cs_rule_limits(rule, &cs->limits, INT64_MAX) : cs->limits;
    const struct cs_policy *policy = cs->policy;
    if (rule && cs_rule_has(rule, CS_RULE_policy))
        policy = cs_policy_find(rule->policy.text);
    if (!policy || policy->tiles(&limits) > 0 || limits.lent)
        return 0;
    return limits.workspace >= 0 ? limits.workspace : INT64_MAX;
}

/* Makes the verdict, reserves scratch for its tiles, and counts the time since `begin`. */
static struct cs_verdict record_verdict(const struct preparing *p, int64_t begin)
{
    struct cs *cs = p->cs;
    struct cs_verdict verdict =
        verdict_of(cs, p->request, p->vendor, &p->decision, p->reason, p->rewrite);
    verdict.layer = p->key.hash | 1;
    verdict.refused = p->refused;
    verdict.most = most_scratch(cs, &p->decision);
    name_device(cs, p->vendor);
    if (p->rewrite && cs->exec.backing == CS_BACKING_OWN)
        cs_arena_reserve(&cs->exec.arena, cs->exec.device, p->rewrite->plan.workspace);
    cs_account_prepared(&cs->account, &verdict.site, cs_clock(CLOCK_MONOTONIC) - begin);
    return verdict;
}

/* Records the predicted time that the tiles add. */
static void predict_added(const struct cs_request *request, const struct cs_vendor *vendor,
                          struct cs_rewrite *rewrite)
{
    const struct cs_profile *profile = vendor->profile ? vendor->profile(vendor->ctx) : NULL;
    if (!profile || rewrite->plan.shapes == 0)
        return;
    const struct cs_cost cost = cs_cost_of(&rewrite->plan, request->required, profile);
    const struct cs_times untiled = untiled_times(request, profile), tiled = cs_cost_times(&cost);
    rewrite->added_ns = nanoseconds(tiled.least) - nanoseconds(untiled.least);
    rewrite->added_most_ns = nanoseconds(tiled.most) - nanoseconds(untiled.most);
}

/* Records whether the tiles give the bits of the untiled call, and their predicted time. */
static void judge_tiles(const struct cs_request *request, const struct cs_vendor *vendor,
                        struct cs_rewrite *rewrite)
{
    predict_added(request, vendor, rewrite);
    bool same = cs_decide_keeps_sums(&rewrite->plan);
    for (int64_t i = 0; i < rewrite->plan.shapes && vendor->keeps_bits; i++)
        same &= vendor->keeps_bits(rewrite->execution_plan[i]);
    rewrite->keeps_bits = same;
}

struct cs_verdict cs_flow_prepare(struct cs *cs, const struct cs_request *request,
                                  const struct cs_vendor *vendor)
{
    const int64_t begin = cs_clock(CLOCK_MONOTONIC);
    struct preparing p = {.cs = cs, .request = request, .vendor = vendor};
    cs_built_plans_init(&p.built, vendor);
    decide_tiles(&p);
    fall_back(&p);
    cs_built_plans_fini(&p.built);
    settle_refusal(&p);
    if (p.rewrite)
        judge_tiles(request, vendor, p.rewrite);
    return record_verdict(&p, begin);
}

struct cs_rewrite *cs_flow_fewer_tiles(struct cs *cs, const struct cs_request *request,
                                       const struct cs_vendor *vendor)
{
    struct cs_built_plans built;
    struct cs_rewrite *rewrite = NULL;
    cs_built_plans_init(&built, vendor);
    const struct cs_decision decision = cs_decisions_fewer(cs, request, &built.vendor);
    if (decision.reason == CS_REASON_NONE &&
        cs_build_only_tiles(&request->problem, &decision, &built, &rewrite) == CS_OK)
        judge_tiles(request, vendor, rewrite);
    cs_built_plans_fini(&built);
    return rewrite;
}

bool cs_flow_lends_scratch(const struct cs *cs, int64_t provided)
{
    return provided == 0 && cs->exec.backing != CS_BACKING_CLIENT && cs->exec.device;
}

struct cs_outcome cs_flow_try(struct cs *cs, const struct cs_verdict *verdict,
                              const struct cs_gpu *gpu, const struct cs_call *call)
{
    return call ? cs_exec_run(&cs->exec, &verdict->rewrite->plan, gpu, call)
                : cs_exec_fallback(gpu);
}

/* Counts a call by its outcome, and returns the vendor's status. `tiles`: those that ran. NULL: the
 * call ran untiled. */
static int count_outcome(struct cs *cs, const struct cs_verdict *verdict,
                         const struct cs_rewrite *tiles, struct cs_outcome outcome)
{
    switch (outcome.ran) {
    case CS_RAN_TILES:
        if (!tiles) {
            cs_flow_pass(cs, verdict, CS_REASON_ROOM);
            break;
        }
        cs_account_added(&cs->account, tiles->added_ns, tiles->added_most_ns);
        cs_account_tiled(&cs->account, &verdict->site, outcome.launches, outcome.lanes);
        break;
    case CS_RAN_FALLBACK:
        cs_account_fallback(&cs->account, &verdict->site);
        break;
    case CS_RAN_NOTHING:
        cs_account_failed(&cs->account, &verdict->site);
        break;
    }
    return outcome.vendor;
}

int cs_flow_run(struct cs *cs, const struct cs_verdict *verdict, const struct cs_gpu *gpu,
                const struct cs_call *call)
{
    return count_outcome(cs, verdict, verdict->rewrite, cs_flow_try(cs, verdict, gpu, call));
}

/* True if a call may run in another way than planned. */
static bool has_ways(const struct cs *cs, const struct cs_verdict *verdict,
                     const struct cs_call *call)
{
    return cs->host->memory[0] && call && verdict->most > 0 && verdict->rewrite->plan.tiles > 0 &&
           verdict->site.required > verdict->reported;
}

int cs_flow_run_best(struct cs *cs, const struct cs_verdict *verdict, const struct cs_gpu *gpu,
                     const struct cs_call *call, const struct cs_way_maker *maker)
{
    struct cs_outcome outcome;
    const struct cs_rewrite *tiles;
    const struct cs_way_call what = {.planned = verdict->rewrite,
                                     .gpu = gpu,
                                     .call = call,
                                     .required = verdict->site.required,
                                     .reported = verdict->reported,
                                     .most = verdict->most};
    if (!has_ways(cs, verdict, call) || !cs_ways_run(cs, &what, maker, &tiles, &outcome))
        return cs_flow_run(cs, verdict, gpu, call);
    return count_outcome(cs, verdict, tiles, outcome);
}

void cs_flow_watch(struct cs *cs, const struct cs_verdict *verdict, enum cs_reason reason,
                   const struct cs_problem *problem, const struct cs_addresses *addresses)
{
    const struct cs_call_scratch scratch = {
        .without = verdict->site.required,
        .with = reason == CS_REASON_PROVIDED ? verdict->site.required : verdict->site.possible};
    if (verdict->layer != 0)
        cs_convolution_peak_add(&cs->peak, cs_instance_context(cs), verdict->layer, &scratch,
                                problem, addresses);
}

void cs_flow_pass(struct cs *cs, const struct cs_verdict *verdict, enum cs_reason reason)
{
    cs_account_passed(&cs->account, verdict ? &verdict->site : NULL, reason);
}
