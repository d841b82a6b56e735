/* A cache of decisions: a table of fixed size. In each set the least recently used decision is
 * replaced. Thread-safe. No reported size depends on it: a lost decision is made again. */
#ifndef CS_DECIDE_MEMO_H
#define CS_DECIDE_MEMO_H

#include "base/lock.h"
#include "decide/decide.h"

enum {
    CS_KEY_WORDS = CS_PROBLEM_WORDS + 2 * CS_MAX_KNOBS + 8,
    CS_MEMO_SETS = 512,
    CS_MEMO_WAYS = 4
};

/* All data that a decision depends on. */
struct cs_key {
    int words;
    uint64_t hash;
    int64_t word[CS_KEY_WORDS];
};

struct cs_memo_entry {
    uint64_t age; /* the clock at its last use; 0: empty */
    struct cs_key key;
    struct cs_decision decision;
};

struct cs_memo {
    struct cs_lock lock;
    uint64_t clock;
    struct cs_memo_entry entry[CS_MEMO_SETS][CS_MEMO_WAYS];
};

/* Initializes zeroed memory. */
void cs_memo_init(struct cs_memo *memo);

/* The key of a problem with the application's engine, the workspace that it requires, the provided
 * `limit` (0: none), and `scope`, any number that separates devices, vendor versions or
 * configurations. */
void cs_memo_key_make(const struct cs_problem *problem, const struct cs_engine *engine,
                      int64_t required, int64_t limit, int64_t scope, struct cs_key *key);

bool cs_memo_key_equal(const struct cs_key *a, const struct cs_key *b);

/* cs_memo_get returns true and the decision if the key is known. cs_memo_put stores a decision, and
 * replaces a known one. cs_memo_add stores it only if the key is unknown. Otherwise *decision
 * becomes the decision that another thread has added. */
bool cs_memo_get(struct cs_memo *memo, const struct cs_key *key, struct cs_decision *decision);
void cs_memo_put(struct cs_memo *memo, const struct cs_key *key,
                 const struct cs_decision *decision);
void cs_memo_add(struct cs_memo *memo, const struct cs_key *key, struct cs_decision *decision);

#endif
