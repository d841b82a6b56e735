/* Shared by the checks of the simulated libcudnn: problems, operands, a reference, plans. Each
 * program that includes this is an ordinary client of cuDNN and prints TAP. */
#ifndef SELFTEST_CUDNN_H
#define SELFTEST_CUDNN_H

#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef cudnnBackendDescriptor_t desc;

enum {
    X,
    W,
    Y,
    ROLES
};

static int tests, failures;

static inline void ok(bool good, const char *name)
{
    tests++;
    failures += !good;
    printf("%sok %d - %s\n", good ? "" : "not ", tests, name);
}

/* Ends the program if a call that the check only prepares with has failed. */
static inline void need(int status, const char *what)
{
    if (status == 0)
        return;
    printf("Bail out! %s: status %d\n", what, status);
    exit(1);
}
#define NEED(call) need((int)(call), #call)

static cudnnHandle_t handle;

static inline void begin(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    NEED(cudnnCreate(&handle));
}

/* The program's exit status. */
static inline int end(void)
{
    NEED(cudnnDestroy(handle));
    printf("1..%d\n", tests);
    return failures != 0;
}

/* ---- problems ---- */

struct problem {
    const char *name;
    cudnnDataType_t type;
    bool nhwc, flip;
    int spatial, groups;
    int64_t n, c, k;
    int64_t in[3], taps[3], stride[3], dilation[3], lower[3], upper[3];
    float alpha, beta;
};

struct tensor {
    int rank;
    int64_t dim[5], stride[5];
    char *device; /* of the whole allocation */
    size_t bytes;
    float *host; /* the values, in dense order of the dimensions */
};

static uint64_t seed = 1;

static inline int draw(int limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)limit);
}

static inline size_t size_of(cudnnDataType_t type)
{
    return type == CUDNN_DATA_FLOAT ? 4 : 2;
}

static inline int64_t elements(const struct tensor *t)
{
    int64_t count = 1;
    for (int i = 0; i < t->rank; i++)
        count *= t->dim[i];
    return count;
}

static inline void lay_out(struct tensor *t, bool nhwc)
{
    int64_t stride = 1;
    if (nhwc) {
        t->stride[1] = 1;
        stride = t->dim[1];
    }
    for (int i = t->rank - 1; i >= 0; i--) {
        if (nhwc && i == 1)
            continue;
        t->stride[i] = stride;
        stride *= t->dim[i];
    }
}

static inline int64_t out_extent(const struct problem *p, int i)
{
    const int64_t reach = (p->taps[i] - 1) * p->dilation[i] + 1;
    return (p->in[i] + p->lower[i] + p->upper[i] - reach) / p->stride[i] + 1;
}

static inline void shape(const struct problem *p, struct tensor t[ROLES])
{
    memset(t, 0, ROLES * sizeof *t);
    for (int role = 0; role < ROLES; role++)
        t[role].rank = 2 + p->spatial;
    t[X].dim[0] = t[Y].dim[0] = p->n;
    t[X].dim[1] = p->c;
    t[W].dim[0] = t[Y].dim[1] = p->k;
    t[W].dim[1] = p->c / p->groups;
    for (int i = 0; i < p->spatial; i++) {
        t[X].dim[2 + i] = p->in[i];
        t[W].dim[2 + i] = p->taps[i];
        t[Y].dim[2 + i] = out_extent(p, i);
    }
    for (int role = 0; role < ROLES; role++)
        lay_out(&t[role], p->nhwc);
}

/* ---- elements to and from the device, by the compiler's 16-bit arithmetic ---- */

static inline void put(char *at, cudnnDataType_t type, float value)
{
    if (type == CUDNN_DATA_FLOAT) {
        memcpy(at, &value, sizeof value);
    } else if (type == CUDNN_DATA_HALF) {
        const _Float16 half = (_Float16)value;
        memcpy(at, &half, sizeof half);
    } else {
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        const uint16_t top = (uint16_t)(bits >> 16);
        memcpy(at, &top, sizeof top);
    }
}

