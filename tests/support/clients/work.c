#include "work.h"

#include "layer.h"
#include <stdlib.h>
#include <string.h>

struct work {
    cudnnHandle_t handle;
    struct conv_problem problem;
    struct problem_data data;
    void *expected, *result; /* y's storage */
    void *x, *w, *y, *workspace;
    struct conv_plan plan;
    bool planned;
};

static bool fill(struct work *work)
{
    const struct conv_problem *p = &work->problem;
    size_t bytes = tensor_storage_bytes(&p->y);
    work->expected = malloc(bytes);
    work->result = malloc(bytes);
    if (work->expected == NULL || work->result == NULL ||
        !problem_fill(p, 1, DATA_INTEGERS, &work->data))
        return false;
    memcpy(work->expected, work->data.y, bytes);
    problem_reference(p, &work->data, work->expected);
    return true;
}

static bool upload(struct work *work)
{
    const struct conv_problem *p = &work->problem;
    TRY_CUDA(cudaMalloc(&work->x, tensor_storage_bytes(&p->x)), fail);
    TRY_CUDA(cudaMalloc(&work->w, tensor_storage_bytes(&p->w)), fail);
    TRY_CUDA(cudaMalloc(&work->y, tensor_storage_bytes(&p->y)), fail);
    TRY_CUDA(cudaMemcpy(work->x, work->data.x, tensor_storage_bytes(&p->x), cudaMemcpyHostToDevice),
             fail);
    TRY_CUDA(cudaMemcpy(work->w, work->data.w, tensor_storage_bytes(&p->w), cudaMemcpyHostToDevice),
             fail);
    if (work->plan.workspace > 0)
        TRY_CUDA(cudaMalloc(&work->workspace, (size_t)work->plan.workspace), fail);
    return true;
fail:
    return false;
}

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
    if (!fill(work))
        goto close;
    TRY_CUDNN(cudnnCreate(&work->handle), close);
    result = result_of(conv_plan_create(work->handle, legacy ? CONV_LEGACY : CONV_GRAPH,
                                        &work->problem, NULL, 0, &work->plan));
    work->planned = result == WORK_RIGHT;
    if (work->planned && !upload(work))
        result = WORK_FAILED;
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
    size_t bytes = tensor_storage_bytes(&work->problem.y);
    /* If CUDA does not work, as in a forked child, the convolution must report it. */
    (void)cudaMemset(work->y, 0xff, bytes);
    enum work_result result = result_of(
        conv_plan_run(work->handle, &work->plan, work->x, work->w, work->y, work->workspace));
    if (result != WORK_RIGHT)
        return result;
    TRY_CUDA(cudaMemcpy(work->result, work->y, bytes, cudaMemcpyDeviceToHost), fail);
    return layer_equal(&work->problem, work->result, work->expected) ? WORK_RIGHT : WORK_WRONG;
fail:
    return WORK_FAILED;
}

void work_close(struct work *work)
{
    if (work == NULL)
        return;
    if (work->planned)
        conv_plan_destroy(&work->plan);
    cudaFree(work->workspace);
    cudaFree(work->y);
    cudaFree(work->w);
    cudaFree(work->x);
    if (work->handle != NULL)
        cudnnDestroy(work->handle);
    problem_release(&work->data);
    free(work->result);
    free(work->expected);
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
