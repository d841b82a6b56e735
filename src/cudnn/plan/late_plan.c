/* Finalizes execution plans of our own, at once or when they are first run. */
#include "cudnn/plan/late_plan.h"

#include "base/log.h"
#include "cudnn/plan/execution_plan.h"
#include <stdlib.h>

/* What a plan is made of that is not finalized yet. Kept as long as the plan: several threads may
 * come to run it first. */
struct cs_late {
    struct cs_descriptor_builder builder;   /* the configuration, and all that it was made of */
    cudnnBackendDescriptor_t configuration; /* NULL: it is made by the recipe */
    struct cs_recipe recipe;
    int64_t workspace; /* that was told */
    atomic_bool refused;
};

static enum cs_status status_of(cudnnStatus_t vendor)
{
    switch (vendor) {
    case CUDNN_STATUS_SUCCESS:
        return CS_OK;
    case CUDNN_STATUS_ALLOC_FAILED:
        return CS_NOMEM;
    default:
        return CS_REFUSED;
    }
}

void cs_late_plan_settle(struct cs_execution_plan *execution_plan)
{
    if (!execution_plan->late)
        return;
    cs_descriptor_builder_clear(&execution_plan->late->builder);
    free(execution_plan->late);
    execution_plan->late = NULL;
}

void cs_execution_plan_destroy(void *opaque)
{
    struct cs_execution_plan *execution_plan = opaque;
    if (!execution_plan)
        return;
    cudnnBackendDescriptor_t plan = atomic_load(&execution_plan->plan);
    if (plan)
        (void)CS_REAL(cudnnBackendDestroyDescriptor, plan);
    cs_late_plan_settle(execution_plan);
    free(execution_plan);
}

/* A finalized plan and its workspace; CS_REFUSED if that is none. */
static enum cs_status finalize(struct cs_descriptor_builder *builder,
                               const struct cs_target *target,
                               cudnnBackendDescriptor_t configuration,
                               cudnnBackendDescriptor_t *plan_p, int64_t *workspace_p)
{
    *plan_p = cs_descriptors_plan(builder, target, configuration);
    *workspace_p = cs_descriptors_workspace(builder, *plan_p);
    enum cs_status status = status_of(builder->status);
    return status == CS_OK && *workspace_p < 0 ? CS_REFUSED : status;
}

enum cs_status cs_finished_plan(struct cs_descriptor_builder *builder,
                                const struct cs_target *target,
                                cudnnBackendDescriptor_t configuration, void **execution_plan_p,
                                int64_t *workspace_p)
{
    cudnnBackendDescriptor_t plan;
    int64_t workspace;
    enum cs_status status = finalize(builder, target, configuration, &plan, &workspace);
    struct cs_execution_plan *execution_plan =
        status == CS_OK ? calloc(1, sizeof *execution_plan) : NULL;
    if (status == CS_OK && !execution_plan)
        status = CS_NOMEM;
    if (status == CS_OK) {
        atomic_init(&execution_plan->plan, cs_descriptor_take(builder, plan));
        *execution_plan_p = execution_plan;
        *workspace_p = workspace;
    }
    cs_descriptor_builder_clear(builder);
    return status;
}

/* False where cuDNN does not tell what the plan of a configuration would need. */
static bool ask(const struct cs_descriptor_builder *builder, cudnnBackendDescriptor_t configuration,
                int64_t *workspace_p)
{
    int64_t count = 0;
    return builder->status == CUDNN_STATUS_SUCCESS &&
           CS_REAL(cudnnBackendGetAttribute, configuration, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE,
                   CUDNN_TYPE_INT64, 1, &count, workspace_p) == CUDNN_STATUS_SUCCESS &&
           count == 1 && *workspace_p >= 0;
}

/* A plan that is not finalized and may take so much. */
static enum cs_status start_late(int64_t workspace, struct cs_execution_plan **execution_plan_p)
{
    struct cs_execution_plan *execution_plan = calloc(1, sizeof *execution_plan);
    struct cs_late *late = calloc(1, sizeof *late);
    if (!execution_plan || !late) {
        free(execution_plan);
        free(late);
        return CS_NOMEM;
    }
    late->workspace = workspace;
    execution_plan->late = late;
    *execution_plan_p = execution_plan;
    return CS_OK;
}

