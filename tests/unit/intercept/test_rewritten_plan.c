/* An application's plan through the exported functions, on a recorded cuDNN: the size that it is
 * told, the calls that its execution makes, and the calls after a failure. */
#include "intercept/entry/entry.h"

#include "cudnn/plan/execution_plan.h"
#include "entry_fixture.h"
#include "recorded_sizes.h"

/* Unused addresses, far apart. */
#define PLACE(i) ((void *)((uintptr_t)(i) << 30))

static char handle[16];
static int executed, fails_at; /* this execution fails; 0: none */
static bool untiled;           /* one of them was of all pixels */
static int64_t last_engine, last_workspace;

static cudnnStatus_t execute(cudnnHandle_t of, cudnnBackendDescriptor_t plan,
                             cudnnBackendDescriptor_t pack)
{
    CHECK(of == (cudnnHandle_t)(void *)handle && recorded_at(pack)->finalized);
    untiled |= is_untiled(recorded_at(plan));
    last_engine = index_of(recorded_at(plan));
    const struct attribute_set *workspace =
        attribute_of(recorded_at(pack), CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
    last_workspace = workspace ? workspace->value[0] : 0;
    return ++executed == fails_at ? CUDNN_STATUS_EXECUTION_FAILED : CUDNN_STATUS_SUCCESS;
}

static cudnnBackendDescriptor_t mine[200]; /* that the test made */
static int mines;

static cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t made = NULL;
    CHECK_INT(cudnnBackendCreateDescriptor(type, &made), CUDNN_STATUS_SUCCESS);
    mine[mines++] = made;
    return made;
}

/* Destroys them in any order, and checks that the library keeps none of its own. */
static void finish(void)
{
    while (mines > 0)
        CHECK_INT(cudnnBackendDestroyDescriptor(mine[--mines]), CUDNN_STATUS_SUCCESS);
    cs_kept_engine_forget();
    CHECK_INT(cudnn.alive, 0);
}

static void set(cudnnBackendDescriptor_t to, int name, cudnnBackendAttributeType_t type,
                int64_t count, const void *elements)
{
    CHECK_INT(
        cudnnBackendSetAttribute(to, (cudnnBackendAttributeName_t)name, type, count, elements),
        CUDNN_STATUS_SUCCESS);
}

static void link_to(cudnnBackendDescriptor_t from, int name, cudnnBackendDescriptor_t to)
{
    set(from, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &to);
}

