/* Handles the application's plans: decides when they are finalized, and runs them as tiles when
 * they are executed. */
#include "intercept/graph/plan_hooks.h"

#include "base/log.h"
#include "cudnn/plan/execution_plan.h"
#include "intercept/graph/describe_graph.h"

static bool workspace_required(cudnnBackendDescriptor_t plan, int64_t *bytes_p)
{
    return CS_REAL(cudnnBackendGetAttribute, plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                   CUDNN_TYPE_INT64, 1, NULL, bytes_p) == CUDNN_STATUS_SUCCESS;
}

static struct cs_request request_of(const struct cs_engine_choice *choice, int64_t required)
{
    return (struct cs_request){.problem = choice->problem,
                               .engine = choice->engine,
                               .required = required,
                               .scope = cs_engine_choice_scope(choice)};
}

/* The reason why a plan cannot be described, or CS_REASON_NONE. */
static enum cs_reason obstacle_of(const struct cs_shadow *plan)
{
    if (plan->plan.reason != CS_REASON_NONE)
        return plan->plan.reason;
    return plan->graph ? plan->graph->reason : CS_REASON_UNSEEN;
}

/* Decides on a plan that was loaded from JSON, so that it keeps the size that was reported before
 * it was saved (`held`). With the same options it has the same tiles. With others, tiles or the
 * fallback plan run within that size. If neither can, the plan is refused. */
static struct cs_verdict judge_loaded(struct cs *cs, int64_t held, struct cs_request *request,
                                      const struct cs_vendor *vendor)
{
    static struct cs_log_cap cap;
    if (held >= request->required)
        return cs_flow_prepare(cs, request, vendor);
    if (cs_flow_reported(cs, request, vendor) > held)
        request->limit = held;
    struct cs_verdict verdict = cs_flow_prepare(cs, request, vendor);
    if (verdict.rewrite) {
        verdict.reported = held;
    } else {
        verdict.refused = true;
        cs_log_capped(&cap, CS_LOG_ERROR,
                      "A plan loaded from JSON is refused: its reported workspace is %lld bytes, "
                      "and it cannot run in that with these options. Load it with the options that "
                      "it was written with, or plan again.",
                      (long long)held);
    }
    return verdict;
}

/* Decides on a finalized plan. The verdict has a reason if the plan cannot be described or read. */
static struct cs_verdict judge_plan(struct cs *cs, const struct cs_shadow *plan)
{
    struct cs_verdict verdict = {.reason = obstacle_of(plan)};
    struct cs_engine_choice choice;
    int64_t required = 0;
    if (verdict.reason != CS_REASON_NONE || !plan->graph)
        return verdict;
    /* The plan's handle is used, because the graph's may have been destroyed, and a loaded plan's
     * graph has none. */
    bool own = plan->plan.handle && (plan->graph->handle || plan->plan.held > 0);
    cudnnHandle_t handle = own ? plan->plan.handle : plan->graph->handle;
    cs_engine_choice_init(&choice, &plan->graph->problem, plan->graph->uid, handle,
                          own ? cs_handle_id(handle) : plan->graph->id);
    choice.many = atomic_exchange_explicit(&plan->graph->planned, true, memory_order_relaxed);
    if (choice.many)
        atomic_store_explicit(&plan->graph->many, true, memory_order_relaxed);
    if (workspace_required(plan->descriptor, &required) &&
        cs_engine_choice_read_plan(&choice, plan->descriptor)) {
        struct cs_request request = request_of(&choice, required);
        struct cs_vendor vendor = cs_execution_plan_vendor(&choice);
        if (plan->plan.held > 0) {
            verdict = judge_loaded(cs, plan->plan.held, &request, &vendor);
        } else {
            request.source = plan->listed ? CS_SOURCE_LISTED : CS_SOURCE_OWN;
            verdict = cs_flow_prepare(cs, &request, &vendor);
        }
    } else {
        verdict.reason = CS_REASON_VENDOR;
    }
    cs_engine_choice_fini(&choice);
    return verdict;
}

void cs_plan_hooks_finalize(struct cs *cs, struct cs_shadow *plan)
{
    plan->plan.counted = !plan->graph || plan->graph->convolution;
    if (plan->plan.counted)
        plan->plan.verdict = judge_plan(cs, plan);
}

