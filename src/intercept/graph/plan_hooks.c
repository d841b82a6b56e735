#include "intercept/graph/plan_hooks.h"

#include "cudnn/run/timing.h"
#include "intercept/graph/describe_graph.h"

static bool workspace_wanted(cudnnBackendDescriptor_t plan, int64_t *bytes_p)
{
    return CS_REAL(cudnnBackendGetAttribute, plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                   CUDNN_TYPE_INT64, 1, NULL, bytes_p) == CUDNN_STATUS_SUCCESS;
}

static struct cs_request request_of(const struct cs_maker *maker, int64_t wanted)
{
    return (struct cs_request){.problem = maker->problem,
                               .engine = maker->engine,
                               .wanted = wanted,
                               .scope = cs_maker_scope(maker)};
}

/* Why a plan cannot even be described; CS_REASON_NONE if it can. */
static enum cs_reason obstacle(const struct cs_shadow *plan)
{
    if (plan->plan.reason != CS_REASON_NONE)
        return plan->plan.reason;
    return plan->graph ? plan->graph->reason : CS_REASON_UNSEEN;
}

static struct cs_verdict judge(struct cs *cs, const struct cs_shadow *plan)
{
    struct cs_verdict verdict = {.reason = obstacle(plan)};
    struct cs_maker maker;
    int64_t wanted = 0;
    if (verdict.reason != CS_REASON_NONE)
        return verdict;
    cs_maker_init(&maker, &plan->graph->problem, plan->graph->uid, plan->graph->handle);
    if (workspace_wanted(plan->descriptor, &wanted) &&
        cs_maker_read_plan(&maker, plan->descriptor)) {
        struct cs_request request = request_of(&maker, wanted);
        struct cs_vendor vendor = cs_timing_vendor(&maker);
        verdict = cs_flow_prepare(cs, &request, &vendor);
    } else {
        verdict.reason = CS_REASON_VENDOR;
    }
    cs_maker_fini(&maker);
    return verdict;
}

void cs_rewrite_plan(struct cs *cs, struct cs_shadow *plan)
{
    plan->plan.counted = !plan->graph || plan->graph->convolution;
    if (plan->plan.counted)
        plan->plan.verdict = judge(cs, plan);
}

int64_t cs_rewrite_told(struct cs *cs, const struct cs_shadow *configuration, int64_t wanted)
{
    const struct cs_graph *graph = configuration->graph;
    int64_t told = wanted;
    struct cs_maker maker;
    if (!graph || !graph->convolution || graph->reason != CS_REASON_NONE)
        return told;
    cs_maker_init(&maker, &graph->problem, graph->uid, graph->handle);
    if (cs_maker_read(&maker, configuration->descriptor)) {
        struct cs_request request = request_of(&maker, wanted);
        struct cs_vendor vendor = cs_timing_vendor(&maker);
        told = cs_flow_told(cs, &request, &vendor);
    }
    cs_maker_fini(&maker);
    return told;
}

struct cs_launcher cs_rewrite_launcher(const struct cs_shadow *plan, cudnnHandle_t handle,
                                       cudnnBackendDescriptor_t pack)
{
    return (struct cs_launcher){.handle = handle,
                                .rewrite = plan->plan.verdict.rewrite,
                                .problem = &plan->graph->problem,
                                .uid = plan->graph->uid,
                                .pack = pack};
}

bool cs_rewrite_call(const struct cs_shadow *plan, const struct cs_launcher *launcher,
                     struct cs_call *call)
{
    const struct cs_shadow *noted = cs_shadow_find(launcher->pack);
    *call = (struct cs_call){.brought = 0};
    if (!noted || !cs_describe_pack(noted, plan->graph, &call->base))
        return false;
    /* Of the size nothing is known but that it was told. */
    if (call->base.workspace)
        call->brought = plan->plan.verdict.told;
    return true;
}

int cs_rewrite_run(struct cs *cs, const struct cs_shadow *plan, cudnnHandle_t handle,
                   cudnnBackendDescriptor_t pack)
{
    struct cs_call call;
    struct cs_launcher launcher = cs_rewrite_launcher(plan, handle, pack);
    bool understood = cs_rewrite_call(plan, &launcher, &call);
    struct cs_gpu gpu = cs_launcher_gpu(&launcher, &call.stream);
    return cs_flow_run(cs, &plan->plan.verdict, &gpu, understood ? &call : NULL);
}
