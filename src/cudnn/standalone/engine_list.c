/* Queries cuDNN's heuristics for the engines of a convolution on a described device, and chooses
 * one as a framework does. */
#include "cudnn/standalone/standalone.h"

#include "cudnn/plan/device_profile.h"
#include "cudnn/plan/execution_plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PICKS = 24 /* offers that are examined to choose one */
};

struct cs_engine_list {
    struct cs_descriptor_builder builder; /* owns the device's descriptor */
    struct cs_target target;
};

bool cs_engine_list_create(const char *profile, struct cs_engine_list **list_p, char *error,
                           size_t size)
{
    struct cs_engine_list *list = calloc(1, sizeof *list);
    if (!list) {
        snprintf(error, size, "out of memory");
        return false;
    }
    cs_standalone_open_cublas();
    cudnnBackendDescriptor_t device =
        cs_descriptor_make(&list->builder, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    cs_descriptor_set(&list->builder, device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                      CUDNN_TYPE_CHAR, (int64_t)strlen(profile) + 1, profile);
    cs_descriptor_finalize(&list->builder, device);
    if (list->builder.status != CUDNN_STATUS_SUCCESS) {
        snprintf(error, size,
                 "cuDNN cannot plan for this device profile (status %d). Try another --cudnn or "
                 "--device.",
                 (int)list->builder.status);
        cs_engine_list_destroy(list);
        return false;
    }
    list->target.device = device;
    for (int i = 0; i < CS_MAX_TENSORS; i++)
        list->target.uid[i] = i + 1;
    *list_p = list;
    return true;
}

void cs_engine_list_destroy(struct cs_engine_list *list)
{
    if (!list)
        return;
    cs_descriptor_builder_clear(&list->builder);
    free(list);
}

/* Sets the workspace of an offer, -1 if cuDNN cannot build its plan. */
static void read_plan(const struct cs_engine_list *list, cudnnBackendDescriptor_t configuration,
                      struct cs_ask_offer *offer)
{
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    cudnnBackendDescriptor_t plan = cs_descriptors_plan(&builder, &list->target, configuration);
    int64_t workspace = cs_descriptors_workspace(&builder, plan);
    offer->workspace = builder.status == CUDNN_STATUS_SUCCESS ? workspace : -1;
    cs_descriptor_builder_clear(&builder);
}

/* Reads a configuration into `choice` and `offer`. False if cuDNN does not report the engine. The
 * caller clears `choice`. */
static bool read_offer(const struct cs_engine_list *list, const struct cs_problem *problem,
                       cudnnBackendDescriptor_t configuration, struct cs_engine_choice *choice,
                       struct cs_ask_offer *offer)
{
    cs_engine_choice_init(choice, problem, list->target.uid, NULL, cs_handle_id(NULL));
    *offer = (struct cs_ask_offer){.workspace = -1};
    if (!cs_engine_choice_read(choice, configuration))
        return false;
    offer->engine = choice->engine;
    offer->tensor_cores = choice->notes.numerical & 1u << CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    read_plan(list, configuration, offer);
    return true;
}

/* True if an offer is the wished one. Of matching offers it skips the first wish->skip, which it
 * counts down. */
static bool is_wished(struct cs_engine_wish *wish, const struct cs_ask_offer *offer)
{
    if (wish->engine >= 0 &&
        (offer->engine.index != wish->engine || offer->workspace != wish->workspace))
        return false;
    return wish->skip-- <= 0;
}

/* Finds the first wished offer of a mode whose plan can be built. False if there is none. */
static bool choose_of(struct cs_engine_list *list, const struct cs_problem *problem,
                      cudnnBackendHeurMode_t mode, struct cs_engine_wish *wish,
                      struct cs_ask_offer *offer, struct cs_engine_choice *choice)
{
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    cudnnBackendDescriptor_t configuration[PICKS];
    bool found = false;
    int results =
        cs_descriptors_heuristics(&builder, &list->target, problem, mode, configuration, PICKS);
    for (int i = 0; i < results && !found; i++) {
        found = read_offer(list, problem, configuration[i], choice, offer) &&
                offer->workspace >= 0 && is_wished(wish, offer);
        if (!found)
            cs_engine_choice_fini(choice);
    }
    cs_descriptor_builder_clear(&builder);
    return found;
}

enum cs_status cs_engine_list_choose(struct cs_engine_list *list, const struct cs_problem *problem,
                                     struct cs_engine_wish wish, struct cs_ask_offer *offer,
                                     struct cs_engine_choice **chosen_p)
{
    static const cudnnBackendHeurMode_t mode[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK,
                                                  CUDNN_HEUR_MODE_B};
    const int modes = wish.engine < 0 ? 2 : 3;
    bool found = false;
    struct cs_engine_choice *chosen = malloc(sizeof *chosen);
    if (!chosen)
        return CS_NOMEM;
    for (int i = 0; i < modes && !found; i++)
        found = choose_of(list, problem, mode[i], &wish, offer, chosen);
    if (found)
        *chosen_p = chosen;
    else
        free(chosen);
    return found ? CS_OK : CS_REFUSED;
}

void cs_engine_chosen_destroy(struct cs_engine_choice *chosen)
{
    if (!chosen)
        return;
    cs_engine_choice_fini(chosen);
    free(chosen);
}

struct cs_vendor cs_engine_chosen_vendor(struct cs_engine_choice *chosen)
{
    return cs_execution_plan_vendor(chosen);
}
