/* Builds descriptors of the real backend API without a check at every line. The builder keeps the
 * first error, after which all its functions do nothing. It owns every descriptor made with it
 * until the descriptor is taken. */
#ifndef CS_CUDNN_PLAN_DESCRIPTOR_BUILDER_H
#define CS_CUDNN_PLAN_DESCRIPTOR_BUILDER_H

#include "cudnn/bind/real.h"
#include <stdbool.h>

enum {
    CS_DESCRIPTORS_MADE = 128
};

struct cs_descriptor_builder {
    cudnnStatus_t status; /* of the first call that failed */
    int made;
    cudnnBackendDescriptor_t descriptor[CS_DESCRIPTORS_MADE];
};

/* Makes a descriptor, owned by the builder. NULL after an error. */
cudnnBackendDescriptor_t cs_descriptor_make(struct cs_descriptor_builder *builder,
                                            cudnnBackendDescriptorType_t type);

void cs_descriptor_set(struct cs_descriptor_builder *builder, cudnnBackendDescriptor_t descriptor,
                       cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       int64_t count, const void *elements);

/* Reads up to `count` elements. Returns how many exist. */
int64_t cs_descriptor_get(struct cs_descriptor_builder *builder,
                          cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                          cudnnBackendAttributeType_t type, int64_t count, void *elements);

void cs_descriptor_finalize(struct cs_descriptor_builder *builder,
                            cudnnBackendDescriptor_t descriptor);

/* Transfers ownership of a descriptor from the builder to the caller. */
cudnnBackendDescriptor_t cs_descriptor_take(struct cs_descriptor_builder *builder,
                                            cudnnBackendDescriptor_t descriptor);

/* Destroys the builder's remaining descriptors. */
void cs_descriptor_builder_clear(struct cs_descriptor_builder *builder);

#endif
