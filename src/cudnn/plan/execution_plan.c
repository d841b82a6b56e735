#include "cudnn/plan/execution_plan.h"

#include <stdlib.h>

enum {
    PLAIN = 0,    /* the engine that takes everything */
    RESULTS = 12, /* of the heuristics, looked at where the client's engine does not take a tile */
    FALLBACKS = 3 /* looked at for a lifeboat: those behind engine 0 may have to be compiled */
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

static void destroy(void *opaque)
{
    struct cs_kernel *kernel = opaque;
    if (!kernel)
        return;
    if (kernel->plan)
        (void)CS_REAL(cudnnBackendDestroyDescriptor, kernel->plan);
    free(kernel);
}

/* Hands over the plan of a configuration, if the bench is without an error so far; clears the
 * bench. */
static enum cs_status finish(struct cs_bench *bench, const struct cs_target *target,
                             cudnnBackendDescriptor_t configuration, void **kernel_p,
                             int64_t *workspace_p)
{
    cudnnBackendDescriptor_t plan = cs_parts_plan(bench, target, configuration);
    int64_t workspace = cs_parts_workspace(bench, plan);
    enum cs_status status = status_of(bench->status);
    if (status == CS_OK && workspace < 0)
        status = CS_REFUSED;
    struct cs_kernel *kernel = status == CS_OK ? calloc(1, sizeof *kernel) : NULL;
    if (status == CS_OK && !kernel)
        status = CS_NOMEM;
    if (status == CS_OK) {
        kernel->plan = cs_bench_take(bench, plan);
        *kernel_p = kernel;
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

static bool alike(const struct cs_maker *maker, cudnnBackendDescriptor_t configuration)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    struct cs_notes notes = cs_parts_notes(&bench, configuration);
    cs_bench_clear(&bench);
    return notes.numerical == maker->notes.numerical && notes.behaviour == maker->notes.behaviour;
}

/* What the heuristics offer for the tile itself, as long as it computes and behaves like the
 * client's engine. */
static enum cs_status build_alike(const struct cs_maker *maker, const struct cs_problem *problem,
                                  void **kernel_p, int64_t *workspace_p)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    cudnnBackendDescriptor_t configuration[RESULTS];
    enum cs_status status = CS_REFUSED;
    int results = cs_parts_heuristics(&bench, &maker->target, problem, CUDNN_HEUR_MODE_A,
                                      configuration, RESULTS);
    for (int i = 0; i < results && status == CS_REFUSED; i++) {
        struct cs_bench own = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
        if (alike(maker, configuration[i]))
            status = finish(&own, &maker->target, configuration[i], kernel_p, workspace_p);
    }
    cs_bench_clear(&bench);
    return status;
}

/* Of what the heuristics offer and computes alike, the plan with the least workspace. */
static enum cs_status build_least(const struct cs_maker *maker, const struct cs_problem *problem,
                                  void **kernel_p, int64_t *workspace_p)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    cudnnBackendDescriptor_t configuration[RESULTS];
    void *least = NULL;
    int64_t least_workspace = 0;
    int results = cs_parts_heuristics(&bench, &maker->target, problem, CUDNN_HEUR_MODE_A,
                                      configuration, RESULTS);
    for (int i = 0; i < results && (!least || least_workspace > 0); i++) {
        struct cs_bench own = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
        void *kernel;
        int64_t workspace;
        if (!alike(maker, configuration[i]) ||
            finish(&own, &maker->target, configuration[i], &kernel, &workspace) != CS_OK)
            continue;
        bool better = !least || workspace < least_workspace;
        destroy(better ? least : kernel);
        least = better ? kernel : least;
        least_workspace = better ? workspace : least_workspace;
    }
    cs_bench_clear(&bench);
    if (!least)
        return CS_REFUSED;
    *kernel_p = least;
    *workspace_p = least_workspace;
    return CS_OK;
}

/* The client's engine with its own knobs; where they do not fit a smaller problem, with the
 * engine's defaults; where the engine does not, one that computes alike. */
static enum cs_status build_near(const struct cs_maker *maker, const struct cs_problem *problem,
                                 void **kernel_p, int64_t *workspace_p)
{
    const struct cs_engine plain = {.index = maker->engine.index};
    enum cs_status status =
        build_engine(&maker->target, problem, &maker->engine, kernel_p, workspace_p);
    if (status == CS_REFUSED && maker->engine.knobs > 0)
        status = build_engine(&maker->target, problem, &plain, kernel_p, workspace_p);
    if (status == CS_REFUSED)
        status = build_alike(maker, problem, kernel_p, workspace_p);
    return status;
}

/* Tensor cores multiply 16-bit numbers exactly; those of f32 they would round, and nobody tells
 * whether the client allows that. */
