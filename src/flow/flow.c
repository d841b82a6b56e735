/* The order of the steps for one convolution: decide, plan, build, validate, later run and account.
 */
#include "flow/flow.h"

#include "base/checked.h"
#include "base/log.h"
#include "base/range.h"
#include "decide/cost.h"
#include "flow/build.h"
#include "flow/decisions.h"
#include "flow/refusal.h"
#include "flow/scoped_limit.h"
#include "flow/traced_gpu.h"
#include <string.h>

static const struct cs_rule *rule_at(const struct cs *cs, int number)
{
    return number > 0 ? &cs->rules.rule[number - 1] : NULL;
}

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
    const struct cs_settings settings = cs_decisions_settings(cs, cs_scoped_limit());
    return cs_decide_is_small(&settings, required);
}

int64_t cs_flow_reported(struct cs *cs, const struct cs_request *request,
                         const struct cs_vendor *vendor)
{
    struct cs_key key;
    struct cs_decision decision = cs_decisions_get(cs, request, vendor, &key);
    if (decision.reason == CS_REASON_NONE && !decision.promised)
        cs_memo_promise(&cs->memo, &key, &decision);
    return reported_of(request, &decision, decision.reason);
}

/* The bytes that would be reported if a policy that only reports applied its decisions. */
static int64_t reportable_of(const struct cs_request *request, const struct cs_decision *decision,
                             enum cs_reason reason)
{
    return reason == CS_REASON_REPORT_ONLY ? decision->reported
                                           : reported_of(request, decision, reason);
}

/* Bytes that a call takes while it runs, as known before. */
static int64_t footprint(const struct cs_site_facts *facts)
{
    int64_t sum = cs_site_reported(facts), bytes;
    for (int i = 0; i < facts->problem.tensors; i++) {
        const struct cs_tensor *tensor = &facts->problem.tensor[i];
        if (tensor->is_virtual || tensor->by_value ||
            cs_problem_tensor_span(tensor, &bytes) != CS_OK)
            continue;
        if (!cs_add(sum, bytes, &sum))
            return INT64_MAX;
    }
    return sum;
}

static int64_t nanoseconds(double seconds)
{
    return seconds < 1e9 ? (int64_t)(seconds * 1e9) : INT64_MAX;
}

/* Predicted times, for a summary that shows them. */
static void predict(const struct cs *cs, const struct cs_request *request,
                    const struct cs_vendor *vendor, const struct cs_rewrite *rewrite,
                    struct cs_site_facts *facts)
{
    const struct cs_profile *profile =
        cs_describes_all(cs) && vendor->profile ? vendor->profile(vendor->ctx) : NULL;
    if (!profile)
        return;
    const struct cs_cost whole = cs_cost_untiled(&request->problem, request->required, profile);
    const struct cs_times untiled = cs_cost_times(&whole);
    struct cs_times predicted = untiled;
    if (rewrite && rewrite->plan.shapes > 0) {
        const struct cs_cost tiled = cs_cost_of(&rewrite->plan, profile);
        predicted = cs_cost_times(&tiled);
    }
    facts->untiled_ns = nanoseconds(untiled.least);
    facts->untiled_most_ns = nanoseconds(untiled.most);
    facts->predicted_ns = nanoseconds(predicted.least);
    facts->predicted_most_ns = nanoseconds(predicted.most);
}

static void announce(const struct cs *cs, const struct cs_site_facts *facts)
{
    char text[512];
    if (cs->config.log < CS_LOG_INFO)
        return;
    cs_site_text(facts, text, sizeof text);
    const struct cs_rule *rule = rule_at(cs, facts->rule);
    cs_log(CS_LOG_INFO, "%s%s%s", text, rule ? ", rule " : "", rule ? rule->name : "");
}

