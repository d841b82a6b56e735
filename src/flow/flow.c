/* The order of the steps for one convolution: decide, plan, build, validate, and later run and
 * account. */
#include "flow/flow.h"

#include "base/checked.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/range.h"
#include "decide/by_rules.h"
#include "decide/example.h"
#include "decide/memo.h"
#include "flow/built_plans.h"
#include "flow/measure.h"
#include "flow/scoped_limit.h"
#include "flow/traced_gpu.h"
#include <stdlib.h>
#include <string.h>

enum {
    MOST_RIVALS = 4 /* engines that are decided about in the place of one that no tiling suits */
};

/* `limit`: of the program, in place of the option; 0: none. */
static struct cs_settings settings_of(const struct cs *cs, int64_t limit)
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

static const struct cs_rule *rule_at(const struct cs *cs, int number)
{
    return number > 0 ? &cs->rules.rule[number - 1] : NULL;
}

/* What cs_decide_by_rules asks of a running process. */
struct help {
    struct cs *cs;
    const struct cs_request *request;
    const struct cs_vendor *vendor;
    struct cs_measure measure;
    struct cs_referee referee;
};

static int64_t share(void *ctx, const struct cs_policy *policy, const struct cs_limits *limits)
{
    struct help *help = ctx;
    return cs_budget_limit(&help->cs->budget, &help->cs->store, help->request, policy, limits,
                           help->vendor);
}

static int64_t room(void *ctx)
{
    struct help *help = ctx;
    return cs_peak_room(&help->cs->peak, &help->cs->store,
                        cs_peak_name(help->request, help->vendor));
}

static const struct cs_referee *referee_for(void *ctx, const struct cs_limits *limits)
{
    struct help *help = ctx;
    help->measure = (struct cs_measure){&help->cs->store, help->request, help->vendor, limits};
    help->referee = cs_measure_referee(&help->measure);
    return &help->referee;
}

static struct cs_decision decide_anew(struct cs *cs, const struct cs_request *request,
                                      const struct cs_vendor *vendor, int64_t limit)
{
    struct help help = {.cs = cs, .request = request, .vendor = vendor};
    const struct cs_settings settings = settings_of(cs, limit);
    const struct cs_decide_call call = {.problem = &request->problem,
                                        .required = request->required,
                                        .engine = request->engine.index,
                                        .provided = request->limit};
    return cs_decide_by_rules(&settings, &call, vendor,
                              &(struct cs_decide_help){&help, share, room, referee_for});
}

/* What is decided under a limit of the program is another matter than the same without. */
static int64_t scope_of(const struct cs_request *request, int64_t limit)
{
    return (int64_t)((uint64_t)request->scope ^ (uint64_t)limit * CS_HASH_PRIME);
}

/* The key of the example for a request: the same with what predictions know of the engine in the
 * place of its knobs. False where nothing is known. */
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

/* As the same engine with other knobs, if that was decided about; otherwise searched for. Where
 * nothing can follow, the device is not asked what it is: policy off calls nothing. */
static struct cs_decision decide_new(struct cs *cs, const struct cs_request *request,
                                     const struct cs_vendor *vendor, int64_t limit)
{
    struct cs_decision decision, example;
    struct cs_key key;
    bool keyed =
        vendor->many && !cs->policy->report_only && example_key(request, vendor, limit, &key);
    if (keyed && cs_memo_get(&cs->memo, &key, &example) &&
        cs_decide_by_example(&example, &request->problem, vendor, &decision)) {
        cs_memo_choices(&cs->memo, &key, &decision.choices);
        return decision;
    }
    decision = decide_anew(cs, request, vendor, limit);
    if (decision.exemplary && (keyed || example_key(request, vendor, limit, &key)) &&
        (!cs_memo_get(&cs->memo, &key, &example) ||
         cs_decide_is_better_example(&decision, &example)))
        cs_memo_put(&cs->memo, &key, &decision);
    return decision;
}

