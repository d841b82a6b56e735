/* A tracer of cuDNN's executions, as people write them: preloaded in front, it hands each call on.
 * Its file's name begins like those of cuDNN. */
#include <cudnn.h>
#include <dlfcn.h>
#include <stdio.h>

typedef cudnnStatus_t execute_fn(cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t);

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack)
{
    execute_fn *next = (execute_fn *)dlsym(RTLD_NEXT, "cudnnBackendExecute");
    cudnnStatus_t status = next == NULL ? CUDNN_STATUS_INTERNAL_ERROR : next(handle, plan, pack);
    fprintf(stderr, "tracer: status %d\n", (int)status);
    return status;
}
