/* Checks of the legacy API: convolutions, queries, tensor operations, order on a stream. */
#include "selftest_cudnn.h"

/* Factors. */
static const float zero = 0, half = 0.5F, one = 1, two = 2;

/* ---- the legacy API ---- */

struct legacy {
    cudnnTensorDescriptor_t x, y, bias;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
};

static cudnnTensorDescriptor_t legacy_tensor(const struct tensor *t, cudnnDataType_t type)
{
    cudnnTensorDescriptor_t d;
    int dim[5], stride[5];
    for (int i = 0; i < t->rank; i++) {
        dim[i] = (int)t->dim[i];
        stride[i] = (int)t->stride[i];
    }
    NEED(cudnnCreateTensorDescriptor(&d));
    NEED(cudnnSetTensorNdDescriptor(d, type, t->rank, dim, stride));
    return d;
}

static struct legacy legacy_of(const struct problem *p, const struct tensor t[ROLES])
{
    struct legacy l;
    int dim[5], pad[3], stride[3], dilation[3];
    const struct tensor bias = bias_like(&t[Y], p->nhwc);
    for (int i = 0; i < t[W].rank; i++)
        dim[i] = (int)t[W].dim[i];
    for (int i = 0; i < p->spatial; i++) {
        pad[i] = (int)p->lower[i];
        stride[i] = (int)p->stride[i];
        dilation[i] = (int)p->dilation[i];
    }
    l.x = legacy_tensor(&t[X], p->type);
    l.y = legacy_tensor(&t[Y], p->type);
    l.bias = legacy_tensor(&bias, p->type);
    NEED(cudnnCreateFilterDescriptor(&l.w));
    NEED(cudnnSetFilterNdDescriptor(l.w, p->type, p->nhwc ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                                    t[W].rank, dim));
    NEED(cudnnCreateConvolutionDescriptor(&l.conv));
    NEED(cudnnSetConvolutionNdDescriptor(l.conv, p->spatial, pad, stride, dilation,
                                         p->flip ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION,
                                         CUDNN_DATA_FLOAT));
    NEED(cudnnSetConvolutionGroupCount(l.conv, p->groups));
    return l;
}

static void legacy_end(struct legacy *l)
{
    NEED(cudnnDestroyTensorDescriptor(l->x));
    NEED(cudnnDestroyTensorDescriptor(l->y));
    NEED(cudnnDestroyTensorDescriptor(l->bias));
    NEED(cudnnDestroyFilterDescriptor(l->w));
    NEED(cudnnDestroyConvolutionDescriptor(l->conv));
}

static cudnnStatus_t legacy_run(const struct problem *p, const struct legacy *l,
                                const struct tensor t[ROLES], int result, int algo)
{
    size_t bytes = 0;
    void *workspace = NULL;
    cudnnStatus_t status;
    if (result == Y)
        status = cudnnGetConvolutionForwardWorkspaceSize(handle, l->x, l->w, l->conv, l->y,
                                                         (cudnnConvolutionFwdAlgo_t)algo, &bytes);
    else if (result == X)
        status = cudnnGetConvolutionBackwardDataWorkspaceSize(
            handle, l->w, l->y, l->conv, l->x, (cudnnConvolutionBwdDataAlgo_t)algo, &bytes);
    else
        status = cudnnGetConvolutionBackwardFilterWorkspaceSize(
            handle, l->x, l->y, l->conv, l->w, (cudnnConvolutionBwdFilterAlgo_t)algo, &bytes);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (bytes)
        NEED(cudaMalloc(&workspace, bytes));
    if (result == Y)
        status = cudnnConvolutionForward(handle, &p->alpha, l->x, t[X].device, l->w, t[W].device,
                                         l->conv, (cudnnConvolutionFwdAlgo_t)algo, workspace, bytes,
                                         &p->beta, l->y, t[Y].device);
    else if (result == X)
        status = cudnnConvolutionBackwardData(
            handle, &p->alpha, l->w, t[W].device, l->y, t[Y].device, l->conv,
            (cudnnConvolutionBwdDataAlgo_t)algo, workspace, bytes, &p->beta, l->x, t[X].device);
    else
        status = cudnnConvolutionBackwardFilter(
            handle, &p->alpha, l->x, t[X].device, l->y, t[Y].device, l->conv,
            (cudnnConvolutionBwdFilterAlgo_t)algo, workspace, bytes, &p->beta, l->w, t[W].device);
    NEED(cudaDeviceSynchronize());
    if (workspace)
        NEED(cudaFree(workspace));
    return status;
}

