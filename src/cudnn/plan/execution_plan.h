/* Execution plans of our own: the application's engine on another problem, and the fallback plan.
 * Implements struct cs_vendor over the backend API. */
#ifndef CS_CUDNN_PLAN_EXECUTION_PLAN_H
#define CS_CUDNN_PLAN_EXECUTION_PLAN_H

#include "convshim/vendor.h"
#include "cudnn/plan/engine_choice.h"
#include <stdatomic.h>

/* What struct cs_vendor calls an execution plan. Nothing of it changes once it is ready. */
struct cs_execution_plan {
    _Atomic(cudnnBackendDescriptor_t) plan; /* finalized; NULL: not ready */
    struct cs_late *late;                   /* what it is made of then; NULL: was ready at once */
};

static inline bool cs_execution_plan_is_ready(const struct cs_execution_plan *execution_plan)
{
    return atomic_load_explicit(&execution_plan->plan, memory_order_acquire) != NULL;
}

/* Makes a plan ready to be run with a handle, which may take seconds where cuDNN compiles it. The
 * handle that it was asked for with may be gone by then. False if cuDNN refuses it after all, from
 * then on without asking again. Thread-safe. */
bool cs_execution_plan_make_ready(struct cs_execution_plan *execution_plan, cudnnHandle_t handle);

/* The vendor's side of planning, without `time` and `model`, which need a device
 * (cudnn/run/timing.h); `choice` must outlive its use. */
struct cs_vendor cs_execution_plan_vendor(struct cs_engine_choice *choice);

#endif
