#include "work.h"

#include "layer_memory.h"
#include <stdlib.h>
#include <string.h>

struct work {
    cudnnHandle_t handle;
    struct conv_problem problem;
    struct layer_memory memory;
    void *workspace;
    struct conv_plan plan;
    bool planned;
};

static enum work_result result_of(enum outcome outcome)
{
    static const enum work_result results[] = {WORK_RIGHT, WORK_REFUSED, WORK_FAILED};
    return results[outcome];
}

enum work_result work_open(int legacy, struct work **work_p)
{
    enum work_result result = WORK_FAILED;
    struct work *work = calloc(1, sizeof *work);
    if (work == NULL)
        return WORK_FAILED;
    layer_describe(&work->problem);
    TRY_CUDNN(cudnnCreate(&work->handle), close);
    result = result_of(conv_plan_create(work->handle, legacy ? CONV_LEGACY : CONV_GRAPH,
                                        &work->problem, NULL, 0, &work->plan));
    work->planned = result == WORK_RIGHT;
    if (work->planned && !layer_allocate(&work->problem, &work->memory))
        result = WORK_FAILED;
    if (work->plan.workspace > 0)
        TRY_CUDA(cudaMalloc(&work->workspace, (size_t)work->plan.workspace), close);
    if (result != WORK_RIGHT)
        goto close;
    *work_p = work;
    return WORK_RIGHT;
close:
    work_close(work);
    return result;
}

enum work_result work_run(struct work *work)
{
    struct layer_memory *memory = &work->memory;
    /* If CUDA does not work, as in a forked child, the convolution must report it. */
    (void)cudaMemset(memory->y, 0xff, tensor_storage_bytes(&work->problem.y));
    enum work_result result = result_of(
        conv_plan_run(work->handle, &work->plan, memory->x, memory->w, memory->y, work->workspace));
    if (result != WORK_RIGHT)
        return result;
    return layer_right(&work->problem, memory) ? WORK_RIGHT : WORK_WRONG;
}

void work_close(struct work *work)
{
    if (work == NULL)
        return;
    if (work->planned)
        conv_plan_destroy(&work->plan);
    cudaFree(work->workspace);
    layer_free(&work->memory);
    if (work->handle != NULL)
        cudnnDestroy(work->handle);
    free(work);
}

enum work_result work_touch(void)
{
    cudnnBackendDescriptor_t desc = NULL;
    TRY_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &desc), fail);
    TRY_CUDNN(cudnnBackendDestroyDescriptor(desc), fail);
    return WORK_RIGHT;
fail:
    return WORK_FAILED;
}
