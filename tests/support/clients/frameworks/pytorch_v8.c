/* PyTorch with cuDNN's backend API: Conv_v8.cpp on the builders of cudnn-frontend 0.x.
 *   default    the first engine config that can be planned, given memory and executed
 *   benchmark  all of them planned first, one workspace of the largest size, then one warm-up and
 *              one timed execution of each on the real tensors
 * Only the plan outlives this: later executions find it in a cache. */
#include "graph.h"

enum {
    BENCHMARK_LIMIT = 4 /* torch.backends.cudnn.benchmark_limit */
};

/* Engines that PyTorch never takes. */
static bool allowed(cudnnBackendDescriptor_t config)
{
    bool converts = true;
    TRY_CUDNN(config_bears(config, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, &converts), fail);
    return !converts;
fail:
    return false;
}

/* Memory from the allocator for one execution. */
static bool execute(struct session *session, cudnnBackendDescriptor_t plan,
                    struct operands *operands, const struct wish *wish)
{
    int64_t bytes = 0;
    void *workspace;
    TRY_CUDNN(plan_size(plan, &bytes), fail);
    if (!session_workspace(session, (size_t)bytes, &workspace))
        return false;
    cudnnStatus_t status = plan_run(session, plan, operands, wish, workspace);
    bool good =
        status == CUDNN_STATUS_SUCCESS && cudaStreamSynchronize(session->stream) == cudaSuccess;
    cudaFree(workspace);
    return good;
fail:
    return false;
}

static cudnnBackendDescriptor_t try_configs(struct session *session, const struct configs *configs,
                                            struct operands *operands, const struct wish *wish)
{
    for (int i = 0; i < configs->count; i++) {
        cudnnBackendDescriptor_t plan;
        if (!allowed(configs->config[i]) ||
            plan_open(configs->config[i], NULL, &plan) != CUDNN_STATUS_SUCCESS)
            continue;
        if (execute(session, plan, operands, wish))
            return plan;
        plan_close(plan);
    }
    return NULL;
}

static bool time_plan(struct session *session, cudnnBackendDescriptor_t plan,
                      cudnnBackendDescriptor_t pack, float *time_p)
{
    struct stopwatch watch;
    if (cudnnBackendExecute(session->handle, plan, pack) != CUDNN_STATUS_SUCCESS ||
        !stopwatch_start(session, &watch))
        return false;
    bool good = cudnnBackendExecute(session->handle, plan, pack) == CUDNN_STATUS_SUCCESS;
    return stopwatch_stop(session, &watch, time_p) && good;
}

/* The index of the fastest plan, -1 if none ran. */
static int fastest(struct session *session, const cudnnBackendDescriptor_t *plan, int plans,
                   const struct operands *operands, const struct wish *wish, void *workspace)
{
    cudnnBackendDescriptor_t pack;
    float best = 0.0F, time = 0.0F;
    int chosen = -1;
    TRY_CUDNN(pack_open(operands, wish, workspace, &pack), fail);
    for (int i = 0; i < plans && i < BENCHMARK_LIMIT; i++) {
        if (time_plan(session, plan[i], pack, &time) && (chosen < 0 || time < best)) {
            chosen = i;
            best = time;
        }
    }
    cudnnBackendDestroyDescriptor(pack);
fail:
    return chosen;
}

static cudnnBackendDescriptor_t find_plan(struct session *session, const struct configs *configs,
                                          struct operands *operands, const struct wish *wish)
{
    cudnnBackendDescriptor_t plan[GRAPH_CONFIGS], chosen = NULL;
    int64_t largest = 0, bytes = 0;
    void *workspace;
    int plans = 0, best = -1;
    for (int i = 0; i < configs->count; i++)
        if (allowed(configs->config[i]) &&
            plan_open(configs->config[i], NULL, &plan[plans]) == CUDNN_STATUS_SUCCESS)
            plans++;
    for (int i = 0; i < plans; i++) {
        TRY_CUDNN(plan_size(plan[i], &bytes), close_plans);
        largest = bytes > largest ? bytes : largest;
    }
    if (!session_workspace(session, (size_t)largest, &workspace))
        goto close_plans;
    best = fastest(session, plan, plans, operands, wish, workspace);
    cudaFree(workspace);
    if (best >= 0)
        chosen = plan[best];
close_plans:
    for (int i = 0; i < plans; i++)
        if (i != best)
            plan_close(plan[i]);
    return chosen;
}

static cudnnBackendDescriptor_t make_plan(struct session *session, struct operands *operands,
                                          const struct wish *wish)
{
    struct graph graph = {0};
    struct configs configs = {0};
    cudnnBackendDescriptor_t plan = NULL;
    TRY_CUDNN(graph_open(session->handle, operands, wish, &graph), close);
    TRY_CUDNN(configs_ask(&graph, CUDNN_HEUR_MODE_INSTANT, &configs), close);
    graph_close(&graph);
    plan = session_mode_is(session, "benchmark") ? find_plan(session, &configs, operands, wish)
                                                 : try_configs(session, &configs, operands, wish);
close:
    graph_close(&graph);
    configs_close(&configs);
    return plan;
}

static bool convolve(struct session *session, struct operands *operands, const struct wish *wish)
{
    const struct formula formula = wish_formula(wish);
    cudnnBackendDescriptor_t plan = make_plan(session, operands, wish);
    if (plan == NULL) {
        fputs("no plan\n", stderr);
        return false;
    }
    bool good = operands_restore(session, operands, wish->direction);
    for (int i = 0; i < 2 && good; i++)
        good =
            execute(session, plan, operands, wish) && operands_verify(session, operands, &formula);
    plan_close(plan);
    return good;
}

static bool run(struct session *session, struct operands *operands, int layers)
{
    /* cudnn_convolution_relu passes its output as z, times 0. */
    static const float zero = 0.0F;
    static const struct wish wishes[] = {{FORWARD, 1.0F, 0.0F, false, false, NULL},
                                         {BACKWARD_DATA, 1.0F, 0.0F, false, false, NULL},
                                         {BACKWARD_FILTER, 1.0F, 0.0F, false, false, NULL},
                                         {FORWARD, 1.0F, 0.0F, true, true, &zero}};
    bool good = true;
    for (int i = 0; i < layers; i++)
        for (size_t w = 0; w < sizeof wishes / sizeof *wishes && good; w++)
            good = convolve(session, &operands[i], &wishes[w]);
    return good;
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"default", "benchmark", NULL};
    return session_main(argc, argv, modes, run);
}
