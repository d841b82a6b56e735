#include "cudnn/standalone/engine_list.h"

#include "cudnn/plan/execution_plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PICKS = 24 /* offers looked at to choose one */
};

struct cs_asker {
    struct cs_bench bench; /* holds the device's descriptor */
    struct cs_target target;
};

struct cs_chosen {
    struct cs_maker maker;
};

static const cudnnBackendHeurMode_t modes[CS_ASK_MODES] = {[CS_ASK_A] = CUDNN_HEUR_MODE_A,
                                                           [CS_ASK_B] = CUDNN_HEUR_MODE_B,
                                                           [CS_ASK_FALLBACK] =
                                                               CUDNN_HEUR_MODE_FALLBACK};

bool cs_asker_create(const char *profile, struct cs_asker **asker_p, char *error, size_t size)
{
    struct cs_asker *asker = calloc(1, sizeof *asker);
    if (!asker) {
        snprintf(error, size, "out of memory");
        return false;
    }
    cudnnBackendDescriptor_t device =
        cs_bench_make(&asker->bench, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    cs_bench_set(&asker->bench, device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                 (int64_t)strlen(profile) + 1, profile);
    cs_bench_finalize(&asker->bench, device);
    if (asker->bench.status != CUDNN_STATUS_SUCCESS) {
        snprintf(error, size, "cuDNN does not take the profile (status %d)",
                 (int)asker->bench.status);
        cs_asker_destroy(asker);
        return false;
    }
    asker->target.device = device;
    for (int i = 0; i < CS_MAX_TENSORS; i++)
        asker->target.uid[i] = i + 1;
    *asker_p = asker;
    return true;
}

void cs_asker_destroy(struct cs_asker *asker)
{
    if (!asker)
        return;
    cs_bench_clear(&asker->bench);
    free(asker);
}

static void begin_maker(struct cs_maker *maker, const struct cs_asker *asker,
                        const struct cs_problem *problem)
{
    *maker = (struct cs_maker){.problem = *problem};
    memcpy(maker->target.uid, asker->target.uid, sizeof maker->target.uid);
}

/* The settings that say into how many parts a sum is split. cuDNN has deprecated the name of the
 * first, not the knob. */
static bool splits(const struct cs_engine *engine)
{
    enum {
        SPLIT_K = 0
    };
    for (int i = 0; i < engine->knobs; i++) {
        int64_t type = engine->knob_type[i];
        if ((type == SPLIT_K || type == CUDNN_KNOB_TYPE_SPLIT_K_BUF ||
             type == CUDNN_KNOB_TYPE_SPLIT_K_SLC) &&
            engine->knob_value[i] > 1)
            return true;
    }
    return false;
}

static void read_notes(const struct cs_maker *maker, struct cs_ask_offer *offer)
{
    unsigned numerical = maker->notes.numerical;
    offer->engine = maker->engine;
    offer->compiled = maker->notes.behaviour & 1u << CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
    offer->tensor_cores = numerical & 1u << CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    offer->down_converts = numerical & 1u << CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
    offer->deterministic = !(numerical & 1u << CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
    offer->splits = splits(&maker->engine);
    offer->fft = numerical & 1u << CUDNN_NUMERICAL_NOTE_FFT;
    offer->winograd = numerical & 1u << CUDNN_NUMERICAL_NOTE_WINOGRAD;
}

/* Whether there is a plan, and what it wants. */
static void read_plan(const struct cs_asker *asker, cudnnBackendDescriptor_t configuration,
                      struct cs_ask_offer *offer)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    cudnnBackendDescriptor_t plan = cs_parts_plan(&bench, &asker->target, configuration);
    int64_t workspace = cs_parts_workspace(&bench, plan);
    offer->workspace = bench.status == CUDNN_STATUS_SUCCESS ? workspace : -1;
    cs_bench_clear(&bench);
}

/* Fills `maker`, which the caller finishes, and `offer`; false if cuDNN does not tell the engine.
 */
static bool read_offer(const struct cs_asker *asker, const struct cs_problem *problem,
                       cudnnBackendDescriptor_t configuration, struct cs_maker *maker,
                       struct cs_ask_offer *offer)
{
    begin_maker(maker, asker, problem);
    *offer = (struct cs_ask_offer){.workspace = -1};
    if (!cs_maker_read(maker, configuration))
        return false;
    read_notes(maker, offer);
    read_plan(asker, configuration, offer);
    return true;
}

int cs_ask_offers(struct cs_asker *asker, const struct cs_problem *problem, enum cs_ask_mode mode,
                  struct cs_ask_offer offer[CS_ASK_OFFERS])
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    cudnnBackendDescriptor_t configuration[CS_ASK_OFFERS];
    int results = cs_parts_heuristics(&bench, &asker->target, problem, modes[mode], configuration,
                                      CS_ASK_OFFERS);
    int offers = 0;
    for (int i = 0; i < results; i++) {
        struct cs_maker maker;
        if (read_offer(asker, problem, configuration[i], &maker, &offer[offers]))
            offer[offers++].mode = mode;
        cs_maker_fini(&maker);
    }
    cs_bench_clear(&bench);
    return offers;
}

/* The first offer of a mode with a plan. */
static bool choose_of(struct cs_asker *asker, const struct cs_problem *problem,
                      enum cs_ask_mode mode, struct cs_ask_offer *offer, struct cs_maker *maker)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    cudnnBackendDescriptor_t configuration[PICKS];
    bool found = false;
    int results =
        cs_parts_heuristics(&bench, &asker->target, problem, modes[mode], configuration, PICKS);
    for (int i = 0; i < results && !found; i++) {
        found = read_offer(asker, problem, configuration[i], maker, offer) && offer->workspace >= 0;
        if (!found)
            cs_maker_fini(maker);
    }
    cs_bench_clear(&bench);
    offer->mode = mode;
    return found;
}

enum cs_status cs_ask_choose(struct cs_asker *asker, const struct cs_problem *problem,
                             enum cs_ask_mode mode, struct cs_ask_offer *offer,
                             struct cs_chosen **chosen_p)
{
    struct cs_chosen *chosen = malloc(sizeof *chosen);
    if (!chosen)
        return CS_NOMEM;
    if (!choose_of(asker, problem, mode, offer, &chosen->maker) &&
        (mode == CS_ASK_FALLBACK ||
         !choose_of(asker, problem, CS_ASK_FALLBACK, offer, &chosen->maker))) {
        free(chosen);
        return CS_REFUSED;
    }
    *chosen_p = chosen;
    return CS_OK;
}

void cs_chosen_destroy(struct cs_chosen *chosen)
{
    if (!chosen)
        return;
    cs_maker_fini(&chosen->maker);
    free(chosen);
}

struct cs_vendor cs_chosen_vendor(struct cs_chosen *chosen)
{
    return cs_kernel_vendor(&chosen->maker);
}

int64_t cs_ask_workspace(struct cs_asker *asker, const struct cs_problem *problem,
                         const struct cs_engine *engine)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    cudnnBackendDescriptor_t graph = cs_parts_graph(&bench, &asker->target, problem);
    cudnnBackendDescriptor_t configuration =
        cs_parts_configuration(&bench, &asker->target, graph, engine);
    cudnnBackendDescriptor_t plan = cs_parts_plan(&bench, &asker->target, configuration);
    int64_t workspace = cs_parts_workspace(&bench, plan);
    bool built = bench.status == CUDNN_STATUS_SUCCESS;
    cs_bench_clear(&bench);
    return built ? workspace : -1;
}
