/* Makes, sets, finalizes and destroys backend descriptors. Keeps the first error, so that callers
 * check once. */
#include "cudnn/plan/descriptor_builder.h"

#include <stddef.h>

cudnnBackendDescriptor_t cs_descriptor_make(struct cs_descriptor_builder *builder,
                                            cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t descriptor = NULL;
    if (builder->status == CUDNN_STATUS_SUCCESS && builder->made == CS_DESCRIPTORS_MADE)
        builder->status = CUDNN_STATUS_ALLOC_FAILED;
    if (builder->status == CUDNN_STATUS_SUCCESS)
        builder->status = CS_REAL(cudnnBackendCreateDescriptor, type, &descriptor);
    if (builder->status != CUDNN_STATUS_SUCCESS)
        return NULL;
    builder->descriptor[builder->made++] = descriptor;
    return descriptor;
}

void cs_descriptor_set(struct cs_descriptor_builder *builder, cudnnBackendDescriptor_t descriptor,
                       cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       int64_t count, const void *elements)
{
    if (builder->status == CUDNN_STATUS_SUCCESS)
        builder->status =
            CS_REAL(cudnnBackendSetAttribute, descriptor, name, type, count, elements);
}

int64_t cs_descriptor_get(struct cs_descriptor_builder *builder,
                          cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                          cudnnBackendAttributeType_t type, int64_t count, void *elements)
{
    int64_t found = 0;
    if (builder->status == CUDNN_STATUS_SUCCESS)
        builder->status =
            CS_REAL(cudnnBackendGetAttribute, descriptor, name, type, count, &found, elements);
    return builder->status == CUDNN_STATUS_SUCCESS ? found : 0;
}

void cs_descriptor_finalize(struct cs_descriptor_builder *builder,
                            cudnnBackendDescriptor_t descriptor)
{
    if (builder->status == CUDNN_STATUS_SUCCESS)
        builder->status = CS_REAL(cudnnBackendFinalize, descriptor);
}

cudnnBackendDescriptor_t cs_descriptor_take(struct cs_descriptor_builder *builder,
                                            cudnnBackendDescriptor_t descriptor)
{
    for (int i = 0; i < builder->made; i++)
        if (builder->descriptor[i] == descriptor)
            builder->descriptor[i] = NULL;
    return descriptor;
}

void cs_descriptor_builder_clear(struct cs_descriptor_builder *builder)
{
    for (int i = builder->made - 1; i >= 0; i--)
        if (builder->descriptor[i])
            (void)CS_REAL(cudnnBackendDestroyDescriptor, builder->descriptor[i]);
    builder->made = 0;
}
