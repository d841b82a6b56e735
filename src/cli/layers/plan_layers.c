/* Plans a list of layers: cuDNN's own answer for each, and the decision the library would make. */
#include "cli/layers/plan_layers.h"
#include "base/checked.h"
#include "base/hash.h"
#include "cli/common/cli.h"
#include "config/ladder.h"
#include "decide/cost.h"
#include "decide/pass.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENGINE_UNKNOWN = -1
};

static int64_t sum_of(int64_t a, int64_t b)
{
    int64_t sum;
    return cs_add(a, b, &sum) ? sum : INT64_MAX;
}

/* The operands' bytes; a checked problem's fit 64 bits each, but not always together. */
static void sum_operands(const struct cs_problem *problem, struct cs_prediction *prediction)
{
    prediction->floor = 0;
    for (int i = 0; i < CS_OPERANDS; i++) {
        if (cs_problem_tensor_bytes(&problem->tensor[i], &prediction->bytes[i]) != CS_OK)
            prediction->bytes[i] = INT64_MAX;
        prediction->floor = sum_of(prediction->floor, prediction->bytes[i]);
    }
}

bool cs_plan_build_shapes(struct cs_plan *plan, const struct cs_vendor *vendor)
{
    for (int64_t i = 0; i < plan->shapes; i++) {
        struct cs_problem shape;
        void *execution_plan;
        cs_plan_problem(plan, i, &shape);
        if (vendor->build(vendor->ctx, &shape, plan->shape[i].relaxation, &execution_plan,
                          &plan->shape[i].workspace) != CS_OK)
            return false;
        vendor->destroy(execution_plan);
    }
    cs_plan_settle(plan);
    return true;
}

/* Computes the cost of tiles: the bytes read again, and the time that the library's own model
 * predicts. */
static void weigh_tiles(const struct cs_problem *problem, const struct cs_vendor *vendor,
                        struct cs_prediction *prediction)
{
    const struct cs_tiling *tiling = &prediction->decision.tiling;
    const struct cs_profile *profile = vendor->profile ? vendor->profile(vendor->ctx) : NULL;
    struct cs_plan plan;
    struct cs_cost untiled = {.seconds = 0};
    if (profile)
        untiled = cs_cost_untiled(problem, prediction->offer.workspace, profile);
    prediction->seconds = untiled.seconds;
    prediction->most_seconds = untiled.most;
    if (prediction->decision.reason != CS_REASON_NONE ||
        cs_plan_cut(problem, tiling, &plan) != CS_OK)
        return;
    prediction->halo = plan.halo;
    if (untiled.seconds > 0 && cs_plan_build_shapes(&plan, vendor)) {
        const struct cs_cost tiled = cs_cost_of(&plan, profile);
        const struct cs_times ratio = cs_cost_ratio(cs_cost_times(&tiled), cs_cost_times(&untiled));
        prediction->time_ratio = ratio.least;
        prediction->most_ratio = ratio.most;
    }
}

/* A convolution that is decided on, as in a program that holds this much memory. */
struct asking {
    const struct cs_predictor *predictor;
    const struct cs_problem *problem;
    struct cs_engine_list *list; /* NULL: estimates */
    struct cs_chosen_engine *chosen;
    struct cs_vendor vendor; /* of it */
    struct cs_peak_level level;
    bool ran; /* the program of a run took this plan, so none is refused */
};

static struct cs_decision decide_on(void *ctx, const struct cs_engine *engine, int64_t required,
                                    const struct cs_vendor *vendor)
{
    struct asking *asking = ctx;
    const struct cs_decide_call call = {.problem = asking->problem,
                                        .required = required,
                                        .engine = asking->list ? engine->index : ENGINE_UNKNOWN};
    return cs_decide_by_rules(&asking->predictor->settings, &call, vendor, &asking->level);
}

/* Finds the plan that a recorded run took. CS_REFUSED if it is unknown. */
static enum cs_status choose_recorded(struct asking *asking, const struct cs_recorded *recorded,
                                      struct cs_prediction *prediction)
{
    if (recorded->engine < 0)
        return CS_REFUSED;
    enum cs_status status = cs_engine_list_find(
        asking->list, asking->problem, asking->predictor->mode, recorded->engine,
        recorded->required, &prediction->offer, &asking->chosen);
    asking->ran = status == CS_OK;
    if (asking->ran)
        asking->vendor = cs_engine_chosen_vendor(asking->chosen);
    return status;
}

/* Takes the offer after `skip` offers that were refused. */
static enum cs_status choose_offer(struct asking *asking, int skip,
                                   struct cs_prediction *prediction)
{
    cs_engine_chosen_destroy(asking->chosen);
    asking->chosen = NULL;
    enum cs_status status =
        cs_engine_list_choose(asking->list, asking->problem, asking->predictor->mode, skip,
                              &prediction->offer, &asking->chosen);
    if (status == CS_OK)
        asking->vendor = cs_engine_chosen_vendor(asking->chosen);
    return status;
}

/* Decides like the library in a program that takes the next plan if one is refused. */
static void decide_as_library(struct asking *asking, struct cs_prediction *prediction)
{
    const struct cs_rivals rivals = {asking, decide_on};
    const struct cs_ask_offer *offer = &prediction->offer;
    struct cs_decision *decision = &prediction->decision;
    bool refused = true;
    for (int skip = 1; prediction->status == CS_OK && refused; skip++) {
        *decision = decide_on(asking, &offer->engine, offer->workspace, &asking->vendor);
        refused = asking->list && !asking->ran &&
                  cs_decide_refuses(asking->predictor->untileable, decision, decision->reason,
                                    &offer->engine, &asking->vendor, &rivals);
        if (refused)
            prediction->status = choose_offer(asking, skip, prediction);
    }
}

