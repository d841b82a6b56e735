/* Acts as libcudnn.so.8: refuses objects that it has not made itself. Computes nothing. */
#include <cudnn.h>
#include <stdlib.h>

enum {
    OURS = 8907
};

struct cudnnContext {
    int maker;
};

size_t cudnnGetVersion(void)
{
    return OURS;
}

static cudnnStatus_t make(void **made)
{
    struct cudnnContext *object = malloc(sizeof *object);
    if (object == NULL)
        return CUDNN_STATUS_ALLOC_FAILED;
    object->maker = OURS;
    *made = object;
    return CUDNN_STATUS_SUCCESS;
}

/* An object of another library is not freed, so that the client can report it. */
static cudnnStatus_t destroy(void *object)
{
    struct cudnnContext *made = object;
    if (made->maker != OURS)
        return CUDNN_STATUS_BAD_PARAM;
    made->maker = 0;
    free(made);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    return make((void **)handle);
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    return destroy(handle);
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *descriptor)
{
    (void)type;
    return make(descriptor);
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
    return destroy(descriptor);
}
