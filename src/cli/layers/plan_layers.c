/* Plans a list of layers: cuDNN's own answer for each, and the decision the library would make. */
#include "cli/layers/plan_layers.h"
#include "base/checked.h"
#include "cli/common/cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t sum_of(int64_t a, int64_t b)
{
    int64_t sum;
    return cs_add(a, b, &sum) ? sum : INT64_MAX;
}

/* Computes the bytes of each operand and their sum, the floor. Those of a checked problem fit 64
 * bits each, but not always together. */
static void sum_operands(const struct cs_problem *problem, struct cs_prediction *prediction)
{
    prediction->floor = 0;
    for (int i = 0; i < CS_OPERANDS; i++) {
        if (cs_problem_tensor_bytes(&problem->tensor[i], &prediction->bytes[i]) != CS_OK)
            prediction->bytes[i] = INT64_MAX;
        prediction->floor = sum_of(prediction->floor, prediction->bytes[i]);
    }
}

/* Builds the plans of a cut's tile shapes again, because a decision does not keep their workspaces,
 * and settles the cut. False if cuDNN does not build one a second time. */
static bool build_shapes(struct cs_plan *plan, const struct cs_vendor *vendor)
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
    if (profile) {
        const struct cs_cost cost = cs_cost_untiled(problem, prediction->offer.workspace, profile);
        prediction->untiled = cs_cost_times(&cost);
    }
    if (prediction->decision.reason != CS_REASON_NONE ||
        cs_plan_cut(problem, tiling, &plan) != CS_OK)
        return;
    prediction->halo = plan.halo;
    if (prediction->untiled.least > 0 && build_shapes(&plan, vendor)) {
        const struct cs_cost cost = cs_cost_of(&plan, prediction->offer.workspace, profile);
        prediction->ratio = cs_cost_ratio(cs_cost_times(&cost), prediction->untiled);
    }
}

/* A layer that is decided on. */
struct asking {
    const struct cs_predictor *predictor;
    const struct cs_problem *problem;
    struct cs_engine_list *list;
    struct cs_engine_choice *chosen;
    struct cs_vendor vendor; /* of it */
    bool ran;                /* the program of a run took this plan, so none is refused */
};

/* Decides on the layer for one engine (cs_rivals). */
static struct cs_decision decide_on(void *ctx, const struct cs_engine *engine, int64_t required,
                                    const struct cs_vendor *vendor)
{
    struct asking *asking = ctx;
    const struct cs_decide_call call = {
        .problem = asking->problem, .required = required, .engine = engine->index};
    return cs_decide_by_rules(&asking->predictor->settings, &call, vendor);
}

/* Takes the offer after `skip` offers that were refused. */
static enum cs_status choose_offer(struct asking *asking, int skip,
                                   struct cs_prediction *prediction)
{
    cs_engine_chosen_destroy(asking->chosen);
    asking->chosen = NULL;
    return cs_engine_list_choose(asking->list, asking->problem,
                                 (struct cs_engine_wish){.engine = -1, .skip = skip},
                                 &prediction->offer, &asking->chosen);
}

/* Takes the plan that a recorded run took, or the first one if it is unknown. */
static enum cs_status choose_plan(struct asking *asking, const struct cs_recorded *recorded,
                                  struct cs_prediction *prediction)
{
    const struct cs_engine_wish wish = {recorded->engine, recorded->required, 0};
    asking->ran = !asking->predictor->alone && recorded->engine >= 0 &&
                  cs_engine_list_choose(asking->list, asking->problem, wish, &prediction->offer,
                                        &asking->chosen) == CS_OK;
    return asking->ran ? CS_OK : choose_offer(asking, 0, prediction);
}

/* Decides like the library in a program that takes the next plan if one is refused. */
static void decide_as_library(struct asking *asking, struct cs_prediction *prediction)
{
    const struct cs_rivals rivals = {asking, decide_on};
    const struct cs_ask_offer *offer = &prediction->offer;
    struct cs_decision *decision = &prediction->decision;
    bool refused = true;
    for (int skip = 1; prediction->status == CS_OK && refused; skip++) {
        asking->vendor = cs_engine_chosen_vendor(asking->chosen);
        *decision = decide_on(asking, &offer->engine, offer->workspace, &asking->vendor);
        refused = !asking->ran &&
                  cs_decide_refuses(asking->predictor->untileable, decision, decision->reason,
                                    &offer->engine, &asking->vendor, &rivals);
        if (refused)
            prediction->status = choose_offer(asking, skip, prediction);
    }
}

/* Decides, and computes the peaks. */
static void decide_layer(struct asking *asking, struct cs_prediction *prediction)
{
    struct cs_decision *decision = &prediction->decision;
    decide_as_library(asking, prediction);
    if (prediction->status != CS_OK)
        return;
    if (decision->reason == CS_REASON_REPORT_ONLY)
        decision->reported = prediction->offer.workspace; /* of a program that is not changed */
    prediction->peak = sum_of(prediction->floor, prediction->offer.workspace);
    prediction->tiled_peak = sum_of(prediction->floor, decision->reported);
    if (decision->reason == CS_REASON_HOST_MEMORY)
        prediction->status = CS_NOMEM;
    else
        weigh_tiles(asking->problem, &asking->vendor, prediction);
}

static void predict_layer(const struct cs_predictor *predictor, struct cs_engine_list *list,
                          const struct cs_layer *layer, struct cs_prediction *prediction)
{
    struct asking asking = {.predictor = predictor, .problem = &layer->problem, .list = list};
    *prediction = (struct cs_prediction){.status = CS_OK};
    sum_operands(&layer->problem, prediction);
    prediction->status = choose_plan(&asking, &layer->recorded, prediction);
    if (prediction->status == CS_OK)
        decide_layer(&asking, prediction);
    cs_engine_chosen_destroy(asking.chosen);
}

/* Returns the index of the first layer with the same problem and the same plan in the same program.
 */
static size_t find_equal(const struct cs_layers *layers, size_t at)
{
    const struct cs_layer *layer = &layers->layer[at], *other;
    size_t i = 0;
    for (; i < at; i++) {
        other = &layers->layer[i];
        if (strcmp(other->model, layer->model) == 0 &&
            other->recorded.engine == layer->recorded.engine &&
            other->recorded.required == layer->recorded.required &&
            cs_problem_same(&other->problem, &layer->problem))
            break;
    }
    return i;
}

bool cs_predict(const struct cs_predictor *predictor, const struct cs_layers *layers,
                struct cs_prediction *prediction, char *error, size_t size)
{
    struct cs_engine_list *engines = NULL;
    if (!cs_engine_list_create(predictor->profile, &engines, error, size))
        return false;
    bool good = true;
    for (size_t i = 0; i < layers->count && good; i++) {
        const size_t equal = find_equal(layers, i);
        if (equal < i)
            prediction[i] = prediction[equal];
        else
            predict_layer(predictor, engines, &layers->layer[i], &prediction[i]);
        good = prediction[i].status != CS_NOMEM;
    }
    if (!good)
        snprintf(error, size, "out of memory");
    cs_engine_list_destroy(engines);
    return good;
}
