/* A thread with a small stack makes a plan and executes it.
 * small_stack KIB [legacy]: the stack's size, 128 if left out; an argument more: the legacy API. */
#include "../apps/conv.h"
#include "layer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct conv_problem p;
static struct problem_data d;
static struct conv_plan plan;
static cudnnHandle_t h;
static cudaStream_t s;
static void *x, *w, *y, *ws;
static enum conv_api api;

static void *worker(void *unused)
{
    (void)unused;
    cudaSetDevice(0);
    cudaFree(0);
    if (cudnnCreate(&h))
        return (void *)3;
    cudaStreamCreate(&s);
    cudnnSetStream(h, s);
    if (conv_plan_create(h, api, &p, NULL, 0, &plan) != OUTCOME_OK)
        return (void *)4;
    if (plan.workspace)
        cudaMalloc(&ws, (size_t)plan.workspace);
    return (void *)(long)conv_plan_run(h, &plan, x, w, y, ws);
}

int main(int argc, char **argv)
{
    size_t stack = (size_t)(argc > 1 ? atoi(argv[1]) : 128) * 1024;
    pthread_attr_t attributes;
    pthread_t thread;
    void *rc;
    api = argc > 2 ? CONV_LEGACY : CONV_GRAPH;

    layer_describe(&p);
    size_t bytes = tensor_storage_bytes(&p.y);
    if (!problem_fill(&p, 1, DATA_INTEGERS, &d))
        return 2;
    void *expected = malloc(bytes), *result = malloc(bytes);
    memcpy(expected, d.y, bytes);
    problem_reference(&p, &d, expected);
    cudaMalloc(&x, tensor_storage_bytes(&p.x));
    cudaMalloc(&w, tensor_storage_bytes(&p.w));
    cudaMalloc(&y, bytes);
    cudaMemcpy(x, d.x, tensor_storage_bytes(&p.x), cudaMemcpyHostToDevice);
    cudaMemcpy(w, d.w, tensor_storage_bytes(&p.w), cudaMemcpyHostToDevice);

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack);
    pthread_create(&thread, &attributes, worker, NULL);
    pthread_join(thread, &rc);
    cudaDeviceSynchronize();
    cudaMemcpy(result, y, bytes, cudaMemcpyDeviceToHost);
    printf("stack %zu KiB: told %lld rc %ld %s\n", stack / 1024, (long long)plan.workspace,
           (long)rc, layer_equal(&p, result, expected) ? "right" : "WRONG");
    void *const memory[] = {x, w, y, ws};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        cudaFree(memory[i]);
    return 0;
}
