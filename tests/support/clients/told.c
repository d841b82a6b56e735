/* A program that queries an engine configuration for the workspace, as XLA does, allocates that
 * size and runs the plan in it: the reported size must be usable. With `destroy`, another handle is
 * destroyed right after the query. Linked with --wrap=cudnnBackendGetAttribute. Status 0: the
 * result is right, or the plan was refused before it ran; prints which. */
#include "../apps/conv.h"
#include "layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cudnnStatus_t __real_cudnnBackendGetAttribute(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                                              cudnnBackendAttributeType_t, int64_t, int64_t *,
                                              void *);
cudnnStatus_t __wrap_cudnnBackendGetAttribute(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                                              cudnnBackendAttributeType_t, int64_t, int64_t *,
                                              void *);

static cudnnHandle_t other;
static bool destroys;
static int64_t told = -1;

cudnnStatus_t __wrap_cudnnBackendGetAttribute(cudnnBackendDescriptor_t desc,
                                              cudnnBackendAttributeName_t name,
                                              cudnnBackendAttributeType_t type, int64_t room,
                                              int64_t *count, void *values)
{
    cudnnStatus_t status = __real_cudnnBackendGetAttribute(desc, name, type, room, count, values);
    if (name != CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE || status != CUDNN_STATUS_SUCCESS)
        return status;
    memcpy(&told, values, sizeof told);
    if (destroys && other != NULL) {
        cudnnDestroy(other);
        other = NULL;
    }
    return status;
}

struct program {
    struct conv_problem problem;
    struct problem_data data;
    struct conv_plan plan;
    bool planned;
    cudnnHandle_t handle;
    void *x, *w, *y, *workspace;
};

static bool upload(struct program *p)
{
    size_t x = tensor_storage_bytes(&p->problem.x), w = tensor_storage_bytes(&p->problem.w);
    TRY_CUDA(cudaMalloc(&p->x, x), fail);
    TRY_CUDA(cudaMalloc(&p->w, w), fail);
    TRY_CUDA(cudaMalloc(&p->y, tensor_storage_bytes(&p->problem.y)), fail);
    TRY_CUDA(cudaMemcpy(p->x, p->data.x, x, cudaMemcpyHostToDevice), fail);
    TRY_CUDA(cudaMemcpy(p->w, p->data.w, w, cudaMemcpyHostToDevice), fail);
    if (told > 0)
        TRY_CUDA(cudaMalloc(&p->workspace, (size_t)told), fail);
    return true;
fail:
    return false;
}

static bool right(const struct program *p)
{
    size_t bytes = tensor_storage_bytes(&p->problem.y);
    void *expected = malloc(bytes), *result = malloc(bytes);
    bool equal = false;
    if (expected == NULL || result == NULL)
        goto free;
    memcpy(expected, p->data.y, bytes);
    problem_reference(&p->problem, &p->data, expected);
    TRY_CUDA(cudaMemcpy(result, p->y, bytes, cudaMemcpyDeviceToHost), free);
    equal = layer_equal(&p->problem, result, expected);
free:
    free(expected);
    free(result);
    return equal;
}

/* The status of the program. */
static int ask(struct program *p)
{
    struct conv_settings set = {.ask_config = true};
    layer_describe(&p->problem);
    if (!problem_fill(&p->problem, 1, DATA_INTEGERS, &p->data) || cudnnCreate(&p->handle) != 0 ||
        cudnnCreate(&other) != 0)
        return 2;
    if (conv_plan_create(p->handle, CONV_GRAPH, &p->problem, &set, 0, &p->plan) != OUTCOME_OK) {
        puts("refused");
        return 0;
    }
    p->planned = true;
    if (!upload(p))
        return 2;
    enum outcome ran = conv_plan_run(p->handle, &p->plan, p->x, p->w, p->y, p->workspace);
    printf("config %lld, plan %lld: %s\n", (long long)told, (long long)p->plan.workspace,
           ran != OUTCOME_OK ? "refused"
           : right(p)        ? "right"
                             : "wrong");
    return ran == OUTCOME_ERROR || (ran == OUTCOME_OK && !right(p));
}

int main(int argc, char **argv)
{
    struct program p = {.handle = NULL};
    destroys = argc > 1 && strcmp(argv[1], "destroy") == 0;
    int status = ask(&p);
    void *const memory[] = {p.x, p.w, p.y, p.workspace};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        cudaFree(memory[i]);
    if (p.planned)
        conv_plan_destroy(&p.plan);
    problem_release(&p.data);
    if (other != NULL)
        cudnnDestroy(other);
    if (p.handle != NULL)
        cudnnDestroy(p.handle);
    return status;
}
