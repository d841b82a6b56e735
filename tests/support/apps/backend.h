/* Pieces of the backend API that a convolution alone and a fused graph are built from. Descriptors
 * made are the caller's, also on failure: then not finalized, or NULL. */
#ifndef BACKEND_H
#define BACKEND_H

#include "conv.h"

cudnnStatus_t backend_set(cudnnBackendDescriptor_t desc, cudnnBackendAttributeName_t name,
                          cudnnBackendAttributeType_t type, const void *value);
cudnnStatus_t backend_set_desc(cudnnBackendDescriptor_t desc, cudnnBackendAttributeName_t name,
                               cudnnBackendDescriptor_t value);
/* NULL is allowed. */
void backend_destroy(cudnnBackendDescriptor_t desc);

enum backend_storage {
    BACKEND_MEMORY,
    BACKEND_VIRTUAL, /* exists between two operations only */
    BACKEND_BY_VALUE /* one number in host memory */
};

enum outcome backend_tensor(const struct tensor *tensor, int64_t id, enum backend_storage storage,
                            cudnnBackendDescriptor_t *desc);
enum outcome backend_convolution(const struct conv_problem *problem,
                                 cudnnBackendDescriptor_t *desc);
/* The names of a direction's operation and of its attributes: x, w, y and the convolution. */
struct backend_operation_names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t part[4];
    cudnnBackendAttributeName_t alpha, beta;
};
extern const struct backend_operation_names backend_operation_names[CONV_DIRECTIONS];

/* The operation of the problem's direction. parts: x, w, y and the convolution. */
enum outcome backend_operation(const struct conv_problem *problem,
                               const cudnnBackendDescriptor_t *parts,
                               cudnnBackendDescriptor_t *desc);
enum outcome backend_graph(cudnnHandle_t handle, const cudnnBackendDescriptor_t *operations,
                           int64_t count, cudnnBackendDescriptor_t *desc);

/* Plans with the first config, not before the `first`-th, that becomes a plan: sets plan, engine,
 * choice and both workspaces. The plan needs nothing of the graph afterwards. */
enum outcome backend_plan(cudnnHandle_t handle, cudnnBackendDescriptor_t graph,
                          const struct conv_settings *settings, int first, struct conv_plan *plan);
enum outcome backend_run(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, int64_t count,
                         const int64_t *ids, void *const *pointers, void *workspace);

#endif