static inline float fetch(const char *at, cudnnDataType_t type)
{
    float value;
    if (type == CUDNN_DATA_FLOAT) {
        memcpy(&value, at, sizeof value);
    } else if (type == CUDNN_DATA_HALF) {
        _Float16 half;
        memcpy(&half, at, sizeof half);
        value = (float)half;
    } else {
        uint16_t top;
        memcpy(&top, at, sizeof top);
        const uint32_t bits = (uint32_t)top << 16;
        memcpy(&value, &bits, sizeof value);
    }
    return value;
}

/* Offset in elements of the i-th element in dense order. */
static inline int64_t place(const struct tensor *t, int64_t i)
{
    int64_t offset = 0;
    for (int axis = t->rank - 1; axis >= 0; axis--) {
        offset += i % t->dim[axis] * t->stride[axis];
        i /= t->dim[axis];
    }
    return offset;
}

static inline void upload(struct tensor *t, cudnnDataType_t type)
{
    const int64_t count = elements(t);
    char *image = malloc(t->bytes);
    for (int64_t i = 0; i < count; i++)
        put(image + (size_t)place(t, i) * size_of(type), type, t->host[i]);
    NEED(cudaMemcpy(t->device, image, t->bytes, cudaMemcpyHostToDevice));
    free(image);
}

static inline void download(struct tensor *t, cudnnDataType_t type)
{
    const int64_t count = elements(t);
    char *image = malloc(t->bytes);
    NEED(cudaDeviceSynchronize());
    NEED(cudaMemcpy(image, t->device, t->bytes, cudaMemcpyDeviceToHost));
    for (int64_t i = 0; i < count; i++)
        t->host[i] = fetch(image + (size_t)place(t, i) * size_of(type), type);
    free(image);
}

/* Small integers: every sum is exact in f32. */
static inline void make(struct tensor *t, cudnnDataType_t type)
{
    const int64_t count = elements(t);
    t->bytes = (size_t)count * size_of(type);
    t->host = malloc((size_t)count * sizeof *t->host);
    for (int64_t i = 0; i < count; i++)
        t->host[i] = (float)(draw(7) - 3);
    NEED(cudaMalloc((void **)&t->device, t->bytes));
    upload(t, type);
}

static inline void unmake(struct tensor *t)
{
    NEED(cudaFree(t->device));
    free(t->host);
}

/* ---- reference ---- */

/* Calls visit for each multiplication: dense indexes into x, w and y. */
static inline void each_product(const struct problem *p, const struct tensor t[ROLES],
                                void (*visit)(int64_t, int64_t, int64_t, void *), void *arg)
{
    const int64_t c_own = t[W].dim[1], k_own = p->k / p->groups;
    int64_t taps = 1, outs = 1;
    for (int i = 0; i < p->spatial; i++) {
        taps *= p->taps[i];
        outs *= t[Y].dim[2 + i];
    }
    for (int64_t o = 0; o < outs; o++)
        for (int64_t tap = 0; tap < taps; tap++) {
            const int64_t w_tap = p->flip ? taps - 1 - tap : tap;
            int64_t in = 0, step = 1, o_rest = o, tap_rest = tap;
            bool inside = true;
            for (int i = p->spatial - 1; i >= 0; i--) {
                const int64_t at = tap_rest % p->taps[i];
                const int64_t pos =
                    o_rest % t[Y].dim[2 + i] * p->stride[i] - p->lower[i] + at * p->dilation[i];
                inside = inside && pos >= 0 && pos < p->in[i];
                in += pos * step;
                step *= p->in[i];
                o_rest /= t[Y].dim[2 + i];
                tap_rest /= p->taps[i];
            }
            for (int64_t nk = 0; inside && nk < p->n * p->k; nk++)
                for (int64_t c = 0; c < c_own; c++) {
                    const int64_t n = nk / p->k, k = nk % p->k;
                    const int64_t channel = k / k_own * c_own + c;
                    visit((n * p->c + channel) * step + in, (k * c_own + c) * taps + w_tap,
                          nk * outs + o, arg);
                }
        }
}

struct sums {
    const struct tensor *t;
    int result;
    double *sum;
};

