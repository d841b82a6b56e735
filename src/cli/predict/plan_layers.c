/* Plans a list of layers on all cores: cuDNN's own answer for each, and the decision the library
 * would make. */
#include "cli/predict/plan_layers.h"

#include "base/checked.h"
#include "base/hash.h"
#include "cli/predict/estimate.h"
#include "decide/cost.h"
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

/* Of zeros if it is not known. */
static struct cs_cost untiled_cost(const struct cs_problem *problem, int64_t required,
                                   const struct cs_profile *profile, struct cs_plan *plan)
{
    static const struct cs_tiling untiled = {.step = {1, 1}};
    if (!profile || cs_plan_cut(problem, &untiled, plan) != CS_OK)
        return (struct cs_cost){.seconds = 0};
    plan->shape[0].workspace = required;
    return cs_cost_of(plan, profile);
}

/* What tiles cost: memory read again, and time as the library's own model predicts it. */
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

/* As the library decides, but without other processes to share a total with and without a device to
 * time on.
 */
static struct cs_decision decide_as_library(const struct cs_predictor *predictor,
                                            const struct cs_problem *problem,
                                            const struct cs_ask_offer *offer,
                                            const struct cs_vendor *vendor)
{
    const struct cs_decide_call call = {.problem = problem,
                                        .required = offer->workspace,
                                        .engine = predictor->estimate ? ENGINE_UNKNOWN
                                                                      : offer->engine.index};
    return cs_decide_by_rules(&predictor->settings, &call, vendor, NULL);
}

static void decide(const struct cs_predictor *predictor, const struct cs_problem *problem,
                   const struct cs_vendor *vendor, struct cs_prediction *prediction)
{
    struct cs_decision *decision = &prediction->decision;
    *decision = decide_as_library(predictor, problem, &prediction->offer, vendor);
    prediction->peak = sum_of(prediction->floor, prediction->offer.workspace);
    prediction->tiled_peak = sum_of(prediction->floor, decision->reported);
    weigh_tiles(problem, vendor, prediction);
    prediction->status = decision->reason == CS_REASON_HOST_MEMORY ? CS_NOMEM : prediction->status;
}

static void predict(const struct cs_predictor *predictor, struct cs_engine_list *list,
                    const struct cs_problem *problem, struct cs_prediction *prediction)
{
    struct cs_chosen_engine *chosen = NULL;
    struct cs_vendor vendor = cs_estimate_vendor();
    *prediction = (struct cs_prediction){.status = CS_OK};
    weigh(problem, prediction);
    if (predictor->estimate)
        prediction->offer.workspace = cs_estimate_workspace(problem);
    else
        prediction->status =
            cs_engine_list_choose(list, problem, predictor->mode, &prediction->offer, &chosen);
    if (chosen)
        vendor = cs_engine_chosen_vendor(chosen);
    if (prediction->status == CS_OK)
        decide(predictor, problem, &vendor, prediction);
    cs_engine_chosen_destroy(chosen);
}

/* Problems by what they are; equal ones stand side by side, the first of them first. */
struct place {
    const struct cs_problem *problem;
    uint64_t hash;
    size_t index;
    int used;
    int64_t words[CS_PROBLEM_WORDS];
};

struct work {
    const struct cs_predictor *predictor;
    struct place **place;             /* of problems that differ */
    struct cs_prediction *prediction; /* by index */
    size_t count;
    atomic_size_t next;
    atomic_bool failed;
    pthread_mutex_t lock; /* of what follows, and of progress */
    size_t done;
    char error[ERROR_BYTES];
};

static void fail(struct work *work, const char *error)
{
    pthread_mutex_lock(&work->lock);
    if (!atomic_exchange(&work->failed, true))
        snprintf(work->error, sizeof work->error, "%s", error);
    pthread_mutex_unlock(&work->lock);
}

static void report_progress(struct work *work)
{
    const struct cs_predictor *predictor = work->predictor;
    if (!predictor->progress)
        return;
    pthread_mutex_lock(&work->lock);
    predictor->progress(predictor->ctx, ++work->done, work->count);
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
        struct cs_prediction *prediction = &work->prediction[work->place[at]->index];
        predict(work->predictor, list, work->place[at]->problem, prediction);
        if (prediction->status == CS_NOMEM)
            fail(work, "out of memory");
        report_progress(work);
    }
    cs_engine_list_destroy(list);
    return NULL;
}

static int threads_for(const struct cs_predictor *predictor, size_t problems)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = predictor->threads > 0 ? predictor->threads : (int)(cores < 1 ? 1 : cores);
    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    return (size_t)threads > problems ? (int)problems : threads;
}

/* The calling thread works, too: it is enough if no other can be had. */
static void run_all(struct work *work)
{
    pthread_t thread[MOST_THREADS];
    int required = threads_for(work->predictor, work->count), started = 0;
    while (started < required - 1 && pthread_create(&thread[started], NULL, run, work) == 0)
        started++;
    run(work);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
}

static void place_problem(struct place *place, const struct cs_problem *problem, size_t index)
{
    place->problem = problem;
    place->index = index;
    place->used = cs_problem_words(problem, place->words);
    place->hash = cs_hash_words(CS_HASH_START, place->words, place->used);
}

static bool same(const struct place *a, const struct place *b)
{
    return a->hash == b->hash && a->used == b->used &&
           memcmp(a->words, b->words, (size_t)a->used * sizeof *a->words) == 0;
}

/* By hash, then by place in the list; problems of one hash that differ are then asked more than
 * once, which costs time alone. */
static int compare(const void *left, const void *right)
{
    const struct place *a = *(struct place *const *)left, *b = *(struct place *const *)right;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static void ask_each_once(struct work *work, struct place **sorted, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (i == 0 || !same(sorted[i], work->place[work->count - 1]))
            work->place[work->count++] = sorted[i];
    run_all(work);
    for (size_t i = 0, from = 0; i < count; i++) {
        if (from + 1 < work->count && sorted[i] == work->place[from + 1])
            from++;
        if (work->place[from] != sorted[i])
            work->prediction[sorted[i]->index] = work->prediction[work->place[from]->index];
    }
}

bool cs_predict(const struct cs_predictor *predictor, const struct cs_problem *const *problem,
                size_t count, struct cs_prediction *prediction, char *error, size_t size)
{
    struct work work = {.predictor = predictor, .prediction = prediction};
    struct place *place = calloc(count + 1, sizeof *place);
    struct place **pointers = calloc(2 * count + 1, sizeof(struct place *));
    bool good = place && pointers;
    pthread_mutex_init(&work.lock, NULL);
    if (good) {
        for (size_t i = 0; i < count; i++) {
            place_problem(&place[i], problem[i], i);
            pointers[i] = &place[i];
        }
        qsort(pointers, count, sizeof *pointers, compare);
        work.place = pointers + count;
        ask_each_once(&work, pointers, count);
        good = !atomic_load(&work.failed);
    }
    if (!good)
        snprintf(error, size, "%s", work.error[0] ? work.error : "out of memory");
    pthread_mutex_destroy(&work.lock);
    free(pointers);
    free(place);
    return good;
}
