/* Calls of the legacy API: describes a call, finds or makes its entry, and runs it as tiles or
 * passes it on. */
#include "intercept/legacy/dispatch.h"

#include "cudnn/plan/execution_plan.h"
#include "cudnn/run/launcher.h"
#include "intercept/graph/describe_graph.h"
#include "intercept/legacy/plan_cache.h"
#include <stdlib.h>

/* The names of a problem's tensors in the library's variant packs. */
static const int64_t tensor_uid[CS_MAX_TENSORS] = {1, 2,  3,  4,  5,  6,  7,  8,
                                                   9, 10, 11, 12, 13, 14, 15, 16};

/* Decides on a call that cuDNN can be queried about. `limit` is the number of bytes that its tiles
 * may use, 0: as the options set it. */
static struct cs_verdict judge_call(struct cs *cs, const struct cs_legacy_call *call,
                                    const struct cs_problem *problem, int64_t required,
                                    int64_t limit)
{
    struct cs_engine_choice choice;
    cs_engine_choice_init(&choice, problem, tensor_uid, call->handle, cs_handle_id(call->handle));
    struct cs_request request = {.problem = *problem,
                                 .engine = {.index = -1},
                                 .required = required,
                                 .limit = limit,
                                 .scope = cs_engine_choice_scope(&choice)};
    struct cs_verdict verdict;
    if ((limit > 0 || !cs_flow_small(cs, required)) &&
        cs_engine_choice_pick(&choice, cs_legacy_call_forbidden(call, problem->compute)))
        request.engine = choice.engine;
    struct cs_vendor vendor = cs_execution_plan_vendor(&choice);
    verdict = cs_flow_prepare(cs, &request, &vendor);
    if (verdict.rewrite) /* tiles run on the backend's engines, the untiled call on an algorithm */
        verdict.rewrite->keeps_bits = false;
    cs_engine_choice_fini(&choice);
    return verdict;
}

/* Makes the key of a call's entry. */
static void key_of(const struct cs_legacy_call *call, const struct cs_problem *problem,
                   int64_t limit, struct cs_key *key)
{
    /* A legacy call names its engine by algorithm and math type. */
    struct cs_engine named = {.index = call->algorithm, .knobs = 1};
    named.knob_value[0] = call->math;
    cs_memo_key_make(problem, &named, 0, limit, (int64_t)(intptr_t)call->handle, key);
}

/* Queries the workspace that cuDNN requires for a call. False if the query fails. */
static bool required_of(const struct cs_legacy_call *call, int64_t *required_p)
{
    size_t bytes;
    if (cs_legacy_call_size(call, &bytes) != CUDNN_STATUS_SUCCESS || bytes > INT64_MAX)
        return false;
    *required_p = (int64_t)bytes;
    return true;
}

/* Returns the entry of a described call, and makes one if there is none. `required` < 0: cuDNN is
 * queried. `limit` is the number of bytes that the tiles may use, 0: as the options set it. NULL if
 * the problem is not supported, the query fails or host memory is short.
 *
 * The lock is not held while an entry is made. Two threads could make one for the same handle only
 * if they used the handle at once, which cuDNN forbids. */
static struct cs_plan_cache_entry *entry_of(struct cs *cs, const struct cs_legacy_call *call,
                                            const struct cs_problem *problem, int64_t required,
                                            int64_t limit)
{
    struct cs_key key;
    key_of(call, problem, limit, &key);
    struct cs_plan_cache_entry *entry = cs_plan_cache_find(&key);
    if (entry || cs_describe_check(problem) != CS_REASON_NONE ||
        (required < 0 && !required_of(call, &required)))
        return entry;
    entry = cs_plan_cache_new(&key);
    if (!entry)
        return NULL;
    entry->handle = call->handle;
    entry->captured = false;
    entry->required = required;
    entry->verdict = judge_call(cs, call, problem, required, limit);
    cs_plan_cache_insert(entry);
    return entry;
}

/* The size to report for a call that requires `required` bytes. Adds calls above the threshold to
 * the filter. */
static int64_t reported_size(struct cs *cs, const struct cs_legacy_call *call, int64_t required)
{
    struct cs_problem problem;
    struct cs_addresses none;
    if (cs_flow_small(cs, required))
        return required;
    cs_query_filter_add(call);
    if (cs_describe_legacy(call, &problem, &none) != CS_REASON_NONE)
        return required;
    const struct cs_plan_cache_entry *entry = entry_of(cs, call, &problem, required, 0);
    return entry ? entry->verdict.reported : required;
}

size_t cs_legacy_report_as(struct cs *cs, const struct cs_legacy_call *call, size_t required)
{
    return required > INT64_MAX ? required : (size_t)reported_size(cs, call, (int64_t)required);
}

size_t cs_legacy_report(struct cs *cs, struct cs_legacy_call *call, size_t required)
{
    call->math = cs_legacy_call_math(call->conv);
    return cs_legacy_report_as(cs, call, required);
}

