/* Decisions remembered: a table of fixed size, the longest unused of a set forgotten first.
 * Thread-safe. Decisions are deterministic, so forgetting one costs time and nothing else as long
 * as the vendor builds what it built before. */
#ifndef CS_DECIDE_MEMO_H
#define CS_DECIDE_MEMO_H

#include "base/lock.h"
#include "decide/decide.h"

enum {
    CS_KEY_WORDS = CS_PROBLEM_WORDS + 2 * CS_MAX_KNOBS + 8,
    CS_MEMO_SETS = 512,
    CS_MEMO_WAYS = 4
};

/* Everything that a decision depends on. */
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

/* In place, on zeroed memory. */
void cs_memo_init(struct cs_memo *memo);

/* The key of a problem as this application requires it run: its engine, what that requires, the
 * `limit` that this call provides itself (0: none), and `scope`, any number that separates
 * devices, vendors' versions or configurations. */
void cs_memo_key_make(const struct cs_problem *problem, const struct cs_engine *engine,
                      int64_t required, int64_t limit, int64_t scope, struct cs_key *key);

bool cs_memo_key_equal(const struct cs_key *a, const struct cs_key *b);

/* True and the decision if it is known, but for its choices: many ask, and few want those. `put`
 * takes the place of what was known, its choices only if it has any; `add` does not: *decision
 * becomes what another thread has found out meanwhile, if one has. */
bool cs_memo_get(struct cs_memo *memo, const struct cs_key *key, struct cs_decision *decision);
void cs_memo_put(struct cs_memo *memo, const struct cs_key *key,
                 const struct cs_decision *decision);
void cs_memo_add(struct cs_memo *memo, const struct cs_key *key, struct cs_decision *decision);

/* Notes that the size which *decision reports has been reported to an application, which may
 * provide it later; or makes *decision what it has become meanwhile. `leave` takes the place of a
 * decision to tile, unless its size has been told: false. A decision whose size was told is
 * forgotten after all others of its set. */
void cs_memo_promise(struct cs_memo *memo, const struct cs_key *key, struct cs_decision *decision);
bool cs_memo_leave(struct cs_memo *memo, const struct cs_key *key,
                   const struct cs_decision *decision);

/* The choices of a known decision; none if it is not known. */
void cs_memo_choices(struct cs_memo *memo, const struct cs_key *key, struct cs_choices *choices);

#endif
