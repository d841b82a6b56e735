#include "backend.h"

#include <stdlib.h>

enum part {
    PART_X,
    PART_W,
    PART_Y,
    PART_CONV,
    PART_OPERATION,
    PART_GRAPH,
    PARTS
};

/* Makes all descriptors that a plan is made from and that are not needed afterwards. The caller
 * destroys them, also after a failure. Unique ids are letters, as in PyTorch. */
static enum outcome build(cudnnHandle_t handle, const struct conv_problem *problem,
                          cudnnBackendDescriptor_t *parts)
{
    enum outcome outcome =
        BACKEND_ASK(backend_tensor(&problem->x, 'x', BACKEND_MEMORY, &parts[PART_X]));
    if (outcome == OUTCOME_OK)
        outcome = BACKEND_ASK(backend_tensor(&problem->w, 'w', BACKEND_MEMORY, &parts[PART_W]));
    if (outcome == OUTCOME_OK)
        outcome = BACKEND_ASK(backend_tensor(&problem->y, 'y', BACKEND_MEMORY, &parts[PART_Y]));
    if (outcome == OUTCOME_OK)
        outcome = BACKEND_ASK(backend_convolution(problem, &parts[PART_CONV]));
    if (outcome == OUTCOME_OK)
        outcome = BACKEND_ASK(backend_operation(problem, parts, &parts[PART_OPERATION]));
    if (outcome == OUTCOME_OK)
        outcome = BACKEND_ASK(backend_graph(handle, &parts[PART_OPERATION], 1, &parts[PART_GRAPH]));
    return outcome;
}

static enum outcome read_notes(cudnnBackendDescriptor_t engine, uint64_t *notes)
{
    cudnnBackendNumericalNote_t numerical[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    cudnnBackendBehaviorNote_t behaviour[CUDNN_BEHAVIOR_NOTE_TYPE_COUNT];
    int64_t numericals = 0, behaviours = 0;
    ASK_CUDNN(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                       CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT,
                                       &numericals, numerical));
    ASK_CUDNN(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                       CUDNN_TYPE_BEHAVIOR_NOTE, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT,
                                       &behaviours, behaviour));
    *notes = 0;
    for (int64_t i = 0; i < numericals && i < CUDNN_NUMERICAL_NOTE_TYPE_COUNT; i++)
        *notes |= UINT64_C(1) << numerical[i];
    for (int64_t i = 0; i < behaviours && i < CUDNN_BEHAVIOR_NOTE_TYPE_COUNT; i++)
        *notes |= UINT64_C(1) << 32 << behaviour[i];
    return OUTCOME_OK;
}

static enum outcome read_engine(cudnnBackendDescriptor_t config, cudnnBackendDescriptor_t engine,
                                int64_t *index, uint64_t *notes)
{
    int64_t count = 0;
    ASK_CUDNN(cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine));
    ASK_CUDNN(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                                       &count, index));
    return notes != NULL ? read_notes(engine, notes) : OUTCOME_OK;
}

static enum outcome ask_engine(cudnnBackendDescriptor_t config, int64_t *index, uint64_t *notes)
{
    cudnnBackendDescriptor_t engine = NULL;
    ASK_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine));
    enum outcome outcome = read_engine(config, engine, index, notes);
    backend_destroy(engine);
    return outcome;
}

static enum outcome build_plan(cudnnHandle_t handle, cudnnBackendDescriptor_t config,
                               const struct conv_settings *settings, struct conv_plan *plan)
{
    ASK_CUDNN(backend_set_desc(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config));
    if (settings->plan_handle)
        ASK_CUDNN(
            backend_set(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, &handle));
    ASK_CUDNN(cudnnBackendFinalize(plan->plan));
    /* cudnn-frontend passes no element count here. */
    ASK_CUDNN(cudnnBackendGetAttribute(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                       CUDNN_TYPE_INT64, 1, NULL, &plan->workspace));
    return OUTCOME_OK;
}

static enum outcome try_config(cudnnHandle_t handle, cudnnBackendDescriptor_t config,
                               const struct conv_settings *settings, struct conv_plan *plan)
{
    int64_t count = 0;
    plan->config_workspace = -1;
    if (settings->ask_config &&
        cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                 &count, &plan->config_workspace) != CUDNN_STATUS_SUCCESS)
        plan->config_workspace = -1;
    enum outcome outcome =
        ask_engine(config, &plan->engine, settings->ask_notes ? &plan->notes : NULL);
    if (outcome != OUTCOME_OK)
        return outcome;
    if (settings->precompiled && plan->notes >> 32 & UINT64_C(1)
                                                         << CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION)
        return OUTCOME_REFUSED;
    ASK_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan->plan));
    outcome = build_plan(handle, config, settings, plan);
    if (outcome != OUTCOME_OK) {
        backend_destroy(plan->plan);
        plan->plan = NULL;
    }
    return outcome;
}