void cs_legacy_report_results(struct cs *cs, const struct cs_legacy_call *call,
                              const struct cs_legacy_results *results)
{
    for (int i = 0; i < *results->returned; i++) {
        cs_legacy_result *result = &results->result[i];
        struct cs_legacy_call chosen = *call;
        chosen.algorithm = (int)result->algo;
        chosen.math = result->mathType;
        if (result->status == CUDNN_STATUS_SUCCESS)
            result->memory = cs_legacy_report_as(cs, &chosen, result->memory);
    }
}

/* A described call and its rewriting. */
struct match {
    struct cs_problem problem;
    struct cs_addresses addresses;
    struct cs_plan_cache_entry *entry; /* NULL if the call could not be described or planned */
    enum cs_reason reason;             /* why it is not tiled */
};

static int64_t provided_by(const struct cs_legacy_call *call)
{
    return call->execution.provided > INT64_MAX ? INT64_MAX : (int64_t)call->execution.provided;
}

/* Returns the entry whose tiles fit into the provided workspace. An entry without a rewriting has
 * the reason. */
static struct cs_plan_cache_entry *fitting_entry(struct cs *cs, const struct cs_legacy_call *call,
                                                 const struct cs_problem *problem)
{
    int64_t provided = provided_by(call);
    struct cs_plan_cache_entry *entry = entry_of(cs, call, problem, -1, 0);
    if (!entry || provided >= entry->required)
        return entry;
    const struct cs_rewrite *rewrite = entry->verdict.rewrite;
    if (rewrite && (provided >= entry->verdict.reported || cs_flow_lends_scratch(cs, provided)))
        return entry;
    return entry_of(cs, call, problem, entry->required, provided > 0 ? provided : 1);
}

/* Describes a call and finds its entry. Sets the reason if the call is not tiled. */
static void match_plan(struct cs *cs, const struct cs_legacy_call *call, struct match *match)
{
    match->entry = NULL;
    match->reason = cs_describe_legacy(call, &match->problem, &match->addresses);
    if (match->reason != CS_REASON_NONE)
        return;
    match->entry = fitting_entry(cs, call, &match->problem);
    match->reason =
        match->entry ? match->entry->verdict.reason : cs_describe_check(&match->problem);
    if (!match->entry && match->reason == CS_REASON_NONE)
        match->reason = CS_REASON_VENDOR;
}

static struct cs_launcher launcher_of(const struct cs_legacy_call *call, const struct match *match,
                                      int64_t provided)
{
    return (struct cs_launcher){.handle = call->handle,
                                .rewrite = match->entry->verdict.rewrite,
                                .problem = &match->problem,
                                .uid = tensor_uid,
                                .untiled = match->addresses,
                                .provided = provided};
}

/* True if a stream is being captured, or if the driver does not report that. */
static bool is_capturing(const struct cs *cs, void *stream)
{
    const struct cs_device *device = cs->exec.device;
    struct cs_capture capture = {0, NULL};
    return device && (device->capture(device->ctx, stream, &capture) != 0 || capture.id != 0);
}

/* A running call, for its other ways. */
struct way {
    const struct cs_legacy_call *call;
    const struct match *match;
    struct cs_launcher *launcher;
};

/* Runs the application's own call in `scratch`. */
static bool run_untiled(void *ctx, const struct cs_call *call, void *scratch, int64_t bytes,
                        int *status_p)
{
    const struct way *way = ctx;
    struct cs_legacy_call lent = *way->call;
    (void)call; /* the same operands */
    lent.execution.workspace = scratch;
    lent.execution.provided = (size_t)bytes;
    *status_p = (int)cs_legacy_call_run(&lent);
    return !cs_launcher_is_refused(*status_p);
}

static void use_tiles(void *ctx, const struct cs_rewrite *tiles)
{
    const struct way *way = ctx;
    way->launcher->tiles = tiles->execution_plan;
}

/* Builds tiles within `limit`, on the engine that judge_call has chosen. */
static struct cs_rewrite *build_tiles(void *ctx, struct cs *cs, int64_t limit)
{
    const struct way *way = ctx;
    const struct cs_problem *problem = &way->match->problem;
    struct cs_rewrite *tiles = NULL;
    struct cs_engine_choice choice;
    cs_engine_choice_init(&choice, problem, tensor_uid, way->call->handle,
                          cs_handle_id(way->call->handle));
    if (cs_engine_choice_pick(&choice, cs_legacy_call_forbidden(way->call, problem->compute))) {
        struct cs_request request = {.problem = *problem,
                                     .engine = choice.engine,
                                     .required = way->match->entry->required,
                                     .limit = limit,
                                     .scope = cs_engine_choice_scope(&choice)};
        struct cs_vendor vendor = cs_execution_plan_vendor(&choice);
        tiles = cs_flow_fewer_tiles(cs, &request, &vendor);
    }
    cs_engine_choice_fini(&choice);
    return tiles;
}

/* Runs a call as tiles. `counted`: the call is the application's. Otherwise it runs only to be
 * timed. */
