/* XLA: the answers of heuristics modes B and A, each built and timed between red zones; the winner
 * is kept as numbers: engine, knobs, workspace size. At run time its plan is rebuilt from those on
 * a new graph, and the workspace is a piece of one static arena, of exactly the reported size.
 * libcudnn is loaded and looked up. */
#include "graph.h"
#include "looked_up.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIMED = 3,
    RED_ZONE = 64 << 10,
    RED = 0xff
};

const int look_up_flags = RTLD_NOW | RTLD_LOCAL;

struct description {
    struct backend_engine algorithm;
    int64_t workspace;
};

/* Memory with red zones around a workspace of exactly that size. */
static bool guard(struct session *session, size_t bytes, char **zone_p)
{
    void *zone;
    if (bytes > session->largest)
        session->largest = bytes;
    if (!session_memory(bytes + 2 * RED_ZONE, &zone))
        return false;
    *zone_p = zone;
    TRY_CUDA(cudaMemsetAsync(zone, RED, bytes + 2 * RED_ZONE, session->stream), fail);
    return true;
fail:
    cudaFree(zone);
    return false;
}

static bool untouched(const char *zone)
{
    unsigned char host[RED_ZONE];
    TRY_CUDA(cudaMemcpy(host, zone, RED_ZONE, cudaMemcpyDeviceToHost), fail);
    for (size_t i = 0; i < RED_ZONE; i++) {
        if (host[i] != RED) {
            fprintf(stderr, "red zone changed at %zu\n", i);
            return false;
        }
    }
    return true;
fail:
    return false;
}

static bool run_guarded(struct session *session, cudnnBackendDescriptor_t plan, size_t bytes,
                        struct operands *operands, const struct wish *wish, float *time_p)
{
    struct stopwatch watch;
    char *zone;
    if (!guard(session, bytes, &zone))
        return false;
    bool good = stopwatch_start(session, &watch);
    if (good) {
        good = plan_run(session, plan, operands, wish, zone + RED_ZONE) == CUDNN_STATUS_SUCCESS;
        good = stopwatch_stop(session, &watch, time_p) && good;
    }
    good = good && untouched(zone) && untouched(zone + RED_ZONE + bytes);
    cudaFree(zone);
    return good;
}

/* Plans a config and, if it needs a workspace, times it. */
static bool profile(struct session *session, cudnnBackendDescriptor_t config,
                    struct operands *operands, const struct wish *wish,
                    struct description *description, float *time_p)
{
    cudnnBackendDescriptor_t plan;
    if (plan_open(config, NULL, &plan) != CUDNN_STATUS_SUCCESS)
        return false;
    bool good =
        plan_size(plan, &description->workspace) == CUDNN_STATUS_SUCCESS &&
        description->workspace > 0 &&
        run_guarded(session, plan, (size_t)description->workspace, operands, wish, time_p) &&
        backend_engine_read(config, &description->algorithm) == CUDNN_STATUS_SUCCESS;
    plan_close(plan);
    return good;
}

static bool autotune(struct session *session, struct operands *operands, const struct wish *wish,
                     struct description *best)
{
    struct graph graph = {0};
    struct configs configs = {0};
    struct description description;
    float time = 0.0F, best_time = 0.0F;
    int timed = 0;
    TRY_CUDNN(graph_open(session->handle, operands, wish, &graph), close);
    TRY_CUDNN(configs_ask(&graph, CUDNN_HEUR_MODE_B, &configs), close);
    TRY_CUDNN(configs_ask(&graph, CUDNN_HEUR_MODE_A, &configs), close);
    for (int i = 0; i < configs.count && timed < TIMED; i++)
        if (profile(session, configs.config[i], operands, wish, &description, &time) &&
            (timed++ == 0 || time < best_time)) {
            *best = description;
            best_time = time;
        }
close:
    configs_close(&configs);
    graph_close(&graph);
    return timed > 0 && operands_restore(session, operands, wish->direction);
}

/* RebuildExecutionPlan; the size that was compiled in must be enough. */
static cudnnBackendDescriptor_t rebuild(struct session *session, const struct operands *operands,
                                        const struct wish *wish,
                                        const struct description *description)
{
    struct graph graph = {0};
    cudnnBackendDescriptor_t config = NULL, plan = NULL;
    int64_t bytes = 0;
    TRY_CUDNN(graph_open(session->handle, operands, wish, &graph), close);
    TRY_CUDNN(backend_engine_config(&description->algorithm, graph.graph, &config), close);
    TRY_CUDNN(plan_open(config, NULL, &plan), close);
    TRY_CUDNN(plan_size(plan, &bytes), close);
    if (bytes > description->workspace) {
        fprintf(stderr, "a rebuilt plan wants %lld bytes, not %lld\n", (long long)bytes,
                (long long)description->workspace);
        plan_close(plan);
        plan = NULL;
    }
close:
    plan_close(config);
    graph_close(&graph);
    return plan;
}

static const struct wish wishes[] = {{FORWARD, 1.0F, 0.0F, false, false, NULL},
                                     {BACKWARD_DATA, 1.0F, 0.0F, false, false, NULL},
                                     {BACKWARD_FILTER, 1.0F, 0.0F, false, false, NULL},
                                     {FORWARD, 1.0F, 0.0F, true, true, &(const float){1.0F}}};

enum {
    WISHES = sizeof wishes / sizeof *wishes
};

/* The rebuilt plan is kept by its runner, and run in the arena. */
static bool execute(struct session *session, struct operands *operands, const struct wish *wish,
                    const struct description *description, char *arena)
{
    const struct formula formula = wish_formula(wish);
    cudnnBackendDescriptor_t plan = rebuild(session, operands, wish, description);
    bool good = plan != NULL;
    for (int i = 0; i < 2 && good; i++)
        good = plan_run(session, plan, operands, wish, arena) == CUDNN_STATUS_SUCCESS &&
               operands_verify(session, operands, &formula) &&
               untouched(arena + description->workspace);
    plan_close(plan);
    return good;
}

static bool run(struct session *session, struct operands *operands, int layers)
{
    struct description description[2][WISHES];
    size_t largest = 0;
    char *arena;
    bool good = true;
    for (int i = 0; i < layers; i++) {
        for (int w = 0; w < WISHES && good; w++) {
            good = autotune(session, &operands[i], &wishes[w], &description[i][w]);
            if (good && (size_t)description[i][w].workspace > largest)
                largest = (size_t)description[i][w].workspace;
        }
    }
    if (!good || !guard(session, largest, &arena))
        return false;
    for (int i = 0; i < layers; i++)
        for (int w = 0; w < WISHES && good; w++) {
            good = cudaMemsetAsync(arena, RED, largest + 2 * RED_ZONE, session->stream) ==
                       cudaSuccess &&
                   execute(session, &operands[i], &wishes[w], &description[i][w], arena + RED_ZONE);
        }
    cudaFree(arena);
    return good;
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"default", NULL};
    return session_main(argc, argv, modes, run);
}
