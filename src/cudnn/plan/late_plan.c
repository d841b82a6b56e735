/* Finalizes execution plans, at once or when they first run. */
#include "cudnn/plan/execution_plan.h"

#include "base/log.h"
#include "cudnn/bind/driver.h"
#include <stdlib.h>
#include <string.h>

/* The recipe of a plan that is not finalized yet. Kept as long as the plan, because several threads
 * may run it first. */
struct cs_late {
    int64_t workspace; /* the most bytes that the plan may require */
    atomic_bool refused;
    int words;
    int64_t word[]; /* the recipe */
};

enum {
    OTHER_WORDS = CS_MAX_TENSORS + 5 + 2 * CS_MAX_KNOBS
};

static int put_words(int64_t *word, int used, const int64_t *values, int count)
{
    memcpy(word + used, values, (size_t)count * sizeof *word);
    return used + count;
}

/* Packs a recipe without its handle. Returns the number of words. Only the used part of the problem
 * is packed, usually a tenth of its struct. */
static int pack_recipe(const struct cs_recipe *recipe, int64_t word[CS_PROBLEM_WORDS + OTHER_WORDS])
{
    const struct cs_engine_settings *settings = &recipe->target.settings;
    const int64_t scalars[] = {recipe->engine.index, recipe->engine.knobs, settings->sm_count,
                               settings->shared_memory, settings->no_clusters};
    int used = put_words(word, 0, scalars, 5);
    used = put_words(word, used, recipe->engine.knob_type, recipe->engine.knobs);
    used = put_words(word, used, recipe->engine.knob_value, recipe->engine.knobs);
    used = put_words(word, used, recipe->target.uid, CS_MAX_TENSORS);
    return used + cs_problem_words(&recipe->problem, word + used);
}

/* Unpacks a recipe for a handle. False if its words are not a problem. */
static bool unpack_recipe(const struct cs_late *late, cudnnHandle_t handle,
                          struct cs_recipe *recipe)
{
    const int64_t *word = late->word;
    *recipe = (struct cs_recipe){.target.handle = handle,
                                 .engine = {.index = word[0], .knobs = (int)word[1]},
                                 .target.settings = {.sm_count = (int32_t)word[2],
                                                     .shared_memory = (int32_t)word[3],
                                                     .no_clusters = word[4] != 0}};
    const size_t knobs = (size_t)recipe->engine.knobs;
    word += 5;
    memcpy(recipe->engine.knob_type, word, knobs * sizeof *word);
    memcpy(recipe->engine.knob_value, word + knobs, knobs * sizeof *word);
    word += 2 * knobs;
    memcpy(recipe->target.uid, word, sizeof recipe->target.uid);
    word += CS_MAX_TENSORS;
    return cs_problem_of_words(word, (int)(late->word + late->words - word), &recipe->problem);
}

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

/* Finalizes a plan and reads its workspace. CS_REFUSED if cuDNN cannot make it. The capture mode is
 * relaxed during that, because engines that are compiled load code, which strict captures in any
 * thread forbid. */
static enum cs_status finalize_plan(struct cs_descriptor_builder *builder,
                                    const struct cs_target *target,
                                    cudnnBackendDescriptor_t configuration,
                                    cudnnBackendDescriptor_t *plan_p, int64_t *workspace_p)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool relaxed = CS_CU(cuThreadExchangeStreamCaptureMode, &mode) == CUDA_SUCCESS;
    *plan_p = cs_descriptors_plan(builder, target, configuration);
    if (relaxed)
        (void)CS_CU(cuThreadExchangeStreamCaptureMode, &mode);
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
    enum cs_status status = finalize_plan(builder, target, configuration, &plan, &workspace);
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

/* Queries the workspace of a configuration without its plan. False if cuDNN does not report it. */
static bool query_workspace(const struct cs_descriptor_builder *builder,
                            cudnnBackendDescriptor_t configuration, int64_t *workspace_p)
{
    int64_t count = 0;
    return builder->status == CUDNN_STATUS_SUCCESS &&
           CS_REAL(cudnnBackendGetAttribute, configuration, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE,
                   CUDNN_TYPE_INT64, 1, &count, workspace_p) == CUDNN_STATUS_SUCCESS &&
           count == 1 && *workspace_p >= 0;
}

enum cs_status cs_late_plan(struct cs_descriptor_builder *builder, const struct cs_recipe *recipe,
                            cudnnBackendDescriptor_t configuration, void **execution_plan_p,
                            int64_t *workspace_p)
{
    int64_t workspace;
    if (!recipe->target.handle || !query_workspace(builder, configuration, &workspace))
        return cs_finished_plan(builder, &recipe->target, configuration, execution_plan_p,
                                workspace_p);
    cs_descriptor_builder_clear(builder);
    enum cs_status status = cs_unqueried_plan(recipe, workspace, execution_plan_p);
    if (status == CS_OK)
        *workspace_p = workspace;
    return status;
}

enum cs_status cs_unqueried_plan(const struct cs_recipe *recipe, int64_t most,
                                 void **execution_plan_p)
{
    int64_t word[CS_PROBLEM_WORDS + OTHER_WORDS];
    int words = pack_recipe(recipe, word);
    struct cs_execution_plan *execution_plan = calloc(1, sizeof *execution_plan);
    struct cs_late *late = malloc(sizeof *late + (size_t)words * sizeof *word);
    if (!execution_plan || !late) {
        free(execution_plan);
        free(late);
        return CS_NOMEM;
    }
    late->workspace = most;
    atomic_init(&late->refused, false);
    late->words = words;
    memcpy(late->word, word, (size_t)words * sizeof *word);
    execution_plan->late = late;
    *execution_plan_p = execution_plan;
    return CS_OK;
}

/* Finalizes a plan from its recipe. NULL if cuDNN refuses it or it requires too much, which is
 * recorded, or if memory is short. */
static cudnnBackendDescriptor_t finalize_late(struct cs_late *late, cudnnHandle_t handle)
{
    static struct cs_log_cap cap;
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    struct cs_recipe recipe;
    cudnnBackendDescriptor_t plan, made = NULL;
    int64_t workspace;
    if (!unpack_recipe(late, handle, &recipe))
        return NULL;
    cudnnBackendDescriptor_t graph =
        cs_descriptors_graph(&builder, &recipe.target, &recipe.problem);
    cudnnBackendDescriptor_t engine =
        cs_descriptors_engine(&builder, &recipe.target, graph, recipe.engine.index);
    cudnnBackendDescriptor_t configuration =
        cs_descriptors_configuration(&builder, engine, &recipe.engine);
    enum cs_status status =
        finalize_plan(&builder, &recipe.target, configuration, &plan, &workspace);
    if (status == CS_OK && workspace <= late->workspace)
        made = cs_descriptor_take(&builder, plan);
    else if (status != CS_NOMEM && !atomic_exchange(&late->refused, true))
        cs_log_capped(&cap, CS_LOG_WARN,
                      "cuDNN could not build the plan of a tile (status %d). The convolution runs "
                      "untiled on the slow fallback plan.",
                      (int)builder.status);
    cs_descriptor_builder_clear(&builder);
    return made;
}

/* If two threads finalize a plan at once, the slower one destroys its result. So no thread holds a
 * lock while cuDNN compiles. */
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
