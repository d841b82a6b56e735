/* Execution plans of our own: the application's engine on another problem, and the fallback plan.
 * Implements struct cs_vendor over the backend API. */
#ifndef CS_CUDNN_PLAN_EXECUTION_PLAN_H
#define CS_CUDNN_PLAN_EXECUTION_PLAN_H

#include "convshim/vendor.h"
#include "cudnn/plan/engine_choice.h"

/* What struct cs_vendor calls an execution plan. Immutable once it is built. */
struct cs_execution_plan {
    cudnnBackendDescriptor_t plan; /* finalized */
};

/* The vendor's side of planning, without `time` and `model`, which need a device
 * (cudnn/run/timing.h); `maker` must outlive its use. */
struct cs_vendor cs_execution_plan_vendor(struct cs_engine_choice *choice);

#endif
