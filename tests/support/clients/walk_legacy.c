/* The walk through the legacy API. */
#include "walk.h"

#include <stdio.h>
#include <string.h>

struct legacy_walk {
    struct walk *walk;
    cudnnTensorDescriptor_t x, y, bias;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
    cudnnActivationDescriptor_t activation;
    int algorithm; /* of the last query */
    size_t told;   /* for it */
    bool asked;    /* with success, and not set otherwise since */
};

static void set_filter(struct legacy_walk *l)
{
    const struct conv_problem *p = &l->walk->problem;
    int size[CLIENT_MAX_DIMS];
    for (int i = 0; i < p->w.dims; i++)
        size[i] = (int)p->w.size[i];
    walk_note("set w", cudnnSetFilterNdDescriptor(l->w, p->w.type,
                                                  p->layout == LAYOUT_NHWC ? CUDNN_TENSOR_NHWC
                                                                           : CUDNN_TENSOR_NCHW,
                                                  p->w.dims, size));
}

static void set_convolution(struct legacy_walk *l)
{
    const struct conv_problem *p = &l->walk->problem;
    int padding[3], stride[3], dilation[3];
    for (int i = 0; i < p->spatial; i++) {
        padding[i] = (int)p->pre[i];
        stride[i] = (int)p->stride[i];
        dilation[i] = (int)p->dilation[i];
    }
    walk_note("set conv", cudnnSetConvolutionNdDescriptor(
                              l->conv, p->spatial, padding, stride, dilation,
                              walk_strays(l->walk, 6) ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION,
                              CUDNN_DATA_FLOAT));
    if (!walk_strays(l->walk, 20))
        walk_note("set groups", cudnnSetConvolutionGroupCount(l->conv, (int)p->groups));
    walk_note("set math", cudnnSetConvolutionMathType(
                              l->conv, (cudnnMathType_t)rng_between(
                                           &l->walk->rng, CUDNN_DEFAULT_MATH, CUDNN_FMA_MATH)));
}

static void set_bias(struct legacy_walk *l)
{
    const struct conv_problem *p = &l->walk->problem;
    int size[CLIENT_MAX_DIMS] = {1, (int)p->y.size[1], 1, 1, 1};
    int stride[CLIENT_MAX_DIMS] = {(int)p->y.size[1], 1, 1, 1, 1};
    walk_note("set bias", cudnnSetTensorNdDescriptor(l->bias, p->y.type, p->y.dims, size, stride));
    walk_note("set activation",
              cudnnSetActivationDescriptor(l->activation,
                                           walk_strays(l->walk, 2) ? CUDNN_ACTIVATION_RELU
                                                                   : CUDNN_ACTIVATION_IDENTITY,
                                           CUDNN_NOT_PROPAGATE_NAN, 0));
}

/* One time in ten each to how it is not meant. */
static void set_all(struct legacy_walk *l)
{
    const struct conv_problem *p = &l->walk->problem;
    if (!walk_strays(l->walk, 10))
        walk_note("set x", tensor_describe(&p->x, l->x));
    if (!walk_strays(l->walk, 10))
        walk_note("set y", tensor_describe(&p->y, l->y));
    if (!walk_strays(l->walk, 10))
        set_filter(l);
    if (!walk_strays(l->walk, 10))
        set_convolution(l);
    set_bias(l);
    l->asked = false;
}

static void create_all(struct legacy_walk *l)
{
    walk_note("create x", cudnnCreateTensorDescriptor(&l->x));
    walk_note("create y", cudnnCreateTensorDescriptor(&l->y));
    walk_note("create bias", cudnnCreateTensorDescriptor(&l->bias));
    walk_note("create w", cudnnCreateFilterDescriptor(&l->w));
    walk_note("create conv", cudnnCreateConvolutionDescriptor(&l->conv));
    walk_note("create activation", cudnnCreateActivationDescriptor(&l->activation));
}

static void destroy_all(struct legacy_walk *l)
{
    walk_note("destroy x", cudnnDestroyTensorDescriptor(l->x));
    walk_note("destroy y", cudnnDestroyTensorDescriptor(l->y));
    walk_note("destroy bias", cudnnDestroyTensorDescriptor(l->bias));
    walk_note("destroy w", cudnnDestroyFilterDescriptor(l->w));
    walk_note("destroy conv", cudnnDestroyConvolutionDescriptor(l->conv));
    walk_note("destroy activation", cudnnDestroyActivationDescriptor(l->activation));
}

static cudnnHandle_t some_handle(struct legacy_walk *l)
{
    return l->walk->handle[walk_strays(l->walk, 8)];
}

