/* The time that a framework's benchmark mode spends on a convolution before it runs anything: the
 * real cuDNN's list of engines, and a plan of each engine that is built. For every different layer
 * of a list of layers, an ordinary program: the same binary runs without and with the library.
 * Prints "LAYER WORKSPACE PLANS NANOSECONDS" a line, of processor time; the workspace is the
 * largest. Engines that cuDNN compiles take seconds and are skipped. With the argument "compiled"
 * they are included, and only every EVERYth layer is tried. */
#include "bench.h"
#include "support/apps/csv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    EVERY = 16
};

struct tried {
    int64_t plans, workspace;
};

static void note(void *ctx, const struct conv_plan *plan)
{
    struct tried *tried = ctx;
    tried->plans++;
    if (plan->workspace > tried->workspace)
        tried->workspace = plan->workspace;
}

/* Nanoseconds of the processor. */
static int64_t try_all(cudnnHandle_t handle, const struct conv_problem *problem, bool compiled,
                       struct tried *tried)
{
    const struct conv_settings settings = {.mode = CUDNN_HEUR_MODE_A,
                                           .ask_notes = true,
                                           .precompiled = !compiled,
                                           .each = note,
                                           .ctx = tried};
    struct conv_plan plan;
    *tried = (struct tried){0, 0};
    int64_t begin = bench_now(CLOCK_PROCESS_CPUTIME_ID);
    (void)conv_graph_plan(handle, problem, &settings, 0, &plan);
    return bench_now(CLOCK_PROCESS_CPUTIME_ID) - begin;
}

static void measure(cudnnHandle_t handle, size_t layer, const struct conv_problem *problem,
                    bool compiled)
{
    struct tried tried;
    struct conv_problem other = *problem;
    /* cuDNN has met the shape before, the library has not: to it another scale is another problem.
     */
    other.alpha = 0.5F;
    (void)try_all(handle, &other, false, &tried);
    int64_t taken = try_all(handle, problem, compiled, &tried);
    printf("%zu %" PRId64 " %" PRId64 " %" PRId64 "\n", layer, tried.workspace, tried.plans, taken);
}

int main(int argc, char **argv)
{
    struct csv_layer *layers = NULL;
    size_t count = 0;
    cudnnHandle_t handle = NULL;
    bool good = true, compiled = argc == 3 && strcmp(argv[2], "compiled") == 0;
    if (argc != 2 + compiled || !csv_read(argv[1], NULL, &layers, &count) ||
        cudnnCreate(&handle) != CUDNN_STATUS_SUCCESS)
        return 1;
    for (size_t i = 0; good && i < count; i++) {
        struct conv_problem problem;
        good = csv_problem(&layers[i], LAYOUT_NCHW, &problem);
        if (good && (!compiled || i % EVERY == 0) && csv_is_first(layers, i))
            measure(handle, i, &problem, compiled);
    }
    cudnnDestroy(handle);
    free(layers);
    return good ? 0 : 1;
}