enum cs_status cs_late_plan(struct cs_descriptor_builder *builder, const struct cs_target *target,
                            cudnnBackendDescriptor_t configuration, void **execution_plan_p,
                            int64_t *workspace_p)
{
    int64_t workspace;
    struct cs_execution_plan *execution_plan;
    if (!target->handle || !ask(builder, configuration, &workspace))
        return cs_finished_plan(builder, target, configuration, execution_plan_p, workspace_p);
    if (start_late(workspace, &execution_plan) != CS_OK) {
        cs_descriptor_builder_clear(builder);
        return CS_NOMEM;
    }
    execution_plan->late->builder = *builder;
    builder->made = 0;
    execution_plan->late->configuration = configuration;
    *execution_plan_p = execution_plan;
    *workspace_p = workspace;
    return CS_OK;
}

enum cs_status cs_late_plan_by_recipe(struct cs_descriptor_builder *builder,
                                      const struct cs_recipe *recipe,
                                      cudnnBackendDescriptor_t configuration,
                                      void **execution_plan_p, int64_t *workspace_p)
{
    int64_t workspace;
    if (!recipe->target.handle || !ask(builder, configuration, &workspace))
        return cs_finished_plan(builder, &recipe->target, configuration, execution_plan_p,
                                workspace_p);
    cs_descriptor_builder_clear(builder);
    *workspace_p = workspace;
    return cs_unasked_plan(recipe, workspace, execution_plan_p);
}

enum cs_status cs_unasked_plan(const struct cs_recipe *recipe, int64_t most,
                               void **execution_plan_p)
{
    struct cs_execution_plan *execution_plan;
    enum cs_status status = start_late(most, &execution_plan);
    if (status != CS_OK)
        return status;
    execution_plan->late->recipe = *recipe;
    *execution_plan_p = execution_plan;
    return CS_OK;
}

static cudnnBackendDescriptor_t configuration_of(const struct cs_late *late,
                                                 struct cs_descriptor_builder *builder,
                                                 const struct cs_target *target)
{
    const struct cs_recipe *recipe = &late->recipe;
    if (late->configuration)
        return late->configuration;
    cudnnBackendDescriptor_t graph = cs_descriptors_graph(builder, target, &recipe->problem);
    cudnnBackendDescriptor_t engine =
        cs_descriptors_engine(builder, target, graph, recipe->engine.index);
    return cs_descriptors_configuration(builder, engine, &recipe->engine);
}

/* A moment without memory is no property of the plan. */
static cudnnBackendDescriptor_t finalize_late(struct cs_late *late, cudnnHandle_t handle)
{
    static struct cs_log_cap cap;
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    struct cs_target target = late->recipe.target;
    cudnnBackendDescriptor_t plan, made = NULL;
    int64_t workspace;
    target.handle = handle;
    cudnnBackendDescriptor_t configuration = configuration_of(late, &builder, &target);
    enum cs_status status = finalize(&builder, &target, configuration, &plan, &workspace);
    if (status == CS_OK && workspace <= late->workspace)
        made = cs_descriptor_take(&builder, plan);
    else if (status != CS_NOMEM && !atomic_exchange(&late->refused, true))
        cs_log_capped(
            &cap, CS_LOG_WARN,
            "cuDNN refuses the plan of an engine that it had taken for tiles (status %d): "
            "the convolution runs on its fallback plan",
            (int)builder.status);
    cs_descriptor_builder_clear(&builder);
    return made;
}

/* Who comes second throws away what the first has made meanwhile: nobody waits for a compiler with
 * a lock. */
bool cs_execution_plan_make_ready(struct cs_execution_plan *execution_plan, cudnnHandle_t handle)
{
    cudnnBackendDescriptor_t expected = NULL, plan;
    if (cs_execution_plan_is_ready(execution_plan))
        return true;
    if (!execution_plan->late || atomic_load(&execution_plan->late->refused))
        return false;
    plan = finalize_late(execution_plan->late, handle);
    if (plan && !atomic_compare_exchange_strong(&execution_plan->plan, &expected, plan))
        (void)CS_REAL(cudnnBackendDestroyDescriptor, plan);
    return cs_execution_plan_is_ready(execution_plan);
}
