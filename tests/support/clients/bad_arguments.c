/* Errors of the program's that cuDNN reports: the statuses with and without the library must be the
 * same. */
#include "../programs/conv.h"
#include "layer.h"

#include <stdio.h>

static cudnnHandle_t h;
static struct conv_plan plan;
static void *w, *y, *ws;

static void run(const char *what, const float *alpha, const void *x, const float *beta)
{
    int status = cudnnConvolutionForward(h, alpha, plan.x, x, plan.w, w, plan.conv,
                                         (cudnnConvolutionFwdAlgo_t)plan.algorithm, ws,
                                         (size_t)plan.workspace, beta, plan.y, y);
    printf("%-44s %d\n", what, status);
}

int main(void)
{
    struct conv_problem p;
    struct problem_data d;
    cudaStream_t s;
    void *x;
    const float one = 1, zero = 0;

    layer_describe(&p);
    if (!problem_fill(&p, 1, DATA_INTEGERS, &d))
        return 2;
    cudaSetDevice(0);
    cudaFree(0);
    if (cudnnCreate(&h))
        return 3;
    cudaStreamCreate(&s);
    cudnnSetStream(h, s);
    if (conv_plan_create(h, CONV_LEGACY, &p, NULL, 0, &plan) != OUTCOME_OK)
        return 4;
    cudaMalloc(&x, tensor_storage_bytes(&p.x));
    cudaMalloc(&w, tensor_storage_bytes(&p.w));
    cudaMalloc(&y, tensor_storage_bytes(&p.y));
    cudaMemset(x, 0, tensor_storage_bytes(&p.x));
    cudaMemset(w, 0, tensor_storage_bytes(&p.w));
    cudaMalloc(&ws, plan.workspace ? (size_t)plan.workspace : 1);

    run("all right", &one, x, &zero);
    run("alpha NULL", NULL, x, &zero);
    run("beta NULL", &one, x, NULL);
    run("x NULL", &one, NULL, &zero);
    cudnnSetConvolutionGroupCount(plan.conv, 2);
    run("group count 2, filter of 1 group", &one, x, &zero);
    cudnnSetConvolutionGroupCount(plan.conv, 1);
    printf("last %d\n", cudaDeviceSynchronize());
    return 0;
}
