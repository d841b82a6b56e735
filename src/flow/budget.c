/* Policy `budget`: remembers what every convolution could use and divides the total. */
#include "flow/budget.h"

#include "base/log.h"
#include "base/pages.h"
#include "decide/memo.h"
#include "flow/request.h"
#include <string.h>

enum {
    FORMAT = 3, /* of the words below; another number forgets what was remembered */
    OFFER_WORDS = 3,
    LIMIT_WORDS = 8,  /* of a key, beside those of the problem */
    UNKNOWN_SHARE = 4 /* a site that was not foreseen gets this part of what is left */
};
_Static_assert(CS_MAX_OFFERS *OFFER_WORDS <= CS_STORE_WORDS, "offers are one record");
_Static_assert((int)CS_MAX_OFFERS <= (int)CS_SPLIT_POINTS, "offers are a site's points");

void cs_budget_init(struct cs_budget *budget, int64_t total, uint64_t program)
{
    memset(budget, 0, sizeof *budget);
    cs_lock_init(&budget->lock, CS_RANK_BUDGET);
    budget->total = budget->left = total;
    budget->program = program;
}

/* --- what is remembered ------------------------------------------------------------------------
 */

/* A program's sites on one model of device (0: not known): what it has run elsewhere needs nothing
 * here. The second part is the site's own; rules may give each other limits. */
static struct cs_store_key key_of(const struct cs_budget *budget, const struct cs_request *request,
                                  const struct cs_limits *limits, const struct cs_vendor *vendor)
{
    struct cs_key key;
    const int64_t model = vendor->model ? vendor->model(vendor->ctx) : 0;
    const int64_t whose[] = {FORMAT, (int64_t)budget->program, model};
    const int64_t under[LIMIT_WORDS] = {limits->threshold,    limits->lanes,      limits->lent,
                                        limits->max_slowdown, limits->min_saving, limits->staging,
                                        limits->exceeds,      limits->huge};
    int64_t word[CS_KEY_WORDS + LIMIT_WORDS];
    cs_memo_key_make(&request->problem, &request->engine, request->required, limits->workspace, 0,
                     &key);
    memcpy(word, key.word, (size_t)key.words * sizeof *word);
    memcpy(word + key.words, under, sizeof under);
    return (struct cs_store_key){{cs_store_key(whose, sizeof whose / sizeof *whose).part[0],
                                  cs_store_key(word, key.words + LIMIT_WORDS).part[1]}};
}

static void write_offers(struct cs_store *store, struct cs_store_key key,
                         const struct cs_offer offer[], int count)
{
    struct cs_store_record record = {.key = key};
    for (int i = 0; i < count; i++) {
        record.word[record.words++] = offer[i].bytes;
        record.word[record.words++] = offer[i].cost;
        record.word[record.words++] = offer[i].limit;
    }
    cs_store_put(store, &record);
}

/* --- dividing --------------------------------------------------------------------------------- */

/* The sites of earlier runs. */
struct known {
    int sites;
    struct cs_split_site site[CS_SPLIT_SITES];
    struct cs_point point[CS_SPLIT_SITES][CS_MAX_OFFERS];
    uint64_t name[CS_SPLIT_SITES];
    int64_t limit[CS_SPLIT_SITES][CS_MAX_OFFERS];
    int chosen[CS_SPLIT_SITES];
    struct cs_split_work work;
};

/* Of bytes and costs: beyond it the sums of all sites would not be divided. */
static const int64_t MOST = INT64_MAX / CS_SPLIT_SITES / 2;

/* What does not look like offers is not ours. */
static void read_offers(void *ctx, const struct cs_store_record *record)
{
    struct known *known = ctx;
    int count = record->words / OFFER_WORDS, site = known->sites;
    if (site == CS_SPLIT_SITES || record->words % OFFER_WORDS != 0 || count > CS_MAX_OFFERS)
        return;
    for (int i = 0; i < count; i++) {
        const int64_t *word = &record->word[OFFER_WORDS * i];
        known->point[site][i] = (struct cs_point){word[0], word[1], i};
        known->limit[site][i] = word[2];
        if (word[0] < 0 || word[0] > MOST || word[1] < 0 || word[1] > MOST || word[2] < 0)
            return;
    }
    int points = cs_split_pareto(known->point[site], count);
    known->site[site] = (struct cs_split_site){known->point[site], points};
    known->name[site] = record->key.part[1];
    known->sites++;
}

