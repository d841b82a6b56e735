/* struct cs_gpu over cuDNN: launches through the client's own handle, so on the client's own
 * stream. */
#ifndef CS_CUDNN_GPU_CUDNN_H
#define CS_CUDNN_GPU_CUDNN_H

#include "convshim/gpu.h"
#include "cudnn/real.h"
#include "shim/flow.h"

/* One call being run. */
struct cs_launcher {
    cudnnHandle_t handle;
    const struct cs_rewrite *rewrite;
    const int64_t *uid;            /* of the operands, CS_OPERANDS of them */
    cudnnBackendDescriptor_t pack; /* the client's variant pack for the whole problem, or NULL: */
    struct cs_addresses whole;     /* what it would hold */
};

struct cs_gpu cs_launcher_gpu(struct cs_launcher *launcher);

#endif