#define ASK_ANSWERS(query, perf_type, limit, ...)                                                  \
    do {                                                                                           \
        perf_type perf[limit];                                                                     \
        int room = (int)rng_between(&l->walk->rng, 1, limit), count = -1;                          \
        memset(perf, 0xab, sizeof perf);                                                           \
        cudnnStatus_t status = query(some_handle(l), __VA_ARGS__, room, &count, perf);             \
        walk_note_bytes("answers", status, &count, sizeof count);                                  \
        for (int i = 0; status == CUDNN_STATUS_SUCCESS && i < count; i++) {                        \
            int answer[] = {(int)perf[i].algo, (int)perf[i].mathType, (int)perf[i].determinism};   \
            walk_note_bytes("answer", perf[i].status, answer, sizeof answer);                      \
            walk_note_size(l->walk, "memory", perf[i].status, (int64_t)perf[i].memory);            \
        }                                                                                          \
    } while (0)

static void ask_answers(struct legacy_walk *l)
{
    switch (l->walk->problem.direction) {
    case CONV_DATA:
        ASK_ANSWERS(cudnnGetConvolutionBackwardDataAlgorithm_v7, cudnnConvolutionBwdDataAlgoPerf_t,
                    CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, l->w, l->y, l->conv, l->x);
        break;
    case CONV_FILTER:
        ASK_ANSWERS(cudnnGetConvolutionBackwardFilterAlgorithm_v7,
                    cudnnConvolutionBwdFilterAlgoPerf_t, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT,
                    l->x, l->y, l->conv, l->w);
        break;
    default:
        ASK_ANSWERS(cudnnGetConvolutionForwardAlgorithm_v7, cudnnConvolutionFwdAlgoPerf_t,
                    CUDNN_CONVOLUTION_FWD_ALGO_COUNT, l->x, l->w, l->conv, l->y);
    }
}

static cudnnStatus_t query(struct legacy_walk *l, int algorithm, size_t *bytes)
{
    cudnnHandle_t handle = some_handle(l);
    switch (l->walk->problem.direction) {
    case CONV_DATA:
        return cudnnGetConvolutionBackwardDataWorkspaceSize(
            handle, l->w, l->y, l->conv, l->x, (cudnnConvolutionBwdDataAlgo_t)algorithm, bytes);
    case CONV_FILTER:
        return cudnnGetConvolutionBackwardFilterWorkspaceSize(
            handle, l->x, l->y, l->conv, l->w, (cudnnConvolutionBwdFilterAlgo_t)algorithm, bytes);
    default:
        return cudnnGetConvolutionForwardWorkspaceSize(handle, l->x, l->w, l->conv, l->y,
                                                       (cudnnConvolutionFwdAlgo_t)algorithm, bytes);
    }
}

static void ask_workspace(struct legacy_walk *l)
{
    size_t bytes = 12345;
    int algorithm = (int)rng_between(&l->walk->rng, -1, CUDNN_CONVOLUTION_FWD_ALGO_COUNT);
    cudnnStatus_t status = query(l, algorithm, walk_strays(l->walk, 40) ? NULL : &bytes);
    char call[32];
    snprintf(call, sizeof call, "workspace of %d", algorithm);
    walk_note_size(l->walk, call, status, (int64_t)bytes);
    if (status != CUDNN_STATUS_SUCCESS || bytes == 12345)
        return;
    l->asked = true;
    l->algorithm = algorithm;
    l->told = bytes;
}

/* The arguments of a call. With less than the reported size it would be tiled although cuDNN
 * refuses it, so it never has less. */
struct call {
    cudnnHandle_t handle;
    const float *alpha, *beta;
    void *x, *w, *y, *workspace;
    size_t bytes;
};

static cudnnStatus_t convolve(struct legacy_walk *l, const struct call *c, bool fused)
{
    struct walk *walk = l->walk;
    switch (walk->problem.direction) {
    case CONV_DATA:
        return cudnnConvolutionBackwardData(c->handle, c->alpha, l->w, c->w, l->y, c->y, l->conv,
                                            (cudnnConvolutionBwdDataAlgo_t)l->algorithm,
                                            c->workspace, c->bytes, c->beta, l->x, c->x);
    case CONV_FILTER:
        return cudnnConvolutionBackwardFilter(c->handle, c->alpha, l->x, c->x, l->y, c->y, l->conv,
                                              (cudnnConvolutionBwdFilterAlgo_t)l->algorithm,
                                              c->workspace, c->bytes, c->beta, l->w, c->w);
    default:
        if (fused)
            return cudnnConvolutionBiasActivationForward(
                c->handle, c->alpha, l->x, c->x, l->w, c->w, l->conv,
                (cudnnConvolutionFwdAlgo_t)l->algorithm, c->workspace, c->bytes, c->beta, l->y,
                c->y, l->bias, walk->device[1], l->activation, l->y, c->y);
        return cudnnConvolutionForward(c->handle, c->alpha, l->x, c->x, l->w, c->w, l->conv,
                                       (cudnnConvolutionFwdAlgo_t)l->algorithm, c->workspace,
                                       c->bytes, c->beta, l->y, c->y);
    }
}

