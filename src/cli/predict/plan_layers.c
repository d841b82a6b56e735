/* Plans a list of layers on all cores: cuDNN's own answer for each, and the decision the library
 * would make. */
#include "cli/predict/plan_layers.h"

#include "base/checked.h"
#include "base/hash.h"
#include "cli/predict/estimate.h"
#include "decide/cost.h"
#include "decide/pass.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_THREADS = 8,
    ENGINE_UNKNOWN = -1,
    ERROR_BYTES = 160
};

static int64_t sum_of(int64_t a, int64_t b)
{
    int64_t sum;
    return cs_add(a, b, &sum) ? sum : INT64_MAX;
}

/* The operands' bytes; a checked problem's fit 64 bits each, but not always together. */
static void weigh(const struct cs_problem *problem, struct cs_prediction *prediction)
{
    prediction->floor = 0;
    for (int i = 0; i < CS_OPERANDS; i++) {
        if (cs_problem_tensor_bytes(&problem->tensor[i], &prediction->bytes[i]) != CS_OK)
            prediction->bytes[i] = INT64_MAX;
        prediction->floor = sum_of(prediction->floor, prediction->bytes[i]);
    }
}

/* The tile shapes' workspaces, which the decision did not keep. */
static bool settle(struct cs_plan *plan, const struct cs_vendor *vendor)
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

/* Zeros if it is not known. */
static struct cs_cost untiled_cost(const struct cs_problem *problem, int64_t required,
                                   const struct cs_profile *profile, struct cs_plan *plan)
{
    static const struct cs_tiling untiled = {.step = {1, 1}};
    if (!profile || cs_plan_cut(problem, &untiled, plan) != CS_OK)
        return (struct cs_cost){.seconds = 0};
    plan->shape[0].workspace = required;
    return cs_cost_of(plan, profile);
}

/* Computes the cost of tiles: the bytes read again, and the time that the library's own model
 * predicts. */
