/* The time of cudnnBackendFinalize of a plan, for every different layer of a list that cuDNN plans:
 * the first time and again. An ordinary program: the same binary runs without and with the library.
 * Prints "LAYER WORKSPACE FIRST AGAIN WALL" a line: nanoseconds of the processor, since wall time
 * includes other programs, and for the first time also wall time. */
#include "bench.h"
#include "support/apps/csv.h"

#include <inttypes.h>
#include <stdio.h>

static const struct conv_settings settings = {.mode = CUDNN_HEUR_MODE_A, .no_fallback = true};

struct cost {
    int64_t processor, wall;
};

static struct cost last; /* of the last call; a plan's finalize is the last of its making */

/* The linker option --wrap redirects the calls of this program's objects to these functions. */
cudnnStatus_t __wrap_cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor);
cudnnStatus_t __real_cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor);
cudnnStatus_t __wrap_cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
    int64_t wall = bench_now(CLOCK_MONOTONIC), processor = bench_now(CLOCK_PROCESS_CPUTIME_ID);
    cudnnStatus_t status = __real_cudnnBackendFinalize(descriptor);
    last.processor = bench_now(CLOCK_PROCESS_CPUTIME_ID) - processor;
    last.wall = bench_now(CLOCK_MONOTONIC) - wall;
    return status;
}

/* Plans the problem once; its workspace, or -1 if cuDNN does not take it. */
static int64_t plan_once(cudnnHandle_t handle, const struct conv_problem *problem,
                         struct cost *cost)
{
    struct conv_plan plan;
    if (conv_graph_plan(handle, problem, &settings, 0, &plan) != OUTCOME_OK)
        return -1;
    *cost = last;
    conv_plan_destroy(&plan);
    return plan.workspace;
}

static void measure(cudnnHandle_t handle, size_t layer, const struct conv_problem *problem)
{
    struct cost first, again;
    struct conv_problem other = *problem;
    /* cuDNN has met the shape before, the library has not: to it another scale is another problem.
     */
    other.alpha = 0.5F;
    if (plan_once(handle, &other, &first) < 0)
        return;
    int64_t workspace = plan_once(handle, problem, &first);
    if (workspace >= 0 && plan_once(handle, problem, &again) == workspace)
        printf("%zu %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", layer, workspace,
               first.processor, again.processor, first.wall);
}

static bool measure_all(const struct csv_layer *layers, size_t count)
{
    cudnnHandle_t handle = NULL;
    bool good = false;
    TRY_CUDNN(cudnnCreate(&handle), nothing);
    good = true;
    for (size_t i = 0; good && i < count; i++) {
        struct conv_problem problem;
        good = csv_problem(&layers[i], LAYOUT_NCHW, &problem);
        if (good && csv_is_first(layers, i))
            measure(handle, i, &problem);
    }
    cudnnDestroy(handle);
nothing:
    return good;
}

int main(int argc, char **argv)
{
    struct csv_layer *layers = NULL;
    size_t count = 0;
    if (argc != 2 || !csv_read(argv[1], NULL, &layers, &count))
        return 1;
    bool good = measure_all(layers, count);
    free(layers);
    return good ? 0 : 1;
}
