/* Builds execution plans: the application's engine on another problem, and the fallback plan.
 * Implements struct cs_vendor over the backend API. */
#ifndef CS_CUDNN_PLAN_EXECUTION_PLAN_H
#define CS_CUDNN_PLAN_EXECUTION_PLAN_H

#include "convshim/status.h"
#include "convshim/vendor.h"
#include "cudnn/plan/descriptors.h"
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

/* --- plans that are finalized when they first run ---
 *
 * Finalizes execution plans at once or when they first run. For most plans only the workspace is
 * queried. */

/* Finalizes the plan of a configuration and returns it with its workspace. Fails if the builder has
 * an error. Clears the builder. */
CS_MUST_CHECK enum cs_status cs_finished_plan(struct cs_descriptor_builder *builder,
                                              const struct cs_target *target,
                                              cudnnBackendDescriptor_t configuration,
                                              void **execution_plan_p, int64_t *workspace_p);

/* The data from which a plan can be made at any time, with any handle of the device: a problem, and
 * an engine with its knobs. */
struct cs_recipe {
    struct cs_target target;
    struct cs_problem problem;
    struct cs_engine engine;
};

/* As cs_finished_plan, but finalizes the plan when it first runs. The configuration is the
 * recipe's. cuDNN reports its workspace. No descriptor is kept, because cuDNN's descriptors take
 * tens of KiB and refer to a handle that may be destroyed before the plan runs. Before cuDNN 9.2,
 * or without a handle, this is cs_finished_plan. */
CS_MUST_CHECK enum cs_status cs_late_plan(struct cs_descriptor_builder *builder,
                                          const struct cs_recipe *recipe,
                                          cudnnBackendDescriptor_t configuration,
                                          void **execution_plan_p, int64_t *workspace_p);

/* As cs_late_plan, without a query: for a plan that should need at most `most` bytes. If it needs
 * more when it first runs, it is refused then. */
CS_MUST_CHECK enum cs_status cs_unqueried_plan(const struct cs_recipe *recipe, int64_t most,
                                               void **execution_plan_p);

/* Frees the recipe of a plan that is ready. No other thread may have the plan yet. */
void cs_late_plan_settle(struct cs_execution_plan *execution_plan);

/* Destroys a plan. NULL is allowed. */
void cs_execution_plan_destroy(void *execution_plan);

/* --- kept engines ---
 *
 * Keeps operation graphs and engines of tiles for the next query. The plans that benchmark modes
 * make of one convolution differ mainly in knobs. Making a tile's graph and engine takes longer
 * than the query of one more configuration. Thread-safe: a taken engine belongs to one thread. */

struct cs_kept_engine {
    struct cs_descriptor_builder builder; /* owns the descriptors of the engine */
    cudnnBackendDescriptor_t engine;      /* NULL after an error */
    uint64_t hash;                        /* of `word` */
    int words;                            /* length of `word`; 0: the engine is not to be kept */
    int64_t word[];                       /* identifies the engine */
};

/* Returns an engine by its index on a problem's graph, and makes it if none is kept. NULL if memory
 * is short. `handle_number` is that of the target's handle (cs_handle_id), because addresses of
 * handles are reused. For a target without a handle no engine is kept. */
struct cs_kept_engine *cs_kept_engine_take(const struct cs_target *target, int64_t handle_number,
                                           const struct cs_problem *problem, int64_t index);

/* Returns an engine to the table, or destroys it if making it failed. */
void cs_kept_engine_give(struct cs_kept_engine *engine);

/* Destroys all kept engines. Called before a handle is destroyed. */
void cs_kept_engine_forget(void);

#endif
