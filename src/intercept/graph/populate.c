/* Turns a tiled plan into child graphs of a CUDA graph, and updates them. */
#include "intercept/graph/plan_hooks.h"

#include "cudnn/plan/execution_plan.h"
#include "cudnn/run/launcher.h"

/* A run of a plan that creates or changes nodes instead of launching. */
struct node_run {
    struct cs_launcher launcher;
    cudaGraph_t all;      /* contains the nodes of the tiles or of the fallback plan */
    cudaGraphNode_t last; /* the previous tile's node, or this tile's when nodes are changed */
};

static int status_of(cudaError_t error)
{
    return error == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

static const struct cs_execution_plan *plan_of(const struct node_run *run, int shape)
{
    return run->launcher.rewrite->execution_plan[shape];
}

/* Readies the plan of a tile and makes its variant pack (cs_gpu.bind). */
static int bind(void *ctx, int shape, const struct cs_addresses *addresses, void **pack_p)
{
    const struct node_run *run = ctx;
    cudnnBackendDescriptor_t pack;
    int status = cs_launcher_prepare(&run->launcher, shape);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cs_launcher_pack(&run->launcher, addresses, &pack);
    if (status == CUDNN_STATUS_SUCCESS)
        *pack_p = pack;
    return status;
}

static void release(void *ctx, void *pack)
{
    (void)ctx;
    (void)CS_REAL(cudnnBackendDestroyDescriptor, pack);
}

static int add_nodes(const struct node_run *run, const struct cs_execution_plan *execution_plan,
                     cudnnBackendDescriptor_t pack, cudaGraph_t graph)
{
    return (int)CS_REAL(cudnnBackendPopulateCudaGraph, run->launcher.handle, execution_plan->plan,
                        pack, graph);
}

/* Makes a graph with a plan's nodes. The caller destroys it. */
static int make_graph(const struct node_run *run, const struct cs_execution_plan *execution_plan,
                      cudnnBackendDescriptor_t pack, cudaGraph_t *graph_p)
{
    cudaGraph_t graph;
    int status = status_of(CS_CUDA(cudaGraphCreate, &graph, 0));
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    status = add_nodes(run, execution_plan, pack, graph);
    if (status == CUDNN_STATUS_SUCCESS)
        *graph_p = graph;
    else
        (void)CS_CUDA(cudaGraphDestroy, graph);
    return status;
}

/* Adds a tile after the last node (cs_gpu.launch). Nodes form one chain without lanes, because
 * tiles share their scratch. cuDNN populates only whole graphs, so each tile's nodes become a child
 * graph. A child is copied when it is added. */
static int add_tile(void *ctx, int shape, void *pack)
{
    struct node_run *run = ctx;
    cudaGraph_t tile;
    cudaGraphNode_t node;
    int status = make_graph(run, plan_of(run, shape), pack, &tile);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    status = status_of(CS_CUDA(cudaGraphAddChildGraphNode, &node, run->all,
                               run->last ? &run->last : NULL, run->last ? 1 : 0, tile));
    (void)CS_CUDA(cudaGraphDestroy, tile);
    if (status == CUDNN_STATUS_SUCCESS)
        run->last = node;
    return status;
}

static int add_copy(void *ctx, const struct cs_copy *copy, void *view, void *packed, bool in)
{
    struct node_run *run = ctx;
    int status = CUDNN_STATUS_SUCCESS;
    for (int64_t i = 0; i < copy->times && status == CUDNN_STATUS_SUCCESS; i++) {
        const CUDA_MEMCPY3D box = cs_copy_box(copy, view, packed, in, i);
        status = cs_copy_add_node(&box, run->all, &run->last);
    }
    return status;
}

/* Replaces the tiles that were added by the fallback plan's nodes. */
static int add_fallback(void *ctx)
{
    struct node_run *run = ctx;
    cudaGraph_t graph;
    int status = cs_launcher_prepare_fallback(&run->launcher);
    if (status == CUDNN_STATUS_SUCCESS)
        status = make_graph(run, run->launcher.rewrite->fallback, run->launcher.pack, &graph);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    (void)CS_CUDA(cudaGraphDestroy, run->all);
    run->all = graph;
    return CUDNN_STATUS_SUCCESS;
}

/* Returns the node after a node of a chain. NULL after the last one, or if several follow.
 * cudaGraphNodeGetDependentNodes has one more argument since CUDA 13. */
static cudaGraphNode_t next_node(cudaGraphNode_t node)
{
    typedef cudaError_t before_13(cudaGraphNode_t, cudaGraphNode_t *, size_t *);
    cudaGraphNode_t next[2] = {NULL};
    size_t count = 2; /* the size of the array, which limits the result */
    int version = 0;
    cudaError_t error = CS_CUDA(cudaRuntimeGetVersion, &version);
    if (error == cudaSuccess && version >= 13000)
        error = CS_CUDA(cudaGraphNodeGetDependentNodes, node, next, NULL, &count);
    else if (error == cudaSuccess && cs_runtime()->cudaGraphNodeGetDependentNodes)
        error =
            ((before_13 *)(void *)cs_runtime()->cudaGraphNodeGetDependentNodes)(node, next, &count);
    return error == cudaSuccess && count == 1 ? next[0] : NULL;
}

/* Changes the addresses of a tile's node, and moves on to the next node. The same plan has the same
 * nodes in the same order. */
static int change_tile(void *ctx, int shape, void *pack)
{
    struct node_run *run = ctx;
    cudaGraph_t tile;
    if (!run->last)
        return CUDNN_STATUS_BAD_PARAM;
    int status = status_of(CS_CUDA(cudaGraphChildGraphNodeGetGraph, run->last, &tile));
    if (status == CUDNN_STATUS_SUCCESS)
        status = (int)CS_REAL(cudnnBackendUpdateCudaGraph, run->launcher.handle,
                              plan_of(run, shape)->plan, pack, tile);
    run->last = next_node(run->last);
    return status;
}

/* Changes the addresses of a copy's nodes, and moves on to the next node (cs_gpu.copy). */
static int change_copy(void *ctx, const struct cs_copy *copy, void *view, void *packed, bool in)
{
    struct node_run *run = ctx;
    int status = CUDNN_STATUS_SUCCESS;
    for (int64_t i = 0; i < copy->times && status == CUDNN_STATUS_SUCCESS; i++) {
        const CUDA_MEMCPY3D box = cs_copy_box(copy, view, packed, in, i);
        if (!run->last)
            return CUDNN_STATUS_BAD_PARAM;
        status = cs_copy_change_node(&box, run->last);
        run->last = next_node(run->last);
    }
    return status;
}

/* Changes the addresses of the fallback plan's nodes. The nodes may be another plan's, because this
 * plan's fallback plan may never have run. */
static int change_fallback(void *ctx)
{
    struct node_run *run = ctx;
    const struct cs_execution_plan *fallback = run->launcher.rewrite->fallback;
    int status = cs_launcher_prepare_fallback(&run->launcher);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    status = (int)CS_REAL(cudnnBackendUpdateCudaGraph, run->launcher.handle, fallback->plan,
                          run->launcher.pack, run->all);
    /* If the engine makes no nodes, cuDNN reports an error for the application's plan. */
    return status == CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API ? CUDNN_STATUS_BAD_PARAM
                                                                      : status;
}

/* Adds the fallback plan's nodes to the application's graph, if no child graph can be made. Tiles
 * need one, but cuDNN does not. */
static int add_fallback_alone(const struct node_run *run, cudaGraph_t graph)
{
    int status = cs_launcher_prepare_fallback(&run->launcher);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    return add_nodes(run, run->launcher.rewrite->fallback, run->launcher.pack, graph);
}

int cs_populate(struct cs *cs, const struct cs_shadow *plan, cudnnHandle_t handle,
                cudnnBackendDescriptor_t pack, cudaGraph_t graph)
{
    struct node_run run = {.launcher = cs_plan_hooks_launcher(plan, handle, pack)};
    struct cs_gpu gpu = {.ctx = &run,
                         .bind = bind,
                         .launch = add_tile,
                         .release = release,
                         .fallback = add_fallback,
                         .copy = cs_copy_possible() ? add_copy : NULL,
                         .only_records = true};
    cudaGraphNode_t node;
    if (CS_CUDA(cudaGraphCreate, &run.all, 0) != cudaSuccess)
        return add_fallback_alone(&run, graph);
    struct cs_call call;
    bool understood = cs_plan_hooks_call(plan, &run.launcher, &call);
    int status = cs_flow_run(cs, &plan->plan.verdict, &gpu, understood ? &call : NULL);
    if (status == CUDNN_STATUS_SUCCESS)
        status = status_of(CS_CUDA(cudaGraphAddChildGraphNode, &node, graph, NULL, 0, run.all));
    (void)CS_CUDA(cudaGraphDestroy, run.all);
    return status;
}

static cudaGraphNode_t only_root(cudaGraph_t graph)
{
    cudaGraphNode_t root[2] = {NULL};
    size_t count = 2; /* the size of the array, which limits the result */
    cudaError_t error = CS_CUDA(cudaGraphGetRootNodes, graph, root, &count);
    return error == cudaSuccess && count == 1 ? root[0] : NULL;
}

static bool is_of_type(cudaGraphNode_t node, enum cudaGraphNodeType required)
{
    enum cudaGraphNodeType type;
    return node && CS_CUDA(cudaGraphNodeGetType, node, &type) == cudaSuccess && type == required;
}

/* True if the graph is a chain of tiles, perhaps with copies before them. Nodes of a fallback plan
 * have no child graphs. */
static bool holds_tiles(cudaGraph_t graph)
{
    cudaGraphNode_t node = only_root(graph);
    while (is_of_type(node, cudaGraphNodeTypeMemcpy))
        node = next_node(node);
    return is_of_type(node, cudaGraphNodeTypeGraph);
}

int cs_populate_update(struct cs *cs, const struct cs_shadow *plan, cudnnHandle_t handle,
                       cudnnBackendDescriptor_t pack, cudaGraph_t graph)
{
    struct node_run run = {.launcher = cs_plan_hooks_launcher(plan, handle, pack)};
    struct cs_gpu gpu = {.ctx = &run,
                         .bind = bind,
                         .launch = change_tile,
                         .release = release,
                         .fallback = change_fallback,
                         .copy = cs_copy_possible() ? change_copy : NULL};
    cudaGraphNode_t root = only_root(graph);
    if (!is_of_type(root, cudaGraphNodeTypeGraph) ||
        CS_CUDA(cudaGraphChildGraphNodeGetGraph, root, &run.all) != cudaSuccess)
        run.all = graph;
    /* The nodes of a fallback plan contain no tiles to change. */
    if (run.all == graph || !holds_tiles(run.all))
        return change_fallback(&run);
    run.last = only_root(run.all);
    struct cs_call call;
    bool understood = cs_plan_hooks_call(plan, &run.launcher, &call);
    int status = cs_flow_try(cs, &plan->plan.verdict, &gpu, understood ? &call : NULL).vendor;
    /* Remaining nodes mean that the graph has another plan's nodes. */
    return status == CUDNN_STATUS_SUCCESS && run.last ? CUDNN_STATUS_BAD_PARAM : status;
}
