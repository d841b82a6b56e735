/* What goes into CUDA graphs where tiles cannot: the fallback plan, which is made ready first; and
 * which graphs are those of a tiled plan. */
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
    int tiles; /* that an update changes; 0: it falls back */
    int roots; /* of the graph */
    int nodes; /* in a chain, in the only root's child graph */
    cudnnStatus_t prepare, update;
} fake;

static struct cs_runtime runtime; /* of which every function fails but for updates of tiles */
static char finalized[8], graph[8], all[8], tile[8];

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
    int status = fake.tiles > 0 ? 0 : cs_flow_run(cs, verdict, gpu, call);
    for (int i = 0; i < fake.tiles && status == 0; i++)
        status = gpu->launch(gpu->ctx, 0, NULL);
    return (struct cs_outcome){.vendor = status};
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
    CHECK(to == (cudaGraph_t)(void *)(fake.tiles > 0 ? tile : graph));
    fake.updated++;
    return fake.update;
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

/* Of a fallback plan whose engine makes no nodes none can be there. */
static void nodes_that_none_can_have_made_are_wrong(void)
{
    start(CUDNN_STATUS_SUCCESS);
    fake.update = CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API;
    CHECK_INT(updated(), CUDNN_STATUS_BAD_PARAM);
    fake.update = CUDNN_STATUS_BAD_PARAM;
    CHECK_INT(updated(), CUDNN_STATUS_BAD_PARAM);
    fake.update = CUDNN_STATUS_EXECUTION_FAILED;
    CHECK_INT(updated(), CUDNN_STATUS_EXECUTION_FAILED);
    CHECK_INT(fake.updated, 3);
}

/* Nodes are numbers: the chain's from 1 on, and of the graph's roots the first. */
static cudaGraphNode_t node(int number)
{
    return (cudaGraphNode_t)(uintptr_t)number;
}

static cudaError_t give(cudaGraphNode_t first, int found, cudaGraphNode_t *nodes, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        nodes[i] = (int)i < found ? first : NULL;
    *count = (size_t)found < *count ? (size_t)found : *count;
    return cudaSuccess;
}

static cudaError_t roots(cudaGraph_t of, cudaGraphNode_t *nodes, size_t *count)
{
    return of == (cudaGraph_t)(void *)graph ? give(node(1000), fake.roots, nodes, count)
                                            : give(node(1), 1, nodes, count);
}

static cudaError_t dependents(cudaGraphNode_t of, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges,
                              size_t *count)
{
    int number = (int)(uintptr_t)of;
    (void)edges;
    return give(node(number + 1), number < fake.nodes, nodes, count);
}

static cudaError_t type_of(cudaGraphNode_t of, enum cudaGraphNodeType *type)
{
    (void)of;
    *type = cudaGraphNodeTypeGraph;
    return cudaSuccess;
}

static cudaError_t child(cudaGraphNode_t of, cudaGraph_t *found)
{
    *found = (cudaGraph_t)(void *)(of == node(1000) ? all : tile);
    return cudaSuccess;
}

static cudaError_t version(int *found)
{
    *found = 13000;
    return cudaSuccess;
}

static int updated_tiles(int tiles, int nodes, int count)
{
    start(CUDNN_STATUS_SUCCESS);
    fake.rewrite.execution_plan[0] = &fake.fallback;
    fake.fallback.plan = (cudnnBackendDescriptor_t)finalized;
    fake.tiles = tiles;
    fake.nodes = nodes;
    fake.roots = count;
    runtime = (struct cs_runtime){.cudaGraphGetRootNodes = roots,
                                  .cudaGraphNodeGetDependentNodes = dependents,
                                  .cudaGraphNodeGetType = type_of,
                                  .cudaGraphChildGraphNodeGetGraph = child,
                                  .cudaRuntimeGetVersion = version};
    int status = updated();
    memset(&runtime, 0, sizeof runtime);
    return status;
}

/* No more and no fewer nodes than the plan has tiles. */
static void another_plans_nodes_are_refused(void)
{
    CHECK_INT(updated_tiles(3, 3, 1), CUDNN_STATUS_SUCCESS);
    CHECK_INT(fake.updated, 3);
    CHECK_INT(updated_tiles(3, 4, 1), CUDNN_STATUS_BAD_PARAM);
    CHECK_INT(updated_tiles(3, 2, 1), CUDNN_STATUS_BAD_PARAM);
    CHECK_INT(fake.updated, 2);
}

/* It is for cuDNN to say what they are. */
static void of_several_roots_none_is_ours(void)
{
    CHECK_INT(updated_tiles(0, 3, 2), CUDNN_STATUS_SUCCESS);
    CHECK_INT(fake.prepared, 1);
    CHECK_INT(fake.updated, 1);
}

int main(void)
{
    TEST(without_a_graph_the_fallback_plan_is_added);
    TEST(nodes_of_a_fallback_plan_are_updated);
    TEST(nodes_that_none_can_have_made_are_wrong);
    TEST(another_plans_nodes_are_refused);
    TEST(of_several_roots_none_is_ours);
    return REPORT();
}
