/* A program that resets its device between models, as long-lived servers and test suites do. Each
 * round: handle, plan, run, check, free everything, cudaDeviceReset. */
#include "../apps/conv.h"
#include "layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run_round(int number, const struct conv_problem *p, const struct problem_data *d,
                     const void *expected, void *result)
{
    const size_t bytes = tensor_storage_bytes(&p->y);
    struct conv_plan plan;
    cudnnHandle_t h;
    cudaStream_t s;
    void *x, *w, *y, *ws = NULL;

    cudaSetDevice(0);
    cudaFree(0);
    if (cudnnCreate(&h))
        return 3;
    cudaStreamCreate(&s);
    cudnnSetStream(h, s);
    if (conv_plan_create(h, CONV_GRAPH, p, NULL, 0, &plan) != OUTCOME_OK)
        return 4;
    cudaMalloc(&x, tensor_storage_bytes(&p->x));
    cudaMalloc(&w, tensor_storage_bytes(&p->w));
    cudaMalloc(&y, bytes);
    cudaMemcpy(x, d->x, tensor_storage_bytes(&p->x), cudaMemcpyHostToDevice);
    cudaMemcpy(w, d->w, tensor_storage_bytes(&p->w), cudaMemcpyHostToDevice);
    if (plan.workspace)
        cudaMalloc(&ws, (size_t)plan.workspace);
    int rc = conv_plan_run(h, &plan, x, w, y, ws);
    cudaError_t e = cudaDeviceSynchronize();
    cudaMemcpy(result, y, bytes, cudaMemcpyDeviceToHost);
    printf("round %d: told %lld run %d sync %d %s\n", number, (long long)plan.workspace, rc, e,
           layer_equal(p, result, expected) ? "right" : "WRONG");

    conv_plan_destroy(&plan);
    cudnnDestroy(h);
    cudaStreamDestroy(s);
    cudaFree(x);
    cudaFree(w);
    cudaFree(y);
    cudaFree(ws);
    cudaDeviceReset();
    return 0;
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 4;
    int status = 0;
    for (int r = 0; status == 0 && r < rounds; r++) {
        struct conv_problem p;
        struct problem_data d;
        layer_describe(&p);
        const size_t bytes = tensor_storage_bytes(&p.y);
        if (!problem_fill(&p, 1, DATA_INTEGERS, &d))
            return 2;
        void *expected = malloc(bytes), *result = malloc(bytes);
        status = 2;
        if (expected && result) {
            memcpy(expected, d.y, bytes);
            problem_reference(&p, &d, expected);
            status = run_round(r, &p, &d, expected, result);
        }
        free(expected);
        free(result);
        problem_release(&d);
    }
    return status;
}