int64_t cs_plan_hooks_reported(struct cs *cs, const struct cs_shadow *configuration,
                               int64_t required)
{
    struct cs_graph *graph = configuration->graph;
    int64_t reported = required;
    struct cs_engine_choice choice;
    if (!graph || !graph->convolution || graph->reason != CS_REASON_NONE)
        return reported;
    cs_engine_choice_init(&choice, &graph->problem, graph->uid, graph->handle, graph->id);
    if (cs_engine_choice_read(&choice, configuration->descriptor)) {
        struct cs_request request = request_of(&choice, required);
        struct cs_vendor vendor = cs_execution_plan_vendor(&choice);
        reported = cs_flow_reported(cs, &request, &vendor);
    }
    cs_engine_choice_fini(&choice);
    return reported;
}

struct cs_launcher cs_plan_hooks_launcher(const struct cs_shadow *plan, cudnnHandle_t handle,
                                          cudnnBackendDescriptor_t pack)
{
    return (struct cs_launcher){.handle = handle,
                                .rewrite = plan->plan.verdict.rewrite,
                                .problem = &plan->graph->problem,
                                .uid = plan->graph->uid,
                                .pack = pack,
                                .provided = INT64_MAX};
}

bool cs_plan_hooks_call(const struct cs_shadow *plan, const struct cs_launcher *launcher,
                        struct cs_call *call)
{
    const struct cs_shadow *noted = cs_shadow_find(launcher->pack);
    *call = (struct cs_call){.provided = 0};
    if (!noted || !cs_describe_pack(noted, plan->graph, &call->base))
        return false;
    /* The pack's size is not known, so the reported one is assumed. */
    if (call->base.workspace)
        call->provided = plan->plan.verdict.reported;
    return true;
}

void cs_plan_hooks_pass(struct cs *cs, const struct cs_shadow *plan, cudnnBackendDescriptor_t pack)
{
    const struct cs_verdict *verdict = &plan->plan.verdict;
    struct cs_addresses addresses;
    const struct cs_shadow *noted = plan->graph ? cs_shadow_find(pack) : NULL;
    if (noted && cs_describe_pack(noted, plan->graph, &addresses))
        cs_flow_watch(cs, verdict, verdict->reason, &plan->graph->problem, &addresses);
    cs_flow_pass(cs, verdict, verdict->reason);
}

/* A running call, for its other ways. */
struct way {
    const struct cs_shadow *plan;
    struct cs_launcher *launcher;
};

/* Runs the application's own plan in `scratch`. */
static bool run_untiled(void *ctx, const struct cs_call *call, void *scratch, int64_t bytes,
                        int *status_p)
{
    const struct way *way = ctx;
    (void)bytes; /* what the plan requires */
    return cs_launcher_run(way->launcher, way->plan->descriptor, &call->base, scratch, status_p);
}

static void use_tiles(void *ctx, const struct cs_rewrite *tiles)
{
    const struct way *way = ctx;
    way->launcher->tiles = tiles->execution_plan;
}

/* Builds tiles of the plan's engine within `limit`. */
static struct cs_rewrite *build_tiles(void *ctx, struct cs *cs, int64_t limit)
{
    const struct way *way = ctx;
    const struct cs_graph *graph = way->plan->graph;
    struct cs_rewrite *tiles = NULL;
    struct cs_engine_choice choice;
    cs_engine_choice_init(&choice, &graph->problem, graph->uid, way->launcher->handle,
                          cs_handle_id(way->launcher->handle));
    if (cs_engine_choice_read_plan(&choice, way->plan->descriptor)) {
        struct cs_request request = request_of(&choice, way->plan->plan.verdict.site.required);
        struct cs_vendor vendor = cs_execution_plan_vendor(&choice);
        request.source = CS_SOURCE_OWN;
        request.limit = limit;
        tiles = cs_flow_fewer_tiles(cs, &request, &vendor);
    }
    cs_engine_choice_fini(&choice);
    return tiles;
}

int cs_plan_hooks_run(struct cs *cs, const struct cs_shadow *plan, cudnnHandle_t handle,
                      cudnnBackendDescriptor_t pack)
{
    struct cs_call call;
    struct cs_launcher launcher = cs_plan_hooks_launcher(plan, handle, pack);
    bool understood = cs_plan_hooks_call(plan, &launcher, &call);
    if (understood)
        launcher.provided = call.provided;
    struct cs_gpu gpu = cs_launcher_gpu(&launcher, &call.stream);
    struct way way = {plan, &launcher};
    const struct cs_way_maker maker = {.ctx = &way,
                                       .run_untiled = run_untiled,
                                       .use = use_tiles,
                                       .build = build_tiles,
                                       .patience = atomic_load(&plan->graph->many) ? 2 : 1};
    int status = cs_flow_run_best(cs, &plan->plan.verdict, &gpu, understood ? &call : NULL, &maker);
    if (understood)
        cs_flow_watch(cs, &plan->plan.verdict, CS_REASON_NONE, launcher.problem, &call.base);
    return status;
}
