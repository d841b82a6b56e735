/* Finding the tilings of one axis that are worth a policy's look, with as few questions to the
 * vendor as it takes. */
#ifndef CS_DECIDE_SEARCH_H
#define CS_DECIDE_SEARCH_H

#include "decide/decide.h"

enum {
    CS_MAX_CANDIDATES = CS_MAX_ASKS + 1 /* each but the untiled one has cost an ask */
};

struct cs_search {
    const struct cs_problem *problem;
    const struct cs_vendor *vendor;
    int64_t limit;       /* bytes that a tiling may need to be listed */
    int64_t asks_left;   /* vendor plans that may still be built */
    int64_t asked;       /* vendor plans built, refused ones too */
    int64_t answered;    /* those that were not refused */
    bool overflowed;     /* some cut left 64 bits */
    struct cs_plan plan; /* the cut under examination */
    int candidates;
    struct cs_candidate candidate[CS_MAX_CANDIDATES];
};

/* Lists the cut of `axis` in tiles of `step` if it is legal, none of its kinds is refused and it
 * needs at most the limit. CS_OK whether listed or not; CS_NOMEM. */
CS_MUST_CHECK enum cs_status cs_search_step(struct cs_search *search, enum cs_axis axis,
                                            int64_t step);

/* Lists the cut of `axis` into the fewest tiles that needs at most the limit, and what it met on
 * the way there. Looks at no cut into more than `most` tiles. Where the vendor's workspaces do not
 * shrink with the tile, what is listed is still true but may not be the fewest. CS_OK whether
 * something was listed or not; CS_NOMEM. */
CS_MUST_CHECK enum cs_status cs_search_fewest(struct cs_search *search, enum cs_axis axis,
                                              int64_t most, int64_t wanted);

#endif
