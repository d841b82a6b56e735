/* Builds execution plans: the application's engine on another problem, and the fallback plan.
 * Implements struct cs_vendor over the backend API. */
#ifndef CS_CUDNN_PLAN_EXECUTION_PLAN_H
#define CS_CUDNN_PLAN_EXECUTION_PLAN_H

#include "convshim/vendor.h"
#include "cudnn/plan/engine_choice.h"
#include <stdatomic.h>

/* The execution plan of struct cs_vendor. Immutable after it is ready. */
struct cs_execution_plan {
    _Atomic(cudnnBackendDescriptor_t) plan; /* finalized; NULL: not ready */
    struct cs_late *late;                   /* the recipe for that case; NULL: not needed */
    bool keeps_bits;                        /* as in struct cs_vendor */
};

static inline bool cs_execution_plan_is_ready(const struct cs_execution_plan *execution_plan)
{
    return atomic_load_explicit(&execution_plan->plan, memory_order_acquire) != NULL;
}

/* Finalizes a plan so that it can run with a handle. This may take seconds if cuDNN compiles it.
 * The handle for which the workspace was queried may have been destroyed. False if cuDNN refuses
 * the plan. Later calls then return false without a new attempt. Thread-safe. */
bool cs_execution_plan_make_ready(struct cs_execution_plan *execution_plan, cudnnHandle_t handle);

/* Returns the vendor's functions for planning. `choice` must outlive their use. */
struct cs_vendor cs_execution_plan_vendor(struct cs_engine_choice *choice);

#endif
