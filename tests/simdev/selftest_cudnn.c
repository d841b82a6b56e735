/* Checks of the backend API: results, tiles, refusals, fused graphs. */
#include "selftest_cudnn.h"

#include <pthread.h>

/* ---- results against the reference ---- */

static bool agrees_with_reference(const struct problem *p, int result)
{
    struct tensor t[ROLES];
    shape(p, t);
    for (int role = 0; role < ROLES; role++)
        make(&t[role], p->type);
    double *wanted = reference(p, t, result);
    desc plan = plan_of(p, t, result, 16);
    bool good = plan && run_plan(plan, t) == CUDNN_STATUS_SUCCESS;
    if (good) {
        download(&t[result], p->type);
        good = agrees(&t[result], p->type, wanted);
    }
    if (plan)
        NEED(cudnnBackendDestroyDescriptor(plan));
    for (int role = 0; role < ROLES; role++)
        unmake(&t[role]);
    free(wanted);
    return good;
}

/* clang-format off */
static const struct problem problems[] = {
    /* name, type, nhwc, flip, spatial, groups, n, c, k, in, taps, stride, dilation, lower, upper, alpha, beta */
    {"3x3", F, 0, 0, 2, 1, 2, 16, 8, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
    {"3x3 nhwc", F, 1, 0, 2, 1, 2, 16, 8, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
    {"3x3 f16", H, 0, 0, 2, 1, 2, 16, 8, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
    {"3x3 f16 nhwc", H, 1, 0, 2, 1, 2, 16, 8, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
    {"3x3 bf16", B, 0, 0, 2, 1, 2, 16, 8, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
    {"3x3 bf16 nhwc", B, 1, 0, 2, 1, 1, 8, 8, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
    {"stride 2", F, 0, 0, 2, 1, 1, 4, 8, {16, 15}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
    {"stride over kernel", F, 0, 0, 2, 1, 1, 4, 8, {23, 19}, {2, 3}, {5, 4}, {1, 1}, {0, 1}, {0, 1}, 1, 0},
    {"dilation", F, 0, 0, 2, 1, 1, 4, 8, {16, 15}, {3, 3}, {1, 1}, {2, 3}, {2, 3}, {2, 3}, 1, 0},
    {"dilation and stride", F, 0, 0, 2, 1, 1, 4, 8, {16, 15}, {3, 2}, {2, 3}, {3, 2}, {4, 1}, {4, 1}, 1, 0},
    {"groups", F, 0, 0, 2, 4, 2, 16, 8, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
    {"groups f16 nhwc", H, 1, 0, 2, 2, 2, 16, 32, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
    {"depthwise", F, 0, 0, 2, 8, 1, 8, 8, {9, 9}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, 1, 0},
    {"padding below only", F, 0, 0, 2, 1, 1, 8, 8, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {0, 1}, {1, 1}, 1, 0},
    {"padding above only", F, 0, 0, 2, 1, 1, 8, 8, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 1}, 1, 0},
    {"uneven padding nhwc f16", H, 1, 0, 2, 1, 1, 8, 8, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {2, 0}, {1, 3}, 1, 0},
    {"padding over kernel", F, 0, 0, 2, 1, 1, 4, 4, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {6, 5}, {6, 5}, 1, 0},
    {"rows in padding", F, 0, 0, 2, 1, 2, 3, 5, {2, 3}, {1, 1}, {1, 1}, {1, 1}, {4, 4}, {3, 4}, 1, 0},
    {"uneven padding over kernel", F, 0, 0, 2, 1, 1, 4, 4, {5, 6}, {3, 2}, {2, 3}, {1, 1}, {7, 0}, {2, 9}, 1, 0},
    {"one row", F, 0, 0, 2, 1, 1, 8, 8, {3, 40}, {3, 3}, {1, 1}, {1, 1}, {0, 1}, {0, 1}, 1, 0},
    {"1x1", F, 0, 0, 2, 1, 2, 32, 24, {7, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, 0},
    {"7x7", F, 0, 0, 2, 1, 1, 3, 16, {30, 31}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}, 1, 0},
    {"kernel of the image", F, 0, 0, 2, 1, 2, 5, 7, {6, 4}, {6, 4}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, 0},
    {"odd channels", F, 0, 0, 2, 1, 1, 5, 3, {13, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
    {"flipped", F, 0, 1, 2, 1, 1, 4, 8, {9, 9}, {3, 2}, {1, 1}, {1, 1}, {1, 0}, {1, 0}, 1, 0},
    {"scaled", F, 0, 0, 2, 1, 1, 4, 8, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2, 0},
    {"added", F, 0, 0, 2, 1, 1, 4, 8, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 1},
    {"scaled and added f16", H, 0, 0, 2, 1, 1, 4, 8, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 0.5F, 2},
    {"3-D", F, 0, 0, 3, 1, 1, 4, 8, {5, 6, 7}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 1, 0},
    {"3-D strided", F, 0, 0, 3, 1, 2, 4, 8, {5, 9, 8}, {1, 3, 2}, {1, 2, 3}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, 1, 0},
    {"3-D groups f16 ndhwc", H, 1, 0, 3, 2, 1, 16, 16, {4, 5, 6}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 1, 0},
    {"3-D uneven padding", F, 0, 0, 3, 1, 1, 4, 8, {4, 5, 6}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 2}, {1, 0, 1}, 1, 0},
    {"1-D as 2-D", F, 0, 0, 2, 1, 2, 8, 8, {1, 50}, {1, 5}, {1, 2}, {1, 1}, {0, 2}, {0, 2}, 1, 0},
};
/* clang-format on */

/* Runs the checks with oneDNN and with the loops for cases that oneDNN refuses. */
static void check_results(const char *way)
{
    NEED(setenv("SIMDEV_CONVOLVE", way, 1));
    char name[128];
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        static const char *const kind[ROLES] = {"backward data", "backward filter", "forward"};
        for (int result = ROLES - 1; result >= 0; result--) {
            snprintf(name, sizeof name, "%s, %s%s%s", kind[result], problems[i].name,
                     *way ? ", " : "", way);
            ok(agrees_with_reference(&problems[i], result), name);
        }
    }
}

static struct problem draw_problem(void)
{
    static const cudnnDataType_t type[] = {F, F, H, B};
    struct problem p = {.name = "drawn", .alpha = 1, .type = type[draw(4)], .nhwc = draw(3) == 0};
    p.spatial = draw(4) == 0 ? 3 : 2;
    p.groups = draw(3) == 0 ? 2 : 1;
    p.n = 1 + draw(3);
    p.c = p.groups * (1 + draw(9));
    p.k = p.groups * (1 + draw(9));
    for (int i = 0; i < p.spatial; i++) {
        p.taps[i] = 1 + draw(4);
        p.stride[i] = 1 + draw(3);
        p.dilation[i] = 1 + draw(2);
        p.lower[i] = draw(4);
        p.upper[i] = draw(4);
        p.in[i] = (p.taps[i] - 1) * p.dilation[i] + 1 + draw(9);
    }
    return p;
}

static void check_drawn(void)
{
    for (int i = 0; i < 60; i++) {
        char name[128];
        const struct problem p = draw_problem();
        snprintf(name, sizeof name, "forward, drawn problem %d", i);
        ok(agrees_with_reference(&p, Y), name);
    }
}

/* Arguments and status of a call in another thread. */
struct execution {
    desc plan;
    void *pointer[ROLES], *workspace;
    cudnnStatus_t status;
};

static void *execute_apart(void *arg)
{
    static const int64_t uid[ROLES] = {1, 2, 3};
    struct execution *e = arg;
    e->status = execute(e->plan, ROLES, uid, e->pointer, e->workspace);
    return NULL;
}

/* A thread without a context gets the primary one, as at its first use of the runtime. */
static void check_new_thread(void)
{
    const struct problem *p = &problems[0];
    struct execution e = {.status = CUDNN_STATUS_NOT_INITIALIZED};
    struct tensor t[ROLES];
    pthread_t thread;
    shape(p, t);
    for (int role = 0; role < ROLES; role++) {
        make(&t[role], p->type);
        e.pointer[role] = t[role].device;
    }
    e.plan = plan_of(p, t, Y, 16);
    NEED(cudaMalloc(&e.workspace, (size_t)workspace_of(e.plan) + 1));
    NEED(pthread_create(&thread, NULL, execute_apart, &e));
    NEED(pthread_join(thread, NULL));
    ok(e.status == CUDNN_STATUS_SUCCESS, "a thread that never used CUDA executes a plan");
    NEED(cudaDeviceSynchronize());
    NEED(cudaFree(e.workspace));
    NEED(cudnnBackendDestroyDescriptor(e.plan));
    for (int role = 0; role < ROLES; role++)
        unmake(&t[role]);
}

/* ---- tiles ---- */

/* Rows [first, first + rows) of the output as a separate convolution on views of the tensors. */
static void make_tile(const struct problem *p, const struct tensor t[ROLES], int64_t first,
                      int64_t rows, struct problem *tile, struct tensor part[ROLES])
{
    const int64_t reach = (p->taps[0] - 1) * p->dilation[0] + 1;
    const int64_t low = first * p->stride[0] - p->lower[0];
    const int64_t high = (first + rows - 1) * p->stride[0] - p->lower[0] + reach;
    const int64_t from = low < 0 ? 0 : low, to = high > p->in[0] ? p->in[0] : high;
    *tile = *p;
    tile->in[0] = to - from;
    tile->lower[0] = from - low;
    tile->upper[0] = high - to;
    memcpy(part, t, ROLES * sizeof *t);
    part[X].dim[2] = to - from;
    part[Y].dim[2] = rows;
    part[X].device += (size_t)(from * t[X].stride[2]) * size_of(p->type);
    part[Y].device += (size_t)(first * t[Y].stride[2]) * size_of(p->type);
}

static bool tiles_agree(const struct problem *p, int64_t rows)
{
    struct tensor t[ROLES], part[ROLES];
    struct problem tile;
    shape(p, t);
    for (int role = 0; role < ROLES; role++)
        make(&t[role], p->type);
    double *wanted = reference(p, t, Y);
    bool good = true;
    for (int64_t first = 0; good && first < t[Y].dim[2]; first += rows) {
        const int64_t left = t[Y].dim[2] - first;
        make_tile(p, t, first, rows < left ? rows : left, &tile, part);
        desc plan = plan_of(&tile, part, Y, (int64_t)size_of(p->type));
        good = plan && run_plan(plan, part) == CUDNN_STATUS_SUCCESS;
        if (plan)
            NEED(cudnnBackendDestroyDescriptor(plan));
    }
    download(&t[Y], p->type);
    good = good && agrees(&t[Y], p->type, wanted);
    for (int role = 0; role < ROLES; role++)
        unmake(&t[role]);
    free(wanted);
    return good;
}

static void check_tiles(void)
{
    /* clang-format off */
    static const struct problem whole[] = {
        {"f32", F, 0, 0, 2, 1, 2, 24, 20, {21, 17}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
        {"f16", H, 0, 0, 2, 1, 2, 24, 20, {21, 17}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
        {"strided", F, 0, 0, 2, 1, 2, 24, 20, {21, 17}, {5, 3}, {2, 1}, {2, 1}, {4, 1}, {4, 1}, 1, 0},
        {"nhwc", F, 1, 0, 2, 1, 1, 24, 20, {21, 17}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
    };
    /* clang-format on */
    char name[128];
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        for (int64_t rows = 1; rows <= 7; rows += 3) {
            snprintf(name, sizeof name, "tiles of %d rows, %s", (int)rows, whole[i].name);
            ok(tiles_agree(&whole[i], rows), name);
        }
}

/* ---- refusals ---- */

/* True if a run overwrites all of its workspace, as a plan on a GPU may. */
static bool is_written_over(desc plan, const int64_t *uid, void **pointer, char *workspace,
                            size_t bytes)
{
    char *image = malloc(bytes > 0 ? bytes : 1);
    NEED(cudaMemset(workspace, 0, bytes));
    bool all = execute(plan, ROLES, uid, pointer, workspace) == CUDNN_STATUS_SUCCESS;
    NEED(cudaDeviceSynchronize());
    NEED(cudaMemcpy(image, workspace, bytes, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < bytes; i++)
        all = all && image[i] != 0;
    free(image);
    return all;
}

static void check_refusals(void)
{
    static const int64_t uid[ROLES] = {1, 2, 3};
    struct tensor t[ROLES];
    char *workspace, *gone;
    shape(&spiky, t);
    for (int role = 0; role < ROLES; role++)
        make(&t[role], spiky.type);
    desc plan = plan_of(&spiky, t, Y, 16);
    const size_t bytes = (size_t)workspace_of(plan);
    ok(bytes > 0, "plan: nchw f16, requires a workspace");
    NEED(cudaMalloc((void **)&workspace, bytes));
    NEED(cudaMalloc((void **)&gone, t[X].bytes + 64));
    void *good[ROLES] = {t[X].device, t[W].device, t[Y].device};
    ok(execute(plan, 3, uid, good, workspace) == CUDNN_STATUS_SUCCESS, "launch: valid");
    ok(is_written_over(plan, uid, good, workspace, bytes),
       "launch: overwrites its whole workspace");
    ok(execute(plan, 3, uid, good, NULL) == CUDNN_STATUS_EXECUTION_FAILED,
       "launch: no workspace, refused");
    ok(execute(plan, 3, uid, good, workspace + 512) == CUDNN_STATUS_EXECUTION_FAILED,
       "launch: workspace smaller than required, refused");
    ok(execute(plan, 3, uid, good, t[Y].device) == CUDNN_STATUS_EXECUTION_FAILED,
       "launch: workspace inside a tensor, refused");
    void *shifted[ROLES] = {gone + 2, t[W].device, t[Y].device};
    ok(execute(plan, 3, uid, shifted, workspace) == CUDNN_STATUS_EXECUTION_FAILED,
       "launch: tensor below its declared alignment, refused");
    void *beyond[ROLES] = {t[X].device, t[W].device, t[Y].device + 16};
    ok(execute(plan, 3, uid, beyond, workspace) == CUDNN_STATUS_EXECUTION_FAILED,
       "launch: tensor past its allocation, refused");
    void *alias[ROLES] = {t[X].device, t[W].device, t[X].device};
    ok(execute(plan, 3, uid, alias, workspace) == CUDNN_STATUS_EXECUTION_FAILED,
       "launch: output equal to the input, refused");
    ok(execute(plan, 2, uid, good, workspace) == CUDNN_STATUS_EXECUTION_FAILED,
       "launch: variant pack without the output, refused");
    NEED(cudaFree(gone));
    void *dead[ROLES] = {gone, t[W].device, t[Y].device};
    ok(execute(plan, 3, uid, dead, workspace) == CUDNN_STATUS_EXECUTION_FAILED,
       "launch: tensor in freed memory, refused");
    NEED(cudaDeviceSynchronize());
    NEED(cudaFree(workspace));
    NEED(cudnnBackendDestroyDescriptor(plan));
    for (int role = 0; role < ROLES; role++)
        unmake(&t[role]);
}

static void check_attributes(void)
{
    struct tensor t[ROLES];
    int64_t uid = 1, count = 0, bytes = 0;
    cudnnHandle_t told = NULL;
    shape(&spiky, t);
    desc fresh = new_desc(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    desc done = tensor_desc(7, &t[X], spiky.type, false, 16), plan = plan_of(&spiky, t, Y, 16);
    ok(cudnnBackendGetAttribute(fresh, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &count,
                                &uid) != CUDNN_STATUS_SUCCESS,
       "attributes: get before finalize, refused");
    ok(cudnnBackendSetAttribute(done, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid) !=
           CUDNN_STATUS_SUCCESS,
       "attributes: set after finalize, refused");
    ok(cudnnBackendSetAttribute(fresh, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &uid) !=
           CUDNN_STATUS_SUCCESS,
       "attributes: of another descriptor type, refused");
    ok(cudnnBackendGetAttribute(done, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, NULL,
                                &uid) == CUDNN_STATUS_SUCCESS &&
           uid == 7,
       "attributes: get without a count");
    ok(cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                                &count, &told) == CUDNN_STATUS_SUCCESS &&
           told == handle,
       "attributes: handle of a plan");
    desc config = new_desc(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    ok(cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                                &config) == CUDNN_STATUS_SUCCESS &&
           count == 1 &&
           cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                                    1, &count, &bytes) == CUDNN_STATUS_SUCCESS &&
           bytes == workspace_of(plan),
       "workspace: equal in config and plan");
    NEED(cudnnBackendDestroyDescriptor(config));
    NEED(cudnnBackendDestroyDescriptor(plan));
    NEED(cudnnBackendDestroyDescriptor(done));
    NEED(cudnnBackendDestroyDescriptor(fresh));
}

/* ---- fused graphs ---- */

static desc pointwise_op(cudnnPointwiseMode_t mode, float alpha2, desc x, desc b, desc y)
{
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    desc m = new_desc(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(m, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    set(m, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    NEED(cudnnBackendFinalize(m));
    desc op = new_desc(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &m);
    set(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &x);
    if (b)
        set(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &b);
    set(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &y);
    set(op, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, 1, &alpha2);
    NEED(cudnnBackendFinalize(op));
    NEED(cudnnBackendDestroyDescriptor(m));
    return op;
}

struct fused {
    struct tensor t[ROLES], bias;
    desc d[ROLES], bias_desc, middle[3], op[4];
    int ops;
};

/* relu(conv(x, w) + scale * y + bias) onto y itself, as PyTorch fuses it; without side and relu:
 * conv + bias. */
static desc fused_plan(const struct problem *p, struct fused *f, bool whole, float scale)
{
    for (int i = 0; i < 3; i++)
        f->middle[i] = tensor_desc(20 + i, &f->t[Y], CUDNN_DATA_FLOAT, true, 16);
    for (int role = 0; role < ROLES; role++)
        f->d[role] = tensor_desc(role + 1, &f->t[role], p->type, false, 16);
    f->bias_desc = tensor_desc(4, &f->bias, p->type, false, 16);
    desc side = tensor_desc(5, &f->t[Y], p->type, false, 16);
    const desc conv[ROLES] = {f->d[X], f->d[W], f->middle[0]};
    f->ops = 0;
    f->op[f->ops++] = convolution_op(p, Y, conv);
    if (whole) {
        f->op[f->ops++] =
            pointwise_op(CUDNN_POINTWISE_ADD, scale, f->middle[0], side, f->middle[1]);
        f->op[f->ops++] =
            pointwise_op(CUDNN_POINTWISE_ADD, 1, f->middle[1], f->bias_desc, f->middle[2]);
        f->op[f->ops++] = pointwise_op(CUDNN_POINTWISE_RELU_FWD, 1, f->middle[2], NULL, f->d[Y]);
    } else {
        f->op[f->ops++] = pointwise_op(CUDNN_POINTWISE_ADD, 1, f->middle[0], f->bias_desc, f->d[Y]);
    }
    desc graph = graph_of(f->ops, f->op);
    desc plan = plan_by_engine(graph, 0);
    NEED(cudnnBackendDestroyDescriptor(graph));
    NEED(cudnnBackendDestroyDescriptor(side));
    return plan;
}

/* A side input that is scaled by 0 has no address. */
static bool fused_agrees(const struct problem *p, bool whole, float scale)
{
    static const int64_t uid[] = {1, 2, 3, 4, 5};
    struct fused f;
    shape(p, f.t);
    f.bias = bias_like(&f.t[Y], p->nhwc);
    for (int role = 0; role < ROLES; role++)
        make(&f.t[role], p->type);
    make(&f.bias, p->type);
    double *wanted = reference(p, f.t, Y);
    const int64_t count = elements(&f.t[Y]), plane = count / p->n / p->k;
    for (int64_t i = 0; i < count; i++) {
        wanted[i] += (double)f.bias.host[i / plane % p->k];
        if (whole)
            wanted[i] += (double)scale * (double)f.t[Y].host[i];
        if (whole && wanted[i] < 0)
            wanted[i] = 0;
    }
    desc plan = fused_plan(p, &f, whole, scale);
    void *pointer[] = {f.t[X].device, f.t[W].device, f.t[Y].device, f.bias.device, f.t[Y].device};
    bool good = plan && workspace_of(plan) == 0 &&
                execute(plan, scale != 0 ? 5 : 4, uid, pointer, NULL) == CUDNN_STATUS_SUCCESS;
    download(&f.t[Y], p->type);
    good = good && agrees(&f.t[Y], p->type, wanted);
    free(wanted);
    for (int i = 0; i < f.ops; i++)
        NEED(cudnnBackendDestroyDescriptor(f.op[i]));
    for (int role = 0; role < ROLES; role++) {
        NEED(cudnnBackendDestroyDescriptor(f.d[role]));
        NEED(cudnnBackendDestroyDescriptor(f.middle[role]));
        unmake(&f.t[role]);
    }
    NEED(cudnnBackendDestroyDescriptor(f.bias_desc));
    unmake(&f.bias);
    if (plan)
        NEED(cudnnBackendDestroyDescriptor(plan));
    return good;
}

static void check_fused(void)
{
    /* clang-format off */
    const struct problem p[] = {
        {"f16", H, 0, 0, 2, 1, 2, 16, 8, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
        {"f16 nhwc", H, 1, 0, 2, 1, 2, 16, 8, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
        {"f32", F, 0, 0, 2, 1, 2, 16, 8, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
    };
    /* clang-format on */
    char name[128];
    for (size_t i = 0; i < sizeof p / sizeof *p; i++) {
        snprintf(name, sizeof name, "fused: convolution and bias, %s", p[i].name);
        ok(fused_agrees(&p[i], false, 1), name);
        snprintf(name, sizeof name, "fused: convolution, side input in place, bias and relu, %s",
                 p[i].name);
        ok(fused_agrees(&p[i], true, 0.5F), name);
        snprintf(name, sizeof name, "fused: side input scaled by 0 and absent, %s", p[i].name);
        ok(fused_agrees(&p[i], true, 0), name);
    }
}

int main(void)
{
    begin();
    check_results("");
    check_results("plain");
    NEED(unsetenv("SIMDEV_CONVOLVE"));
    check_drawn();
    check_new_thread();
    check_tiles();
    check_refusals();
    check_attributes();
    check_fused();
    return end();
}
