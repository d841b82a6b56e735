/* Host time of the calls that a program makes for every convolution, on a cuDNN without effects. An
 * ordinary program: the same binary runs without and with the library. Prints "NAME NANOSECONDS" a
 * line. With the argument "large" it times the call of a plan that requires 16 MiB of workspace,
 * and prints the reported bytes. */
#include "bench.h"

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

static cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t made = NULL;
    check(cudnnBackendCreateDescriptor(type, &made));
    return made;
}

static void set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t count, const void *elements)
{
    check(cudnnBackendSetAttribute(descriptor, name, type, count, elements));
}

static void link_to(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                    cudnnBackendDescriptor_t value)
{
    set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static cudnnBackendDescriptor_t make_tensor(int64_t uid, const int64_t dims[4])
{
    const int64_t strides[] = {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
    const int64_t alignment = 16;
    const cudnnDataType_t dtype = CUDNN_DATA_HALF;
    cudnnBackendDescriptor_t tensor = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &dtype);
    set(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims);
    set(tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
    set(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
    set(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    check(cudnnBackendFinalize(tensor));
    return tensor;
}

static cudnnBackendDescriptor_t make_convolution(void)
{
    const int64_t spatial = 2, ones[] = {1, 1};
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    cudnnBackendDescriptor_t conv = make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    set(conv, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &spatial);
    set(conv, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    set(conv, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    set(conv, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, ones);
    set(conv, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, ones);
    set(conv, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, ones);
    set(conv, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, ones);
    check(cudnnBackendFinalize(conv));
    return conv;
}

static cudnnBackendDescriptor_t make_operation(int64_t extent)
{
    const int64_t image[] = {1, 64, extent, extent}, filter[] = {64, 64, 3, 3};
    const float alpha = 1, beta = 0;
    cudnnBackendDescriptor_t operation =
        make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    link_to(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, make_tensor('x', image));
    link_to(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, make_tensor('w', filter));
    link_to(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, make_tensor('y', image));
    link_to(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, make_convolution());
    set(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, &alpha);
    set(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, &beta);
    check(cudnnBackendFinalize(operation));
    return operation;
}

/* Convolves images of extent x extent. Without an engine it requires little, for any extent. */
static cudnnBackendDescriptor_t make_plan(int64_t extent, const int64_t *index)
{
    cudnnBackendDescriptor_t graph = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    link_to(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, make_operation(extent));
    set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    check(cudnnBackendFinalize(graph));
    cudnnBackendDescriptor_t engine = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    link_to(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
    if (index)
        set(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, index);
    check(cudnnBackendFinalize(engine));
    cudnnBackendDescriptor_t config = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    link_to(config, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    check(cudnnBackendFinalize(config));
    cudnnBackendDescriptor_t made = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    link_to(made, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    check(cudnnBackendFinalize(made));
    return made;
}

static void chain(void)
{
    static const int64_t uids[] = {'x', 'w', 'y'};
    cudnnBackendDescriptor_t pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, operand);
    set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, uids);
    set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    check(cudnnBackendFinalize(pack));
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
