/* A program that resets its device between models, as long-lived servers and test suites do. Each
 * round: handle, plan, run, check, free everything, cudaDeviceReset. */
#include "../apps/conv.h"
#include "layer_memory.h"

#include <stdio.h>
#include <stdlib.h>

static int run_round(int number)
{
    struct conv_problem p;
    struct layer_memory memory;
    struct conv_plan plan;
    cudnnHandle_t h;
    cudaStream_t s;
    void *ws = NULL;

    cudaSetDevice(0);
    layer_describe(&p);
    if (!layer_allocate(&p, &memory))
        return 2;
    if (cudnnCreate(&h))
        return 3;
    cudaStreamCreate(&s);
    cudnnSetStream(h, s);
    if (conv_plan_create(h, CONV_GRAPH, &p, NULL, 0, &plan) != OUTCOME_OK)
        return 4;
    if (plan.workspace)
        cudaMalloc(&ws, (size_t)plan.workspace);
    int rc = conv_plan_run(h, &plan, memory.x, memory.w, memory.y, ws);
    cudaError_t e = cudaDeviceSynchronize();
    printf("round %d: told %lld run %d sync %d %s\n", number, (long long)plan.workspace, rc, e,
           layer_right(&p, &memory) ? "right" : "WRONG");

    conv_plan_destroy(&plan);
    cudnnDestroy(h);
    cudaStreamDestroy(s);
    cudaFree(ws);
    layer_free(&memory);
    cudaDeviceReset();
    return 0;
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 4;
    int status = 0;
    for (int r = 0; status == 0 && r < rounds; r++)
        status = run_round(r);
    return status;
}
