/* Plans of engines that cuDNN compiles at run time. Compiling takes about a second for each plan
 * and changes no size, so such a plan is described without it: the workspace is that of the engine
 * configuration, and the operations are read from a precompiled plan of the same graph. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

#include "cudnn_internal.h"

enum {
    MOST_NOTES = 32,
    MOST_KNOBS = 64,
    MOST_CONFIGS = 8
};

static cudnnStatus_t get_one(cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type, void *value)
{
    int64_t count = 0;
    const cudnnStatus_t status = simdev_planner()->get(of, name, type, 1, &count, value);
    return status == CUDNN_STATUS_SUCCESS && count < 1 ? CUDNN_STATUS_INTERNAL_ERROR : status;
}

cudnnStatus_t simdev_planner_child(cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                                   cudnnBackendDescriptorType_t type,
                                   cudnnBackendDescriptor_t *filled)
{
    const struct simdev_planner *planner = simdev_planner();
    cudnnStatus_t status = planner->create(type, filled);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    status = get_one(of, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, filled);
    if (status != CUDNN_STATUS_SUCCESS)
        (void)planner->destroy(*filled);
    return status;
}

/* Creates at most `most` empty descriptors, to be filled by a query. Returns their number. */
static int create_all(cudnnBackendDescriptorType_t type, int most, cudnnBackendDescriptor_t *made)
{
    int count = 0;
    while (count < most && simdev_planner()->create(type, &made[count]) == CUDNN_STATUS_SUCCESS)
        count++;
    return count;
}

static void destroy_all(int count, const cudnnBackendDescriptor_t *made)
{
    while (count > 0)
        (void)simdev_planner()->destroy(made[--count]);
}

static cudnnStatus_t engine_of(cudnnBackendDescriptor_t config, cudnnBackendDescriptor_t *engine)
{
    return simdev_planner_child(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                CUDNN_BACKEND_ENGINE_DESCRIPTOR, engine);
}

cudnnStatus_t simdev_config_has_note(cudnnBackendDescriptor_t config,
                                     cudnnBackendBehaviorNote_t wanted, bool *has)
{
    const struct simdev_planner *planner = simdev_planner();
    cudnnBackendBehaviorNote_t note[MOST_NOTES];
    cudnnBackendDescriptor_t engine;
    int64_t count = 0;
    *has = false;
    cudnnStatus_t status = engine_of(config, &engine);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    status = planner->get(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                          MOST_NOTES, &count, note);
    for (int64_t i = 0; status == CUDNN_STATUS_SUCCESS && i < count && i < MOST_NOTES; i++)
        *has |= note[i] == wanted;
    (void)planner->destroy(engine);
    return status;
}

/* The text of a plan of this configuration. NULL if there is none. */
static char *plan_text(cudnnBackendDescriptor_t config, cudnnBackendDescriptor_t device)
{
    const struct simdev_planner *planner = simdev_planner();
    cudnnBackendDescriptor_t plan;
    char *text = NULL;
    if (planner->create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan) != CUDNN_STATUS_SUCCESS)
        return NULL;
    if (planner->set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                     1, &config) == CUDNN_STATUS_SUCCESS &&
        planner->set(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                     &device) == CUDNN_STATUS_SUCCESS &&
        planner->finalize(plan) == CUDNN_STATUS_SUCCESS)
        (void)simdev_plan_text(plan, &text);
    (void)planner->destroy(plan);
    return text;
}

/* The heuristics' configurations for the graph, at most MOST_CONFIGS. */
static int64_t find_fallbacks(cudnnBackendDescriptor_t graph, cudnnBackendDescriptor_t device,
                              cudnnBackendDescriptor_t *config)
{
    const struct simdev_planner *planner = simdev_planner();
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_FALLBACK;
    cudnnBackendDescriptor_t heuristics;
    int64_t count = 0;
    if (planner->create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &heuristics) != CUDNN_STATUS_SUCCESS)
        return 0;
    if (planner->set(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph) != CUDNN_STATUS_SUCCESS ||
        planner->set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode) !=
            CUDNN_STATUS_SUCCESS ||
        planner->set(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                     &device) != CUDNN_STATUS_SUCCESS ||
        planner->finalize(heuristics) != CUDNN_STATUS_SUCCESS ||
        planner->get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                     MOST_CONFIGS, &count, config) != CUDNN_STATUS_SUCCESS)
        count = 0;
    (void)planner->destroy(heuristics);
    return count < MOST_CONFIGS ? count : MOST_CONFIGS;
}