static bool may_stand_in(const struct cs_maker *maker, cudnnBackendDescriptor_t configuration)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    struct cs_notes notes = cs_parts_notes(&bench, configuration);
    int64_t index = cs_parts_index(&bench, configuration);
    unsigned exact =
        maker->problem.tensor[CS_X].dtype == CS_F32 ? 0 : 1u << CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    unsigned native =
        maker->notes.behaviour & 1u << CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API;
    cs_bench_clear(&bench);
    return bench.status == CUDNN_STATUS_SUCCESS && index != PLAIN &&
           (notes.numerical & ~(maker->notes.numerical | exact)) == 0 &&
           (notes.behaviour & 1u << CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) == 0 &&
           (notes.behaviour & native) == native;
}

/* The heuristics' first choice for the tile that may stand in for the plain engine. */
static enum cs_status build_own(const struct cs_maker *maker, const struct cs_problem *problem,
                                void **kernel_p, int64_t *workspace_p)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    cudnnBackendDescriptor_t configuration[RESULTS];
    enum cs_status status = CS_REFUSED;
    if (!maker->known || maker->engine.index != PLAIN)
        return CS_REFUSED;
    int results = cs_parts_heuristics(&bench, &maker->target, problem, CUDNN_HEUR_MODE_A,
                                      configuration, RESULTS);
    for (int i = 0; i < results && status == CS_REFUSED; i++) {
        struct cs_bench own = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
        if (may_stand_in(maker, configuration[i]))
            status = finish(&own, &maker->target, configuration[i], kernel_p, workspace_p);
    }
    cs_bench_clear(&bench);
    return status;
}

static enum cs_status build(void *ctx, const struct cs_problem *problem, enum cs_latitude latitude,
                            void **kernel_p, int64_t *workspace_p)
{
    const struct cs_maker *maker = ctx;
    const struct cs_engine plain = {.index = maker->engine.index};
    switch (latitude) {
    case CS_ENGINE_DEFAULTS:
        return build_engine(&maker->target, problem, &plain, kernel_p, workspace_p);
    case CS_ENGINE_ALIKE:
        return build_least(maker, problem, kernel_p, workspace_p);
    case CS_TILES_OWN:
        return build_own(maker, problem, kernel_p, workspace_p);
    default:
        return build_near(maker, problem, kernel_p, workspace_p);
    }
}

/* Keeps a kernel only if it stays within the limit. */
static enum cs_status keep_within(enum cs_status status, int64_t limit, void **kernel_p,
                                  const int64_t *workspace_p)
{
    if (status == CS_OK && *workspace_p > limit) {
        destroy(*kernel_p);
        return CS_REFUSED;
    }
    return status;
}

/* Any engine that the heuristics fall back to. */
static enum cs_status build_fallback(const struct cs_maker *maker, int64_t limit, void **kernel_p,
                                     int64_t *workspace_p)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    cudnnBackendDescriptor_t configuration[FALLBACKS];
    enum cs_status status = CS_REFUSED;
    int results = cs_parts_heuristics(&bench, &maker->target, &maker->problem,
                                      CUDNN_HEUR_MODE_FALLBACK, configuration, FALLBACKS);
    for (int i = 0; i < results && status == CS_REFUSED; i++) {
        struct cs_bench own = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
        status = finish(&own, &maker->target, configuration[i], kernel_p, workspace_p);
        status = keep_within(status, limit, kernel_p, workspace_p);
    }
    cs_bench_clear(&bench);
    return status;
}

/* Engine 0 needs no workspace and takes every convolution that we plan, and most fused ones. */
static enum cs_status build_lifeboat(void *ctx, int64_t limit, void **kernel_p,
                                     int64_t *workspace_p)
{
    const struct cs_maker *maker = ctx;
    static const struct cs_engine engine = {.index = PLAIN};
    void *kernel;
    int64_t workspace;
    enum cs_status status =
        build_engine(&maker->target, &maker->problem, &engine, &kernel, &workspace);
    status = keep_within(status, limit, &kernel, &workspace);
    if (status == CS_REFUSED && maker->problem.steps > 0)
        status = build_fallback(maker, limit, &kernel, &workspace);
    if (status != CS_OK)
        return status;
    *kernel_p = kernel;
    *workspace_p = workspace;
    return CS_OK;
}

static const struct cs_profile *profile(void *ctx)
{
    struct cs_maker *maker = ctx;
    return cs_profile_of(&maker->target, &maker->profile) ? &maker->profile : NULL;
}

struct cs_vendor cs_kernel_vendor(struct cs_maker *maker)
{
    bool compiles = maker->notes.behaviour & 1u << CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
    return (struct cs_vendor){.ctx = maker,
                              .compiles = compiles,
                              .build = build,
                              .lifeboat = build_lifeboat,
                              .destroy = destroy,
                              .profile = profile};
}