static struct cs_decision decide(struct cs *cs, const struct cs_request *request,
                                 const struct cs_vendor *vendor, struct cs_key *key)
{
    struct cs_decision decision;
    const int64_t limit = cs_scoped_limit();
    cs_memo_key_make(&request->problem, &request->engine, request->required, request->limit,
                     scope_of(request, limit), key);
    if (cs_memo_get(&cs->memo, key, &decision))
        return decision;
    decision = decide_new(cs, request, vendor, limit);
    /* A moment without memory is no property of the problem. */
    if (decision.reason != CS_REASON_HOST_MEMORY)
        cs_memo_add(&cs->memo, key, &decision);
    return decision;
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

static enum cs_status make_ready(const struct cs_vendor *vendor, void *execution_plan)
{
    bool later = vendor->compiles || vendor->many;
    return vendor->ready && !later ? vendor->ready(vendor->ctx, execution_plan) : CS_OK;
}

static enum cs_status build_execution_plans(struct cs_rewrite *rewrite,
                                            struct cs_built_plans *built)
{
    struct cs_plan *plan = &rewrite->plan;
    for (int64_t i = 0; i < plan->shapes; i++) {
        struct cs_problem shape;
        cs_plan_problem(plan, i, &shape);
        enum cs_status status =
            cs_built_plans_build(built, &shape, plan->shape[i].relaxation,
                                 &rewrite->execution_plan[i], &plan->shape[i].workspace);
        if (status == CS_OK)
            status = make_ready(built->real, rewrite->execution_plan[i]);
        if (status != CS_OK)
            return status;
    }
    cs_plan_settle(plan);
    return CS_OK;
}

static enum cs_status build_fallback(struct cs_rewrite *rewrite, int64_t reported,
                                     struct cs_built_plans *built)
{
    int64_t bytes;
    enum cs_status status = cs_built_plans_fallback(built, reported, &rewrite->fallback, &bytes);
    return status == CS_OK && bytes > reported ? CS_INVALID : status;
}

/* The same for a problem that was decided about: such a plan is known to be there, and few are ever
 * run. */
static enum cs_status build_known_fallback(struct cs_rewrite *rewrite, int64_t reported,
                                           struct cs_built_plans *built)
{
    const struct cs_vendor *vendor = built->real;
    if (vendor->many && vendor->fallback_later && !cs_built_plans_has_fallback(built, reported) &&
        vendor->fallback_later(vendor->ctx, reported, &rewrite->fallback) == CS_OK)
        return CS_OK;
    return build_fallback(rewrite, reported, built);
}

static struct cs_rewrite *start(const struct cs_vendor *vendor)
{
    struct cs_rewrite *rewrite = calloc(1, sizeof *rewrite);
    if (rewrite)
        rewrite->destroy = vendor->destroy;
    return rewrite;
}

/* Hands a rewriting out if it was built whole. */
static enum cs_status finish(enum cs_status status, struct cs_rewrite *rewrite,
                             struct cs_rewrite **rewrite_p)
{
    if (status == CS_OK)
        *rewrite_p = rewrite;
    else
        cs_rewrite_discard(rewrite);
    return status;
}

static enum cs_status build_tiles(const struct cs_request *request,
                                  const struct cs_decision *decision, struct cs_built_plans *built,
                                  struct cs_rewrite **rewrite_p)
{
    struct cs_rewrite *rewrite = start(built->real);
    if (!rewrite)
        return CS_NOMEM;
    enum cs_status status = cs_plan_cut(&request->problem, &decision->tiling, &rewrite->plan);
    if (status == CS_OK)
        status = build_execution_plans(rewrite, built);
    if (status == CS_OK)
        status = build_known_fallback(rewrite, decision->reported, built);
    if (status == CS_OK)
        status = cs_plan_validate(&rewrite->plan, decision->scratch);
    return finish(status, rewrite, rewrite_p);
}

/* A rewriting without tiles: every call runs on the fallback plan. */
static enum cs_status build_whole(int64_t reported, struct cs_built_plans *built,
                                  struct cs_rewrite **rewrite_p)
{
    struct cs_rewrite *rewrite = start(built->real);
    if (!rewrite)
        return CS_NOMEM;
    return finish(build_fallback(rewrite, reported, built), rewrite, rewrite_p);
}

static int64_t reported_of(const struct cs_request *request, const struct cs_decision *decision,
                           enum cs_reason reason)
{
    return reason == CS_REASON_NONE ? decision->reported : request->required;
}

bool cs_flow_small(const struct cs *cs, int64_t required)
{
    const struct cs_settings settings = settings_of(cs, cs_scoped_limit());
    return cs_decide_is_small(&settings, required);
}

int64_t cs_flow_reported(struct cs *cs, const struct cs_request *request,
                         const struct cs_vendor *vendor)
{
    struct cs_key key;
    struct cs_decision decision = decide(cs, request, vendor, &key);
    if (decision.reason == CS_REASON_NONE && !decision.promised)
        cs_memo_promise(&cs->memo, &key, &decision);
    return reported_of(request, &decision, decision.reason);
}

/* A policy that only reports shows what its tiling would have reported. */
static int64_t reported(const struct cs_request *request, const struct cs_decision *decision,
                        enum cs_reason reason)
{
    return reason == CS_REASON_REPORT_ONLY ? decision->scratch
                                           : reported_of(request, decision, reason);
}

/* What a call takes while it runs, as far as is known. */
static int64_t footprint(const struct cs_site_facts *facts)
{
    int64_t sum = facts->reported, bytes;
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
                                    const struct cs_decision *decision, enum cs_reason reason)
{
    /* Where scratch is ours, less is reported to callers than is used. */
    int64_t used = reported(request, decision, reason);
    if (reason == CS_REASON_NONE && used < decision->scratch)
        used = decision->scratch;
    struct cs_site_facts facts = {
        .problem = request->problem,
        .engine = request->engine.index,
        .reason = reason,
        .tiling = decision->tiling,
        .tiles = decision->tiles,
        .required = request->required,
        .reported = used,
        .asked = decision->asked,
        .choices = decision->choices,
        .limit = decision->limit,
        .raised = decision->raised && (reason == CS_REASON_NONE || reason == CS_REASON_REPORT_ONLY),
        .rule = decision->rule};
    announce(cs, &facts);
    return (struct cs_verdict){.reason = reason,
                               .reported = reported_of(request, decision, reason),
                               .site = cs_account_site(&cs->account, &facts, cs_range_name()),
                               .footprint = footprint(&facts)};
}

/* Who holds a size less than what the application's own plan requires: a caller that provided it,
 * or whoever had it reported before. */
static bool is_held(const struct cs_request *request, const struct cs_decision *decision)
{
    return request->limit > 0 ? request->required > request->limit : decision->promised;
}

/* Leaves the problem alone from now on, so that every question about it gets one answer. False if
 * another thread has reported the small size meanwhile. */
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

/* Building failed, or nothing fits what the caller provided. Whoever holds the small size already
 * gets the fallback plan or, without one, a plan that refuses; otherwise the problem is left alone.
 */
static enum cs_reason fall_back(struct cs *cs, const struct cs_request *request,
                                struct cs_built_plans *built, const struct cs_key *key,
                                struct cs_decision *decision, enum cs_reason reason,
                                struct cs_rewrite **rewrite_p)
{
    static struct cs_log_cap cap; /* programs may ask again for every step */
    int64_t reported = request->limit > 0 ? request->limit : decision->reported;
    bool held = is_held(request, decision);
    if (!held && (decision->reason != CS_REASON_NONE || leave(cs, request, key, decision, reason)))
        return reason;
    if (build_whole(reported, built, rewrite_p) == CS_OK) {
        decision->reported = decision->scratch = reported;
        return CS_REASON_NONE;
    }
    cs_log_capped(&cap, CS_LOG_ERROR, "no fallback plan fits the reported workspace (%s)",
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
    cs_lock(&cs->account.lock); /* a summary may just be written */
    memcpy(cs->device, profile->name, sizeof cs->device);
    cs_unlock(&cs->account.lock);
}

/* What another engine has to do with. */
struct rival {
    struct cs *cs;
    const struct cs_request *request;
    int64_t limit;
    int looks;
};

/* True if the engine does with the limit, in one piece or in tiles. Few are looked at. */
static bool look_at_rival(void *to, const struct cs_engine *engine, int64_t required,
                          const struct cs_vendor *vendor)
{
    struct rival *rival = to;
    struct cs_request request = *rival->request;
    struct cs_key key;
    if (required <= rival->limit)
        return true;
    if (engine->index == request.engine.index && required == request.required)
        return false;
    request.engine = *engine;
    request.required = required;
    return rival->looks++ < MOST_RIVALS &&
           decide(rival->cs, &request, vendor, &key).reason == CS_REASON_NONE;
}

/* Whether cuDNN lists another engine that does; the answer is kept with the decision. */
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

/* True if the plan is one that no tiling makes small enough, and the application is to take
 * another: as the option says. What is dear to tile is run as it is rather than on an engine that
 * nobody has compared. */
static bool is_refused(struct cs *cs, const struct cs_request *request,
                       const struct cs_vendor *vendor, const struct cs_key *key,
                       struct cs_decision *decision, enum cs_reason reason)
{
    bool dear = reason == CS_REASON_DEAR || reason == CS_REASON_NO_GAIN;
    bool untileable = reason == CS_REASON_NO_TILING || reason == CS_REASON_NO_FALLBACK ||
                      reason == CS_REASON_VENDOR;
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

struct cs_verdict cs_flow_prepare(struct cs *cs, const struct cs_request *request,
                                  const struct cs_vendor *vendor)
{
    struct cs_key key;
    struct cs_built_plans built;
    int64_t begin = cs_trace_now();
    cs_built_plans_init(&built, vendor);
    struct cs_decision decision = decide(cs, request, &built.vendor, &key);
    struct cs_rewrite *rewrite = NULL;
    enum cs_reason reason = decision.reason;
    if (reason == CS_REASON_NONE)
        reason = reason_of(build_tiles(request, &decision, &built, &rewrite));
    if (reason != CS_REASON_NONE && reason != CS_REASON_RULE &&
        (request->limit > 0 || reason != decision.reason))
        reason = fall_back(cs, request, &built, &key, &decision, reason, &rewrite);
    cs_built_plans_fini(&built);
    if (decision.choices.listed == 0)
        cs_memo_choices(&cs->memo, &key, &decision.choices);
    struct cs_verdict verdict = verdict_of(cs, request, &decision, reason);
    verdict.rewrite = rewrite;
    if (cs->peak.on)
        verdict.watched = cs_peak_name(request, vendor);
    verdict.refused = (reason != CS_REASON_NONE && decision.promised) ||
                      (!rewrite && is_refused(cs, request, vendor, &key, &decision, reason));
    if (verdict.refused)
        cs_account_refused(&cs->account);
    name_device(cs, vendor);
    if (rewrite && cs->exec.backing == CS_BACKING_OWN)
        cs_arena_reserve(&cs->exec.arena, cs->exec.device, rewrite->plan.workspace);
    cs_account_prepared(&cs->account, &verdict.site, cs_trace_now() - begin);
    return verdict;
}

/* The application's own plan in the fallback plan's place; false if it requires more than there is.
 */
static bool build_own(const struct cs_request *request, const struct cs_vendor *vendor,
                      struct cs_rewrite *rewrite)
{
    int64_t bytes, most = request->limit > 0 ? request->limit : request->required;
    if (vendor->build(vendor->ctx, &request->problem, CS_SAME_KNOBS, &rewrite->fallback, &bytes) !=
        CS_OK)
        return false;
    if (bytes <= most)
        return true;
    rewrite->destroy(rewrite->fallback);
    rewrite->fallback = NULL;
    return false;
}

struct cs_verdict cs_flow_runs_ours(struct cs *cs, const struct cs_request *request,
                                    const struct cs_vendor *vendor)
{
    struct cs_verdict verdict = cs_flow_prepare(cs, request, vendor);
    if (verdict.rewrite)
        return verdict;
    struct cs_built_plans nothing;
    struct cs_rewrite *rewrite = start(vendor);
    if (!rewrite)
        return verdict;
    cs_built_plans_init(&nothing, vendor);
    if (build_own(request, vendor, rewrite) ||
        build_fallback(rewrite, verdict.reported, &nothing) == CS_OK)
        verdict.rewrite = rewrite;
    else
        cs_rewrite_discard(rewrite);
    return verdict;
}

bool cs_flow_lends_scratch(const struct cs *cs, int64_t provided)
{
    return provided == 0 && cs->exec.backing != CS_BACKING_CLIENT && cs->exec.device;
}

static void take_turn(struct cs *cs, const struct cs_verdict *verdict)
{
    const struct cs_device *device = cs->exec.device;
    if (cs->config.interleave == CS_INTERLEAVE_STAGE && verdict && verdict->site.place && device)
        cs_gate_pass(&cs->gate, device->context(device->ctx), verdict->site.hash,
                     verdict->footprint);
}

static struct cs_outcome try(struct cs *cs, const struct cs_verdict *verdict,
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
        return try(cs, verdict, gpu, call);
    return try(cs, verdict, cs_traced_gpu(&traced, &cs->trace, gpu, call), call);
}

/* For the trace of the call. */
static void note(int64_t number, const struct cs_verdict *verdict, const char *outcome)
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
        note(number, verdict, ran);
    return outcome.vendor;
}

void cs_flow_watch(struct cs *cs, const struct cs_verdict *verdict,
                   const struct cs_problem *problem, const struct cs_addresses *addresses)
{
    if (verdict->watched.site != 0)
        cs_peak_note(&cs->peak, &cs->store, verdict->watched, verdict->reported, problem,
                     addresses);
}

void cs_flow_pass(struct cs *cs, const struct cs_verdict *verdict, enum cs_reason reason)
{
    take_turn(cs, verdict);
    int64_t number = cs_account_passed(&cs->account, verdict ? &verdict->site : NULL, reason);
    if (cs_trace_on(&cs->trace))
        note(number, verdict, cs_account_reason_id(reason));
}
