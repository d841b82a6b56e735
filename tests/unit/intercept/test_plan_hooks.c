/* With which handle plans of our own are made for a plan of the application's. */
#include "intercept/graph/plan_hooks.h"

#include "cudnn/run/timing.h"
#include "intercept/graph/describe_graph.h"
#include "vendor_fixture.h"

static cudnnHandle_t made_with; /* that the last choice of an engine was begun with */
static int64_t made_number;     /* that it had when a plan was read, and whether it was of many */
static bool made_many;
static char graphs_own[8], plans_own[8];

void cs_engine_choice_init(struct cs_engine_choice *choice, const struct cs_problem *problem,
                           const int64_t uid[CS_MAX_TENSORS], cudnnHandle_t handle)
{
    (void)problem, (void)uid;
    memset(choice, 0, sizeof *choice);
    made_with = handle;
}

void cs_engine_choice_fini(struct cs_engine_choice *choice)
{
    (void)choice;
}

bool cs_engine_choice_read(struct cs_engine_choice *choice, cudnnBackendDescriptor_t configuration)
{
    (void)choice, (void)configuration;
    return true;
}

bool cs_engine_choice_read_plan(struct cs_engine_choice *choice, cudnnBackendDescriptor_t plan)
{
    (void)plan;
    made_number = choice->handle_number;
    made_many = choice->many;
    return true;
}

int64_t cs_engine_choice_scope(const struct cs_engine_choice *choice)
{
    (void)choice;
    return 0;
}

struct cs_vendor cs_timing_vendor(struct cs_engine_choice *choice)
{
    return (struct cs_vendor){.ctx = choice};
}

struct cs_verdict cs_flow_prepare(struct cs *cs, const struct cs_request *request,
                                  const struct cs_vendor *of)
{
    (void)cs, (void)request, (void)of;
    return (struct cs_verdict){.reported = 1};
}

int64_t cs_flow_reported(struct cs *cs, const struct cs_request *request,
                         const struct cs_vendor *of)
{
    (void)cs, (void)request, (void)of;
    return 1;
}

void cs_flow_pass(struct cs *cs, const struct cs_verdict *verdict, enum cs_reason reason)
{
    (void)cs, (void)verdict, (void)reason;
}

void cs_flow_watch(struct cs *cs, const struct cs_verdict *verdict,
                   const struct cs_problem *problem, const struct cs_addresses *addresses)
{
    (void)cs, (void)verdict, (void)problem, (void)addresses;
}

int cs_flow_run(struct cs *cs, const struct cs_verdict *verdict, const struct cs_gpu *gpu,
                const struct cs_call *call)
{
    (void)cs, (void)verdict, (void)gpu, (void)call;
    return 0;
}

struct cs_gpu cs_launcher_gpu(struct cs_launcher *launcher, void **stream_p)
{
    (void)launcher, (void)stream_p;
    return (struct cs_gpu){.ctx = NULL};
}

static cudnnStatus_t get(cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t requested, int64_t *count,
                         void *elements)
{
    (void)of, (void)name, (void)type, (void)requested, (void)count;
    *(int64_t *)elements = 1000;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnHandle_t finalized_with(void *graphs, void *plans)
{
    struct cs_graph graph = {.convolution = true, .handle = graphs};
    struct cs_shadow plan = {.type = CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, .graph = &graph};
    plan.plan.handle = plans;
    made_with = NULL;
    vendor = (struct cs_real){.cudnnBackendGetAttribute = get};
    cs_plan_hooks_finalize(NULL, &plan);
    CHECK(plan.plan.counted);
    CHECK_INT(plan.plan.verdict.reported, 1);
    return made_with;
}

/* The graph's may be gone when the plan is finalized. Graphs for a device's properties have no
 * handle, nor have the plans that are made of them. */
static void plans_are_made_with_the_plans_handle(void)
{
    CHECK(finalized_with(graphs_own, plans_own) == (cudnnHandle_t)(void *)plans_own);
    CHECK(finalized_with(graphs_own, NULL) == (cudnnHandle_t)(void *)graphs_own);
    CHECK(finalized_with(NULL, plans_own) == NULL);
}

/* The number that the graph's handle had, and whether the graph has had a plan before. */
static void plans_know_their_graph(void)
{
    struct cs_graph graph = {
        .convolution = true, .handle = (cudnnHandle_t)(void *)graphs_own, .handle_number = 4711};
    for (int i = 0; i < 3; i++) {
        struct cs_shadow plan = {.type = CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, .graph = &graph};
        vendor = (struct cs_real){.cudnnBackendGetAttribute = get};
        cs_plan_hooks_finalize(NULL, &plan);
        CHECK_INT(made_number, 4711);
        CHECK_INT(made_many, i > 0);
    }
}

int main(void)
{
    TEST(plans_know_their_graph);
    TEST(plans_are_made_with_the_plans_handle);
    return REPORT();
}