/* Decides, and computes the peaks. `level`: of the program, raised by this convolution. */
static void decide_layer(struct asking *asking, struct cs_peak_level *level,
                         struct cs_prediction *prediction)
{
    struct cs_decision *decision = &prediction->decision;
    decide_as_library(asking, prediction);
    if (prediction->status != CS_OK)
        return;
    int64_t held = sum_of(cs_pass_operands(asking->problem), decision->reported);
    if (held > level->record)
        level->record = held;
    if (decision->reason == CS_REASON_REPORT_ONLY)
        decision->reported = prediction->offer.workspace; /* of a program that is not changed */
    prediction->peak = sum_of(prediction->floor, prediction->offer.workspace);
    prediction->tiled_peak = sum_of(prediction->floor, decision->reported);
    prediction->status = decision->reason == CS_REASON_HOST_MEMORY ? CS_NOMEM : prediction->status;
}

/* A problem of the list, with a key to compare it by. */
struct place {
    const struct cs_to_predict *of;
    size_t first; /* the index of the first that is equal */
    uint64_t hash;
    int used;
    int64_t words[CS_PROBLEM_WORDS];
};

static void predict_layer(const struct cs_predictor *predictor, struct cs_engine_list *list,
                          const struct cs_to_predict *of, struct cs_peak_level *level,
                          struct cs_prediction *prediction)
{
    const struct cs_problem *problem = of->problem;
    const bool has_level = of->recorded.level.record >= 0;
    struct asking asking = {.predictor = predictor,
                            .problem = problem,
                            .list = list,
                            .vendor = cs_estimate_vendor(),
                            .level = has_level ? of->recorded.level : *level};
    *prediction = (struct cs_prediction){.status = CS_OK};
    sum_operands(problem, prediction);
    if (list && choose_recorded(&asking, &of->recorded, prediction) != CS_OK)
        prediction->status = choose_offer(&asking, 0, prediction);
    else if (!list)
        prediction->offer.workspace = cs_estimate_workspace(problem);
    if (prediction->status == CS_OK)
        decide_layer(&asking, level, prediction);
    if (prediction->status == CS_OK)
        weigh_tiles(problem, &asking.vendor, prediction);
    cs_engine_chosen_destroy(asking.chosen);
}

static void place_problem(const struct cs_to_predict *of, size_t index, struct place *place)
{
    place->of = of;
    place->first = index;
    place->used = cs_problem_words(of->problem, place->words);
    place->hash = cs_hash_words(CS_HASH_START, place->words, place->used);
}

/* The same problem with the same plan in the same program. */
static bool is_same(const struct place *a, const struct place *b)
{
    return a->hash == b->hash && a->of->program == b->of->program &&
           a->of->recorded.engine == b->of->recorded.engine &&
           a->of->recorded.required == b->of->recorded.required && a->used == b->used &&
           memcmp(a->words, b->words, (size_t)a->used * sizeof *a->words) == 0;
}

/* Points each place at the first of its equals. Returns how many differ. */
static size_t find_first(struct place *place, size_t count)
{
    size_t different = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i && place[i].first == i; j++)
            if (place[j].first == j && is_same(&place[i], &place[j]))
                place[i].first = j;
        different += place[i].first == i;
    }
    return different;
}

/* Each program has its own level. False if memory runs out. */
static bool predict_all(const struct cs_predictor *predictor, struct cs_engine_list *list,
                        struct place *place, size_t count, struct cs_prediction *prediction)
{
    const size_t different = find_first(place, count);
    size_t done = 0;
    struct cs_peak_level *level = calloc(count + 1, sizeof *level);
    bool good = level != NULL;
    for (size_t i = 0; i < count && good; i++) {
        if (place[i].first != i) {
            prediction[i] = prediction[place[i].first];
            continue;
        }
        predict_layer(predictor, list, place[i].of, &level[place[i].of->program], &prediction[i]);
        good = prediction[i].status != CS_NOMEM;
        if (good && predictor->progress)
            predictor->progress(predictor->ctx, ++done, different);
    }
    free(level);
    return good;
}

bool cs_predict(const struct cs_predictor *predictor, const struct cs_to_predict *list,
                size_t count, struct cs_prediction *prediction, char *error, size_t size)
{
    struct cs_engine_list *engines = NULL;
    if (!predictor->estimate &&
        !cs_engine_list_create(predictor->profile, true, &engines, error, size))
        return false;
    struct place *place = calloc(count + 1, sizeof *place);
    for (size_t i = 0; place && i < count; i++)
        place_problem(&list[i], i, &place[i]);
    const bool good = place && predict_all(predictor, engines, place, count, prediction);
    if (!good)
        snprintf(error, size, "out of memory");
    free(place);
    cs_engine_list_destroy(engines);
    return good;
}

/* --- measured constants --- */

struct cs_ladder cs_cli_measured(const char *gpu)
{
    static char last[CS_PROFILE_NAME];
    static struct cs_ladder ladder;
    char text[CS_LADDER_NAMED];
    if (strcmp(last, gpu) == 0)
        return ladder;
    snprintf(last, sizeof last, "%s", gpu);
    if (cs_ladder_read(gpu, &ladder, cs_cli_note, NULL))
        cs_cli_complain("%s", cs_ladder_name(&ladder, gpu, text));
    return ladder;
}