static struct cs_verdict verdict_of(struct cs *cs, const struct cs_request *request,
                                    const struct cs_vendor *vendor,
                                    const struct cs_decision *decision, enum cs_reason reason,
                                    struct cs_rewrite *rewrite)
{
    /* If the scratch is the library's, callers get a smaller size than is used. */
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
        .asked = decision->asked,
        .limit = decision->limit,
        .record = decision->level.record,
        .beside = decision->level.beside,
        .raised = decision->raised && (reason == CS_REASON_NONE || reason == CS_REASON_REPORT_ONLY),
        .rule = decision->rule};
    predict(cs, request, vendor, rewrite, &facts);
    announce(cs, &facts);
    return (struct cs_verdict){.reason = reason,
                               .rewrite = rewrite,
                               .reported = reported_of(request, decision, reason),
                               .reportable = reportable_of(request, decision, reason),
                               .site = cs_account_site(&cs->account, &facts, cs_range_name()),
                               .footprint = footprint(&facts)};
}

/* True if the application relies on a size smaller than its own plan requires: the caller provided
 * it, or it was reported before. */
static bool is_held(const struct cs_request *request, const struct cs_decision *decision)
{
    return request->limit > 0 ? request->required > request->limit : decision->promised;
}

/* Records that the problem is not tiled, so that every later query gets the same answer. False if
 * another thread has reported the small size in between. */
static bool leave(struct cs *cs, const struct cs_request *request, const struct cs_key *key,
                  struct cs_decision *decision, enum cs_reason reason)
{
    struct cs_decision left = cs_decide_leave(reason, request->required);
    left.rule = decision->rule;
    left.asked = decision->asked;
    if (!cs_memo_leave(&cs->memo, key, &left)) {
        decision->promised = true;
        return false;
    }
    *decision = left;
    return true;
}

/* Handles a failed build, or a provided workspace that no tiling fits. If the application relies on
 * the small size, it gets the fallback plan or, without one, a plan that refuses. Otherwise the
 * problem is not tiled. */
static enum cs_reason fall_back(struct cs *cs, const struct cs_request *request,
                                struct cs_built_plans *built, const struct cs_key *key,
                                struct cs_decision *decision, enum cs_reason reason,
                                struct cs_rewrite **rewrite_p)
{
    static struct cs_log_cap cap; /* programs may query again at every step */
    int64_t reported = request->limit > 0 ? request->limit : decision->reported;
    bool held = is_held(request, decision);
    if (!held && (decision->reason != CS_REASON_NONE || leave(cs, request, key, decision, reason)))
        return reason;
    if (cs_build_fallback(reported, built, rewrite_p) == CS_OK) {
        decision->reported = decision->scratch = reported;
        return CS_REASON_NONE;
    }
    cs_log_capped(&cap, CS_LOG_ERROR,
                  "A plan is refused, because it cannot run in the workspace that was reported for "
                  "it (%s). The program has to use another plan.",
                  cs_account_reason_text(reason));
    if (request->limit > 0 && decision->reason == CS_REASON_NONE)
        (void)leave(cs, request, key, decision, reason);
    return reason;
}

/* Once, for the summary that names it. */
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

struct cs_verdict cs_flow_prepare(struct cs *cs, const struct cs_request *request,
                                  const struct cs_vendor *vendor)
{
    struct cs_key key;
    struct cs_built_plans built;
    int64_t begin = cs_trace_now();
    cs_built_plans_init(&built, vendor);
    struct cs_decision decision = cs_decisions_get(cs, request, &built.vendor, &key);
    struct cs_rewrite *rewrite = NULL;
    enum cs_reason reason = decision.reason;
    if (reason == CS_REASON_NONE)
        reason = reason_of(cs_build_tiles(&request->problem, &decision, &built, &rewrite));
    if (reason != CS_REASON_NONE && reason != CS_REASON_RULE &&
        (request->limit > 0 || reason != decision.reason))
        reason = fall_back(cs, request, &built, &key, &decision, reason, &rewrite);
    cs_built_plans_fini(&built);
    bool due = cs_refusal_is_due(cs, request, vendor, &key, &decision, reason);
    if (due && rewrite) {
        cs_rewrite_discard(rewrite);
        rewrite = NULL;
        reason = CS_REASON_NO_TILING;
    }
    struct cs_verdict verdict = verdict_of(cs, request, vendor, &decision, reason, rewrite);
    verdict.layer = key.hash | 1;
    verdict.refused = due || (reason != CS_REASON_NONE && decision.promised);
    if (verdict.refused)
        cs_account_refused(&cs->account);
    name_device(cs, vendor);
    if (rewrite && cs->exec.backing == CS_BACKING_OWN)
        cs_arena_reserve(&cs->exec.arena, cs->exec.device, rewrite->plan.workspace);
    cs_account_prepared(&cs->account, &verdict.site, cs_trace_now() - begin);
    return verdict;
}

