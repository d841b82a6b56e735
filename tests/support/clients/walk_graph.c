/* The walk through the backend API. */
#include "walk.h"

#include "../apps/backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum role {
    TENSOR_X,
    TENSOR_W,
    TENSOR_Y,
    BIAS,
    VIRTUAL, /* the convolution's result for the first pointwise operation */
    VIRTUAL_LAST = VIRTUAL + 1,
    CONVOLUTION,
    OPERATION,
    POINTWISE,
    POINTWISE_LAST = POINTWISE + 1,
    STEP, /* the operations of these */
    STEP_LAST = STEP + 1,
    GRAPH,
    HEURISTICS,
    CONFIG,
    CONFIG_LAST = CONFIG + 2,
    ENGINE,
    OWN_CONFIG, /* made by the client of an engine */
    PLAN,
    PLAN_LAST = PLAN + 2,
    PACK,
    ROLES
};

struct attribute {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
};

struct graph_walk {
    struct walk *walk;
    cudnnBackendDescriptor_t slot[ROLES];
    int64_t told[ROLES]; /* a plan's workspace; -1: unknown */
    int steps;           /* pointwise operations after the convolution */
};

/* Attributes that are queried and set out of turn. */
static const struct attribute STRAY[] = {
    {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE},
    {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN},
    {CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE},
    {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE},
    {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_DOUBLE},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT},
    {CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE},
    {CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE},
    {CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_TYPE_DOUBLE},
    {CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT},
    {CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE},
    {CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE},
    {CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE},
    {CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE},
    {CUDNN_ATTR_EXECUTION_PLAN_COMPUTED_INTERMEDIATE_UIDS, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64},
};
enum {
    STRAYS = sizeof STRAY / sizeof *STRAY,
    SHARED = 21 /* the first SHARED attributes may be set, too */
};

static bool is_size(cudnnBackendAttributeName_t name)
{
    return name == CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE ||
           name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE;
}

static bool is_address(cudnnBackendAttributeName_t name)
{
    return name == CUDNN_ATTR_EXECUTION_PLAN_HANDLE;
}

/* The bytes after the requested elements are printed as well: they must not be written. */
static void stray_get(struct graph_walk *g, enum role role)
{
    struct rng *rng = &g->walk->rng;
    const struct attribute *a = &STRAY[rng_between(rng, 0, STRAYS - 1)];
    int64_t values[8], count = -7, room = rng_between(rng, 0, 6);
    int64_t *count_p = walk_strays(g->walk, 4) ? NULL : &count;
    char call[96];
    memset(values, 0xab, sizeof values);
    cudnnStatus_t status = cudnnBackendGetAttribute(g->slot[role], a->name, a->type, room, count_p,
                                                    room == 0 ? NULL : values);
    snprintf(call, sizeof call, "get %d of %d room %" PRId64 " count %" PRId64, (int)a->name,
             (int)role, room, count);
    if (is_size(a->name))
        walk_note_size(g->walk, call, status, room > 0 && status == 0 ? values[0] : -1);
    else if (is_address(a->name))
        walk_note(call, status);
    else
        walk_note_bytes(call, status, values, sizeof values);
}

static void stray_set(struct graph_walk *g, enum role role)
{
    struct rng *rng = &g->walk->rng;
    const struct attribute *a = &STRAY[rng_between(rng, 0, SHARED - 1)];
    int64_t values[6], count = rng_between(rng, 0, 5);
    char call[64];
    for (int i = 0; i < 6; i++)
        values[i] = rng_between(rng, 0, 3);
    cudnnStatus_t status = cudnnBackendSetAttribute(g->slot[role], a->name, a->type, count, values);
    snprintf(call, sizeof call, "set %d of %d", (int)a->name, (int)role);
    walk_note(call, status);
}

static void destroy(struct graph_walk *g, enum role role)
{
    char call[32];
    snprintf(call, sizeof call, "destroy %d", (int)role);
    if (g->slot[role] != NULL)
        walk_note(call, cudnnBackendDestroyDescriptor(g->slot[role]));
    g->slot[role] = NULL;
}

