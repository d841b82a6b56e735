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

/* The same without finalizing it: the configuration, which must be of this builder, is asked for
 * the workspace. Where cuDNN cannot tell (before 9.2), or where plans are for no handle, as
 * cs_finished_plan. */
CS_MUST_CHECK enum cs_status cs_late_plan(struct cs_descriptor_builder *builder,
                                          const struct cs_target *target,
                                          cudnnBackendDescriptor_t configuration,
                                          void **execution_plan_p, int64_t *workspace_p);

/* Forgets what a plan was made of that is ready, while no other thread knows of it. */
struct cs_execution_plan;
void cs_late_plan_settle(struct cs_execution_plan *execution_plan);

/* NULL is allowed. */
void cs_execution_plan_destroy(void *execution_plan);

#endif
