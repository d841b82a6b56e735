#include "account/account.h"

#include <string.h>

enum {
    KEY_WORDS = CS_PROBLEM_WORDS + 8 + 2 * CS_MAX_CUTS + 3 * (CS_MAX_RUNS - 1)
};

/* All facts as a row of integers. */
struct key {
    int words;
    int64_t word[KEY_WORDS];
};

static void make_key(const struct cs_site_facts *facts, struct key *key)
{
    const struct cs_tiling *tiling = &facts->tiling;
    const int64_t rest[] = {facts->engine,    facts->reason,
                            tiling->axis[0],  tiling->step[0],
                            tiling->axis[1],  tiling->step[1],
                            facts->tiles,     facts->wanted,
                            facts->told,      tiling->lanes > 1 ? tiling->lanes : 1,
                            tiling->latitude, facts->rule};
    key->words = cs_problem_words(&facts->problem, key->word);
    memcpy(key->word + key->words, rest, sizeof rest);
    key->words += (int)(sizeof rest / sizeof rest[0]);
    for (int i = 0; i < tiling->runs; i++) {
        key->word[key->words++] = tiling->run[i].step;
        key->word[key->words++] = tiling->run[i].tiles;
        key->word[key->words++] = tiling->run[i].latitude;
    }
}

static uint64_t hash_of(const struct key *key)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (int i = 0; i < key->words; i++) {
        hash = (hash ^ (uint64_t)key->word[i]) * 0x100000001b3;
        hash ^= hash >> 29;
    }
    return hash;
}

static bool has_key(const struct cs_site *site, const struct key *key)
{
    struct key other;
    make_key(&site->facts, &other);
    return other.words == key->words &&
           memcmp(other.word, key->word, (size_t)key->words * sizeof key->word[0]) == 0;
}

static struct cs_site *find(struct cs_account *account, const struct key *key, uint64_t hash)
{
    int sites = atomic_load_explicit(&account->sites, memory_order_acquire);
    for (int i = 0; i < sites; i++) {
        struct cs_site *site = &account->site[i];
        if (site->hash == hash && has_key(site, key))
            return site;
    }
    return NULL;
}

static void raise_to(_Atomic int64_t *most, int64_t value)
{
    int64_t before = atomic_load_explicit(most, memory_order_relaxed);
    while (value > before && !atomic_compare_exchange_weak_explicit(
                                 most, &before, value, memory_order_relaxed, memory_order_relaxed))
        continue;
}

static void add_to(_Atomic int64_t *counter, int64_t amount)
{
    atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

/* Called with the lock held. */
static struct cs_site *add(struct cs_account *account, const struct cs_site_facts *facts,
                           uint64_t hash)
{
    int sites = atomic_load_explicit(&account->sites, memory_order_relaxed);
    struct cs_site *site = &account->site[sites];
    if (sites == CS_MAX_SITES) {
        /* The one that collects the rest does not know these facts when it is executed. */
        raise_to(&account->wanted_max, facts->wanted);
        raise_to(&account->told_max, facts->told);
        return site;
    }
    site->facts = *facts;
    site->hash = hash;
    atomic_store_explicit(&account->sites, sites + 1, memory_order_release);
    return site;
}

void cs_account_init(struct cs_account *account)
{
    pthread_mutex_init(&account->lock, NULL);
}

struct cs_site *cs_account_site(struct cs_account *account, const struct cs_site_facts *facts)
{
    struct key key;
    make_key(facts, &key);
    uint64_t hash = hash_of(&key);
    struct cs_site *site = find(account, &key, hash);
    if (site)
        return site;
    pthread_mutex_lock(&account->lock);
    site = find(account, &key, hash);
    if (!site)
        site = add(account, facts, hash);
    pthread_mutex_unlock(&account->lock);
    return site;
}

/* One execution, whatever became of it. `told` is what it had to run with. */
static void count_call(struct cs_account *account, struct cs_site *site, int64_t told)
{
    add_to(&account->calls, 1);
    if (!site)
        return;
    add_to(&site->calls, 1);
    raise_to(&account->wanted_max, site->facts.wanted);
    raise_to(&account->told_max, told);
}

void cs_account_passed(struct cs_account *account, struct cs_site *site, enum cs_reason reason)
{
    int64_t told = 0;
    if (site)
        told = reason == CS_REASON_REPORT_ONLY ? site->facts.told : site->facts.wanted;
    count_call(account, site, told);
    add_to(&account->passed[reason], 1);
}

void cs_account_tiled(struct cs_account *account, struct cs_site *site, int64_t launches, int lanes)
{
    raise_to(&account->lanes, lanes);
    count_call(account, site, site->facts.told);
    add_to(&account->rewritten, 1);
    add_to(&account->launches, launches);
    add_to(&site->launches, launches);
}

void cs_account_lifeboat(struct cs_account *account, struct cs_site *site)
{
    count_call(account, site, site->facts.told);
    add_to(&account->lifeboats, 1);
    add_to(&site->lifeboats, 1);
}

void cs_account_failed(struct cs_account *account, struct cs_site *site)
{
    count_call(account, site, site->facts.told);
    add_to(&account->failed, 1);
}

static void reset_site(struct cs_site *site)
{
    site->calls = site->launches = site->lifeboats = 0;
}

void cs_account_reset(struct cs_account *account)
{
    account->calls = account->rewritten = account->lifeboats = account->failed = 0;
    account->launches = account->lanes = account->wanted_max = account->told_max = 0;
    for (int i = 0; i < CS_REASONS; i++)
        account->passed[i] = 0;
    for (int i = account->sites - 1; i >= 0; i--)
        reset_site(&account->site[i]);
    reset_site(&account->site[CS_MAX_SITES]);
}

const char *cs_reason_text(enum cs_reason reason)
{
    static const char *const texts[CS_REASONS] = {
        "",
#define CS_REASON(id, text) text,
#include "convshim/reasons.def"
#undef CS_REASON
    };
    return (unsigned)reason < CS_REASONS ? texts[reason] : "";
}
