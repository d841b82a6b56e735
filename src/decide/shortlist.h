/* The candidates of a decision: the untiled call first, then every tiling that was found to fit. */
#ifndef CS_DECIDE_SHORTLIST_H
#define CS_DECIDE_SHORTLIST_H

#include "convshim/policy.h"
#include "decide/decide.h"

enum {
    CS_MAX_CANDIDATES = CS_MAX_ASKS + 1 /* each but the untiled one has cost an ask */
};

struct cs_shortlist {
    int count; /* at least 1 */
    struct cs_candidate candidate[CS_MAX_CANDIDATES];
};

/* True if no tiling was found yet. */
static inline bool cs_shortlist_empty(const struct cs_shortlist *list)
{
    return list->count == 1;
}

/* Forgets the tilings. */
static inline void cs_shortlist_clear(struct cs_shortlist *list)
{
    list->count = 1;
}

#endif