static void give(struct cs_budget *budget, uint64_t site, int64_t bytes, int64_t limit)
{
    if (budget->shares == CS_MAX_SHARES)
        return;
    budget->share[budget->shares++] = (struct cs_share){site, limit};
    if (__builtin_sub_overflow(budget->left, bytes, &budget->left))
        budget->left = INT64_MIN;
}

static void warn(struct cs_budget *budget, const char *why)
{
    char text[CS_SIZE_TEXT];
    if (!budget->reported)
        cs_log(CS_LOG_WARN, "budget.total, %s, %s: some convolutions go beyond it",
               cs_log_size_text(text, budget->total), why);
    budget->reported = true;
}

/* Where not even the least of all fits, everybody gets the least. */
static void divide(struct cs_budget *budget, struct known *known)
{
    struct cs_split split = {0};
    memset(known->chosen, 0, sizeof known->chosen);
    if (cs_split(known->site, known->sites, budget->total, &known->work, known->chosen, &split) !=
        CS_OK) {
        memset(known->chosen, 0, sizeof known->chosen);
        warn(budget, "is less than all of them need at the least");
    }
    for (int i = 0; i < known->sites; i++) {
        const struct cs_point *point = &known->point[i][known->chosen[i]];
        give(budget, known->name[i], point->bytes, known->limit[i][point->tag]);
    }
    cs_log(CS_LOG_DEBUG, "budget: %d convolutions of earlier runs share %lld of %lld bytes",
           known->sites, (long long)(budget->total - budget->left), (long long)budget->total);
}

static void begin(struct cs_budget *budget, struct cs_store *store, uint64_t part)
{
    struct known *known = cs_pages(sizeof *known);
    budget->begun = true;
    if (!known)
        return;
    cs_store_each(store, part, read_offers, known);
    if (known->sites > 0)
        divide(budget, known);
    cs_pages_free(known, sizeof *known);
}

static bool find(const struct cs_budget *budget, uint64_t site, int64_t *limit_p)
{
    for (int i = 0; i < budget->shares; i++) {
        if (budget->share[i].site == site) {
            *limit_p = budget->share[i].limit;
            return true;
        }
    }
    return false;
}

/* The cheapest within a part of what is left, for others will come; if none is, the least. Also
 * where nobody would remember the share: the next question is to get the same answer. */
static int pick(struct cs_budget *budget, const struct cs_offer offer[], int count)
{
    int chosen = 0;
    for (int i = 1; i < count && budget->shares < CS_MAX_SHARES; i++)
        if (offer[i].bytes <= budget->left / UNKNOWN_SHARE)
            chosen = i;
    if (offer[chosen].bytes > budget->left)
        warn(budget, "was given to those before");
    return chosen;
}

int64_t cs_budget_limit(struct cs_budget *budget, struct cs_store *store,
                        const struct cs_request *request, const struct cs_policy *policy,
                        const struct cs_limits *limits, const struct cs_vendor *vendor)
{
    struct cs_offer offer[CS_MAX_OFFERS];
    const struct cs_store_key key = key_of(budget, request, limits, vendor);
    int64_t limit;
    cs_lock(&budget->lock);
    if (!budget->begun)
        begin(budget, store, key.part[0]);
    bool found = find(budget, key.part[1], &limit);
    cs_unlock(&budget->lock);
    if (found)
        return limit;
    /* Unlocked: building plans takes time. */
    int count = cs_offers(&request->problem, request->required, policy, limits, vendor, offer);
    cs_lock(&budget->lock);
    found = find(budget, key.part[1], &limit);
    if (!found) {
        int chosen = pick(budget, offer, count);
        limit = offer[chosen].limit;
        give(budget, key.part[1], offer[chosen].bytes, limit);
    }
    cs_unlock(&budget->lock);
    if (!found)
        write_offers(store, key, offer, count);
    return limit;
}
