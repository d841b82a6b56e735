/* Calls whose arguments cuDNN refuses. Prints a line for each, with the status and the state of the
 * output. */
#include "../apps/conv.h"
#include "layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    UNTOUCHED = 0xa5
};

static cudnnHandle_t handle;
static struct conv_plan plan;
static void *w, *y, *workspace;
static unsigned char *host;
static size_t bytes;

static bool untouched(void)
{
    cudaDeviceSynchronize();
    cudaMemcpy(host, y, bytes, cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < bytes; i++)
        if (host[i] != UNTOUCHED)
            return false;
    return true;
}

struct arguments {
    const float *alpha, *beta;
    const void *x, *w;
    void *y;
};

static void run(const char *what, struct arguments a)
{
    cudaMemset(y, UNTOUCHED, bytes);
    int status = cudnnConvolutionForward(handle, a.alpha, plan.x, a.x, plan.w, a.w, plan.conv,
                                         (cudnnConvolutionFwdAlgo_t)plan.algorithm, workspace,
                                         (size_t)plan.workspace, a.beta, plan.y, a.y);
    printf("%s: %d, %s\n", what, status, untouched() ? "untouched" : "written");
}

static void run_all(const void *x)
{
    const float one = 1, zero = 0;
    run("sound", (struct arguments){&one, &zero, x, w, y});
    run("no alpha", (struct arguments){NULL, &zero, x, w, y});
    run("no beta", (struct arguments){&one, NULL, x, w, y});
    run("no scales", (struct arguments){NULL, NULL, x, w, y});
    run("no x", (struct arguments){&one, &zero, NULL, w, y});
    run("no w", (struct arguments){&one, &zero, x, NULL, y});
    run("no y", (struct arguments){&one, &zero, x, w, NULL});
    cudnnSetConvolutionGroupCount(plan.conv, 2);
    run("two groups, a filter of one", (struct arguments){&one, &zero, x, w, y});
}

int main(void)
{
    struct conv_problem problem;
    cudaStream_t stream;
    void *x;
    layer_describe(&problem);
    bytes = tensor_storage_bytes(&problem.y);
    host = malloc(bytes);
    if (!host || cudaSetDevice(0) != cudaSuccess || cudaStreamCreate(&stream) != cudaSuccess ||
        cudnnCreate(&handle) != CUDNN_STATUS_SUCCESS ||
        cudnnSetStream(handle, stream) != CUDNN_STATUS_SUCCESS ||
        conv_plan_create(handle, CONV_LEGACY, &problem, NULL, 0, &plan) != OUTCOME_OK)
        return 2;
    if (cudaMalloc(&x, tensor_storage_bytes(&problem.x)) != cudaSuccess ||
        cudaMalloc(&w, tensor_storage_bytes(&problem.w)) != cudaSuccess ||
        cudaMalloc(&y, bytes) != cudaSuccess ||
        cudaMalloc(&workspace, (size_t)plan.workspace + 1) != cudaSuccess)
        return 2;
    cudaMemset(x, 0, tensor_storage_bytes(&problem.x));
    cudaMemset(w, 0, tensor_storage_bytes(&problem.w));
    run_all(x);
    conv_plan_destroy(&plan);
    cudnnDestroy(handle);
    cudaStreamDestroy(stream);
    free(host);
    return cudaDeviceReset() == cudaSuccess ? 0 : 1;
}
