/* The counters: one table of convolutions in a block of at most 8 MiB, counted without locks. A
 * lock is taken only to add a row. */
#include "account/account.h"

#include "base/checked.h"
#include "base/hash.h"
#include "base/invariant.h"
#include <stdio.h>
#include <string.h>

_Static_assert(CS_MAX_SITES + 1 < 1 << 12, "places no longer fit PLACE_BITS");

enum {
    COUNT_BITS = 44, /* bits of a count, which a million calls a second fill in half a year */
    TENANTS = 1 << (64 - COUNT_BITS), /* numbers of tenants, after which they repeat */
    PLACE_BITS =
        12, /* bits of a call number's table entry for the site's place; the tenant has the rest */
    KEY_WORDS = CS_PROBLEM_WORDS + 9 + 2 * CS_MAX_CUTS + 3 * (CS_MAX_RUNS - 1)
};

/* All facts of a site as a row of integers. Structs have padding, which memcmp would compare. */
struct key {
    int words;
    int64_t word[KEY_WORDS];
};

/* Makes the key of facts. Facts that are no part of a site's identity are left out. */
static void make_key(const struct cs_site_facts *facts, struct key *key)
{
    const struct cs_tiling *tiling = &facts->tiling;
    const int64_t rest[] = {facts->engine,
                            facts->reason,
                            tiling->axis[0],
                            tiling->step[0],
                            tiling->axis[1],
                            tiling->step[1],
                            facts->tiles,
                            facts->required,
                            facts->possible,
                            tiling->lanes > 1 ? tiling->lanes : 1,
                            tiling->relaxation,
                            facts->rule,
                            tiling->staged | tiling->equal_padding << 1};
    key->words = cs_problem_words(&facts->problem, key->word);
    memcpy(key->word + key->words, rest, sizeof rest);
    key->words += (int)(sizeof rest / sizeof rest[0]);
    for (int i = 0; i < tiling->runs; i++) {
        key->word[key->words++] = tiling->run[i].step;
        key->word[key->words++] = tiling->run[i].tiles;
        key->word[key->words++] = tiling->run[i].relaxation;
    }
}

static bool has_key(const struct cs_site_facts *facts, const struct key *key)
{
    struct key other;
    make_key(facts, &other);
    return other.words == key->words &&
           memcmp(other.word, key->word, (size_t)key->words * sizeof key->word[0]) == 0;
}

/* Hashes a key by FNV-1a in words, with a fold, because single bits of a word reach only the upper
 * bits. Summaries name problems by this hash, so it must not change. */
static uint64_t hash_of(const struct key *key)
{
    uint64_t hash = CS_HASH_START;
    for (int i = 0; i < key->words; i++) {
        hash = (hash ^ (uint64_t)key->word[i]) * CS_HASH_PRIME;
        hash ^= hash >> 29;
    }
    return hash;
}

char *cs_account_problem_id(const struct cs_problem *problem, char id[CS_SITE_ID])
{
    struct key key;
    key.words = cs_problem_words(problem, key.word);
    snprintf(id, CS_SITE_ID, "%016llx", (unsigned long long)hash_of(&key));
    return id;
}

/* All counters are relaxed: no reader infers one counter from another, and a summary that is
 * written while threads run describes no exact moment. */
