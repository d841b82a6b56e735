/* What goes into CUDA graphs where tiles cannot: the fallback plan, which is made ready first. */
#include "intercept/graph/populate.h"

#include "cudnn/bind/runtime.h"
#include "cudnn/plan/execution_plan.h"
#include "cudnn/run/copy_cuda.h"
#include "intercept/graph/plan_hooks.h"
#include "vendor_fixture.h"

/* What the test's cuDNN and runtime were asked for, and how they answer. */
static struct {
    struct cs_execution_plan fallback; /* finalized once it is made ready */
    struct cs_rewrite rewrite;
    int prepared, populated, updated;
    cudnnStatus_t prepare;
} fake;

static struct cs_runtime runtime; /* of which every function fails */
static char finalized[8], graph[8];

const struct cs_runtime *cs_runtime(void)
{
    return &runtime;
}

bool cs_copy_possible(void)
{
    return false;
}

CUDA_MEMCPY3D cs_copy_box(const struct cs_copy *copy, void *view, void *packed, bool in,
                          int64_t number)
{
    (void)copy, (void)view, (void)packed, (void)in, (void)number;
    return (CUDA_MEMCPY3D){.Depth = 0};
}

int cs_copy_add_node(const CUDA_MEMCPY3D *box, CUgraph to, CUgraphNode *last_p)
{
    (void)box, (void)to, (void)last_p;
    return CUDNN_STATUS_NOT_SUPPORTED;
}

int cs_copy_change_node(const CUDA_MEMCPY3D *box, CUgraphNode node)
{
    (void)box, (void)node;
    return CUDNN_STATUS_NOT_SUPPORTED;
}

int cs_launcher_pack(const struct cs_launcher *launcher, const struct cs_addresses *addresses,
                     cudnnBackendDescriptor_t *pack_p)
{
    (void)launcher, (void)addresses, (void)pack_p;
    return CUDNN_STATUS_NOT_SUPPORTED;
}

int cs_launcher_prepare(const struct cs_launcher *launcher, int shape)
{
    (void)launcher, (void)shape;
    return CUDNN_STATUS_NOT_SUPPORTED;
}

int cs_launcher_prepare_fallback(const struct cs_launcher *launcher)
{
    CHECK(launcher->rewrite == &fake.rewrite);
    fake.prepared++;
    if (fake.prepare == CUDNN_STATUS_SUCCESS)
        fake.fallback.plan = (cudnnBackendDescriptor_t)finalized;
    return (int)fake.prepare;
}

struct cs_launcher cs_plan_hooks_launcher(const struct cs_shadow *plan, cudnnHandle_t handle,
                                          cudnnBackendDescriptor_t pack)
{
    (void)plan;
    return (struct cs_launcher){.handle = handle, .rewrite = &fake.rewrite, .pack = pack};
}

bool cs_plan_hooks_call(const struct cs_shadow *plan, const struct cs_launcher *launcher,
                        struct cs_call *call)
{
    (void)plan, (void)launcher, (void)call;
    return false;
}

int cs_flow_run(struct cs *cs, const struct cs_verdict *verdict, const struct cs_gpu *gpu,
                const struct cs_call *call)
{
    (void)cs, (void)verdict, (void)call;
    return gpu->fallback(gpu->ctx);
}

struct cs_outcome cs_flow_try(struct cs *cs, const struct cs_verdict *verdict,
                              const struct cs_gpu *gpu, const struct cs_call *call)
{
    return (struct cs_outcome){.vendor = cs_flow_run(cs, verdict, gpu, call)};
}

static cudnnStatus_t populate(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                              cudnnBackendDescriptor_t pack, cudaGraph_t to)
{
    (void)handle, (void)pack;
    CHECK(plan == (cudnnBackendDescriptor_t)finalized);
    CHECK(to == (cudaGraph_t)(void *)graph);
    fake.populated++;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t update(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                            cudnnBackendDescriptor_t pack, cudaGraph_t to)
{
    (void)handle, (void)pack;
    CHECK(plan == (cudnnBackendDescriptor_t)finalized);
    CHECK(to == (cudaGraph_t)(void *)graph);
    fake.updated++;
    return CUDNN_STATUS_SUCCESS;
}

static void start(cudnnStatus_t prepare)
{
    memset(&fake, 0, sizeof fake);
    fake.prepare = prepare;
    fake.rewrite.fallback = &fake.fallback;
    vendor = (struct cs_real){.cudnnBackendPopulateCudaGraph = populate,
                              .cudnnBackendUpdateCudaGraph = update};
}

static int populated(void)
{
    static const struct cs_shadow plan;
    return cs_populate(NULL, &plan, NULL, NULL, (cudaGraph_t)(void *)graph);
}

static int updated(void)
{
    static const struct cs_shadow plan;
    return cs_populate_update(NULL, &plan, NULL, NULL, (cudaGraph_t)(void *)graph);
}

/* The runtime makes no graph for the tiles. */
static void without_a_graph_the_fallback_plan_is_added(void)
{
    start(CUDNN_STATUS_SUCCESS);
    CHECK_INT(populated(), CUDNN_STATUS_SUCCESS);
    CHECK_INT(fake.prepared, 1);
    CHECK_INT(fake.populated, 1);
    start(CUDNN_STATUS_NOT_SUPPORTED);
    CHECK_INT(populated(), CUDNN_STATUS_NOT_SUPPORTED);
    CHECK_INT(fake.populated, 0);
}

/* Of a graph that another plan of the same convolution has populated. */
static void nodes_of_a_fallback_plan_are_updated(void)
{
    start(CUDNN_STATUS_SUCCESS);
    CHECK_INT(updated(), CUDNN_STATUS_SUCCESS);
    CHECK_INT(fake.prepared, 1);
    CHECK_INT(fake.updated, 1);
    start(CUDNN_STATUS_NOT_SUPPORTED);
    CHECK_INT(updated(), CUDNN_STATUS_NOT_SUPPORTED);
    CHECK_INT(fake.updated, 0);
}

int main(void)
{
    TEST(without_a_graph_the_fallback_plan_is_added);
    TEST(nodes_of_a_fallback_plan_are_updated);
    return REPORT();
}
