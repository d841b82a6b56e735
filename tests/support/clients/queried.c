/* A program that queries the workspace of a plain convolution and provides that size to another
 * call of the same shape, because the legacy API has no better query: `fused` with bias and ReLU,
 * `sum` with beta 1, `whole BYTES` the fused one with that size, `small` the fused one with a byte
 * less than the reported size, if that is not 0, `limited BYTES` the fused one with the size
 * reported under the program's limit (convshim.h).
 *
 * Prints the reported size (with `limited` before, under and after the limit), the status, and
 * whether the output is right, untouched or wrong. Exits with status 1 only if the call succeeded
 * with a wrong or untouched result. */
#include "../apps/conv.h"
#include "layer_memory.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program {
    struct conv_problem problem;
    struct layer_memory memory;
    struct conv_plan plan;
    bool planned;
    cudnnHandle_t handle;
    cudaStream_t stream;
    cudnnTensorDescriptor_t bias;
    cudnnActivationDescriptor_t relu;
    void *bias_data, *workspace;
};

static bool start(struct program *p, int64_t workspace)
{
    const int64_t channels = p->problem.y.size[1];
    return cudaStreamCreate(&p->stream) == cudaSuccess &&
           cudnnSetStream(p->handle, p->stream) == 0 &&
           cudaMalloc(&p->bias_data, (size_t)channels * sizeof(float)) == cudaSuccess &&
           cudaMemset(p->bias_data, 0, (size_t)channels * sizeof(float)) == cudaSuccess &&
           (workspace == 0 || cudaMalloc(&p->workspace, (size_t)workspace) == cudaSuccess) &&
           cudnnCreateTensorDescriptor(&p->bias) == 0 &&
           cudnnSetTensor4dDescriptor(p->bias, CUDNN_TENSOR_NCHW, p->problem.y.type, 1,
                                      (int)channels, 1, 1) == 0 &&
           cudnnCreateActivationDescriptor(&p->relu) == 0 &&
           cudnnSetActivationDescriptor(p->relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN,
                                        0) == 0;
}

static int run(const struct program *p, bool fused, size_t provided)
{
    const float one = 1, zero = 0;
    const struct conv_plan *plan = &p->plan;
    const cudnnConvolutionFwdAlgo_t algorithm = (cudnnConvolutionFwdAlgo_t)plan->algorithm;
    if (!fused)
        return (int)cudnnConvolutionForward(p->handle, &one, plan->x, p->memory.x, plan->w,
                                            p->memory.w, plan->conv, algorithm, p->workspace,
                                            provided, &one, plan->y, p->memory.y);
    return (int)cudnnConvolutionBiasActivationForward(
        p->handle, &one, plan->x, p->memory.x, plan->w, p->memory.w, plan->conv, algorithm,
        p->workspace, provided, &zero, plan->y, p->memory.y, p->bias, p->bias_data, p->relu,
        plan->y, p->memory.y);
}

static const char *judge(struct program *p, bool fused)
{
    const struct tensor *y = &p->problem.y;
    for (size_t i = 0; fused && i < (size_t)tensor_elements(y); i++)
        if (dtype_load(y->type, p->memory.expected, i) < 0)
            dtype_store(y->type, p->memory.expected, i, 0);
    if (layer_right(&p->problem, &p->memory))
        return "right";
    return memcmp(p->memory.result, p->memory.data.y, tensor_storage_bytes(y)) == 0 ? "untouched"
                                                                                    : "wrong";
}

static void finish(struct program *p)
{
    if (p->bias)
        cudnnDestroyTensorDescriptor(p->bias);
    if (p->relu)
        cudnnDestroyActivationDescriptor(p->relu);
    cudaFree(p->bias_data);
    cudaFree(p->workspace);
    layer_free(&p->memory);
    if (p->planned)
        conv_plan_destroy(&p->plan);
    if (p->handle)
        cudnnDestroy(p->handle);
    if (p->stream)
        cudaStreamDestroy(p->stream);
}

static bool plan(struct program *p)
{
    static const struct conv_settings named = {.ask_workspace = true};
    if (p->planned)
        conv_plan_destroy(&p->plan);
    p->planned =
        conv_plan_create(p->handle, CONV_LEGACY, &p->problem, &named, 0, &p->plan) == OUTCOME_OK;
    return p->planned;
}

/* Queries again under a limit and without it. The size reported under it, which may be larger than
 * the first one, is allocated and must be usable. */
static bool ask_limited(struct program *p, int64_t bytes, int64_t *reported_p)
{
    void *first = p->workspace;
    int64_t (*limit)(int64_t) = (int64_t(*)(int64_t))dlsym(RTLD_DEFAULT, "convshim_limit");
    printf("%lld, ", (long long)p->plan.workspace);
    if (!limit || limit(bytes) != 0 || !plan(p))
        return false;
    *reported_p = p->plan.workspace;
    if (cudaMalloc(&p->workspace, (size_t)*reported_p) != cudaSuccess ||
        cudaFree(first) != cudaSuccess)
        return false;
    printf("under a limit %lld, then ", (long long)*reported_p);
    return limit(0) == bytes && plan(p);
}

/* The status of the program. */
static int ask(struct program *p, const char *mode, const char *bytes)
{
    int64_t reported;
    bool fused = strcmp(mode, "sum") != 0;
    layer_describe(&p->problem);
    p->problem.beta = fused ? 0.0F : 1.0F;
    if (!layer_allocate(&p->problem, &p->memory) || cudnnCreate(&p->handle) != 0)
        return 2;
    if (!plan(p) || !start(p, strcmp(mode, "whole") == 0 ? atoll(bytes) : p->plan.workspace))
        return 2;
    reported = strcmp(mode, "whole") == 0 ? atoll(bytes) : p->plan.workspace;
    printf("reported ");
    if (strcmp(mode, "limited") == 0 && !ask_limited(p, atoll(bytes), &reported))
        return 2;
    if (strcmp(mode, "small") == 0 && reported > 0)
        reported--;
    int status = run(p, fused, (size_t)reported);
    const char *result = judge(p, fused);
    printf("%lld: %d, %s\n", (long long)p->plan.workspace, status, result);
    return strcmp(result, status == 0 ? "right" : "untouched") != 0;
}

int main(int argc, char **argv)
{
    struct program p = {.handle = NULL};
    int status = ask(&p, argc > 1 ? argv[1] : "fused", argc > 2 ? argv[2] : "0");
    finish(&p);
    return status;
}