/* The text of a plan of the graph on any precompiled engine. NULL if there is none. */
static char *precompiled_text(cudnnBackendDescriptor_t graph, cudnnBackendDescriptor_t device)
{
    cudnnBackendDescriptor_t config[MOST_CONFIGS];
    char *text = NULL;
    const int made = create_all(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, MOST_CONFIGS, config);
    const int64_t count = made == MOST_CONFIGS ? find_fallbacks(graph, device, config) : 0;
    for (int64_t i = 0; i < count && !text; i++) {
        bool is_compiled = true;
        if (simdev_config_has_note(config[i], CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION,
                                   &is_compiled) == CUDNN_STATUS_SUCCESS &&
            !is_compiled)
            text = plan_text(config[i], device);
    }
    destroy_all(made, config);
    return text;
}

static cJSON *describe_knobs(cudnnBackendDescriptor_t config)
{
    cudnnBackendDescriptor_t knob[MOST_KNOBS];
    cJSON *knobs = cJSON_CreateObject();
    int64_t count = 0;
    const int made = create_all(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, MOST_KNOBS, knob);
    if (simdev_planner()->get(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                              CUDNN_TYPE_BACKEND_DESCRIPTOR, made, &count,
                              knob) != CUDNN_STATUS_SUCCESS)
        count = 0;
    for (int64_t i = 0; i < count && i < made; i++) {
        cudnnBackendKnobType_t type = CUDNN_KNOB_TYPE_SPLIT_K;
        int64_t value = 0;
        char name[24];
        (void)get_one(knob[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, &type);
        (void)get_one(knob[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, &value);
        snprintf(name, sizeof name, "%d", (int)type);
        (void)cJSON_AddNumberToObject(knobs, name, (double)value);
    }
    destroy_all(made, knob);
    return knobs;
}

/* The text of the configuration's plan: `text` with the engine and the knobs of `config`. */
static char *with_engine(const char *text, cudnnBackendDescriptor_t config, int64_t number)
{
    cJSON *root = cJSON_Parse(text), *engine = cJSON_CreateObject();
    char *own = NULL;
    (void)cJSON_AddNumberToObject(engine, "engineId", (double)number);
    (void)cJSON_AddItemToObject(engine, "knobChoices", describe_knobs(config));
    if (cJSON_ReplaceItemInObjectCaseSensitive(root, "engine", engine))
        own = cJSON_PrintUnformatted(root);
    else
        cJSON_Delete(engine);
    cJSON_Delete(root);
    return own;
}

static char *describe_config(cudnnBackendDescriptor_t config, cudnnBackendDescriptor_t device)
{
    const struct simdev_planner *planner = simdev_planner();
    cudnnBackendDescriptor_t engine, graph;
    int64_t number = 0;
    char *text = NULL, *own = NULL;
    if (engine_of(config, &engine) != CUDNN_STATUS_SUCCESS)
        return NULL;
    if (get_one(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, &number) ==
            CUDNN_STATUS_SUCCESS &&
        simdev_planner_child(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH,
                             CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
                             &graph) == CUDNN_STATUS_SUCCESS) {
        text = precompiled_text(graph, device);
        (void)planner->destroy(graph);
    }
    if (text)
        own = with_engine(text, config, number);
    free(text);
    (void)planner->destroy(engine);
    return own;
}

struct simdev_program *simdev_deferred_program(cudnnBackendDescriptor_t config,
                                               cudnnBackendDescriptor_t device)
{
    bool is_compiled = false;
    int64_t workspace = 0;
    if (!device ||
        simdev_config_has_note(config, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION, &is_compiled) !=
            CUDNN_STATUS_SUCCESS ||
        !is_compiled ||
        get_one(config, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64, &workspace) !=
            CUDNN_STATUS_SUCCESS)
        return NULL;
    char *text = describe_config(config, device);
    struct simdev_program *program = text ? simdev_program_parse(text, (size_t)workspace) : NULL;
    free(text);
    return program;
}
