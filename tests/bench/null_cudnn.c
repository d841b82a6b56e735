/* The backend API of a cuDNN without effects: the state that descriptors need so that plans require
 * workspace. They are small allocations, as in the real one. Together with null_legacy.c and
 * null_rest.c it makes a libcudnn.so.9 with which only the cost of the call chain remains. */
#include <cudnn.h>
#include <cudnn_backend.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    DESCRIPTOR_BYTES = 64,
    WORKSPACE = 256,
    HEURISTICS_ENGINE = 1
};

/* Properties that a plan inherits from all descriptors that it is made of. */
struct descriptor {
    int64_t elements; /* of the largest tensor */
    int64_t engine;   /* -1: not set */
};

_Static_assert(sizeof(struct descriptor) <= DESCRIPTOR_BYTES, "a descriptor has room for it");

size_t cudnnGetVersion(void)
{
    return CUDNN_VERSION;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    *handle = malloc(1);
    return *handle ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *descriptor)
{
    struct descriptor *made = malloc(DESCRIPTOR_BYTES);
    (void)type;
    if (!made)
        return CUDNN_STATUS_ALLOC_FAILED;
    *made = (struct descriptor){.engine = -1};
    *descriptor = made;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
    free(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

static void inherit(struct descriptor *to, const struct descriptor *from)
{
    to->elements = from->elements > to->elements ? from->elements : to->elements;
    to->engine = from->engine > to->engine ? from->engine : to->engine;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void *elements)
{
    struct descriptor *to = descriptor;
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        for (int64_t i = 0; i < count; i++)
            inherit(to, ((const cudnnBackendDescriptor_t *)elements)[i]);
    } else if (name == CUDNN_ATTR_TENSOR_DIMENSIONS) {
        to->elements = 1;
        for (int64_t i = 0; i < count; i++)
            to->elements *= ((const int64_t *)elements)[i];
    } else if (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX) {
        memcpy(&to->engine, elements, sizeof to->engine);
    } else if (name == CUDNN_ATTR_ENGINEHEUR_MODE) {
        cudnnBackendHeurMode_t mode;
        memcpy(&mode, elements, sizeof mode);
        to->engine = mode == CUDNN_HEUR_MODE_FALLBACK ? 0 : HEURISTICS_ENGINE;
    }
    return CUDNN_STATUS_SUCCESS;
}

/* Engine 0 requires no workspace, another one the size of the largest tensor. */
static int64_t workspace(const struct descriptor *plan)
{
    return plan->engine < 0 ? WORKSPACE : plan->engine * plan->elements * (int64_t)sizeof(float);
}

static int64_t number(const struct descriptor *descriptor, cudnnBackendAttributeName_t name)
{
    switch (name) {
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
        return workspace(descriptor);
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
        return descriptor->engine;
    default:
        return 0;
    }
}

/* Readable descriptors: the source of another descriptor, and one result of the heuristics. */
static bool has_part(cudnnBackendAttributeName_t name)
{
    return name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG || name == CUDNN_ATTR_ENGINECFG_ENGINE ||
           name == CUDNN_ATTR_ENGINEHEUR_RESULTS;
}

cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t requested,
                                       int64_t *count, void *elements)
{
    int64_t found = 0;
    if (type == CUDNN_TYPE_INT64 && requested == 1) {
        int64_t value = number(descriptor, name);
        memcpy(elements, &value, sizeof value);
        found = 1;
    } else if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR && has_part(name)) {
        if (requested > 0)
            inherit(*(cudnnBackendDescriptor_t *)elements, descriptor);
        found = 1;
    }
    if (count)
        *count = found;
    return CUDNN_STATUS_SUCCESS;
}