struct cs_verdict cs_flow_runs_ours(struct cs *cs, const struct cs_request *request,
                                    const struct cs_vendor *vendor)
{
    struct cs_verdict verdict = cs_flow_prepare(cs, request, vendor);
    if (verdict.rewrite)
        return verdict;
    int64_t most = request->limit > 0 ? request->limit : request->required;
    if (cs_build_untiled(&request->problem, vendor, most, verdict.reported, &verdict.rewrite) !=
        CS_OK)
        verdict.rewrite = NULL;
    return verdict;
}

bool cs_flow_lends_scratch(const struct cs *cs, int64_t provided)
{
    return provided == 0 && cs->exec.backing != CS_BACKING_CLIENT && cs->exec.device;
}

static void take_turn(struct cs *cs, const struct cs_verdict *verdict)
{
    if (cs->config.interleave == CS_INTERLEAVE_STAGE && verdict && verdict->site.place &&
        cs->exec.device)
        cs_gate_pass(&cs->gate, cs_instance_context(cs), verdict->site.hash, verdict->footprint);
}

static struct cs_outcome run_tiles(struct cs *cs, const struct cs_verdict *verdict,
                                   const struct cs_gpu *gpu, const struct cs_call *call)
{
    return call ? cs_exec_run(&cs->exec, &verdict->rewrite->plan, gpu, call)
                : cs_exec_fallback(gpu);
}

struct cs_outcome cs_flow_try(struct cs *cs, const struct cs_verdict *verdict,
                              const struct cs_gpu *gpu, const struct cs_call *call)
{
    struct cs_traced traced;
    if (!cs_trace_on(&cs->trace))
        return run_tiles(cs, verdict, gpu, call);
    return run_tiles(cs, verdict, cs_traced_gpu(&traced, &cs->trace, gpu, call), call);
}

/* Records the call for the trace. */
static void annotate_trace(int64_t number, const struct cs_verdict *verdict, const char *outcome)
{
    *cs_trace_annotated() = (struct cs_trace_annotate){.number = number, .outcome = outcome};
    if (verdict)
        cs_trace_annotated()->site = verdict->site;
}

int cs_flow_run(struct cs *cs, const struct cs_verdict *verdict, const struct cs_gpu *gpu,
                const struct cs_call *call)
{
    int64_t number = 0;
    const char *ran = "";
    take_turn(cs, verdict);
    struct cs_outcome outcome = cs_flow_try(cs, verdict, gpu, call);
    switch (outcome.ran) {
    case CS_RAN_TILES:
        number = cs_account_tiled(&cs->account, &verdict->site, outcome.launches, outcome.lanes);
        ran = "tiles";
        break;
    case CS_RAN_FALLBACK:
        number = cs_account_fallback(&cs->account, &verdict->site);
        ran = "fallback";
        break;
    case CS_RAN_NOTHING:
        number = cs_account_failed(&cs->account, &verdict->site);
        ran = "failed";
        break;
    }
    if (cs_trace_on(&cs->trace))
        annotate_trace(number, verdict, ran);
    return outcome.vendor;
}

void cs_flow_watch(struct cs *cs, const struct cs_verdict *verdict,
                   const struct cs_problem *problem, const struct cs_addresses *addresses)
{
    if (verdict->layer != 0)
        cs_peak_note(&cs->peak, cs_instance_context(cs), verdict->layer, verdict->reportable,
                     problem, addresses);
}

void cs_flow_pass(struct cs *cs, const struct cs_verdict *verdict, enum cs_reason reason)
{
    take_turn(cs, verdict);
    int64_t number = cs_account_passed(&cs->account, verdict ? &verdict->site : NULL, reason);
    if (cs_trace_on(&cs->trace))
        annotate_trace(number, verdict, cs_account_reason_id(reason));
}
