/* In place of what the simulated libcudnn refuses: puts no node into the graph, but says on stderr
 * how much workspace the plan wants that it was given. */
#include <cudnn.h>
#include <inttypes.h>
#include <stdio.h>

static cudnnStatus_t tell(const char *verb, cudnnBackendDescriptor_t plan)
{
    int64_t bytes = -1;
    cudnnStatus_t status = cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                                    CUDNN_TYPE_INT64, 1, NULL, &bytes);
    fprintf(stderr, "%s: the plan wants %" PRId64 " bytes\n", verb, bytes);
    return status;
}

__attribute__((visibility("default"))) cudnnStatus_t
cudnnBackendPopulateCudaGraph(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                              cudnnBackendDescriptor_t pack, cudaGraph_t graph)
{
    (void)handle, (void)pack, (void)graph;
    return tell("populate", plan);
}

__attribute__((visibility("default"))) cudnnStatus_t
cudnnBackendUpdateCudaGraph(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                            cudnnBackendDescriptor_t pack, cudaGraph_t graph)
{
    (void)handle, (void)pack, (void)graph;
    return tell("update", plan);
}