static cudnnBackendDescriptor_t tensor(int64_t uid, int64_t n, int64_t c, int64_t extent)
{
    cudnnBackendDescriptor_t made = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const int64_t dims[] = {n, c, extent, extent}, alignment = 16,
                  strides[] = {c * extent * extent, extent * extent, extent, 1};
    const cudnnDataType_t half = CUDNN_DATA_HALF;
    set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &half);
    set(made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims);
    set(made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
    set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
    set(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    CHECK_INT(cudnnBackendFinalize(made), CUDNN_STATUS_SUCCESS);
    return made;
}

static cudnnDataType_t compute = CUDNN_DATA_FLOAT;

static cudnnBackendDescriptor_t graph(void)
{
    const int64_t spatial = 2, ones[] = {1, 1};
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    const float alpha = 1, beta = 0;
    void *of = handle;
    cudnnBackendDescriptor_t conv = make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    set(conv, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &spatial);
    set(conv, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    set(conv, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    set(conv, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, ones);
    set(conv, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, ones);
    set(conv, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, ones);
    set(conv, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, ones);
    CHECK_INT(cudnnBackendFinalize(conv), CUDNN_STATUS_SUCCESS);
    cudnnBackendDescriptor_t operation =
        make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    link_to(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tensor('x', N, 64, EXTENT));
    link_to(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tensor('w', 64, 64, 3));
    link_to(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, tensor('y', N, 64, EXTENT));
    link_to(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, conv);
    set(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, &alpha);
    set(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, &beta);
    CHECK_INT(cudnnBackendFinalize(operation), CUDNN_STATUS_SUCCESS);
    cudnnBackendDescriptor_t made = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    link_to(made, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    set(made, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &of);
    CHECK_INT(cudnnBackendFinalize(made), CUDNN_STATUS_SUCCESS);
    return made;
}

/* A configuration of an engine by its number. */
static cudnnBackendDescriptor_t configuration(void)
{
    cudnnBackendDescriptor_t engine = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR),
                             made = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    link_to(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph());
    set(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &cudnn.own.engine.index);
    CHECK_INT(cudnnBackendFinalize(engine), CUDNN_STATUS_SUCCESS);
    link_to(made, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    CHECK_INT(cudnnBackendFinalize(made), CUDNN_STATUS_SUCCESS);
    return made;
}

static cudnnBackendDescriptor_t plan(void)
{
    void *of = handle;
    cudnnBackendDescriptor_t made = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    link_to(made, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration());
    set(made, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &of);
    CHECK_INT(cudnnBackendFinalize(made), CUDNN_STATUS_SUCCESS);
    return made;
}

static cudnnBackendDescriptor_t pack(void *workspace)
{
    const int64_t uids[] = {'x', 'w', 'y'};
    void *data[] = {PLACE(1), PLACE(2), PLACE(3)};
    cudnnBackendDescriptor_t made = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    set(made, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, uids);
    set(made, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, data);
    set(made, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    CHECK_INT(cudnnBackendFinalize(made), CUDNN_STATUS_SUCCESS);
    return made;
}

static int64_t size_of(cudnnBackendDescriptor_t of, int name)
{
    int64_t bytes = -1, count = -1;
    CHECK_INT(cudnnBackendGetAttribute(of, (cudnnBackendAttributeName_t)name, CUDNN_TYPE_INT64, 1,
                                       &count, &bytes),
              CUDNN_STATUS_SUCCESS);
    return bytes;
}

static void start(int64_t index)
{
    recorded_start();
    vendor.cudnnBackendExecute = execute;
    cudnn.sized = sized;
    cudnn.own = (struct offer){.engine.index = index, .workspace = WHOLE};
    cudnn.offer[2][cudnn.offers[2]++] = (struct offer){.workspace = 0}; /* engine 0 */
    cudnn.tells_workspace = true;
    know_gpu(handle);
    executed = fails_at = 0;
    untiled = false;
    counted_start();
}

static void reported_size_is_that_of_the_tiles(void)
{
    start(34);
    CHECK_INT(size_of(plan(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE), WHOLE / TILES);
    CHECK_INT(size_of(configuration(), CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE), WHOLE / TILES);
    finish();
}

static void execution_runs_every_tile_and_never_the_whole(void)
{
    start(34);
    cudnnBackendDescriptor_t tiled = plan(), data = pack(PLACE(4));
    int alive = cudnn.alive;
    CHECK_INT(cudnnBackendExecute((cudnnHandle_t)(void *)handle, tiled, data),
              CUDNN_STATUS_SUCCESS);
    CHECK_INT(executed, TILES);
    check_watched(1);
    check_counted(1, 1);
    CHECK(!untiled);
    CHECK_INT(cudnn.alive, alive); /* the tiles' packs are destroyed */
    finish();
}

/* Tiles in an address that the application did not provide would overwrite its memory. */
static void call_without_a_workspace_runs_on_the_plain_engine(void)
{
    start(41);
    cudnnBackendDescriptor_t tiled = plan(), with = pack(PLACE(4)), without = pack(NULL);
    CHECK_INT(cudnnBackendExecute((cudnnHandle_t)(void *)handle, tiled, with),
              CUDNN_STATUS_SUCCESS);
    CHECK_INT(last_engine, 41);
    CHECK_INT(last_workspace, (int64_t)(uintptr_t)PLACE(4));
    executed = 0;
    CHECK_INT(cudnnBackendExecute((cudnnHandle_t)(void *)handle, tiled, without),
              CUDNN_STATUS_SUCCESS);
    CHECK_INT(executed, 1);
    CHECK_INT(last_engine, 0);
    CHECK(!untiled);
    finish();
}

static void failed_tile_is_repaired_by_the_plain_engine(void)
{
    start(35);
    cudnnBackendDescriptor_t tiled = plan(), data = pack(PLACE(4));
    fails_at = 3;
    CHECK_INT(cudnnBackendExecute((cudnnHandle_t)(void *)handle, tiled, data),
              CUDNN_STATUS_SUCCESS);
    CHECK_INT(executed, 4);
    CHECK(!untiled);
    finish();
}

static void output_over_an_input_runs_on_the_plain_engine(void)
{
    start(36);
    cudnnBackendDescriptor_t tiled = plan(), data = pack(PLACE(4));
    void *twice[] = {PLACE(1), PLACE(2), PLACE(1)};
    recorded_at(data)->finalized = false;
    set(data, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, twice);
    recorded_at(data)->finalized = true;
    CHECK_INT(cudnnBackendExecute((cudnnHandle_t)(void *)handle, tiled, data),
              CUDNN_STATUS_SUCCESS);
    CHECK_INT(executed, 1);
    CHECK(!untiled);
    finish();
}

/* The program may have loaded the library after it made the pack. */
static void pack_that_was_not_seen_runs_with_the_plan_unchanged(void)
{
    cudnnBackendDescriptor_t strange = NULL;
    start(42);
    compute = CUDNN_DATA_DOUBLE; /* which is not tiled */
    cudnnBackendDescriptor_t whole = plan();
    compute = CUDNN_DATA_FLOAT;
    CHECK_INT(size_of(whole, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE), WHOLE);
    CHECK_INT(vendor.cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &strange),
              CUDNN_STATUS_SUCCESS);
    recorded_at(strange)->finalized = true;
    CHECK_INT(cudnnBackendExecute((cudnnHandle_t)(void *)handle, whole, strange),
              CUDNN_STATUS_SUCCESS);
    CHECK_INT(executed, 1);
    CHECK(untiled);
    check_watched(0);
    check_counted(1, 0);
    CHECK_INT(vendor.cudnnBackendDestroyDescriptor(strange), CUDNN_STATUS_SUCCESS);
    finish();
}

/* --- CUDA graphs --- */

static int graphs, children, populated, runtime_calls, runtime_fails_at;
static bool plain; /* the last population was of engine 0 */
static char application_graph[8], nodes[64];

static cudaError_t runtime_call(void)
{
    return ++runtime_calls == runtime_fails_at ? cudaErrorMemoryAllocation : cudaSuccess;
}

static cudaError_t create_graph(cudaGraph_t *graph_p, unsigned flags)
{
    cudaError_t error = runtime_call();
    (void)flags;
    if (error == cudaSuccess)
        *graph_p = (cudaGraph_t)malloc(1), graphs++;
    return error;
}

static cudaError_t destroy_graph(cudaGraph_t gone)
{
    graphs--;
    free(gone);
    return cudaSuccess;
}

static cudaError_t add_child(cudaGraphNode_t *node_p, cudaGraph_t to, const cudaGraphNode_t *after,
                             size_t count, cudaGraph_t child)
{
    cudaError_t error = runtime_call();
    CHECK(child != NULL && count == (after ? 1 : 0));
    if (error == cudaSuccess && to == (cudaGraph_t)(void *)application_graph)
        children++;
    *node_p = (cudaGraphNode_t)(void *)nodes;
    return error;
}

static cudnnStatus_t populate(cudnnHandle_t of, cudnnBackendDescriptor_t from,
                              cudnnBackendDescriptor_t data, cudaGraph_t to)
{
    (void)of, (void)data, (void)to;
    plain = index_of(recorded_at(from)) == 0;
    CHECK(!is_untiled(recorded_at(from)));
    return ++populated == fails_at ? CUDNN_STATUS_EXECUTION_FAILED : CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t populate_tiled(void)
{
    vendor.cudnnBackendPopulateCudaGraph = populate;
    graphs = children = populated = runtime_calls = 0;
    cudnnStatus_t status =
        cudnnBackendPopulateCudaGraph((cudnnHandle_t)(void *)handle, plan(), pack(PLACE(4)),
                                      (cudaGraph_t)(void *)application_graph);
    finish();
    CHECK_INT(graphs, 0);
    return status;
}

static void set_runtime(bool there)
{
    entry_runtime = there ? (struct cs_runtime){.cudaGraphCreate = create_graph,
                                                .cudaGraphDestroy = destroy_graph,
                                                .cudaGraphAddChildGraphNode = add_child}
                          : (struct cs_runtime){.cudaGraphCreate = NULL};
}

static void population_adds_one_child_with_every_tile(void)
{
    start(38);
    set_runtime(true);
    CHECK_INT(populate_tiled(), CUDNN_STATUS_SUCCESS);
    CHECK_INT(populated, TILES);
    check_counted(1, 1);
    CHECK_INT(children, 1);
    CHECK(!plain);
    start(38);
    set_runtime(false);
    CHECK_INT(populate_tiled(), CUDNN_STATUS_SUCCESS);
    CHECK_INT(populated, 1);
    CHECK(plain);
}

/* A graph as population leaves it: a child, which is the chain of tiles. Node numbers are 1 + turn.
 */
static int updated;

static cudaError_t get_roots(cudaGraph_t of, cudaGraphNode_t *root, size_t *count)
{
    root[0] = of == (cudaGraph_t)(void *)application_graph
                  ? (cudaGraphNode_t)(void *)application_graph
                  : (cudaGraphNode_t)(void *)nodes;
    *count = 1;
    return cudaSuccess;
}

static cudaError_t get_type(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
    *type = node ? cudaGraphNodeTypeGraph : cudaGraphNodeTypeKernel;
    return cudaSuccess;
}

static cudaError_t get_child(cudaGraphNode_t node, cudaGraph_t *child)
{
    *child = (cudaGraph_t)(void *)((char *)node + 1);
    return cudaSuccess;
}

static cudaError_t get_next(cudaGraphNode_t node, cudaGraphNode_t *next, cudaGraphEdgeData *edge,
                            size_t *count)
{
    char *at = (char *)(void *)node;
    (void)edge;
    *count = at + 1 < nodes + TILES;
    next[0] = (cudaGraphNode_t)(void *)(at + 1);
    return cudaSuccess;
}

static cudaError_t get_version(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

static cudnnStatus_t update(cudnnHandle_t of, cudnnBackendDescriptor_t from,
                            cudnnBackendDescriptor_t data, cudaGraph_t to)
{
    (void)of, (void)data;
    CHECK(!is_untiled(recorded_at(from)) && index_of(recorded_at(from)) != 0);
    CHECK((char *)(void *)to == nodes + updated + 1);
    updated++;
    return CUDNN_STATUS_SUCCESS;
}

static void update_changes_every_tile_in_its_order(void)
{
    start(40);
    set_runtime(true);
    entry_runtime.cudaGraphGetRootNodes = get_roots;
    entry_runtime.cudaGraphNodeGetType = get_type;
    entry_runtime.cudaGraphChildGraphNodeGetGraph = get_child;
    entry_runtime.cudaGraphNodeGetDependentNodes = get_next;
    entry_runtime.cudaRuntimeGetVersion = get_version;
    vendor.cudnnBackendUpdateCudaGraph = update;
    updated = 0;
    CHECK_INT(cudnnBackendUpdateCudaGraph((cudnnHandle_t)(void *)handle, plan(), pack(PLACE(4)),
                                          (cudaGraph_t)(void *)application_graph),
              CUDNN_STATUS_SUCCESS);
    CHECK_INT(updated, TILES);
    finish();
}

static void failed_population_changes_nothing_or_adds_the_plain_engine(void)
{
    set_runtime(true);
    for (runtime_fails_at = 1; runtime_fails_at < 3 * TILES; runtime_fails_at++) {
        CASE("call %d of the runtime fails", runtime_fails_at);
        start(2000 + runtime_fails_at);
        cudnnStatus_t status = populate_tiled();
        CHECK_INT(children, status == CUDNN_STATUS_SUCCESS && runtime_fails_at > 1);
        CHECK(runtime_fails_at > runtime_calls || status != CUDNN_STATUS_SUCCESS || plain);
    }
    runtime_fails_at = 0;
    start(39);
    fails_at = 3;
    CHECK_INT(populate_tiled(), CUDNN_STATUS_SUCCESS);
    CHECK_INT(children, 1);
    CHECK(plain);
}

static void null_arguments_reach_cudnn(void)
{
    start(37);
    cudnnBackendDescriptor_t tiled = plan();
    vendor.cudnnBackendExecute = NULL;
    CHECK_INT(cudnnBackendExecute(NULL, tiled, pack(PLACE(4))), CUDNN_STATUS_NOT_SUPPORTED);
    CHECK_INT(cudnnBackendExecute((cudnnHandle_t)(void *)handle, tiled, NULL),
              CUDNN_STATUS_NOT_SUPPORTED);
    CHECK_INT(executed, 0);
    finish();
}

static void every_failure_of_planning_leaves_the_size_kept_or_the_plan_refused(void)
{
    for (int at = 1; at < 20000; at += 1 + at / 16) {
        CASE("call %d fails", at);
        start(1000 + at);
        cudnnBackendDescriptor_t made = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
        link_to(made, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration());
        cudnn.failure = CUDNN_STATUS_ALLOC_FAILED;
        cudnn.fails_at = cudnn.calls + 1 + at;
        cudnnStatus_t status = cudnnBackendFinalize(made);
        bool failed = cudnn.calls >= cudnn.fails_at;
        cudnn.fails_at = 0;
        if (status == CUDNN_STATUS_SUCCESS) {
            int64_t bytes = size_of(made, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
            CHECK(bytes <= WHOLE);
            (void)cudnnBackendExecute((cudnnHandle_t)(void *)handle, made, pack(PLACE(4)));
            CHECK(executed > 0 && (bytes == WHOLE || !untiled));
        }
        finish();
        if (!failed)
            return;
    }
    CHECK(!"planning ends");
}

int main(void)
{
    set_sized_options();
    setenv("CONVSHIM_CONFIGFILE", "/dev/null", 1);
    TEST(reported_size_is_that_of_the_tiles);
    TEST(execution_runs_every_tile_and_never_the_whole);
    TEST(call_without_a_workspace_runs_on_the_plain_engine);
    TEST(failed_tile_is_repaired_by_the_plain_engine);
    TEST(output_over_an_input_runs_on_the_plain_engine);
    TEST(pack_that_was_not_seen_runs_with_the_plan_unchanged);
    TEST(null_arguments_reach_cudnn);
    TEST(population_adds_one_child_with_every_tile);
    TEST(update_changes_every_tile_in_its_order);
    TEST(failed_population_changes_nothing_or_adds_the_plain_engine);
    TEST(every_failure_of_planning_leaves_the_size_kept_or_the_plan_refused);
    return REPORT();
}
