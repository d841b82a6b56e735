/* Reads the record at the first decision, writes it at the end of the process. */
#include "flow/earlier_run.h"

#include "flow/instance.h"
#include "flow/request.h"
#include "flow/scoped_limit.h"
#include <string.h>

enum {
    FORMAT = 1, /* of the words below; a new number invalidates earlier records */
    WORDS = CS_KEY_WORDS + 12
};

/* Records are comparable only if no number limits a tiling and no rule changes one. */
static bool is_kept(const struct cs *cs)
{
    return cs->config.keep_record == CS_KEEP_RECORD_ON && cs->limits.workspace < 0 &&
           cs->rules.count == 0 && strcmp(cs->policy->name, "fit") == 0;
}

/* The program, its options, the device and the first convolution. */
static struct cs_store_key key_of(const struct cs *cs, const struct cs_request *request,
                                  int64_t model)
{
    const struct cs_limits *limits = &cs->limits;
    const int64_t options[] = {FORMAT,        (int64_t)cs_program_number(),
                               limits->price, limits->max_slowdown,
                               limits->most,  limits->threshold,
                               limits->lanes, (int64_t)limits->staging,
                               limits->huge,  limits->lent};
    int64_t word[WORDS];
    struct cs_key key;
    _Static_assert(sizeof options / sizeof *options <= WORDS - CS_KEY_WORDS, "room for options");
    cs_memo_key_make(&request->problem, &request->engine, request->required, request->limit, model,
                     &key);
    memcpy(word, key.word, (size_t)key.words * sizeof *word);
    memcpy(word + key.words, options, sizeof options);
    return cs_store_key(word, key.words + (int)(sizeof options / sizeof *options));
}

void cs_earlier_run_begin(struct cs *cs, const struct cs_request *request,
                          const struct cs_vendor *vendor)
{
    struct cs_earlier_run *run = &cs->earlier_run;
    struct cs_store_record record;
    if (!is_kept(cs) || atomic_load(&run->begun) || atomic_exchange(&run->begun, true))
        return;
    int64_t model = vendor->model ? vendor->model(vendor->ctx) : 0;
    if (model == 0)
        return;
    run->key = key_of(cs, request, model);
    run->context = cs_instance_context(cs);
    atomic_store(&run->keyed, true);
    if (cs_store_get(&cs->store, run->key, &record))
        cs_peak_begin(&cs->peak, run->context, record.word[0]);
}

void cs_earlier_run_end(struct cs *cs)
{
    const struct cs_earlier_run *run = &cs->earlier_run;
    const struct cs_account *account = &cs->account;
    if (!atomic_load(&run->keyed) || cs_scoped_limit_used() || account->fallbacks > 0 ||
        account->failed > 0 || account->refused > 0)
        return;
    struct cs_store_record record = {
        .key = run->key, .words = 1, .word = {cs_peak_record(&cs->peak, run->context)}};
    if (record.word[0] > 0)
        cs_store_put(&cs->store, &record);
}

void cs_earlier_run_fork(struct cs *cs)
{
    atomic_store(&cs->earlier_run.keyed, false);
}
