/* A program that queries an engine configuration for the workspace, as XLA does, allocates that
 * size and runs the plan in it: the reported size must be usable. With `destroy`, another handle is
 * destroyed right after the query. Linked with --wrap=cudnnBackendGetAttribute. Status 0: the
 * result is right, or the plan was refused before it ran; prints which. */
#include "../apps/conv.h"
#include "layer_memory.h"

#include <stdio.h>
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
    struct layer_memory memory;
    struct conv_plan plan;
    bool planned;
    cudnnHandle_t handle;
    void *workspace;
};

/* The status of the program. */
static int ask(struct program *p)
{
    struct conv_settings set = {.ask_config = true};
    layer_describe(&p->problem);
    if (cudnnCreate(&p->handle) != 0 || cudnnCreate(&other) != 0)
        return 2;
    if (conv_plan_create(p->handle, CONV_GRAPH, &p->problem, &set, 0, &p->plan) != OUTCOME_OK) {
        puts("refused");
        return 0;
    }
    p->planned = true;
    if (!layer_allocate(&p->problem, &p->memory) ||
        (told > 0 && cudaMalloc(&p->workspace, (size_t)told) != cudaSuccess))
        return 2;
    enum outcome ran =
        conv_plan_run(p->handle, &p->plan, p->memory.x, p->memory.w, p->memory.y, p->workspace);
    bool right = ran == OUTCOME_OK && layer_right(&p->problem, &p->memory);
    printf("config %lld, plan %lld: %s\n", (long long)told, (long long)p->plan.workspace,
           ran != OUTCOME_OK ? "refused"
           : right           ? "right"
                             : "wrong");
    return ran == OUTCOME_ERROR || (ran == OUTCOME_OK && !right);
}

int main(int argc, char **argv)
{
    struct program p = {.handle = NULL};
    destroys = argc > 1 && strcmp(argv[1], "destroy") == 0;
    int status = ask(&p);
    cudaFree(p.workspace);
    layer_free(&p.memory);
    if (p.planned)
        conv_plan_destroy(&p.plan);
    if (other != NULL)
        cudnnDestroy(other);
    if (p.handle != NULL)
        cudnnDestroy(p.handle);
    return status;
}
