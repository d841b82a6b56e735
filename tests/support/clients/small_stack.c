/* A thread with a small stack makes a plan and executes it.
 * small_stack KIB [legacy]: the stack's size, 128 if left out; an argument more: the legacy API. */
#include "../apps/conv.h"
#include "layer_memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct conv_problem p;
static struct layer_memory memory;
static struct conv_plan plan;
static cudnnHandle_t h;
static cudaStream_t s;
static void *ws;
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
    return (void *)(long)conv_plan_run(h, &plan, memory.x, memory.w, memory.y, ws);
}

int main(int argc, char **argv)
{
    size_t stack = (size_t)(argc > 1 ? atoi(argv[1]) : 128) * 1024;
    pthread_attr_t attributes;
    pthread_t thread;
    void *rc;
    api = argc > 2 ? CONV_LEGACY : CONV_GRAPH;

    layer_describe(&p);
    if (!layer_allocate(&p, &memory))
        return 2;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack);
    pthread_create(&thread, &attributes, worker, NULL);
    pthread_join(thread, &rc);
    printf("stack %zu KiB: told %lld rc %ld %s\n", stack / 1024, (long long)plan.workspace,
           (long)rc, layer_right(&p, &memory) ? "right" : "WRONG");
    cudaFree(ws);
    layer_free(&memory);
    return 0;
}
