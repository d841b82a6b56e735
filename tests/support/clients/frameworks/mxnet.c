/* MXNet 2: the backend API without cudnn-frontend. A plan is given the handle and asked for it
 * again; its workspace is queried at every Exec; the found plan is rebuilt from engine and knobs
 * (ClonePlan); kAddTo is BETA = 1.
 *   default   heuristics
 *   fallback  every engine from 0 on that can be planned, by its index */
#include "graph.h"

enum {
    ENGINES = 59, /* the loop ends after engine 58 */
    TIMED = 2,    /* plans with a workspace that are run to find the best */
    REPEATS = 2
};

static bool same_handle(struct session *session, cudnnBackendDescriptor_t plan)
{
    cudnnHandle_t handle = NULL;
    int64_t count = 0;
    TRY_CUDNN(cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                                       &count, &handle),
              fail);
    if (handle == session->handle)
        return true;
    fputs("the plan has another handle\n", stderr);
fail:
    return false;
}

static bool exec(struct session *session, cudnnBackendDescriptor_t plan, struct operands *operands,
                 const struct wish *wish, int repeats, float *time_p)
{
    struct stopwatch watch;
    int64_t bytes = 0;
    void *workspace;
    bool good = false;
    TRY_CUDNN(plan_size(plan, &bytes), fail);
    if (!same_handle(session, plan) || !session_workspace(session, (size_t)bytes, &workspace))
        return false;
    if (!stopwatch_start(session, &watch))
        goto free;
    good = true;
    for (int i = 0; i < repeats && good; i++)
        good = plan_run(session, plan, operands, wish, workspace) == CUDNN_STATUS_SUCCESS;
    good = stopwatch_stop(session, &watch, time_p) && good;
free:
    cudaFree(workspace);
    return good;
fail:
    return false;
}

/* The configs of all engines by index, instead of the heuristics' answers. */
static void ask_engines(const struct graph *graph, struct configs *configs)
{
    for (int64_t engine = 0; engine < ENGINES; engine++) {
        const struct algorithm algorithm = {.engine = engine};
        cudnnBackendDescriptor_t *config = &configs->config[configs->count];
        if (algorithm_config(&algorithm, graph, config) == CUDNN_STATUS_SUCCESS)
            configs->count++;
    }
}

/* The fastest of the first plans within the limit that need a workspace; if there is none, the
 * first one. */
static bool find_top(struct session *session, const struct configs *configs,
                     struct operands *operands, const struct wish *wish, struct algorithm *top)
{
    float best = 0.0F, time = 0.0F;
    int timed = 0, chosen = -1;
    for (int i = 0; i < configs->count && timed < TIMED; i++) {
        cudnnBackendDescriptor_t plan;
        int64_t bytes = 0;
        if (plan_open(configs->config[i], session->handle, &plan) != CUDNN_STATUS_SUCCESS)
            continue;
        bool wanted = plan_size(plan, &bytes) == CUDNN_STATUS_SUCCESS && bytes > 0 &&
                      (size_t)bytes <= session->limit;
        if (wanted && exec(session, plan, operands, wish, REPEATS, &time)) {
            if (timed++ == 0 || time < best) {
                best = time;
                chosen = i;
            }
        } else if (chosen < 0 && bytes == 0) {
            chosen = i;
        }
        plan_close(plan);
    }
    if (chosen >= 0)
        TRY_CUDNN(algorithm_of(configs->config[chosen], top), fail);
    return chosen >= 0;
fail:
    return false;
}

static bool find(struct session *session, struct operands *operands, const struct wish *wish,
                 struct algorithm *top)
{
    struct graph graph = {0};
    struct configs configs = {0};
    bool good = false;
    TRY_CUDNN(graph_open(session->handle, operands, wish, &graph), close);
    if (session_mode_is(session, "fallback"))
        ask_engines(&graph, &configs);
    else
        TRY_CUDNN(configs_ask(&graph, CUDNN_HEUR_MODE_INSTANT, &configs), close);
    good = find_top(session, &configs, operands, wish, top) &&
           operands_restore(session, operands, wish->direction);
close:
    configs_close(&configs);
    graph_close(&graph);
    return good;
}

/* ClonePlan */
static cudnnBackendDescriptor_t clone(struct session *session, const struct operands *operands,
                                      const struct wish *wish, const struct algorithm *algorithm)
{
    struct graph graph = {0};
    cudnnBackendDescriptor_t config = NULL, plan = NULL;
    TRY_CUDNN(graph_open(session->handle, operands, wish, &graph), close);
    TRY_CUDNN(algorithm_config(algorithm, &graph, &config), close);
    TRY_CUDNN(plan_open(config, session->handle, &plan), close);
close:
    plan_close(config);
    graph_close(&graph);
    return plan;
}

static bool convolve(struct session *session, struct operands *operands, const struct wish *wish)
{
    const struct formula formula = wish_formula(wish);
    struct algorithm algorithm;
    float time;
    bool good = find(session, operands, wish, &algorithm);
    cudnnBackendDescriptor_t plan = good ? clone(session, operands, wish, &algorithm) : NULL;
    good = plan != NULL;
    for (int i = 0; i < 2 && good; i++)
        good = exec(session, plan, operands, wish, 1, &time) &&
               operands_verify(session, operands, &formula);
    plan_close(plan);
    return good;
}

static bool run(struct session *session, struct operands *operands, int layers)
{
    bool good = true;
    for (int i = 0; i < layers; i++)
        for (enum direction d = FORWARD; d < DIRECTIONS; d++)
            for (int add = 0; add < 2 && good; add++)
                good = convolve(session, &operands[i],
                                &(struct wish){d, 1.0F, (float)add, false, false, NULL});
    return good;
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"default", "fallback", NULL};
    return session_main(argc, argv, modes, run);
}
