/* Dividing one budget of bytes among call sites, each of which can be run in several ways: the
 * least total cost whose bytes stay within it (a multiple-choice knapsack, as micro-cuDNN's
 * workspace division). Pure: the caller gives the memory, the same input gives the same answer.
 *
 * Found by dynamic programming over Pareto sets of partial choices, site by site, that drops what
 * the linear relaxation of the sites to come proves to be no better than a solution known already.
 * A greedy choice along the sites' lower hulls is not good enough: of 1000 random programs of 20
 * sites with 2 to 7 points each it cost over 1 % more in 399, up to 15 % (skipping what does not
 * fit and filling up what is left: 162, up to 9 %), of 6 sites up to 43 % (35 %), and in the
 * families of tests/unit/decide/test_split.c up to 8.9 % (0.8 %).
 *
 * Literature: Pisinger, "A minimal algorithm for the multiple-choice knapsack problem", 1995. */
#ifndef CS_DECIDE_SPLIT_H
#define CS_DECIDE_SPLIT_H

#include "convshim/status.h"
#include <stdint.h>

enum {
    CS_SPLIT_SITES = 256,
    CS_SPLIT_POINTS = 32,       /* of a site */
    CS_SPLIT_STATES = 1 << 17,  /* partial choices kept of one site */
    CS_SPLIT_HISTORY = 3 << 20, /* and of all sites together */
    CS_SPLIT_EDGES = CS_SPLIT_SITES * (CS_SPLIT_POINTS - 1)
};

/* One way to run a call. */
struct cs_point {
    int64_t bytes; /* >= 0 */
    int64_t cost; /* >= 0; whole numbers of any unit that adds up, such as picoseconds, so that sums
                     are exact */
    int tag;      /* the caller's */
};

/* Leaves of `points` those that no other beats in bytes and cost, in order of bytes, and so of
 * falling cost; of equal ones the first. Returns how many. */
int cs_split_pareto(struct cs_point *point, int points);

struct cs_split_site {
    const struct cs_point *point; /* a Pareto set, as cs_split_pareto makes it */
    int points;                   /* [1, CS_SPLIT_POINTS] */
};

struct cs_split {
    int64_t bytes, cost; /* of what was chosen, all sites together */
    int64_t bound;       /* nothing costs less than this: = cost if what was chosen is proved to be
                            the best, which it is unless partial choices had to be dropped unproved */
};

/* What cs_split works with; needs no initial value. Some 40 MB, of which an ordinary problem
 * touches little. */
struct cs_split_work {
    struct cs_split_edge {
        int64_t bytes, gain; /* from one point of a site's lower hull to the next */
        int site, to;
    } edge[CS_SPLIT_EDGES];
    int64_t edge_bytes[CS_SPLIT_EDGES + 1], edge_gain[CS_SPLIT_EDGES + 1]; /* sums before each */
    struct cs_split_state {
        int64_t bytes, cost, bound;
        uint32_t entry; /* in the history; of one being made: that it is added to */
        uint8_t point;  /* of the site taken last */
    } state[2][CS_SPLIT_STATES];
    struct cs_split_entry {
        uint32_t before; /* the entry that this choice was added to */
        uint8_t point;
    } history[CS_SPLIT_HISTORY];
};

/* Chooses a point of every site: chosen[i] of site i. CS_ILLEGAL if even the fewest bytes of all
 * sites are beyond the budget, or a count is beyond its limit; CS_OVERFLOW if a sum leaves 62 bits.
 */
CS_MUST_CHECK enum cs_status cs_split(const struct cs_split_site *site, int sites, int64_t budget,
                                      struct cs_split_work *work, int chosen[],
                                      struct cs_split *split);

#endif