/* `choice` counts the answers of all modes. A config that fails in any way gives its turn to the
 * next, as in PyTorch. */
static enum outcome try_configs(cudnnHandle_t handle, cudnnBackendDescriptor_t heuristics,
                                const struct conv_settings *settings, int64_t configs, int first,
                                int *choice, struct conv_plan *plan)
{
    cudnnBackendDescriptor_t *config = calloc((size_t)configs, sizeof *config);
    if (config == NULL)
        return OUTCOME_ERROR;
    enum outcome outcome = OUTCOME_ERROR;
    int64_t count = 0;
    for (int64_t i = 0; i < configs; i++)
        TRY_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config[i]),
                  destroy_configs);
    TRY_CUDNN(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, configs, &count, config),
              destroy_configs);
    outcome = OUTCOME_REFUSED;
    for (int64_t i = 0; i < count && outcome != OUTCOME_OK; i++, (*choice)++) {
        if (*choice < first)
            continue;
        outcome = try_config(handle, config[i], settings, plan);
        plan->choice = *choice;
        if (outcome == OUTCOME_OK && settings->each != NULL) {
            settings->each(settings->ctx, plan);
            backend_destroy(plan->plan);
            plan->plan = NULL;
            outcome = OUTCOME_REFUSED;
        }
    }
destroy_configs:
    for (int64_t i = 0; i < configs; i++)
        backend_destroy(config[i]);
    free(config);
    return outcome;
}

static enum outcome ask_heuristics(cudnnBackendDescriptor_t heuristics,
                                   cudnnBackendDescriptor_t graph, cudnnBackendHeurMode_t mode,
                                   int64_t *configs)
{
    ASK_CUDNN(backend_set_desc(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph));
    ASK_CUDNN(backend_set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &mode));
    ASK_CUDNN(cudnnBackendFinalize(heuristics));
    ASK_CUDNN(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, configs, NULL));
    return OUTCOME_OK;
}

static enum outcome try_mode(cudnnHandle_t handle, cudnnBackendDescriptor_t graph,
                             const struct conv_settings *settings, cudnnBackendHeurMode_t mode,
                             int first, int *choice, struct conv_plan *plan)
{
    cudnnBackendDescriptor_t heuristics = NULL;
    int64_t configs = 0;
    ASK_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &heuristics));
    enum outcome outcome = ask_heuristics(heuristics, graph, mode, &configs);
    if (outcome == OUTCOME_OK && configs > 0)
        outcome = try_configs(handle, heuristics, settings, configs, first, choice, plan);
    else if (outcome == OUTCOME_OK)
        outcome = OUTCOME_REFUSED;
    backend_destroy(heuristics);
    return outcome;
}

enum outcome backend_plan(cudnnHandle_t handle, cudnnBackendDescriptor_t graph,
                          const struct conv_settings *settings, int first, struct conv_plan *plan)
{
    int choice = 0;
    enum outcome outcome = try_mode(handle, graph, settings, settings->mode, first, &choice, plan);
    if (outcome != OUTCOME_OK && !settings->no_fallback)
        outcome = try_mode(handle, graph, settings, CUDNN_HEUR_MODE_FALLBACK, first, &choice, plan);
    return outcome;
}

enum outcome conv_graph_plan(cudnnHandle_t handle, const struct conv_problem *problem,
                             const struct conv_settings *settings, int first,
                             struct conv_plan *plan)
{
    cudnnBackendDescriptor_t parts[PARTS] = {NULL};
    struct conv_plan made = {.api = CONV_GRAPH,
                             .direction = problem->direction,
                             .alpha = problem->alpha,
                             .beta = problem->beta};
    enum outcome outcome = build(handle, problem, parts);
    if (outcome == OUTCOME_OK)
        outcome = backend_plan(handle, parts[PART_GRAPH], settings, first, &made);
    for (int i = PARTS - 1; i >= 0; i--)
        backend_destroy(parts[i]);
    if (outcome == OUTCOME_OK)
        *plan = made;
    return outcome;
}

static enum outcome execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                            cudnnBackendDescriptor_t pack)
{
    ASK_CUDNN(cudnnBackendExecute(handle, plan, pack));
    return OUTCOME_OK;
}

enum outcome backend_run(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, int64_t count,
                         const int64_t *ids, void *const *pointers, void *workspace)
{
    cudnnBackendDescriptor_t pack = NULL;
    enum outcome outcome = BACKEND_ASK(backend_pack(count, ids, pointers, workspace, &pack));
    if (outcome == OUTCOME_OK)
        outcome = execute(handle, plan, pack);
    backend_destroy(pack);
    return outcome;
}

enum outcome conv_graph_run(cudnnHandle_t handle, const struct conv_plan *plan, void *x, void *w,
                            void *y, void *workspace)
{
    static const int64_t ids[] = {'x', 'w', 'y'};
    void *const pointers[] = {x, w, y};
    return backend_run(handle, plan->plan, 3, ids, pointers, workspace);
}