static void weigh_tiles(const struct cs_problem *problem, const struct cs_vendor *vendor,
                        struct cs_prediction *prediction)
{
    const struct cs_tiling *tiling = &prediction->decision.tiling;
    const struct cs_profile *profile = vendor->profile ? vendor->profile(vendor->ctx) : NULL;
    struct cs_plan plan;
    const struct cs_cost untiled =
        untiled_cost(problem, prediction->offer.workspace, profile, &plan);
    prediction->seconds = untiled.seconds;
    prediction->most_seconds = untiled.most;
    if (prediction->decision.reason != CS_REASON_NONE ||
        cs_plan_cut(problem, tiling, &plan) != CS_OK)
        return;
    prediction->halo = plan.halo;
    if (untiled.seconds > 0 && settle(&plan, vendor)) {
        const struct cs_cost tiled = cs_cost_of(&plan, profile);
        double most = tiled.most / untiled.most;
        prediction->time_ratio = tiled.seconds / untiled.seconds;
        prediction->most_ratio = most > prediction->time_ratio ? most : prediction->time_ratio;
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

static struct cs_peak_level level_of(void *ctx)
{
    return ((const struct asking *)ctx)->level;
}

static struct cs_decision decide_on(void *ctx, const struct cs_engine *engine, int64_t required,
                                    const struct cs_vendor *vendor)
{
    struct asking *asking = ctx;
    const struct cs_decide_call call = {.problem = asking->problem,
                                        .required = required,
                                        .engine = asking->list ? engine->index : ENGINE_UNKNOWN};
    const struct cs_decide_help help = {.ctx = asking, .level = level_of};
    return cs_decide_by_rules(&asking->predictor->settings, &call, vendor, &help);
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

static enum cs_status choose(struct asking *asking, int skip, struct cs_prediction *prediction)
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
            prediction->status = choose(asking, skip, prediction);
    }
}

/* `level`: of the program, raised by this convolution. */
static void decide(struct asking *asking, struct cs_peak_level *level,
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

struct work {
    const struct cs_predictor *predictor;
    struct place **place;             /* of problems that differ, by program and index */
    struct cs_prediction *prediction; /* by index */
    size_t count;
    atomic_size_t next;
    atomic_bool failed;
    pthread_mutex_t lock; /* protects the members below, and progress */
    pthread_cond_t decided;
    size_t done; /* places that are decided about, in their order */
    struct cs_peak_level level;
    char error[ERROR_BYTES];
};

/* Decides about a place when all before it are decided about. */
static void decide_in_order(struct work *work, size_t at, struct asking *asking,
                            struct cs_prediction *prediction)
{
    const struct cs_recorded *recorded = work->place[at]->recorded;
    pthread_mutex_lock(&work->lock);
    while (work->done < at)
        pthread_cond_wait(&work->decided, &work->lock);
    if (at > 0 && work->place[at]->program != work->place[at - 1]->program)
        work->level = (struct cs_peak_level){0, 0};
    asking->level = recorded && recorded->level.record >= 0 ? recorded->level : work->level;
    if (prediction->status == CS_OK)
        decide(asking, &work->level, prediction);
    work->done++;
    pthread_cond_broadcast(&work->decided);
    if (work->predictor->progress)
        work->predictor->progress(work->predictor->ctx, work->done, work->count);
    pthread_mutex_unlock(&work->lock);
}

static void predict(struct work *work, struct cs_engine_list *list, size_t at)
{
    const struct cs_predictor *predictor = work->predictor;
    const struct cs_problem *problem = work->place[at]->problem;
    struct cs_prediction *prediction = &work->prediction[work->place[at]->index];
    struct asking asking = {predictor, problem, list, NULL, cs_estimate_vendor(), {0, 0}, false};
    *prediction = (struct cs_prediction){.status = CS_OK};
    weigh(problem, prediction);
    if (list && choose_recorded(&asking, work->place[at]->recorded, prediction) != CS_OK)
        prediction->status = choose(&asking, 0, prediction);
    else if (!list)
        prediction->offer.workspace = cs_estimate_workspace(problem);
    decide_in_order(work, at, &asking, prediction);
    if (prediction->status == CS_OK)
        weigh_tiles(problem, &asking.vendor, prediction);
    cs_engine_chosen_destroy(asking.chosen);
}

static void fail(struct work *work, const char *error)
{
    pthread_mutex_lock(&work->lock);
    if (!atomic_exchange(&work->failed, true))
        snprintf(work->error, sizeof work->error, "%s", error);
    pthread_mutex_unlock(&work->lock);
}

static void *run(void *opaque)
{
    struct work *work = opaque;
    struct cs_engine_list *list = NULL;
    char error[ERROR_BYTES];
    if (!work->predictor->estimate &&
        !cs_engine_list_create(work->predictor->profile, &list, error, sizeof error)) {
        fail(work, error);
        return NULL;
    }
    for (;;) {
        size_t at = atomic_fetch_add(&work->next, 1);
        if (at >= work->count || atomic_load(&work->failed))
            break;
        predict(work, list, at);
        if (work->prediction[work->place[at]->index].status == CS_NOMEM)
            fail(work, "out of memory");
    }
    cs_engine_list_destroy(list);
    return NULL;
}

/* cuDNN loads cuBLASLt when it first plans a window of 1x1. Another thread that plans one at that
 * moment would get other engines. */
static void load_all_engines(const struct cs_predictor *predictor)
{
    struct cs_engine_list *list = NULL;
    struct cs_shape shape = {.dtype = CS_F16};
    struct cs_problem problem;
    struct cs_ask_offer offer;
    struct cs_chosen_engine *chosen = NULL;
    char error[ERROR_BYTES];
    if (cs_shape_text("1x64x32x32 -> 64 k1x1", &shape, error, sizeof error) &&
        cs_shape_problem(&shape, &problem, error, sizeof error) &&
        cs_engine_list_create(predictor->profile, &list, error, sizeof error) &&
        cs_engine_list_choose(list, &problem, CS_ASK_A, 0, &offer, &chosen) == CS_OK)
        cs_engine_chosen_destroy(chosen);
    cs_engine_list_destroy(list);
}

static int threads_for(const struct cs_predictor *predictor, size_t problems)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = predictor->threads > 0 ? predictor->threads : (int)(cores < 1 ? 1 : cores);
    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    return (size_t)threads > problems ? (int)problems : threads;
}

/* Runs the work on several threads. The calling thread works, too, so that it is sufficient if no
 * other thread can be created. */
static void run_all(struct work *work)
{
    pthread_t thread[MOST_THREADS];
    int required = threads_for(work->predictor, work->count), started = 0;
    if (required > 1 && !work->predictor->estimate)
        load_all_engines(work->predictor);
    while (started < required - 1 && pthread_create(&thread[started], NULL, run, work) == 0)
        started++;
    run(work);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
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

static bool same(const struct place *a, const struct place *b)
{
    return a->program == b->program && same_plan(a->recorded, b->recorded) && a->hash == b->hash &&
           a->used == b->used &&
           memcmp(a->words, b->words, (size_t)a->used * sizeof *a->words) == 0;
}

static int order(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_index(const void *left, const void *right)
{
    const struct place *a = *(struct place *const *)left, *b = *(struct place *const *)right;
    int programs = order(a->program, b->program);
    return programs != 0 ? programs : order(a->index, b->index);
}

/* Different problems with one hash may then be queried more than once, which only costs time. */
static int by_problem(const void *left, const void *right)
{
    const struct place *a = *(struct place *const *)left, *b = *(struct place *const *)right;
    int programs = order(a->program, b->program), hashes = order(a->hash, b->hash);
    return programs != 0 ? programs : hashes != 0 ? hashes : order(a->index, b->index);
}

static void ask_each_once(struct work *work, struct place **sorted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool again = i > 0 && same(sorted[i], sorted[i - 1]);
        sorted[i]->first = again ? sorted[i - 1]->first : sorted[i];
        if (!again)
            work->place[work->count++] = sorted[i];
    }
    qsort(work->place, work->count, sizeof *work->place, by_index);
    run_all(work);
    for (size_t i = 0; i < count; i++)
        if (sorted[i]->first != sorted[i])
            work->prediction[sorted[i]->index] = work->prediction[sorted[i]->first->index];
}

bool cs_predict(const struct cs_predictor *predictor, const struct cs_problem *const *problem,
                size_t count, struct cs_prediction *prediction, char *error, size_t size)
{
    struct work work = {.predictor = predictor, .prediction = prediction};
    struct place *place = calloc(count + 1, sizeof *place);
    struct place **pointers = calloc(2 * count + 1, sizeof(struct place *));
    bool good = place && pointers;
    pthread_mutex_init(&work.lock, NULL);
    pthread_cond_init(&work.decided, NULL);
    if (good) {
        for (size_t i = 0; i < count; i++) {
            place_problem(&place[i], problem[i],
                          predictor->recorded ? &predictor->recorded[i] : NULL,
                          predictor->program ? predictor->program[i] : 0, i);
            pointers[i] = &place[i];
        }
        qsort(pointers, count, sizeof *pointers, by_problem);
        work.place = pointers + count;
        ask_each_once(&work, pointers, count);
        good = !atomic_load(&work.failed);
    }
    if (!good)
        snprintf(error, size, "%s", work.error[0] ? work.error : "out of memory");
    pthread_cond_destroy(&work.decided);
    pthread_mutex_destroy(&work.lock);
    free(pointers);
    free(place);
    return good;
}
