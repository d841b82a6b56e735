/* TensorFlow: answers of heuristics modes B, A and FALLBACK that the scratch limit allows are
 * timed; the fastest is kept, and the fastest without scratch. A step runs the first
 * one unless its scratch cannot be allocated, then the second. libcudnn is loaded and looked up. */
#include "graph.h"
#include "looked_up.h"
#include <dlfcn.h>

enum {
    TIMED = 3 /* of each: with scratch, without */
};

const int look_up_flags = RTLD_NOW | RTLD_LOCAL;

struct runner {
    cudnnBackendDescriptor_t plan;
    float time;
    int timed;
};

static cudnnStatus_t step(struct session *session, cudnnBackendDescriptor_t plan,
                          struct operands *operands, const struct wish *wish, size_t bytes)
{
    void *scratch;
    if (!session_workspace(session, bytes, &scratch))
        return CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
    cudnnStatus_t status = plan_run(session, plan, operands, wish, scratch);
    cudaStreamSynchronize(session->stream);
    cudaFree(scratch);
    return status;
}

static bool time_step(struct session *session, cudnnBackendDescriptor_t plan,
                      struct operands *operands, const struct wish *wish, size_t bytes,
                      float *time_p)
{
    struct stopwatch watch;
    if (!stopwatch_start(session, &watch))
        return false;
    bool good = step(session, plan, operands, wish, bytes) == CUDNN_STATUS_SUCCESS;
    return stopwatch_stop(session, &watch, time_p) && good;
}

/* Keeps the plan if it is the fastest of its kind, else closes it. */
static void compete(struct session *session, cudnnBackendDescriptor_t plan,
                    struct operands *operands, const struct wish *wish, struct runner runner[2])
{
    int64_t bytes = 0;
    float time = 0.0F;
    bool sized = plan_size(plan, &bytes) == CUDNN_STATUS_SUCCESS && (size_t)bytes <= session->limit;
    struct runner *best = &runner[bytes == 0];
    if (sized && best->timed < TIMED &&
        time_step(session, plan, operands, wish, (size_t)bytes, &time) &&
        (best->timed++ == 0 || time < best->time)) {
        plan_close(best->plan);
        best->plan = plan;
        best->time = time;
    } else {
        plan_close(plan);
    }
}

static bool autotune(struct session *session, struct operands *operands, const struct wish *wish,
                     struct runner runner[2])
{
    struct graph graph = {0};
    struct configs configs = {0};
    bool good = false;
    TRY_CUDNN(graph_open(session->handle, operands, wish, &graph), close);
    TRY_CUDNN(configs_ask(&graph, CUDNN_HEUR_MODE_B, &configs), close);
    TRY_CUDNN(configs_ask(&graph, CUDNN_HEUR_MODE_A, &configs), close);
    TRY_CUDNN(configs_ask(&graph, CUDNN_HEUR_MODE_FALLBACK, &configs), close);
    for (int i = 0; i < configs.count; i++) {
        cudnnBackendDescriptor_t plan;
        if (plan_open(configs.config[i], NULL, &plan) == CUDNN_STATUS_SUCCESS)
            compete(session, plan, operands, wish, runner);
    }
    good = operands_restore(session, operands, wish->direction);
close:
    configs_close(&configs);
    graph_close(&graph);
    return good;
}

/* The second runner is the fallback: its size must be exactly 0. */
static bool execute(struct session *session, struct operands *operands, const struct wish *wish,
                    const struct runner *runner)
{
    const struct formula formula = wish_formula(wish);
    int64_t bytes = 0;
    TRY_CUDNN(plan_size(runner->plan, &bytes), fail);
    TRY_CUDNN(step(session, runner->plan, operands, wish, (size_t)bytes), fail);
    return operands_verify(session, operands, &formula);
fail:
    return false;
}

static bool convolve(struct session *session, struct operands *operands, const struct wish *wish)
{
    struct runner runner[2] = {{0}};
    bool good = autotune(session, operands, wish, runner);
    if (good && (runner[0].plan == NULL || runner[1].plan == NULL)) {
        fputs("no runner, or none without scratch\n", stderr);
        good = false;
    }
    for (int i = 0; i < 2 && good; i++)
        good = execute(session, operands, wish, &runner[i]);
    plan_close(runner[0].plan);
    plan_close(runner[1].plan);
    return good;
}

static bool run(struct session *session, struct operands *operands, int layers)
{
    bool good = true;
    for (int i = 0; i < layers; i++)
        for (enum direction d = FORWARD; d < DIRECTIONS && good; d++)
            good =
                convolve(session, &operands[i], &(struct wish){d, 1.0F, 0.0F, false, false, NULL});
    return good;
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"default", NULL};
    return session_main(argc, argv, modes, run);
}