static int run_tiled(struct cs *cs, const struct cs_legacy_call *call, const struct match *match,
                     bool counted)
{
    struct cs_call made = {.base = match->addresses,
                           .provided = match->addresses.workspace ? provided_by(call) : 0};
    struct cs_launcher launcher = launcher_of(call, match, made.provided);
    struct cs_gpu gpu = cs_launcher_gpu(&launcher, &made.stream);
    if (is_capturing(cs, made.stream))
        match->entry->captured = true;
    if (!counted)
        return cs_flow_try(cs, &match->entry->verdict, &gpu, &made).vendor;
    struct way way = {call, match, &launcher};
    const struct cs_way_maker maker = {.ctx = &way,
                                       .run_untiled = run_untiled,
                                       .use = use_tiles,
                                       .build = build_tiles,
                                       .patience = 1};
    return cs_flow_run_best(cs, &match->entry->verdict, &gpu, &made, &maker);
}

/* True if the call provides all of the workspace that it requires untiled. Then tiles would save no
 * memory. */
static bool provided_all(const struct cs_legacy_call *call, const struct cs_plan_cache_entry *entry)
{
    return call->execution.provided >= (size_t)entry->required &&
           entry->required > entry->verdict.reported;
}

bool cs_legacy_unfiltered(const struct cs *cs, const struct cs_legacy_call *call)
{
    return !cs_describes_all(cs) && !cs_query_filter_has(call);
}

bool cs_legacy_settle(struct cs *cs, int status)
{
    if (cs_launcher_is_refused(status))
        return false;
    cs_flow_pass(cs, NULL, CS_REASON_SMALL);
    return true;
}

/* True if a call has its scales and operands. cuDNN refuses other calls, but tiles would be started
 * with a missing address. */
static bool is_complete(const struct cs_legacy_call *call)
{
    const struct cs_legacy_execution *run = &call->execution;
    return run->data[CS_X] && run->data[CS_FILTER] && run->data[CS_Y] && run->alpha &&
           (call->fusion ? call->fusion->alpha2 : run->beta);
}

/* Returns the entry of the workspace query for a call, from the call without its scales and fused
 * operations, which queries lack. NULL if the full required size is reported for it. */
static const struct cs_plan_cache_entry *query_of(struct cs *cs, const struct cs_legacy_call *call)
{
    struct cs_problem problem;
    struct cs_addresses none;
    struct cs_legacy_call query = *call;
    query.fusion = NULL;
    query.execution = (struct cs_legacy_execution){.alpha = NULL};
    if (cs_describe_legacy(&query, &problem, &none) != CS_REASON_NONE)
        return NULL;
    const struct cs_plan_cache_entry *entry = entry_of(cs, &query, &problem, -1, 0);
    return entry && entry->verdict.rewrite ? entry : NULL;
}

int cs_legacy_lend(struct cs *cs, const struct cs_legacy_call *call, int status)
{
    struct cs_legacy_call lent = *call;
    struct cs_lease lease;
    cudaStream_t stream;
    if (!cs_launcher_is_refused(status) || !is_complete(call))
        return status;
    const struct cs_plan_cache_entry *query = query_of(cs, call);
    if (!query || provided_by(call) < query->verdict.reported ||
        provided_by(call) >= query->required ||
        CS_REAL(cudnnGetStream, call->handle, &stream) != CUDNN_STATUS_SUCCESS ||
        !cs_exec_lend(&cs->exec, stream, query->required, &lease))
        return status;
    lent.execution.workspace = lease.memory;
    lent.execution.provided = (size_t)query->required;
    status = (int)cs_legacy_call_run(&lent);
    cs_exec_take_back(&cs->exec, stream, &lease);
    return status;
}

bool cs_legacy_run(struct cs *cs, struct cs_legacy_call *call, int *status_p)
{
    struct match found;
    if (!is_complete(call)) {
        cs_flow_pass(cs, NULL, CS_REASON_ARGUMENTS);
        return false;
    }
    call->math = cs_legacy_call_math(call->conv);
    match_plan(cs, call, &found);
    const struct cs_plan_cache_entry *entry = found.entry;
    if (entry && entry->verdict.rewrite && !provided_all(call, entry)) {
        *status_p = run_tiled(cs, call, &found, true);
        cs_flow_watch(cs, &entry->verdict, CS_REASON_NONE, &found.problem, &found.addresses);
        return true;
    }
    if (entry && entry->verdict.rewrite)
        found.reason = CS_REASON_PROVIDED;
    if (entry)
        cs_flow_watch(cs, &entry->verdict, found.reason, &found.problem, &found.addresses);
    cs_flow_pass(cs, entry ? &entry->verdict : NULL, found.reason);
    return false;
}

bool cs_legacy_try(struct cs *cs, const struct cs_legacy_call *call, int *status_p)
{
    struct match found;
    match_plan(cs, call, &found);
    if (!found.entry || !found.entry->verdict.rewrite)
        return false;
    *status_p = run_tiled(cs, call, &found, false);
    return true;
}
