/* Finalizes execution plans at once or when they first run. For most plans only the workspace is
 * queried. */
#ifndef CS_CUDNN_PLAN_LATE_PLAN_H
#define CS_CUDNN_PLAN_LATE_PLAN_H

#include "convshim/status.h"
#include "cudnn/plan/descriptors.h"

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
struct cs_execution_plan;
void cs_late_plan_settle(struct cs_execution_plan *execution_plan);

/* Destroys a plan. NULL is allowed. */
void cs_execution_plan_destroy(void *execution_plan);

#endif
