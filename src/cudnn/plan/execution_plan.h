/* Execution plans of our own: the client's engine on another problem, and the lifeboat. Implements
 * struct cs_vendor over the backend API. */
#ifndef CS_CUDNN_PLAN_EXECUTION_PLAN_H
#define CS_CUDNN_PLAN_EXECUTION_PLAN_H

#include "convshim/vendor.h"
#include "cudnn/plan/engine_choice.h"

/* What struct cs_vendor calls a kernel. Immutable once it is built. */
struct cs_kernel {
    cudnnBackendDescriptor_t plan; /* finalized */
};

/* The vendor's side of planning, without `time` and `model`, which need a device
 * (cudnn/run/timing.h); `maker` must outlive its use. */
struct cs_vendor cs_kernel_vendor(struct cs_maker *maker);

#endif
