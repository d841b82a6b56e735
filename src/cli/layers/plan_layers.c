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
static void predict_time(const struct cs_problem *problem, struct cs_prediction *prediction)
{
    prediction->floor = 0;
    for (int i = 0; i < CS_OPERANDS; i++) {
        if (cs_problem_tensor_bytes(&problem->tensor[i], &prediction->bytes[i]) != CS_OK)
            prediction->bytes[i] = INT64_MAX;
        prediction->floor = sum_of(prediction->floor, prediction->bytes[i]);
    }
}

/* The tile shapes' workspaces, which the decision did not keep. */
static bool settle_plan(struct cs_plan *plan, const struct cs_vendor *vendor)
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
    if (untiled.seconds > 0 && settle_plan(&plan, vendor)) {
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

/* Of a plan that a run took, only the plan itself counts. */
static enum cs_status choose_recorded(struct asking *asking, const struct cs_recorded *recorded,
                                      struct cs_prediction *prediction)
{
    if (!recorded || recorded->engine < 0)
        return CS_REFUSED;
    enum cs_status status = cs_engine_list_find(
        asking->list, asking->problem, asking->predictor->mode, recorded->engine,
        recorded->required, &prediction->offer, &asking->chosen);
    asking->ran = status == CS_OK;
    if (asking->ran)
        asking->vendor = cs_engine_chosen_vendor(asking->chosen);
    return status;
}

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

/* `level`: of the program, raised by this convolution. */
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

/* A problem with its sort key. Sorting makes equal problems of a program adjacent, by index. */
struct place {
    const struct cs_problem *problem;
    const struct cs_recorded *recorded; /* NULL: not */
    const struct place *first;          /* of those that are equal */
    uint64_t hash;
    size_t index, program;
    int used;
    int64_t words[CS_PROBLEM_WORDS];
};

static void predict_layer(const struct cs_predictor *predictor, struct cs_engine_list *list,
                          const struct place *place, struct cs_peak_level *level,
                          struct cs_prediction *prediction)
{
    const struct cs_problem *problem = place->problem;
    const struct cs_recorded *recorded = place->recorded;
    const bool has_level = recorded && recorded->level.record >= 0;
    struct asking asking = {.predictor = predictor,
                            .problem = problem,
                            .list = list,
                            .vendor = cs_estimate_vendor(),
                            .level = has_level ? recorded->level : *level};
    *prediction = (struct cs_prediction){.status = CS_OK};
    predict_time(problem, prediction);
    if (list && choose_recorded(&asking, recorded, prediction) != CS_OK)
        prediction->status = choose_offer(&asking, 0, prediction);
    else if (!list)
        prediction->offer.workspace = cs_estimate_workspace(problem);
    if (prediction->status == CS_OK)
        decide_layer(&asking, level, prediction);
    if (prediction->status == CS_OK)
        weigh_tiles(problem, &asking.vendor, prediction);
    cs_engine_chosen_destroy(asking.chosen);
}

/* Problems that differ, by program and index. False if memory runs out. */
static bool predict_all(const struct cs_predictor *predictor, struct cs_engine_list *list,
                        struct place *const *place, size_t count, struct cs_prediction *prediction)
{
    struct cs_peak_level level = {0, 0};
    for (size_t i = 0; i < count; i++) {
        struct cs_prediction *current = &prediction[place[i]->index];
        if (i > 0 && place[i]->program != place[i - 1]->program)
            level = (struct cs_peak_level){0, 0};
        predict_layer(predictor, list, place[i], &level, current);
        if (current->status == CS_NOMEM)
            return false;
        if (predictor->progress)
            predictor->progress(predictor->ctx, i + 1, count);
    }
    return true;
}

static void place_problem(struct place *place, const struct cs_problem *problem,
                          const struct cs_recorded *recorded, size_t program, size_t index)
{
    place->problem = problem;
    place->recorded = recorded;
    place->program = program;
    place->index = index;
    place->used = cs_problem_words(problem, place->words);
    place->hash = cs_hash_words(CS_HASH_START, place->words, place->used);
}

static bool same_plan(const struct cs_recorded *a, const struct cs_recorded *b)
{
    return (!a && !b) || (a && b && a->engine == b->engine && a->required == b->required);
}

static bool same_place(const struct place *a, const struct place *b)
{
    return a->program == b->program && same_plan(a->recorded, b->recorded) && a->hash == b->hash &&
           a->used == b->used &&
           memcmp(a->words, b->words, (size_t)a->used * sizeof *a->words) == 0;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_index(const void *left, const void *right)
{
    const struct place *a = *(struct place *const *)left, *b = *(struct place *const *)right;
    int programs = compare_numbers(a->program, b->program);
    return programs != 0 ? programs : compare_numbers(a->index, b->index);
}

/* Different problems with one hash may then be queried more than once, which only costs time. */
static int by_problem(const void *left, const void *right)
{
    const struct place *a = *(struct place *const *)left, *b = *(struct place *const *)right;
    int programs = compare_numbers(a->program, b->program),
        hashes = compare_numbers(a->hash, b->hash);
    return programs != 0 ? programs : hashes != 0 ? hashes : compare_numbers(a->index, b->index);
}

/* Points the places at the first of their equals, and sorts the first ones by index. */
static size_t find_first(struct place **sorted, size_t count, struct place **first)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        bool again = i > 0 && same_place(sorted[i], sorted[i - 1]);
        sorted[i]->first = again ? sorted[i - 1]->first : sorted[i];
        if (!again)
            first[found++] = sorted[i];
    }
    qsort(first, found, sizeof(struct place *), by_index);
    return found;
}

/* `sorted` has room for twice as many. */
static bool predict_each_once(const struct cs_predictor *predictor, struct cs_engine_list *list,
                              struct place **sorted, size_t count, struct cs_prediction *prediction)
{
    struct place **first = sorted + count;
    qsort(sorted, count, sizeof(struct place *), by_problem);
    if (!predict_all(predictor, list, first, find_first(sorted, count, first), prediction))
        return false;
    for (size_t i = 0; i < count; i++)
        if (sorted[i]->first != sorted[i])
            prediction[sorted[i]->index] = prediction[sorted[i]->first->index];
    return true;
}

bool cs_predict(const struct cs_predictor *predictor, const struct cs_problem *const *problem,
                size_t count, struct cs_prediction *prediction, char *error, size_t size)
{
    struct cs_engine_list *list = NULL;
    if (!predictor->estimate &&
        !cs_engine_list_create(predictor->profile, true, &list, error, size))
        return false;
    struct place *place = calloc(count + 1, sizeof *place);
    struct place **sorted = calloc(2 * count + 1, sizeof(struct place *));
    bool good = place && sorted;
    if (good) {
        for (size_t i = 0; i < count; i++) {
            place_problem(&place[i], problem[i],
                          predictor->recorded ? &predictor->recorded[i] : NULL,
                          predictor->program ? predictor->program[i] : 0, i);
            sorted[i] = &place[i];
        }
        good = predict_each_once(predictor, list, sorted, count, prediction);
    }
    if (!good)
        snprintf(error, size, "out of memory");
    free(sorted);
    free(place);
    cs_engine_list_destroy(list);
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
