/* Finds the tilings to present to the policy, with few queries to the vendor. */
#ifndef CS_DECIDE_SEARCH_H
#define CS_DECIDE_SEARCH_H

#include "decide/shortlist.h"

/* The subject of a decision, the same during all of it. */
struct cs_question {
    const struct cs_problem *problem;
    const struct cs_vendor *vendor;
    const struct cs_profile *profile; /* to predict for */
    int64_t required;                 /* bytes of the untiled plan */
    int64_t limit;                    /* the most bytes of a listed tiling */
    bool copies;                      /* tiles may work on packed copies */
};

/* The set of tilings to search. */
struct cs_mode {
    enum cs_relaxation relaxation; /* of the queried execution plans */
    int lanes;                     /* for the tiles; 0 is 1 */
    bool staged;
};

/* The budget of vendor plans: how many may still be built, and how many were. */
struct cs_purse {
    int64_t left;     /* that may still be built */
    int64_t asked;    /* built, refused ones too */
    int64_t answered; /* those that were not refused */
};

struct cs_search {
    const struct cs_question *question;
    struct cs_purse purse;
    struct cs_shortlist list;
    bool overflowed; /* some cut left 64 bits */
    bool refused;    /* the vendor refused a guess */
    bool
        equal_padding; /* tiles have equal padding from now on, because other padding was refused */
    int unequal;       /* times that equal padding did not help */
    struct cs_plan plan; /* the cut under examination; every function here may replace it */
};

enum cs_probed {
    CS_FITS, /* every shape was queried; listed */
    CS_OVER, /* some shape needs more than the limit */
    CS_HOLE  /* illegal, refused, or no queries left */
};

/* Lists a tiling if it is legal, none of its shapes is refused and it needs at most the limit.
 * *bytes_p is the need of the shape that looks largest, or of one above the limit, staged tensors
 * included. It is not set at a hole. CS_OK with any *probed_p; CS_NOMEM. */
CS_MUST_CHECK enum cs_status cs_search_probe(struct cs_search *search, struct cs_mode mode,
                                             const struct cs_tiling *tiling,
                                             enum cs_probed *probed_p, int64_t *bytes_p);

/* Lists tilings along single axes, for the first axes that have some: `tiles` tiles, or (`tiles` 0)
 * the fewest that need at most the limit. If the vendor's workspaces do not shrink with the tile, a
 * listed tiling may have more than the fewest tiles. CS_OK; CS_NOMEM. */
CS_MUST_CHECK enum cs_status cs_search_axes(struct cs_search *search, struct cs_mode mode,
                                            int64_t tiles);

#endif
