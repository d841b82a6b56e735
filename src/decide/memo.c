/* A cache of decisions by key with a fixed size. The least recently used one is replaced. */
#include "decide/memo.h"
#include "base/hash.h"
#include "base/invariant.h"
#include <string.h>

/* Hashes words in four independent chains, each in a register. The dependent multiplications of one
 * chain would dominate the cost of a repeated decision. */
static uint64_t hash_words(const int64_t *words, int count)
{
    uint64_t a = 0x9e3779b97f4a7c15u, b = 0xbf58476d1ce4e5b9u, c = 0x94d049bb133111ebu,
             d = 0x2545f4914f6cdd1du;
    int i = 0;
    for (; i + 4 <= count; i += 4) {
        a = cs_hash_word(a, (uint64_t)words[i]);
        b = cs_hash_word(b, (uint64_t)words[i + 1]);
        c = cs_hash_word(c, (uint64_t)words[i + 2]);
        d = cs_hash_word(d, (uint64_t)words[i + 3]);
    }
    for (; i < count; i++)
        a = cs_hash_word(a, (uint64_t)words[i]);
    return cs_hash_word(cs_hash_word(cs_hash_word(a, b), c), d);
}

void cs_memo_key_make(const struct cs_problem *problem, const struct cs_engine *engine,
                      int64_t required, int64_t limit, int64_t scope, struct cs_key *key)
{
    int used = cs_problem_words(problem, key->word);
    key->word[used++] = engine->index;
    key->word[used++] = engine->knobs;
    for (int i = 0; i < engine->knobs; i++) {
        key->word[used++] = engine->knob_type[i];
        key->word[used++] = engine->knob_value[i];
    }
    key->word[used++] = required;
    key->word[used++] = limit;
    key->word[used++] = scope;
    key->words = used;
    key->hash = hash_words(key->word, used);
}

bool cs_memo_key_equal(const struct cs_key *a, const struct cs_key *b)
{
    return a->hash == b->hash && a->words == b->words &&
           memcmp(a->word, b->word, (size_t)a->words * sizeof *a->word) == 0;
}

void cs_memo_init(struct cs_memo *memo)
{
    cs_lock_init(&memo->lock, CS_RANK_MEMO);
    memo->clock = 0;
}

/* True if the entries of the key's set are in their set, each key once and each with its own age.
 */
static bool set_is_sound(const struct cs_memo *memo, const struct cs_key *key)
{
    const struct cs_memo_entry *set = memo->entry[key->hash % CS_MEMO_SETS];
    for (int way = 0; way < CS_MEMO_WAYS; way++) {
        if (set[way].age == 0)
            continue;
        if (set[way].age > memo->clock ||
            set[way].key.hash % CS_MEMO_SETS != key->hash % CS_MEMO_SETS)
            return false;
        for (int other = 0; other < way; other++)
            if (set[other].age == set[way].age || cs_memo_key_equal(&set[other].key, &set[way].key))
                return false;
    }
    return true;
}

static void unlock(struct cs_memo *memo, const struct cs_key *key)
{
    CS_INVARIANT(set_is_sound(memo, key));
    cs_unlock(&memo->lock);
}

static struct cs_memo_entry *find_entry(struct cs_memo *memo, const struct cs_key *key)
{
    struct cs_memo_entry *set = memo->entry[key->hash % CS_MEMO_SETS];
    for (int way = 0; way < CS_MEMO_WAYS; way++) {
        if (set[way].age != 0 && cs_memo_key_equal(&set[way].key, key))
            return &set[way];
    }
    return NULL;
}

static struct cs_memo_entry *oldest_entry(struct cs_memo *memo, const struct cs_key *key)
{
    struct cs_memo_entry *set = memo->entry[key->hash % CS_MEMO_SETS], *least = set;
    for (int way = 1; way < CS_MEMO_WAYS; way++)
        if (set[way].age < least->age)
            least = &set[way];
    return least;
}

bool cs_memo_get(struct cs_memo *memo, const struct cs_key *key, struct cs_decision *decision)
{
    cs_lock(&memo->lock);
    struct cs_memo_entry *entry = find_entry(memo, key);
    if (entry) {
        entry->age = ++memo->clock;
        *decision = entry->decision;
    }
    unlock(memo, key);
    return entry != NULL;
}

/* Replaces the oldest entry of the key's set by one with this key. The caller sets its decision and
 * age, and holds the lock. */
static struct cs_memo_entry *make_entry(struct cs_memo *memo, const struct cs_key *key)
{
    struct cs_memo_entry *entry = oldest_entry(memo, key);
    entry->key.words = key->words;
    entry->key.hash = key->hash;
    memcpy(entry->key.word, key->word, (size_t)key->words * sizeof *key->word);
    return entry;
}

void cs_memo_put(struct cs_memo *memo, const struct cs_key *key, const struct cs_decision *decision)
{
    cs_lock(&memo->lock);
    struct cs_memo_entry *entry = find_entry(memo, key);
    entry = entry ? entry : make_entry(memo, key);
    entry->decision = *decision;
    entry->age = ++memo->clock;
    unlock(memo, key);
}

void cs_memo_add(struct cs_memo *memo, const struct cs_key *key, struct cs_decision *decision)
{
    cs_lock(&memo->lock);
    struct cs_memo_entry *entry = find_entry(memo, key);
    if (entry) {
        *decision = entry->decision;
    } else {
        entry = make_entry(memo, key);
        entry->decision = *decision;
    }
    entry->age = ++memo->clock;
    unlock(memo, key);
}