static inline void add_product(int64_t x, int64_t w, int64_t y, void *arg)
{
    const struct sums *s = arg;
    const int64_t at[ROLES] = {x, w, y};
    double product = 1;
    for (int role = 0; role < ROLES; role++)
        if (role != s->result)
            product *= (double)s->t[role].host[at[role]];
    s->sum[at[s->result]] += product;
}

/* alpha * convolution + beta * previous result, in dense order. */
static inline double *reference(const struct problem *p, const struct tensor t[ROLES], int result)
{
    const int64_t count = elements(&t[result]);
    struct sums s = {t, result, calloc((size_t)count, sizeof(double))};
    each_product(p, t, add_product, &s);
    for (int64_t i = 0; i < count; i++)
        s.sum[i] = (double)p->alpha * s.sum[i] + (double)p->beta * (double)t[result].host[i];
    return s.sum;
}

static inline bool agrees(const struct tensor *t, cudnnDataType_t type, const double *wanted)
{
    const double part = type == CUDNN_DATA_FLOAT ? 0 : type == CUDNN_DATA_HALF ? 0x1p-11 : 0x1p-8;
    const int64_t count = elements(t);
    for (int64_t i = 0; i < count; i++)
        if (!(fabs((double)t->host[i] - wanted[i]) <= part * fabs(wanted[i]))) {
            printf("# element %lld is %g, expected %g\n", (long long)i, (double)t->host[i],
                   wanted[i]);
            return false;
        }
    return true;
}

/* ---- backend calls ---- */

static inline desc new_desc(cudnnBackendDescriptorType_t type)
{
    desc d;
    NEED(cudnnBackendCreateDescriptor(type, &d));
    return d;
}

static inline void set(desc d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       int64_t count, const void *values)
{
    NEED(cudnnBackendSetAttribute(d, name, type, count, values));
}

