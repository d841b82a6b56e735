/* Host time of the calls that a program makes for every convolution, on a cuDNN without effects. An
 * ordinary program: the same binary runs without and with the library. Prints "NAME NANOSECONDS" a
 * line. With the argument "large" it times the call of a plan that requires 16 MiB of workspace,
 * and prints the reported bytes. */
#include "bench.h"
#include "support/apps/backend.h"

#include <cudnn.h>
#include <cudnn_backend.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum {
    OPERAND = 16 << 20 /* bytes of the largest operand, or more */
};

static _Alignas(256) char memory[256];
static cudnnHandle_t handle;
static cudnnBackendDescriptor_t plan;
static void *operand[] = {memory, memory + 16, memory + 32}, *workspace = memory + 48;

static void check(cudnnStatus_t status)
{
    if (status != CUDNN_STATUS_SUCCESS) {
        fprintf(stderr, "bench: cuDNN status %d\n", (int)status);
        exit(1);
    }
}

static struct tensor tensor_of(int64_t n, int64_t c, int64_t extent)
{
    return (struct tensor){.type = CUDNN_DATA_HALF,
                           .dims = 4,
                           .size = {n, c, extent, extent},
                           .stride = {c * extent * extent, extent * extent, extent, 1}};
}

static cudnnBackendDescriptor_t make_operation(int64_t extent)
{
    const struct tensor image = tensor_of(1, 64, extent), filter = tensor_of(64, 64, 3);
    const struct conv_problem problem = {.spatial = 2,
                                         .pre = {1, 1},
                                         .post = {1, 1},
                                         .stride = {1, 1},
                                         .dilation = {1, 1},
                                         .alpha = 1};
    cudnnBackendDescriptor_t part[4], operation;
    check(backend_tensor(&image, 'x', BACKEND_MEMORY, &part[0]));
    check(backend_tensor(&filter, 'w', BACKEND_MEMORY, &part[1]));
    check(backend_tensor(&image, 'y', BACKEND_MEMORY, &part[2]));
    check(backend_convolution(&problem, &part[3]));
    check(backend_operation(&problem, part, &operation));
    return operation;
}

/* A finalized descriptor of that type with another one as an attribute. `index`: of the engine, may
 * be NULL. */
static cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type,
                                     cudnnBackendAttributeName_t name,
                                     cudnnBackendDescriptor_t value, const int64_t *index)
{
    cudnnBackendDescriptor_t made = NULL;
    check(cudnnBackendCreateDescriptor(type, &made));
    check(backend_set_desc(made, name, value));
    if (index)
        check(backend_set(made, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, index));
    check(cudnnBackendFinalize(made));
    return made;
}

/* Convolves images of extent x extent. Without an engine it requires little, for any extent. */
static cudnnBackendDescriptor_t make_plan(int64_t extent, const int64_t *index)
{
    const cudnnBackendDescriptor_t operation = make_operation(extent);
    cudnnBackendDescriptor_t graph;
    check(backend_graph(handle, &operation, 1, &graph));
    cudnnBackendDescriptor_t engine = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR,
                                           CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph, index),
                             config = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                                           CUDNN_ATTR_ENGINECFG_ENGINE, engine, NULL);
    return make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                config, NULL);
}

static void chain(void)
{
    static const int64_t uids[] = {'x', 'w', 'y'};
    cudnnBackendDescriptor_t pack;
    check(backend_pack(3, uids, operand, workspace, &pack));
    check(cudnnBackendExecute(handle, plan, pack));
    check(cudnnBackendDestroyDescriptor(pack));
}

static void legacy(void)
{
    static const float alpha = 1, beta = 0;
    void *any = memory;
    check(cudnnConvolutionForward(handle, &alpha, any, any, any, any, any,
                                  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, any,
                                  sizeof memory, &beta, any, any));
}

static cudnnTensorDescriptor_t make_image(int extent)
{
    const int dims[] = {1, 64, extent, extent};
    const int strides[] = {64 * extent * extent, extent * extent, extent, 1};
    cudnnTensorDescriptor_t made = NULL;
    check(cudnnCreateTensorDescriptor(&made));
    check(cudnnSetTensorNdDescriptor(made, CUDNN_DATA_HALF, 4, dims, strides));
    return made;
}

/* A convolution by the same algorithm that requires much; its reported size is not used. */
static void ask_for_much(cudnnTensorDescriptor_t x)
{
    void *any = memory;
    size_t bytes;
    check(cudnnGetConvolutionForwardWorkspaceSize(handle, x, any, any, make_image(1024),
                                                  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                                                  &bytes));
}

/* A plan that requires little, as most do: its executions are examined, counted and passed on. */
static void measure_small(void)
{
    plan = make_plan(32, NULL);
    printf("chain %.2f\n", bench_median(chain));
    printf("legacy %.2f\n", bench_median(legacy));
    ask_for_much(make_image(1024));
    printf("legacy_watched %.2f\n", bench_median(legacy));
    ask_for_much((cudnnTensorDescriptor_t)(void *)memory);
    printf("legacy_looked_at %.2f\n", bench_median(legacy));
}

static void measure_oversized(void)
{
    static const int64_t engine = 1;
    int64_t reported = 0;
    plan = make_plan(256, &engine);
    check(cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                                   1, NULL, &reported));
    /* The contents are never read, but overlapping operands would not be tiled. */
    char *provided = malloc(3 * OPERAND + (size_t)reported);
    for (int i = 0; i < 3; i++)
        operand[i] = provided + i * OPERAND;
    workspace = reported > 0 ? provided + 3 * OPERAND : NULL;
    printf("large %.2f\n", bench_median(chain));
    printf("told %" PRId64 "\n", reported);
    free(provided);
}

int main(int argc, char **argv)
{
    check(cudnnCreate(&handle)); /* plans of other handles are not tiled */
    if (argc == 2 && strcmp(argv[1], "large") == 0)
        measure_oversized();
    else
        measure_small();
    return 0;
}