/* With the reported size, at times a little more, and the operands' initial contents. */
static struct call prepare(struct legacy_walk *l)
{
    struct walk *walk = l->walk;
    const struct conv_problem *p = &walk->problem;
    size_t bytes = l->told + (walk_strays(walk, 4) ? 4096 : 0);
    return (struct call){.handle = some_handle(l),
                         .alpha = &p->alpha,
                         .beta = &p->beta,
                         .x = tensor_first(&p->x, walk->device[0]),
                         .w = tensor_first(&p->w, walk->device[1]),
                         .y = tensor_first(&p->y, walk->device[2]),
                         .workspace = walk_prepare(walk, (int64_t)bytes),
                         .bytes = bytes};
}

/* With the algorithm that cuDNN documents for it: where it refuses others, tiles may do. */
static bool fuses(struct legacy_walk *l)
{
    return walk_strays(l->walk, 3) &&
           l->algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
}

static void run(struct legacy_walk *l)
{
    struct walk *walk = l->walk;
    bool fused = fuses(l);
    if (!l->asked)
        return;
    struct call call = prepare(l);
    const void **given[] = {(const void **)&call.alpha, (const void **)&call.beta,
                            (const void **)&call.x, (const void **)&call.w, (const void **)&call.y};
    for (int i = 0; i < 5; i++)
        if (walk_strays(walk, i < 2 ? 40 : 25))
            *given[i] = NULL;
    walk_note_run(walk, fused ? "fused" : "run", convolve(l, &call, fused));
    cudaFree(call.workspace);
}

/* Convolutions on a stream that is captured. */
static void capture(struct legacy_walk *l)
{
    cudaStream_t stream;
    if (!l->asked || cudaStreamCreate(&stream) != cudaSuccess)
        return;
    struct call call = prepare(l);
    walk_note("set stream", cudnnSetStream(call.handle, stream));
    walk_begin_capture(l->walk, stream);
    for (int i = (int)rng_between(&l->walk->rng, 1, 3); i > 0; i--)
        walk_note("captured", convolve(l, &call, fuses(l)));
    walk_end_capture(l->walk, stream);
    walk_note("set stream", cudnnSetStream(call.handle, NULL));
    cudaStreamDestroy(stream);
    cudaFree(call.workspace);
}

#define FIND(query, perf_type, limit, ...)                                                         \
    do {                                                                                           \
        perf_type perf[limit];                                                                     \
        int count = -1;                                                                            \
        cudnnStatus_t status =                                                                     \
            query(call.handle, __VA_ARGS__, limit, &count, perf, call.workspace, call.bytes);      \
        walk_note_bytes("find", status, &count, sizeof count);                                     \
    } while (0)

/* Times cannot be compared, so only the number of algorithms and the written fields are. */
static void find(struct legacy_walk *l)
{
    if (!l->asked)
        return;
    struct call call = prepare(l);
    switch (l->walk->problem.direction) {
    case CONV_DATA:
        FIND(cudnnFindConvolutionBackwardDataAlgorithmEx, cudnnConvolutionBwdDataAlgoPerf_t,
             CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, l->w, call.w, l->y, call.y, l->conv, l->x,
             call.x);
        break;
    case CONV_FILTER:
        FIND(cudnnFindConvolutionBackwardFilterAlgorithmEx, cudnnConvolutionBwdFilterAlgoPerf_t,
             CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT, l->x, call.x, l->y, call.y, l->conv, l->w,
             call.w);
        break;
    default:
        FIND(cudnnFindConvolutionForwardAlgorithmEx, cudnnConvolutionFwdAlgoPerf_t,
             CUDNN_CONVOLUTION_FWD_ALGO_COUNT, l->x, call.x, l->w, call.w, l->conv, l->y, call.y);
    }
    cudaFree(call.workspace);
}

void walk_legacy(struct walk *walk)
{
    struct legacy_walk l = {.walk = walk};
    uint64_t index = 1;
    create_all(&l);
    set_all(&l);
    for (int i = 0; i < 24; i++) {
        switch (rng_between(&walk->rng, 0, 11)) {
        case 0:
            set_all(&l);
            break;
        case 1: /* to another shape of the type and direction */
            problem_random(walk->rng.state, index++, walk->problem.direction, walk->problem.x.type,
                           true, &walk->problem);
            set_all(&l);
            break;
        case 2:
            ask_answers(&l);
            break;
        case 3:
        case 4:
        case 5:
            ask_workspace(&l);
            break;
        case 6:
            if (walk_strays(walk, 3)) {
                destroy_all(&l);
                create_all(&l);
                set_all(&l);
            }
            break;
        case 7:
            capture(&l);
            break;
        case 8:
            find(&l);
            break;
        default:
            run(&l);
        }
    }
    destroy_all(&l);
}
