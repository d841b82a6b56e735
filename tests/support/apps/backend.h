/* Pieces of the backend API, of which all test programs build their convolutions. Functions return
 * cuDNN's own status. Descriptors made are the caller's, also on failure: then not finalized, or
 * NULL. */
#ifndef BACKEND_H
#define BACKEND_H

#include "conv.h"

#define BACKEND_DO(call)                                                                           \
    do {                                                                                           \
        cudnnStatus_t do_status = (call);                                                          \
        if (do_status != CUDNN_STATUS_SUCCESS)                                                     \
            return do_status;                                                                      \
    } while (0)

/* The outcome of a status; prints like ASK_CUDNN. */
#define BACKEND_ASK(call) backend_outcome(__FILE__, __LINE__, #call, (call))
static inline enum outcome backend_outcome(const char *file, int line, const char *call,
                                           cudnnStatus_t status)
{
    return status == CUDNN_STATUS_SUCCESS ? OUTCOME_OK : client_judge(file, line, call, status);
}

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

/* The second one sets and finalizes a tensor that exists. */
cudnnStatus_t backend_tensor(const struct tensor *tensor, int64_t id, enum backend_storage storage,
                             cudnnBackendDescriptor_t *desc);
cudnnStatus_t backend_tensor_fill(cudnnBackendDescriptor_t desc, const struct tensor *tensor,
                                  int64_t id, enum backend_storage storage);
cudnnStatus_t backend_convolution(const struct conv_problem *problem,
                                  cudnnBackendDescriptor_t *desc);
/* The names of a direction's operation and of its attributes: x, w, y and the convolution. */
struct backend_operation_names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t part[4];
    cudnnBackendAttributeName_t alpha, beta;
};
extern const struct backend_operation_names backend_operation_names[CONV_DIRECTIONS];

/* The operation of the problem's direction. parts: x, w, y and the convolution. */
cudnnStatus_t backend_operation(const struct conv_problem *problem,
                                const cudnnBackendDescriptor_t *parts,
                                cudnnBackendDescriptor_t *desc);
cudnnStatus_t backend_graph(cudnnHandle_t handle, const cudnnBackendDescriptor_t *operations,
                            int64_t count, cudnnBackendDescriptor_t *desc);
/* A finalized variant pack. */
cudnnStatus_t backend_pack(int64_t count, const int64_t *ids, void *const *pointers,
                           void *workspace, cudnnBackendDescriptor_t *desc);

enum {
    BACKEND_KNOBS = 32
};

/* An engine and its knobs as numbers, which outlive every descriptor. */
struct backend_engine {
    int64_t index, knobs;
    cudnnBackendKnobType_t type[BACKEND_KNOBS];
    int64_t value[BACKEND_KNOBS];
};

cudnnStatus_t backend_engine_read(cudnnBackendDescriptor_t config, struct backend_engine *engine);
/* A config of that engine and those knobs on another graph. */
cudnnStatus_t backend_engine_config(const struct backend_engine *engine,
                                    cudnnBackendDescriptor_t graph,
                                    cudnnBackendDescriptor_t *config_p);

/* Plans with the first config, not before the `first`-th, that becomes a plan: sets plan, engine,
 * choice and both workspaces. The plan needs nothing of the graph afterwards. */
enum outcome backend_plan(cudnnHandle_t handle, cudnnBackendDescriptor_t graph,
                          const struct conv_settings *settings, int first, struct conv_plan *plan);
enum outcome backend_run(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, int64_t count,
                         const int64_t *ids, void *const *pointers, void *workspace);

#endif