static inline desc tensor_desc(int64_t uid, const struct tensor *t, cudnnDataType_t type,
                               bool is_virtual, int64_t alignment)
{
    desc d = new_desc(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, t->rank, t->dim);
    set(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, t->rank, t->stride);
    set(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
    set(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    set(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
    NEED(cudnnBackendFinalize(d));
    return d;
}

static inline desc convolution_op(const struct problem *p, int result, const desc t[ROLES])
{
    static const struct {
        cudnnBackendDescriptorType_t type;
        cudnnBackendAttributeName_t x, w, y, conv, alpha, beta;
    } name[ROLES] = {
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA}};
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    const cudnnConvolutionMode_t mode = p->flip ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION;
    const int64_t spatial = p->spatial;
    desc c = new_desc(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    set(c, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    set(c, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    set(c, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &spatial);
    set(c, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, spatial, p->lower);
    set(c, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, spatial, p->upper);
    set(c, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, spatial, p->dilation);
    set(c, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, spatial, p->stride);
    NEED(cudnnBackendFinalize(c));
    desc op = new_desc(name[result].type);
    set(op, name[result].x, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &t[X]);
    set(op, name[result].w, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &t[W]);
    set(op, name[result].y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &t[Y]);
    set(op, name[result].conv, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &c);
    set(op, name[result].alpha, CUDNN_TYPE_FLOAT, 1, &p->alpha);
    set(op, name[result].beta, CUDNN_TYPE_FLOAT, 1, &p->beta);
    NEED(cudnnBackendFinalize(op));
    NEED(cudnnBackendDestroyDescriptor(c));
    return op;
}

static inline desc graph_of(int ops, desc *op)
{
    desc graph = new_desc(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, ops, op);
    NEED(cudnnBackendFinalize(graph));
    return graph;
}

static inline desc plan_of_config(desc config)
{
    desc plan = new_desc(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config);
    if (cudnnBackendFinalize(plan) == CUDNN_STATUS_SUCCESS)
        return plan;
    NEED(cudnnBackendDestroyDescriptor(plan));
    return NULL;
}

/* The first config of the heuristics that makes a plan, NULL if none does. */
static inline desc plan_by_heuristics(desc graph, cudnnBackendHeurMode_t mode)
{
    enum {
        TRIED = 8
    };
    desc config[TRIED], plan = NULL;
    int64_t count = 0;
    desc heuristics = new_desc(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    set(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
        &graph);
    set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    for (int i = 0; i < TRIED; i++)
        config[i] = new_desc(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (cudnnBackendFinalize(heuristics) == CUDNN_STATUS_SUCCESS)
        NEED(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                      CUDNN_TYPE_BACKEND_DESCRIPTOR, TRIED, &count, config));
    for (int i = 0; i < count && i < TRIED && !plan; i++)
        plan = plan_of_config(config[i]);
    for (int i = 0; i < TRIED; i++)
        NEED(cudnnBackendDestroyDescriptor(config[i]));
    NEED(cudnnBackendDestroyDescriptor(heuristics));
    return plan;
}

static inline desc plan_by_engine(desc graph, int64_t index)
{
    desc engine = new_desc(CUDNN_BACKEND_ENGINE_DESCRIPTOR), plan = NULL;
    desc config = new_desc(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    set(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
    set(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
    if (cudnnBackendFinalize(engine) == CUDNN_STATUS_SUCCESS) {
        set(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine);
        if (cudnnBackendFinalize(config) == CUDNN_STATUS_SUCCESS)
            plan = plan_of_config(config);
    }
    NEED(cudnnBackendDestroyDescriptor(config));
    NEED(cudnnBackendDestroyDescriptor(engine));
    return plan;
}

/* A plan for one convolution of the given tensors, by any heuristics mode. The graph is destroyed
 * before the plan is used. */
static inline desc plan_of(const struct problem *p, const struct tensor t[ROLES], int result,
                           int64_t alignment)
{
    desc d[ROLES];
    for (int role = 0; role < ROLES; role++)
        d[role] = tensor_desc(role + 1, &t[role], p->type, false, alignment);
    desc op = convolution_op(p, result, d), graph = graph_of(1, &op);
    desc plan = plan_by_heuristics(graph, CUDNN_HEUR_MODE_A);
    if (!plan)
        plan = plan_by_engine(graph, 0);
    for (int role = 0; role < ROLES; role++)
        NEED(cudnnBackendDestroyDescriptor(d[role]));
    NEED(cudnnBackendDestroyDescriptor(op));
    NEED(cudnnBackendDestroyDescriptor(graph));
    return plan;
}

static inline int64_t workspace_of(desc plan)
{
    int64_t bytes = -1;
    NEED(cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                                  1, NULL, &bytes));
    return bytes;
}

static inline cudnnStatus_t execute(desc plan, int count, const int64_t *uid, void **pointer,
                                    void *workspace)
{
    desc pack = new_desc(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointer);
    set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, uid);
    set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    NEED(cudnnBackendFinalize(pack));
    const cudnnStatus_t status = cudnnBackendExecute(handle, plan, pack);
    NEED(cudnnBackendDestroyDescriptor(pack));
    return status;
}

static inline cudnnStatus_t run_plan(desc plan, const struct tensor t[ROLES])
{
    static const int64_t uid[ROLES] = {1, 2, 3};
    void *pointer[ROLES] = {t[X].device, t[W].device, t[Y].device}, *workspace = NULL;
    const int64_t bytes = workspace_of(plan);
    if (bytes > 0)
        NEED(cudaMalloc(&workspace, (size_t)bytes));
    const cudnnStatus_t status = execute(plan, ROLES, uid, pointer, workspace);
    NEED(cudaDeviceSynchronize());
    if (workspace)
        NEED(cudaFree(workspace));
    return status;
}

static inline struct tensor bias_like(const struct tensor *y, bool nhwc)
{
    struct tensor bias = *y;
    for (int i = 0; i < y->rank; i++)
        if (i != 1)
            bias.dim[i] = 1;
    lay_out(&bias, nhwc);
    return bias;
}

#define F CUDNN_DATA_FLOAT
#define H CUDNN_DATA_HALF
#define B CUDNN_DATA_BFLOAT16

static const struct problem spiky = {"spiky",  H,      0,      0,      2,      1,      1, 64, 64,
                                     {32, 32}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0};

#endif
