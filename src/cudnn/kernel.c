#include "cudnn/kernel.h"

enum {
    RESULTS = 12 /* of the heuristics, looked at where the client's engine does not take a tile */
};

static enum cs_status status_of(cudnnStatus_t vendor)
{
    switch (vendor) {
    case CUDNN_STATUS_SUCCESS:
        return CS_OK;
    case CUDNN_STATUS_ALLOC_FAILED:
        return CS_NOMEM;
    default:
        return CS_REFUSED;
    }
}

/* The plan of a configuration on the bench, taken off it, if the bench is without an error so far;
 * clears the bench. */
static enum cs_status finish(struct cs_bench *bench, const struct cs_target *target,
                             cudnnBackendDescriptor_t configuration, void **kernel_p,
                             int64_t *workspace_p)
{
    cudnnBackendDescriptor_t plan = cs_parts_plan(bench, target, configuration);
    int64_t workspace = cs_parts_workspace(bench, plan);
    enum cs_status status = status_of(bench->status);
    if (status == CS_OK && workspace < 0)
        status = CS_REFUSED;
    if (status == CS_OK) {
        *kernel_p = cs_bench_take(bench, plan);
        *workspace_p = workspace;
    }
    cs_bench_clear(bench);
    return status;
}

static enum cs_status build_engine(const struct cs_target *target, const struct cs_problem *problem,
                                   const struct cs_engine *engine, void **kernel_p,
                                   int64_t *workspace_p)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    cudnnBackendDescriptor_t graph = cs_parts_graph(&bench, target, problem);
    cudnnBackendDescriptor_t configuration = cs_parts_configuration(&bench, target, graph, engine);
    return finish(&bench, target, configuration, kernel_p, workspace_p);
}

/* What the heuristics offer for the tile itself, as long as it computes and behaves like the
 * client's engine. */
static enum cs_status build_alike(const struct cs_maker *maker, const struct cs_problem *problem,
                                  void **kernel_p, int64_t *workspace_p)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    cudnnBackendDescriptor_t configuration[RESULTS];
    enum cs_status status = CS_REFUSED;
    int results = cs_parts_heuristics(&bench, &maker->target, problem, configuration, RESULTS);
    for (int i = 0; i < results && status == CS_REFUSED; i++) {
        struct cs_bench own = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
        struct cs_notes notes = cs_parts_notes(&own, configuration[i]);
        if (notes.numerical == maker->notes.numerical && notes.behaviour == maker->notes.behaviour)
            status = finish(&own, &maker->target, configuration[i], kernel_p, workspace_p);
        cs_bench_clear(&own);
    }
    cs_bench_clear(&bench);
    return status;
}

/* The client's engine with its own knobs; where they do not fit a smaller problem, with the
 * engine's defaults; where the engine does not, one that computes alike. */
static enum cs_status build(void *ctx, const struct cs_problem *problem, void **kernel_p,
                            int64_t *workspace_p)
{
    const struct cs_maker *maker = ctx;
    const struct cs_engine plain = {.index = maker->engine.index};
    enum cs_status status =
        build_engine(&maker->target, problem, &maker->engine, kernel_p, workspace_p);
    if (status == CS_REFUSED && maker->engine.knobs > 0)
        status = build_engine(&maker->target, problem, &plain, kernel_p, workspace_p);
    if (status == CS_REFUSED)
        status = build_alike(maker, problem, kernel_p, workspace_p);
    return status;
}

static void destroy(void *kernel)
{
    if (kernel)
        (void)CS_REAL(cudnnBackendDestroyDescriptor, cs_kernel_plan(kernel));
}

/* Engine 0 needs no workspace and takes every convolution that we plan. */
static enum cs_status build_lifeboat(void *ctx, int64_t limit, void **kernel_p,
                                     int64_t *workspace_p)
{
    const struct cs_maker *maker = ctx;
    static const struct cs_engine engine = {.index = 0};
    void *kernel;
    int64_t workspace;
    enum cs_status status =
        build_engine(&maker->target, &maker->problem, &engine, &kernel, &workspace);
    if (status != CS_OK)
        return status;
    if (workspace > limit) {
        destroy(kernel);
        return CS_REFUSED;
    }
    *kernel_p = kernel;
    *workspace_p = workspace;
    return CS_OK;
}

struct cs_vendor cs_kernel_vendor(struct cs_maker *maker)
{
    return (struct cs_vendor){maker, build, build_lifeboat, destroy};
}