static bool legacy_agrees(const struct problem *p, int result, int algo)
{
    struct tensor t[ROLES];
    shape(p, t);
    for (int role = 0; role < ROLES; role++)
        make(&t[role], p->type);
    double *wanted = reference(p, t, result);
    struct legacy l = legacy_of(p, t);
    bool good = legacy_run(p, &l, t, result, algo) == CUDNN_STATUS_SUCCESS;
    download(&t[result], p->type);
    good = good && agrees(&t[result], p->type, wanted);
    legacy_end(&l);
    free(wanted);
    for (int role = 0; role < ROLES; role++)
        unmake(&t[role]);
    return good;
}

static void check_legacy_results(void)
{
    /* clang-format off */
    static const struct problem p[] = {
        {"f32", F, 0, 0, 2, 2, 2, 16, 8, {9, 11}, {3, 3}, {2, 1}, {1, 2}, {1, 1}, {1, 1}, 1, 0},
        {"f32, scaled and added", F, 0, 0, 2, 1, 2, 16, 8, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2, 1},
        {"f16", H, 0, 0, 2, 1, 2, 16, 8, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
        {"bf16 nhwc", B, 1, 0, 2, 1, 2, 16, 8, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
        {"3-D", F, 0, 0, 3, 1, 1, 4, 8, {5, 6, 7}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 1, 0},
    };
    /* clang-format on */
    static const char *const kind[ROLES] = {"backward data", "backward filter", "forward"};
    char name[128];
    for (size_t i = 0; i < sizeof p / sizeof *p; i++)
        for (int result = 0; result < ROLES; result++)
            for (int algo = 0; algo < 2; algo++) {
                snprintf(name, sizeof name, "legacy %s, algorithm %d, %s", kind[result], algo,
                         p[i].name);
                ok(legacy_agrees(&p[i], result, algo), name);
            }
}

static void check_legacy_queries(void)
{
    const cudnnConvolutionFwdAlgo_t precomp = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
    cudnnConvolutionFwdAlgoPerf_t perf[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
    struct tensor t[ROLES];
    size_t bytes = 0;
    int count = 0;
    char *workspace;
    shape(&spiky, t);
    for (int role = 0; role < ROLES; role++)
        make(&t[role], spiky.type);
    struct legacy l = legacy_of(&spiky, t);
    desc plan = plan_of(&spiky, t, Y, 16);
    NEED(cudnnGetConvolutionForwardWorkspaceSize(handle, l.x, l.w, l.conv, l.y, precomp, &bytes));
    ok(bytes == (size_t)workspace_of(plan), "workspace: equal in the legacy and the backend API");
    NEED(cudnnGetConvolutionForwardAlgorithm_v7(handle, l.x, l.w, l.conv, l.y, 8, &count, perf));
    ok(count == 8 && perf[0].algo == precomp && perf[0].memory == bytes &&
           perf[0].status == CUDNN_STATUS_SUCCESS && perf[1].memory == 0 &&
           perf[7].status == CUDNN_STATUS_NOT_SUPPORTED,
       "algorithms: list of the heuristics");
    NEED(cudaMalloc((void **)&workspace, bytes));
    ok(cudnnConvolutionForward(handle, &one, l.x, t[X].device, l.w, t[W].device, l.conv, precomp,
                               workspace, bytes - 1, &zero, l.y,
                               t[Y].device) == CUDNN_STATUS_BAD_PARAM,
       "launch: workspace smaller than required, refused");
    ok(cudnnConvolutionForward(handle, &one, l.x, t[X].device, l.w, t[W].device, l.conv, precomp,
                               workspace + 512, bytes, &zero, l.y,
                               t[Y].device) == CUDNN_STATUS_EXECUTION_FAILED,
       "launch: workspace larger than its allocation, refused");
    NEED(cudnnFindConvolutionForwardAlgorithmEx(handle, l.x, t[X].device, l.w, t[W].device, l.conv,
                                                l.y, t[Y].device, 8, &count, perf, workspace, 16));
    ok(count == 8 && perf[0].algo == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM && perf[0].time > 0 &&
           perf[1].status != CUDNN_STATUS_SUCCESS,
       "FindEx: runs the algorithms that fit its workspace");
    NEED(cudnnFindConvolutionForwardAlgorithm(handle, l.x, l.w, l.conv, l.y, 2, &count, perf));
    ok(count == 2 && perf[1].status == CUDNN_STATUS_SUCCESS && perf[0].time <= perf[1].time,
       "Find: allocates its memory");
    NEED(cudnnBackendDestroyDescriptor(plan));
    NEED(cudaFree(workspace));
    legacy_end(&l);
    for (int role = 0; role < ROLES; role++)
        unmake(&t[role]);
}

static void check_legacy_fused(void)
{
    static const struct problem p = {"f16",   H,      0,      0,      2,      1,      2, 16, 8,
                                     {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0};
    struct tensor t[ROLES], bias;
    shape(&p, t);
    bias = bias_like(&t[Y], false);
    for (int role = 0; role < ROLES; role++)
        make(&t[role], p.type);
    make(&bias, p.type);
    double *wanted = reference(&p, t, Y);
    for (int64_t i = 0; i < elements(&t[Y]); i++)
        wanted[i] =
            fmax(0, wanted[i] + 0.5 * (double)t[Y].host[i] + (double)bias.host[i / (9 * 11) % p.k]);
    struct legacy l = legacy_of(&p, t);
    cudnnActivationDescriptor_t relu;
    NEED(cudnnCreateActivationDescriptor(&relu));
    NEED(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0));
    const cudnnStatus_t status = cudnnConvolutionBiasActivationForward(
        handle, &one, l.x, t[X].device, l.w, t[W].device, l.conv,
        CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, NULL, 0, &half, l.y, t[Y].device, l.bias,
        bias.device, relu, l.y, t[Y].device);
    download(&t[Y], p.type);
    ok(status == CUDNN_STATUS_SUCCESS && agrees(&t[Y], p.type, wanted),
       "fused: legacy convolution, side input in place, bias and relu");
    NEED(cudnnDestroyActivationDescriptor(relu));
    legacy_end(&l);
    free(wanted);
    unmake(&bias);
    for (int role = 0; role < ROLES; role++)
        unmake(&t[role]);
}

/* ---- tensor operations, and order on a stream ---- */

static struct tensor make_like(int n, int c, int h, int w, bool nhwc, cudnnDataType_t type)
{
    struct tensor t = {.rank = 4, .dim = {n, c, h, w}};
    lay_out(&t, nhwc);
    make(&t, type);
    return t;
}

/* Operands of the same extents in two layouts and types, and a bias. */
struct operands {
    struct tensor a, b, c, bias;
    cudnnTensorDescriptor_t ad, bd, cd, biasd;
    int64_t count;
    double *wanted;
};

static struct operands make_operands(void)
{
    struct operands o = {.a = make_like(2, 5, 7, 9, false, H),
                         .b = make_like(2, 5, 7, 9, true, F),
                         .c = make_like(2, 5, 7, 9, true, F),
                         .bias = make_like(1, 5, 1, 1, false, F)};
    o.ad = legacy_tensor(&o.a, H);
    o.bd = legacy_tensor(&o.b, F);
    o.cd = legacy_tensor(&o.c, F);
    o.biasd = legacy_tensor(&o.bias, F);
    o.count = elements(&o.a);
    o.wanted = calloc((size_t)o.count, sizeof *o.wanted);
    return o;
}

static void unmake_operands(struct operands *o)
{
    free(o->wanted);
    NEED(cudnnDestroyTensorDescriptor(o->ad));
    NEED(cudnnDestroyTensorDescriptor(o->bd));
    NEED(cudnnDestroyTensorDescriptor(o->cd));
    NEED(cudnnDestroyTensorDescriptor(o->biasd));
    unmake(&o->a);
    unmake(&o->b);
    unmake(&o->c);
    unmake(&o->bias);
}

static void check_sums(struct operands *o)
{
    for (int64_t i = 0; i < o->count; i++)
        o->wanted[i] = 2 * (double)o->a.host[i] + (double)o->b.host[i];
    NEED(cudnnTransformTensor(handle, &two, o->ad, o->a.device, &one, o->bd, o->b.device));
    download(&o->b, F);
    ok(agrees(&o->b, F, o->wanted), "transform: f16 nchw to f32 nhwc, scaled and added");

    for (int64_t i = 0; i < o->count; i++)
        o->wanted[i] = 0.5 * (double)o->bias.host[i / 63 % 5] + 2 * (double)o->b.host[i];
    NEED(cudnnAddTensor(handle, &half, o->biasd, o->bias.device, &two, o->bd, o->b.device));
    download(&o->b, F);
    ok(agrees(&o->b, F, o->wanted), "add: broadcast bias");
}

static void check_product(struct operands *o)
{
    cudnnOpTensorDescriptor_t mul;
    NEED(cudnnCreateOpTensorDescriptor(&mul));
    NEED(cudnnSetOpTensorDescriptor(mul, CUDNN_OP_TENSOR_MUL, F, CUDNN_NOT_PROPAGATE_NAN));
    for (int64_t i = 0; i < o->count; i++)
        o->wanted[i] = (double)o->b.host[i] * 2 * (double)o->c.host[i];
    NEED(cudnnOpTensor(handle, mul, &one, o->bd, o->b.device, &two, o->cd, o->c.device, &zero,
                       o->cd, o->c.device));
    download(&o->c, F);
    ok(agrees(&o->c, F, o->wanted), "operation: product in place");
    NEED(cudnnDestroyOpTensorDescriptor(mul));
}

static void check_refused(struct operands *o)
{
    ok(cudnnConvolutionBackwardBias(handle, &one, o->bd, o->b.device, &zero, o->biasd,
                                    o->bias.device) == CUDNN_STATUS_NOT_SUPPORTED,
       "gradient of a bias: not computed, so it is refused in compute mode");
}

static void activate(struct operands *o, cudnnActivationMode_t mode, double coefficient)
{
    cudnnActivationDescriptor_t act;
    NEED(cudnnCreateActivationDescriptor(&act));
    NEED(cudnnSetActivationDescriptor(act, mode, CUDNN_NOT_PROPAGATE_NAN, coefficient));
    NEED(cudnnActivationForward(handle, act, &one, o->cd, o->c.device, &zero, o->bd, o->b.device));
    download(&o->b, F);
    NEED(cudnnDestroyActivationDescriptor(act));
}

static void check_activations(struct operands *o)
{
    activate(o, CUDNN_ACTIVATION_CLIPPED_RELU, 3);
    for (int64_t i = 0; i < o->count; i++)
        o->wanted[i] = fmin(3, fmax(0, (double)o->c.host[i]));
    ok(agrees(&o->b, F, o->wanted), "activation: clipped relu");

    activate(o, CUDNN_ACTIVATION_SWISH, 0);
    bool close = true;
    for (int64_t i = 0; i < o->count; i++) {
        const double x = (double)o->c.host[i], y = x / (1 + exp(-x));
        close = close && fabs((double)o->b.host[i] - y) <= 1e-6 * fabs(y) + 1e-30;
    }
    ok(close, "activation: swish");
}

static void check_constant(struct operands *o)
{
    NEED(cudnnSetTensor(handle, o->ad, o->a.device, &(_Float16){(_Float16)1.5}));
    NEED(cudnnScaleTensor(handle, o->ad, o->a.device, &two));
    for (int64_t i = 0; i < o->count; i++)
        o->wanted[i] = 3;
    download(&o->a, H);
    ok(agrees(&o->a, H, o->wanted), "set and scale: constant");
    ok(cudnnScaleTensor(handle, o->bd, o->b.device + 4, &two) == CUDNN_STATUS_EXECUTION_FAILED,
       "operation: operand past its allocation, refused");
}

static void check_operations(void)
{
    struct operands o = make_operands();
    check_sums(&o);
    check_product(&o);
    check_refused(&o);
    check_activations(&o);
    check_constant(&o);
    unmake_operands(&o);
}

/* y = conv(x), x = 2 y, y = conv(x): queued at once, the results equal those of sequential runs. */
static bool ordered_on(cudaStream_t stream)
{
    static const struct problem p = {"order",  F,      0,      0,      2,      1,      1, 16, 16,
                                     {40, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 0};
    static const int64_t uid[ROLES] = {1, 2, 3};
    struct tensor t[ROLES];
    void *workspace = NULL;
    shape(&p, t);
    for (int role = 0; role < ROLES; role++)
        make(&t[role], p.type);
    struct legacy l = legacy_of(&p, t);
    desc plan = plan_of(&p, t, Y, 16);
    const size_t bytes = (size_t)workspace_of(plan);
    if (bytes)
        NEED(cudaMalloc(&workspace, bytes));
    double *first = reference(&p, t, Y);
    for (int64_t i = 0; i < elements(&t[X]); i++)
        t[X].host[i] = (float)(2 * first[i]);
    double *wanted = reference(&p, t, Y);
    void *pointer[ROLES] = {t[X].device, t[W].device, t[Y].device};
    NEED(cudnnSetStream(handle, stream));
    bool good = execute(plan, 3, uid, pointer, workspace) == CUDNN_STATUS_SUCCESS;
    NEED(cudnnTransformTensor(handle, &two, l.y, t[Y].device, &zero, l.x, t[X].device));
    good = execute(plan, 3, uid, pointer, workspace) == CUDNN_STATUS_SUCCESS && good;
    NEED(cudaStreamSynchronize(stream));
    NEED(cudnnSetStream(handle, NULL));
    download(&t[Y], p.type);
    good = good && agrees(&t[Y], p.type, wanted);
    free(first);
    free(wanted);
    legacy_end(&l);
    NEED(cudnnBackendDestroyDescriptor(plan));
    if (workspace)
        NEED(cudaFree(workspace));
    for (int role = 0; role < ROLES; role++)
        unmake(&t[role]);
    return good;
}

static void check_order(void)
{
    cudaStream_t stream;
    NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ok(ordered_on(NULL), "order: default stream");
    ok(ordered_on(stream), "order: created stream");
    NEED(cudaStreamDestroy(stream));
}

int main(void)
{
    begin();
    check_legacy_results();
    check_legacy_queries();
    check_legacy_fused();
    check_operations();
    check_order();
    return end();
}