static int64_t add_to(_Atomic int64_t *counter, int64_t amount)
{
    return atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

static uint64_t tag_of(uint32_t tenant)
{
    return (uint64_t)tenant << COUNT_BITS;
}

static int64_t count_of(uint64_t tagged)
{
    return (int64_t)(tagged & (tag_of(1) - 1));
}

/* Adds to a counter. False, without a count, if the site has another tenant now. */
static bool add_tagged(cs_tagged *counter, uint32_t tenant, int64_t amount)
{
    uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    do {
        if (before >> COUNT_BITS != tenant)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(counter, &before, before + (uint64_t)amount,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

int64_t cs_account_site_count(const struct cs_site *site, enum cs_counter counter)
{
    return count_of(atomic_load_explicit(&site->counter[counter], memory_order_relaxed));
}

void cs_account_init(struct cs_account *account)
{
    cs_lock_init(&account->lock, CS_RANK_ACCOUNT);
}

static bool is_smaller(const struct cs_site *a, const struct cs_site *b)
{
    return a->saved != b->saved ? a->saved < b->saved : a->required < b->required;
}

/* Finds the site to fold when the table is full. The result is kept, so that a program with many
 * shapes searches only when it adds a new one.
 *
 * Called with the lock held, like the following functions up to cs_account_site. */
static void find_smallest(struct cs_account *account)
{
    account->smallest = 0;
    for (int i = 1; i < CS_MAX_SITES; i++)
        if (is_smaller(&account->site[i], &account->site[account->smallest]))
            account->smallest = i;
}

/* Resets a site's counters. Calls by references to the earlier tenant count as folded from now on.
 */
static void clear_site(struct cs_account *account, struct cs_site *site, uint32_t tenant)
{
    site->tenant = tenant;
    for (int i = 0; i < CS_COUNTERS; i++) {
        uint64_t before = atomic_exchange(&site->counter[i], tag_of(tenant));
        add_to(&account->folded[i], count_of(before));
    }
    site->first = site->last = tag_of(tenant);
    account->folded_host += site->host;
    site->host = site->prepared = 0;
}

static void fill_site(struct cs_account *account, int index, const struct cs_site *measures,
                      const struct cs_site_facts *facts, uint64_t hash)
{
    struct cs_site *site = &account->site[index];
    site->required = measures->required;
    site->saved = measures->saved;
    memcpy(site->name, measures->name, sizeof site->name);
    account->hash[index] = hash;
    account->facts[index] = *facts;
}

/* Adds a site and returns its index, or CS_MAX_SITES if the new site is folded. */
static int add_site(struct cs_account *account, const struct cs_site_facts *facts, uint64_t hash,
                    const char *name)
{
    int index = atomic_load_explicit(&account->sites, memory_order_relaxed);
    struct cs_site measures = {.required = facts->required,
                               .saved = facts->required - facts->possible};
    strncat(measures.name, name, sizeof measures.name - 1);
    if (index < CS_MAX_SITES) {
        fill_site(account, index, &measures, facts, hash);
        /* Last, so that threads that read the table without the lock find only complete rows. */
        atomic_store_explicit(&account->sites, index + 1, memory_order_release);
        if (index + 1 == CS_MAX_SITES)
            find_smallest(account);
        return index;
    }
    add_to(&account->folds, 1);
    index = account->smallest;
    struct cs_site *site = &account->site[index];
    if (!is_smaller(site, &measures))
        return CS_MAX_SITES;
    clear_site(account, site, (site->tenant + 1) % TENANTS);
    fill_site(account, index, &measures, facts, hash);
    find_smallest(account);
    return index;
}

/* Returns the index of the site with a key, or -1. The search is linear, by hash first: it runs
 * when a plan is made, which takes much longer. */
static int find_site(const struct cs_account *account, const struct key *key, uint64_t hash)
{
    for (int i = 0; i < account->sites; i++)
        if (account->hash[i] == hash && has_key(&account->facts[i], key))
            return i;
    return -1;
}

/* True if the row of an index has the facts of its hash, and the row to fold next is the smallest
 * of a full table. */
static bool is_sound(const struct cs_account *account, int index)
{
    struct key key;
    int sites = account->sites;
    if (sites < 0 || sites > CS_MAX_SITES || index < 0 || index > sites)
        return false;
    for (int i = 0; sites == CS_MAX_SITES && i < sites; i++)
        if (is_smaller(&account->site[i], &account->site[account->smallest]))
            return false;
    if (index == CS_MAX_SITES)
        return true;
    make_key(&account->facts[index], &key);
    return index < sites && account->hash[index] == hash_of(&key) &&
           account->site[index].tenant < TENANTS &&
           account->site[index].required == account->facts[index].required;
}

struct cs_site_ref cs_account_site(struct cs_account *account, const struct cs_site_facts *facts,
                                   const char *name)
{
    struct key key;
    make_key(facts, &key);
    struct cs_site_ref site = {
        .hash = hash_of(&key), .required = facts->required, .possible = facts->possible};
    cs_lock(&account->lock);
    int index = find_site(account, &key, site.hash);
    if (index < 0)
        index = add_site(account, facts, site.hash, name);
    if (index < CS_MAX_SITES)
        site.tenant = account->site[index].tenant;
    CS_INVARIANT(is_sound(account, index));
    cs_unlock(&account->lock);
    site.place = (uint32_t)index + 1; /* from 1: a reference of zeros is empty */
    return site;
}

/* Returns the site at the place of a reference, which may have another tenant now. NULL without a
 * place. */
static struct cs_site *site_of(struct cs_account *account, const struct cs_site_ref *site)
{
    if (!site || site->place == 0 || site->place > CS_MAX_SITES)
        return NULL;
    return &account->site[site->place - 1];
}

void cs_account_prepared(struct cs_account *account, const struct cs_site_ref *ref,
                         int64_t nanoseconds)
{
    cs_lock(&account->lock);
    struct cs_site *site = site_of(account, ref);
    if (site && site->tenant == ref->tenant) {
        site->prepared++;
        site->host += nanoseconds;
    } else {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): no account is NULL */
        account->folded_host += nanoseconds;
    }
    cs_unlock(&account->lock);
}

bool cs_account_facts(struct cs_account *account, const struct cs_site_ref *ref,
                      struct cs_site_facts *facts)
{
    cs_lock(&account->lock);
    const struct cs_site *site = site_of(account, ref);
    bool known = site && site->tenant == ref->tenant;
    if (known)
        *facts = account->facts[ref->place - 1];
    cs_unlock(&account->lock);
    return known;
}

static void add_count(struct cs_account *account, const struct cs_site_ref *ref,
                      enum cs_counter counter, int64_t amount)
{
    struct cs_site *site = site_of(account, ref);
    if (ref && ref->place && !(site && add_tagged(&site->counter[counter], ref->tenant, amount)))
        add_to(&account->folded[counter], amount);
}

/* Records the number of a site's call. If two threads make its first calls at once, either may be
 * recorded as the first, because concurrent calls have no order. */
static void note_order(struct cs_account *account, const struct cs_site_ref *ref, int64_t number)
{
    struct cs_site *site = site_of(account, ref);
    if (!site)
        return;
    uint64_t tagged = tag_of(ref->tenant) | (uint64_t)number;
    uint64_t first = atomic_load_explicit(&site->first, memory_order_relaxed);
    if (first == tag_of(ref->tenant))
        atomic_store_explicit(&site->first, tagged, memory_order_relaxed);
    if (first >> COUNT_BITS == ref->tenant)
        atomic_store_explicit(&site->last, tagged, memory_order_relaxed);
    if (number <= CS_ORDER)
        atomic_store_explicit(&account->order[number - 1], ref->tenant << PLACE_BITS | ref->place,
                              memory_order_relaxed);
}

int cs_account_order(const struct cs_account *account, int64_t number)
{
    uint32_t noted = atomic_load_explicit(&account->order[number - 1], memory_order_relaxed);
    int index = (int)(noted & ((1U << PLACE_BITS) - 1)) - 1;
    return index >= 0 && account->site[index].tenant == noted >> PLACE_BITS ? index : -1;
}

/* Counts a call with its launches, and returns its number. A call increments this counter last, so
 * that a reader of the number sees the others. */
static int64_t number_of_call(struct cs_account *account, int64_t launches)
{
    const int64_t number = atomic_fetch_add_explicit(&account->calls, 1, memory_order_release) + 1;
    if (number <= CS_ORDER)
        atomic_store_explicit(&account->launches_of[number - 1], (int32_t)launches,
                              memory_order_relaxed);
    return number;
}

/* Counts an execution with any outcome. `reported` is the workspace it had to run with, `possible`
 * that of a decision that is only reported. */
static void count_call(struct cs_account *account, const struct cs_site_ref *site, int64_t launches,
                       int64_t reported, int64_t possible)
{
    if (!site || site->place == 0) {
        (void)number_of_call(account, launches);
        return;
    }
    cs_raise_atomic(&account->required_max, site->required);
    cs_raise_atomic(&account->reported_max, reported);
    cs_raise_atomic(&account->possible_max, possible);
    const int64_t number = number_of_call(account, launches);
    add_count(account, site, CS_COUNT_CALLS, 1);
    note_order(account, site, number);
}

void cs_account_passed(struct cs_account *account, const struct cs_site_ref *site,
                       enum cs_reason reason)
{
    int64_t required = site ? site->required : 0;
    add_to(&account->passed[reason], 1);
    count_call(account, site, 1, required,
               site && reason == CS_REASON_REPORT_ONLY ? site->possible : required);
}

void cs_account_tiled(struct cs_account *account, const struct cs_site_ref *site, int64_t launches,
                      int lanes)
{
    cs_raise_atomic(&account->lanes, lanes);
    add_to(&account->tiled_calls, 1);
    add_to(&account->launches, launches);
    add_count(account, site, CS_COUNT_TILED, 1);
    add_count(account, site, CS_COUNT_LAUNCHES, launches);
    count_call(account, site, launches, site->possible, site->possible);
}

void cs_account_added(struct cs_account *account, int64_t least_ns, int64_t most_ns)
{
    add_to(&account->added_ns, least_ns);
    add_to(&account->added_most_ns, most_ns);
}

void cs_account_fallback(struct cs_account *account, const struct cs_site_ref *site)
{
    add_to(&account->fallbacks, 1);
    add_count(account, site, CS_COUNT_FALLBACKS, 1);
    count_call(account, site, 1, site->possible, site->possible);
}

void cs_account_failed(struct cs_account *account, const struct cs_site_ref *site)
{
    add_to(&account->failed, 1);
    add_count(account, site, CS_COUNT_FAILED, 1);
    count_call(account, site, 0, site->possible, site->possible);
}

void cs_account_refused(struct cs_account *account)
{
    add_to(&account->refused, 1);
}

void cs_account_reset(struct cs_account *account)
{
    account->calls = account->tiled_calls = account->fallbacks = account->failed = 0;
    account->refused = 0;
    account->launches = account->lanes = account->required_max = account->reported_max = 0;
    account->possible_max = account->added_ns = account->added_most_ns = 0;
    for (int i = 0; i < CS_REASONS; i++)
        account->passed[i] = 0;
    for (int i = account->sites - 1; i >= 0; i--)
        clear_site(account, &account->site[i], account->site[i].tenant);
    for (int i = 0; i < CS_COUNTERS; i++)
        account->folded[i] = 0;
    for (int i = 0; i < CS_ORDER; i++) {
        account->order[i] = 0;
        account->launches_of[i] = 0;
    }
    account->folds = account->folded_host = 0;
}

int64_t cs_account_rule(const struct cs_account *account, int rule)
{
    int64_t calls = 0;
    for (int i = 0; i < account->sites; i++)
        if (account->facts[i].rule == rule)
            calls += cs_account_site_count(&account->site[i], CS_COUNT_CALLS);
    return calls;
}

const char *cs_account_reason_text(enum cs_reason reason)
{
    static const char *const texts[CS_REASONS] = {
        "",
#define CS_REASON(id, text) text,
#include "convshim/reasons.def"
#undef CS_REASON
    };
    return (unsigned)reason < CS_REASONS ? texts[reason] : "";
}

const char *cs_account_reason_id(enum cs_reason reason)
{
    static const char *const ids[CS_REASONS] = {
        "",
#define CS_REASON(id, text) #id,
#include "convshim/reasons.def"
#undef CS_REASON
    };
    return (unsigned)reason < CS_REASONS ? ids[reason] : "";
}
