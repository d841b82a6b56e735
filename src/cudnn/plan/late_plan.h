/* How execution plans are finalized: at once or later, since for most plans only the workspace is
 * queried. */
#ifndef CS_CUDNN_PLAN_LATE_PLAN_H
#define CS_CUDNN_PLAN_LATE_PLAN_H

#include "convshim/status.h"
#include "cudnn/plan/descriptors.h"

/* Stores the plan of a configuration with its workspace, if the builder has no error so far. Clears
 * the builder. */
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

/* As cs_finished_plan, but the plan is finalized when it first runs. cuDNN reports the workspace of
 * the configuration, which is the recipe's. No descriptor is kept, because cuDNN's descriptors take
 * tens of KiB and refer to a handle that may be destroyed before the plan runs. Before cuDNN 9.2,
 * or without a handle, as cs_finished_plan. */
CS_MUST_CHECK enum cs_status cs_late_plan(struct cs_descriptor_builder *builder,
                                          const struct cs_recipe *recipe,
                                          cudnnBackendDescriptor_t configuration,
                                          void **execution_plan_p, int64_t *workspace_p);

/* As cs_late_plan, without a query: a plan for a handle that should need at most `most` bytes. If
 * it needs more when it first runs, it is refused then. */
CS_MUST_CHECK enum cs_status cs_unqueried_plan(const struct cs_recipe *recipe, int64_t most,
                                               void **execution_plan_p);

/* Frees the recipe of a plan that is ready. No other thread may have the plan yet. */
struct cs_execution_plan;
void cs_late_plan_settle(struct cs_execution_plan *execution_plan);

/* NULL is allowed. */
void cs_execution_plan_destroy(void *execution_plan);

#endif
