/* How execution plans of our own come to be: finalized at once or, since most are only asked for
 * their workspace, later. */
#ifndef CS_CUDNN_PLAN_LATE_PLAN_H
#define CS_CUDNN_PLAN_LATE_PLAN_H

#include "convshim/status.h"
#include "cudnn/plan/descriptors.h"

/* Hands over the plan of a configuration with the workspace that it asks for, if the builder is
 * without an error so far; clears the builder. */
CS_MUST_CHECK enum cs_status cs_finished_plan(struct cs_descriptor_builder *builder,
                                              const struct cs_target *target,
                                              cudnnBackendDescriptor_t configuration,
                                              void **execution_plan_p, int64_t *workspace_p);

/* What a plan can be made of at any time, with any handle of the device: a problem, and an engine
 * with its knobs. */
struct cs_recipe {
    struct cs_target target;
    struct cs_problem problem;
    struct cs_engine engine;
};

/* The same without finalizing it: cuDNN reports the workspace of the configuration, which is the
 * recipe's. No descriptor is kept, since those of cuDNN take tens of KiB and name a handle that may
 * be destroyed before the plan runs. Before cuDNN 9.2, or for no handle, as cs_finished_plan. */
CS_MUST_CHECK enum cs_status cs_late_plan(struct cs_descriptor_builder *builder,
                                          const struct cs_recipe *recipe,
                                          cudnnBackendDescriptor_t configuration,
                                          void **execution_plan_p, int64_t *workspace_p);

/* The same where nothing is asked: a plan that is known to need no more than `most`, for a handle.
 * Should it need more when it is first run, it is refused then. */
CS_MUST_CHECK enum cs_status cs_unasked_plan(const struct cs_recipe *recipe, int64_t most,
                                             void **execution_plan_p);

/* Forgets what a plan was made of that is ready, while no other thread knows of it. */
struct cs_execution_plan;
void cs_late_plan_settle(struct cs_execution_plan *execution_plan);

/* NULL is allowed. */
void cs_execution_plan_destroy(void *execution_plan);

#endif