static void finalize(struct graph_walk *g, enum role role)
{
    char call[32];
    snprintf(call, sizeof call, "finalize %d", (int)role);
    if (g->slot[role] != NULL)
        walk_note(call, cudnnBackendFinalize(g->slot[role]));
}

/* Between any two calls. */
static void stray(struct graph_walk *g)
{
    while (walk_strays(g->walk, 9)) {
        enum role role = (enum role)rng_between(&g->walk->rng, 0, ROLES - 1);
        if (g->slot[role] == NULL)
            continue;
        switch (rng_between(&g->walk->rng, 0, 9)) {
        case 0:
            destroy(g, role);
            break;
        case 1:
            finalize(g, role);
            break;
        case 2:
        case 3:
            stray_set(g, role);
            break;
        default:
            stray_get(g, role);
        }
    }
}

static void create(struct graph_walk *g, enum role role, cudnnBackendDescriptorType_t type)
{
    destroy(g, role);
    walk_note("create", cudnnBackendCreateDescriptor(type, &g->slot[role]));
}

static void set(struct graph_walk *g, enum role role, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    char call[64];
    stray(g);
    if (walk_strays(g->walk, 60) || g->slot[role] == NULL)
        return;
    snprintf(call, sizeof call, "set %d of %d", (int)name, (int)role);
    for (int i = walk_strays(g->walk, 30) ? 0 : 1; i < 2; i++)
        walk_note(call, cudnnBackendSetAttribute(g->slot[role], name, type, count, values));
}

static void set_slot(struct graph_walk *g, enum role role, cudnnBackendAttributeName_t name,
                     enum role value)
{
    if (g->slot[value] != NULL)
        set(g, role, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &g->slot[value]);
}

/* One value. cuDNN crashes on some queries about missing attributes. */
static cudnnStatus_t get(struct graph_walk *g, enum role role, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t *count_p, void *value)
{
    if (g->slot[role] == NULL)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    return cudnnBackendGetAttribute(g->slot[role], name, type, 1, count_p, value);
}

static cudnnHandle_t *some_handle(struct graph_walk *g)
{
    return &g->walk->handle[walk_strays(g->walk, 8)];
}

