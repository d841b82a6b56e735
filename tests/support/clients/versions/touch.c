/* A library that makes a handle and a descriptor of the cuDNN that it is linked to, and destroys
 * them: one of cuDNN 8, and one of a part of cuDNN 9. */
#include "../work.h"

#include <cudnn.h>
#include <stdlib.h>

struct work {
    cudnnHandle_t handle;
    cudnnBackendDescriptor_t descriptor;
};

enum work_result work_open(int legacy, struct work **work_p)
{
    (void)legacy;
    *work_p = calloc(1, sizeof **work_p);
    return *work_p != NULL && cudnnCreate(&(*work_p)->handle) == CUDNN_STATUS_SUCCESS ? WORK_RIGHT
                                                                                      : WORK_FAILED;
}

enum work_result work_run(struct work *work)
{
    if (cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &work->descriptor) !=
            CUDNN_STATUS_SUCCESS ||
        cudnnBackendDestroyDescriptor(work->descriptor) != CUDNN_STATUS_SUCCESS)
        return WORK_FAILED;
    return cudnnDestroy(work->handle) == CUDNN_STATUS_SUCCESS ? WORK_RIGHT : WORK_FAILED;
}

void work_close(struct work *work)
{
    free(work);
}
