/* Policy `measure`: times the best candidates once and keeps the fastest between runs. */
#include "flow/measure.h"

#include "base/checked.h"
#include "base/hash.h"
#include "base/log.h"
#include "decide/memo.h"
#include "flow/request.h"
#include <math.h>
#include <string.h>

enum {
    LITTLE = 16 << 20,
    FORMAT = 4, /* of the words below; a new number invalidates earlier measurements */
    TILING_WORDS = 2 * CS_MAX_CUTS + 2,
    WORDS = CS_KEY_WORDS + CS_MAX_CONTENDERS * TILING_WORDS + 8
};
_Static_assert(TILING_WORDS + 2 <= CS_STORE_WORDS, "a tiling with its time is a record");

/* The assumed gain of lanes that overlap, as in policy fit. */
static const double LANES_GAIN = 0.8;

/* The members of a tiling that are usually equal, in one word. */
static int64_t rest_of(const struct cs_tiling *tiling)
{
    uint64_t rest = (uint64_t)tiling->relaxation | (uint64_t)tiling->equal_padding << 8 |
                    (uint64_t)tiling->staged << 9;
    for (int i = 0; i < tiling->runs; i++) {
        const struct cs_run *run = &tiling->run[i];
        const int64_t word[] = {run->step, run->tiles, run->relaxation};
        rest = cs_hash_words(rest, word, sizeof word / sizeof *word);
    }
    return (int64_t)rest;
}

static int add_tiling(const struct cs_tiling *tiling, int64_t word[TILING_WORDS])
{
    for (int i = 0; i < CS_MAX_CUTS; i++) {
        word[2 * i] = tiling->axis[i];
        word[2 * i + 1] = tiling->step[i];
    }
    word[2 * CS_MAX_CUTS] = tiling->lanes;
    word[2 * CS_MAX_CUTS + 1] = rest_of(tiling);
    return TILING_WORDS;
}

/* A key of all data that the result depends on, equal in every process: the contenders, the problem
 * and the model of the device. False if the model is unknown. */
static bool key_of(const struct cs_measure *measure, const struct cs_candidate *const contender[],
                   int count, struct cs_store_key *key_p)
{
    const struct cs_vendor *vendor = measure->vendor;
    const struct cs_request *request = measure->request;
    int64_t word[WORDS], model = vendor->model ? vendor->model(vendor->ctx) : 0;
    struct cs_key key;
    if (model == 0)
        return false;
    cs_memo_key_make(&request->problem, &request->engine, request->required,
                     measure->limits->workspace, model, &key);
    memcpy(word, key.word, (size_t)key.words * sizeof *word);
    int words = key.words;
    word[words++] = FORMAT;
    for (int i = 0; i < count; i++)
        words += add_tiling(&contender[i]->tiling, &word[words]);
    *key_p = cs_store_key(word, words);
    return true;
}

/* The contender that a record names. -1: the record is not valid here. */
static int named(const struct cs_store_record *record, const struct cs_candidate *const contender[],
                 int count)
{
    int64_t word[TILING_WORDS];
    for (int i = 0; i < count; i++) {
        add_tiling(&contender[i]->tiling, word);
        if (record->words >= TILING_WORDS && memcmp(word, record->word, sizeof word) == 0)
            return i;
    }
    return -1;
}

/* The most bytes of scratch data: the call's own requirement, which is usually about the size of
 * the operands, and twice the tiles' limit. A small amount is always allowed. */
static int64_t most_scratch(const struct cs_measure *measure)
{
    int64_t tiles, most;
    if (!cs_mul(measure->limits->workspace, 2, &tiles) ||
        !cs_add(measure->request->required, tiles, &most))
        return INT64_MAX;
    return most > LITTLE ? most : LITTLE;
}

static enum cs_status time_one(const struct cs_measure *measure,
                               const struct cs_candidate *candidate, double *seconds_p)
{
    const struct cs_vendor *vendor = measure->vendor;
    struct cs_plan plan;
    double seconds;
    enum cs_status status = cs_plan_cut(&measure->request->problem, &candidate->tiling, &plan);
    if (status == CS_OK)
        status = vendor->time(vendor->ctx, &plan, most_scratch(measure), &seconds);
    if (status == CS_OK && !(seconds >= 0 && seconds < INFINITY))
        status = CS_REFUSED;
    if (status == CS_OK)
        *seconds_p = plan.lanes > 1 ? seconds * LANES_GAIN : seconds;
    return status;
}

/* The fastest. -1 if one of them could not run, because the comparison is then incomplete. */
static int compare(const struct cs_measure *measure, const struct cs_candidate *const contender[],
                   int count, double *seconds_p)
{
    int fastest = -1;
    double least = INFINITY;
    for (int i = 0; measure->vendor->time && i < count; i++) {
        double seconds;
        if (time_one(measure, contender[i], &seconds) != CS_OK)
            return -1;
        cs_log(CS_LOG_DEBUG, "measured: %s x %lld on %d, %.3f ms",
               cs_axis_tiling_name(&contender[i]->tiling), (long long)contender[i]->tiles,
               contender[i]->tiling.lanes > 1 ? contender[i]->tiling.lanes : 1, seconds * 1e3);
        if (seconds < least) {
            least = seconds;
            fastest = i;
        }
    }
    *seconds_p = least;
    return fastest;
}

static int choose(void *ctx, const struct cs_candidate *const contender[], int count)
{
    const struct cs_measure *measure = ctx;
    struct cs_store_record record;
    double seconds = 0;
    struct cs_store_key key;
    if (!key_of(measure, contender, count, &key))
        return 0;
    if (cs_store_get(measure->store, key, &record)) {
        int known = named(&record, contender, count);
        return known < 0 ? 0 : known;
    }
    int fastest = compare(measure, contender, count, &seconds);
    record = (struct cs_store_record){.key = key, .words = TILING_WORDS};
    add_tiling(&contender[fastest < 0 ? 0 : fastest]->tiling, record.word);
    if (fastest >= 0) {
        record.word[record.words++] = seconds < 1e6 ? (int64_t)(seconds * 1e12) : INT64_MAX;
        cs_store_put(measure->store, &record);
    } else {
        cs_log(CS_LOG_DEBUG, "not measured: %s x %lld, of %d ways",
               cs_axis_tiling_name(&contender[0]->tiling), (long long)contender[0]->tiles, count);
        cs_store_add(measure->store, &record);
    }
    /* If another thread or process was first, its result applies. */
    int known = cs_store_get(measure->store, key, &record) ? named(&record, contender, count) : -1;
    return known >= 0 ? known : fastest < 0 ? 0 : fastest;
}

struct cs_referee cs_measure_referee(struct cs_measure *measure)
{
    return (struct cs_referee){measure, choose};
}