static void make_tensor(struct graph_walk *g, enum role role, const struct tensor *tensor)
{
    static const int64_t names[] = {'x', 'w', 'y', 'b', 'v', 'u'};
    int64_t uid = names[role - TENSOR_X], alignment = tensor_alignment(tensor);
    bool is_virtual = role >= VIRTUAL;
    create(g, role, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set(g, role, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &tensor->type);
    set(g, role, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, tensor->dims, tensor->size);
    set(g, role, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, tensor->dims, tensor->stride);
    set(g, role, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
    set(g, role, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    if (is_virtual)
        set(g, role, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
    finalize(g, role);
}

/* A number for each channel, and images of y's shape that are internal to the graph. */
static void make_fused_tensors(struct graph_walk *g)
{
    struct tensor bias = g->walk->problem.y, image = bias;
    for (int i = 0; i < bias.dims; i++) {
        bias.size[i] = i == 1 ? bias.size[1] : 1;
        bias.stride[i] = i == 0 ? bias.size[1] : 1;
    }
    bias.stride[0] = bias.size[1];
    make_tensor(g, BIAS, &bias);
    image.type = walk_strays(g->walk, 4) ? image.type : CUDNN_DATA_FLOAT;
    for (enum role role = VIRTUAL; role <= VIRTUAL_LAST; role++)
        make_tensor(g, role, &image);
}

static void make_convolution(struct graph_walk *g)
{
    const struct conv_problem *p = &g->walk->problem;
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    cudnnConvolutionMode_t mode =
        walk_strays(g->walk, 6) ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION;
    int64_t spatial = p->spatial;
    create(g, CONVOLUTION, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    set(g, CONVOLUTION, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    set(g, CONVOLUTION, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    set(g, CONVOLUTION, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &spatial);
    set(g, CONVOLUTION, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, spatial, p->pre);
    set(g, CONVOLUTION, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, spatial, p->post);
    set(g, CONVOLUTION, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, spatial, p->dilation);
    set(g, CONVOLUTION, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, spatial,
        p->stride);
    finalize(g, CONVOLUTION);
}

static void set_scalar(struct graph_walk *g, enum role role, cudnnBackendAttributeName_t name,
                       double value)
{
    float single = (float)value;
    if (walk_strays(g->walk, 2))
        set(g, role, name, CUDNN_TYPE_DOUBLE, 1, &value);
    else
        set(g, role, name, CUDNN_TYPE_FLOAT, 1, &single);
}

/* Some of the numbers that a mode takes, or does not. */
static void set_settings(struct graph_walk *g, enum role pointwise)
{
    static const cudnnBackendAttributeName_t names[] = {
        CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP,
        CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, CUDNN_ATTR_POINTWISE_ELU_ALPHA,
        CUDNN_ATTR_POINTWISE_SWISH_BETA};
    for (int i = 0; i < 5; i++)
        if (walk_strays(g->walk, 8))
            set_scalar(g, pointwise, names[i], (double)rng_between(&g->walk->rng, 0, 6) / 2);
}

/* The step after `from`: a sum with the bias or a product with it, or a function of one operand. */
static void make_step(struct graph_walk *g, int step, enum role from, enum role to)
{
    static const cudnnPointwiseMode_t modes[] = {
        CUDNN_POINTWISE_ADD,       CUDNN_POINTWISE_MUL,
        CUDNN_POINTWISE_MAX,       CUDNN_POINTWISE_RELU_FWD,
        CUDNN_POINTWISE_ELU_FWD,   CUDNN_POINTWISE_SIGMOID_FWD,
        CUDNN_POINTWISE_SWISH_FWD, CUDNN_POINTWISE_TANH_FWD,
        CUDNN_POINTWISE_IDENTITY,  CUDNN_POINTWISE_GELU_APPROX_TANH_FWD};
    enum role pointwise = (enum role)(POINTWISE + step), operation = (enum role)(STEP + step);
    int chosen =
        (int)(step == 0 ? rng_between(&g->walk->rng, 0, 3) : rng_between(&g->walk->rng, 0, 9));
    cudnnDataType_t precision = CUDNN_DATA_FLOAT;
    create(g, pointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(g, pointwise, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &modes[chosen]);
    set(g, pointwise, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &precision);
    set_settings(g, pointwise);
    finalize(g, pointwise);
    create(g, operation, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set_slot(g, operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise);
    set_slot(g, operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, from);
    if (chosen < 3)
        set_slot(g, operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, BIAS);
    set_slot(g, operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to);
    if (walk_strays(g->walk, 4))
        set_scalar(g, operation, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 2);
    if (walk_strays(g->walk, 4))
        set_scalar(g, operation, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, -1);
    finalize(g, operation);
}

static void make_graph(struct graph_walk *g)
{
    const struct conv_problem *p = &g->walk->problem;
    const struct backend_operation_names *operation = &backend_operation_names[p->direction];
    enum role parts[] = {TENSOR_X, TENSOR_W, TENSOR_Y, CONVOLUTION};
    cudnnBackendDescriptor_t operations[3];
    int count = 0;
    if (g->steps > 0) {
        make_fused_tensors(g);
        parts[2] = VIRTUAL;
    }
    create(g, OPERATION, operation->type);
    for (int i = 0; i < 4; i++)
        set_slot(g, OPERATION, operation->part[i], parts[i]);
    set_scalar(g, OPERATION, operation->alpha, (double)p->alpha);
    set_scalar(g, OPERATION, operation->beta, g->steps > 0 ? 0 : (double)p->beta);
    finalize(g, OPERATION);
    for (int i = 0; i < g->steps; i++)
        make_step(g, i, (enum role)(VIRTUAL + i),
                  i + 1 == g->steps ? TENSOR_Y : (enum role)(VIRTUAL + i + 1));
    create(g, GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    if (g->slot[OPERATION] != NULL)
        operations[count++] = g->slot[OPERATION];
    for (int i = 0; i < g->steps; i++)
        if (g->slot[STEP + i] != NULL)
            operations[count++] = g->slot[STEP + i];
    set(g, GRAPH, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, operations);
    set(g, GRAPH, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, some_handle(g));
    finalize(g, GRAPH);
}

/* The best engines, or those of the fallback list, up to the capacity. */
static void ask_heuristics(struct graph_walk *g)
{
    cudnnBackendHeurMode_t mode =
        walk_strays(g->walk, 4) ? CUDNN_HEUR_MODE_FALLBACK : CUDNN_HEUR_MODE_A;
    int64_t count = -1, room = rng_between(&g->walk->rng, 1, CONFIG_LAST - CONFIG + 1);
    create(g, HEURISTICS, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    set_slot(g, HEURISTICS, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, GRAPH);
    set(g, HEURISTICS, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    finalize(g, HEURISTICS);
    for (int i = 0; i < room; i++)
        create(g, (enum role)(CONFIG + i), CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    stray(g);
    for (int i = 0; i < room; i++) /* a stray destroys */
        if (g->slot[CONFIG + i] == NULL)
            create(g, (enum role)(CONFIG + i), CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (g->slot[HEURISTICS] == NULL)
        return;
    cudnnStatus_t status =
        cudnnBackendGetAttribute(g->slot[HEURISTICS], CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, room, &count, &g->slot[CONFIG]);
    walk_note_bytes("heuristics", status, &count, sizeof count);
}

/* An engine of the first configuration, and a configuration made of it or of its number. */
static void make_config(struct graph_walk *g)
{
    int64_t count = -1, index = -1;
    create(g, ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnStatus_t status = get(g, CONFIG, CUDNN_ATTR_ENGINECFG_ENGINE,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, &count, &g->slot[ENGINE]);
    walk_note_bytes("engine", status, &count, sizeof count);
    if (status != CUDNN_STATUS_SUCCESS)
        return; /* cuDNN does not survive a configuration of it */
    status = get(g, ENGINE, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, &count, &index);
    walk_note_bytes("index", status, &index, sizeof index);
    if (status == CUDNN_STATUS_SUCCESS && walk_strays(g->walk, 2)) {
        create(g, ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
        set_slot(g, ENGINE, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, GRAPH);
        set(g, ENGINE, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
        finalize(g, ENGINE);
    }
    create(g, OWN_CONFIG, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    set_slot(g, OWN_CONFIG, CUDNN_ATTR_ENGINECFG_ENGINE, ENGINE);
    finalize(g, OWN_CONFIG);
}

static void make_plan(struct graph_walk *g, enum role role, enum role config)
{
    int64_t count = -1;
    create(g, role, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set_slot(g, role, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    if (walk_strays(g->walk, 2))
        set(g, role, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, some_handle(g));
    finalize(g, role);
    g->told[role] = -1;
    stray(g);
    cudnnStatus_t status = get(g, role, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                               &count, &g->told[role]);
    walk_note_size(g->walk, "workspace", status, g->told[role]);
}

static void make_pack(struct graph_walk *g, void *workspace)
{
    struct walk *walk = g->walk;
    const struct conv_problem *p = &walk->problem;
    int64_t uid[4] = {'x', 'w', 'y', 'b'}, count = g->steps > 0 || walk_strays(walk, 6) ? 4 : 3;
    void *pointer[4] = {tensor_first(&p->x, walk->device[0]), tensor_first(&p->w, walk->device[1]),
                        tensor_first(&p->y, walk->device[2]), walk->device[1]};
    for (int i = 0; i < 2; i++) { /* in any order */
        int64_t other = rng_between(&walk->rng, i, 2), name = uid[i];
        void *address = pointer[i];
        uid[i] = uid[other], uid[other] = name;
        pointer[i] = pointer[other], pointer[other] = address;
    }
    if (walk_strays(walk, 25))
        count = 2;
    create(g, PACK, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    set(g, PACK, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointer);
    set(g, PACK, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, uid);
    if (g->slot[PACK] != NULL) /* without one it would be written anywhere */
        walk_note("set workspace",
                  cudnnBackendSetAttribute(g->slot[PACK], CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
                                           CUDNN_TYPE_VOID_PTR, 1, &workspace));
    if (!walk_strays(walk, 20))
        finalize(g, PACK);
}

/* A plan that can be run: others might write any number of bytes. */
static bool some_plan(struct graph_walk *g, enum role *plan_p)
{
    *plan_p = (enum role)rng_between(&g->walk->rng, PLAN, PLAN_LAST);
    return g->told[*plan_p] >= 0 && g->slot[*plan_p] != NULL;
}

static cudnnStatus_t execute(struct graph_walk *g, cudnnHandle_t handle, enum role plan)
{
    if (walk_strays(g->walk, 30))
        handle = NULL;
    return cudnnBackendExecute(handle, g->slot[plan],
                               walk_strays(g->walk, 30) ? NULL : g->slot[PACK]);
}

static void run(struct graph_walk *g)
{
    enum role plan;
    if (!some_plan(g, &plan))
        return;
    void *workspace = walk_prepare(g->walk, g->told[plan]);
    make_pack(g, workspace);
    stray(g);
    for (int i = (int)rng_between(&g->walk->rng, 1, 2);
         i > 0 && g->slot[plan] != NULL && g->slot[PACK] != NULL; i--)
        walk_note_run(g->walk, "execute", execute(g, *some_handle(g), plan));
    cudaFree(workspace);
}

/* Orders later work of one stream after earlier work of another. */
static void follow(cudaStream_t stream, cudaStream_t other)
{
    cudaEvent_t event;
    if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess)
        return;
    walk_note("record", (cudnnStatus_t)cudaEventRecord(event, other));
    walk_note("wait", (cudnnStatus_t)cudaStreamWaitEvent(stream, event, 0));
    cudaEventDestroy(event);
}

/* Some of them on a second stream, which is drawn into the capture, and seldom left unjoined. */
static void execute_captured(struct graph_walk *g, cudnnHandle_t handle, enum role plan,
                             const cudaStream_t *stream)
{
    for (int i = (int)rng_between(&g->walk->rng, 1, 3); i > 0 && g->slot[PACK] != NULL; i--) {
        bool aside = walk_strays(g->walk, 3);
        if (aside) {
            follow(stream[1], stream[0]);
            walk_note("set stream", cudnnSetStream(handle, stream[1]));
        }
        walk_note("execute", execute(g, handle, plan));
        if (aside && !walk_strays(g->walk, 20))
            follow(stream[0], stream[1]);
        if (aside)
            walk_note("set stream", cudnnSetStream(handle, stream[0]));
    }
}

/* Convolutions on streams that are captured, then perhaps one on a stream that was. */
static void capture(struct graph_walk *g)
{
    cudnnHandle_t handle = *some_handle(g);
    cudaStream_t stream[2];
    enum role plan;
    if (!some_plan(g, &plan) || cudaStreamCreate(&stream[0]) != cudaSuccess ||
        cudaStreamCreate(&stream[1]) != cudaSuccess)
        return;
    void *workspace = walk_prepare(g->walk, g->told[plan]);
    make_pack(g, workspace);
    walk_note("set stream", cudnnSetStream(handle, stream[0]));
    walk_begin_capture(g->walk, stream[0]);
    execute_captured(g, handle, plan, stream);
    walk_end_capture(g->walk, stream[0]);
    if (walk_strays(g->walk, 3) && g->slot[PACK] != NULL)
        walk_note_run(g->walk, "execute", execute(g, handle, plan));
    walk_note("set stream", cudnnSetStream(handle, NULL));
    cudaStreamDestroy(stream[0]);
    cudaStreamDestroy(stream[1]);
    cudaFree(workspace);
}

/* One time in twenty each without one of the arguments. */
static bool add_nodes(struct graph_walk *g, enum role plan, cudaGraph_t graph)
{
    cudnnHandle_t handle = walk_strays(g->walk, 20) ? NULL : *some_handle(g);
    cudnnBackendDescriptor_t pack = walk_strays(g->walk, 20) ? NULL : g->slot[PACK];
    cudnnStatus_t status = cudnnBackendPopulateCudaGraph(handle, g->slot[plan], pack,
                                                         walk_strays(g->walk, 20) ? NULL : graph);
    walk_note("populate", status);
    return status == CUDNN_STATUS_SUCCESS;
}

/* Every engine makes nodes: for a graph that is not a plan's, cuDNN reports this for any engine. */
static bool any_engine(void)
{
    return getenv("SIMDEV_NATIVE_GRAPHS") != NULL;
}

/* A node that is not a plan's cannot be updated. */
static void stray_node(struct graph_walk *g, cudaGraph_t graph)
{
    cudaGraphNode_t node;
    if (any_engine() && walk_strays(g->walk, 10))
        walk_note("empty node", (cudnnStatus_t)cudaGraphAddEmptyNode(&node, graph, NULL, 0));
}

/* The nodes of a plan, then those of a pack of another order with another workspace, or of another
 * plan. */
static void populate(struct graph_walk *g)
{
    cudaGraph_t graph;
    enum role plan, other;
    if (!some_plan(g, &plan) || cudaGraphCreate(&graph, 0) != cudaSuccess)
        return;
    void *workspace = walk_prepare(g->walk, g->told[plan]), *second = NULL;
    make_pack(g, workspace);
    stray_node(g, graph);
    if (add_nodes(g, plan, graph)) {
        stray_node(g, graph);
        walk_launch(g->walk, graph);
        if (any_engine() && walk_strays(g->walk, 10) && some_plan(g, &other))
            plan = other;
        second = walk_prepare(g->walk, g->told[plan]);
        make_pack(g, second);
        cudnnHandle_t handle = walk_strays(g->walk, 20) ? NULL : *some_handle(g);
        cudnnStatus_t status = cudnnBackendUpdateCudaGraph(
            handle, g->slot[plan], walk_strays(g->walk, 20) ? NULL : g->slot[PACK], graph);
        walk_note("update", status);
        walk_launch(g->walk, graph);
    }
    cudaGraphDestroy(graph);
    cudaFree(workspace);
    cudaFree(second);
}

/* The shapes for which cuDNN fuses operations: channels last, in multiples of eight. */
static void suit_fusion(struct conv_problem *p)
{
    int64_t in = (p->x.size[1] + 7) / 8 * 8, out = (p->y.size[1] + 7) / 8 * 8;
    struct tensor *tensors[] = {&p->x, &p->w, &p->y};
    p->groups = 1;
    p->layout = LAYOUT_NHWC;
    p->x.size[1] = p->w.size[1] = in;
    p->w.size[0] = p->y.size[1] = out;
    for (int i = 0; i < 3; i++)
        tensor_pack(tensors[i], p->layout);
}

void walk_graph(struct walk *walk)
{
    struct conv_problem *p = &walk->problem;
    struct graph_walk g = {.walk = walk};
    if (p->direction == CONV_FORWARD && walk_strays(walk, 3))
        g.steps = (int)rng_between(&walk->rng, 1, 2);
    if (g.steps > 0)
        suit_fusion(p);
    for (int i = 0; i < ROLES; i++)
        g.told[i] = -1;
    make_tensor(&g, TENSOR_X, &p->x);
    make_tensor(&g, TENSOR_W, &p->w);
    make_tensor(&g, TENSOR_Y, &p->y);
    make_convolution(&g);
    make_graph(&g);
    ask_heuristics(&g);
    make_config(&g);
    for (enum role role = PLAN; role <= PLAN_LAST; role++)
        make_plan(&g, role,
                  walk_strays(walk, 3) ? OWN_CONFIG
                                       : (enum role)rng_between(&walk->rng, CONFIG, CONFIG_LAST));
    for (int i = 0; i < 5; i++) {
        switch (rng_between(&walk->rng, 0, 4)) {
        case 0:
            populate(&g);
            break;
        case 1:
            capture(&g);
            break;
        default:
            run(&g);
        }
    }
    if (walk_strays(walk, 2)) {
        walk_note("cudnnDestroy", cudnnDestroy(walk->handle[1]));
        walk->handle[1] = NULL;
    }
    for (int i = 0; i < ROLES; i++)
        destroy(&g, (enum role)rng_between(&walk->rng, 0, ROLES - 1));
    for (int i = 0; i < ROLES; i++)
        destroy(&g, (enum role)i);
}
