/* Placing buffers one on top of the other, each as low as those under it let it, in the orders that
 * can lead to the least peak. Some layout of the least peak comes out of placing in the right
 * order: one in which offsets never fall, and in which nobody is placed above the end that another
 * one could have, since that one could then be moved down below.
 *
 * Time is divided into sections, in each of which as many buffers are alive as at any moment near
 * it: two buffers are alive together if they share a section. Lengths are in any unit. Pure. */
#ifndef CS_PLAN_PILE_H
#define CS_PLAN_PILE_H

#include "plan/layout.h"

/* The sections [first, end). */
struct cs_pile_span {
    int16_t first, end;
};

/* What sections up to `end` had on top before a buffer was placed there. */
struct cs_pile_run {
    int64_t top;
    int16_t end;
};

enum {
    CS_PILE_FAILURE = 1024 /* what a failure counts */
};

/* The first part is whoever makes one's, the second the search's. */
struct cs_pile {
    int buffers; /* in the order of their first sections */
    int sections;
    struct cs_pile_span span[CS_MAX_BUFFERS];
    int64_t size[CS_MAX_BUFFERS]; /* > 0 */
    int64_t alignment[CS_MAX_BUFFERS];
    int64_t load[CS_MAX_BUFFERS];    /* of a section: all sizes */
    int64_t failure[CS_MAX_BUFFERS]; /* of a section: how often the search failed there */
    int16_t rank[CS_MAX_BUFFERS];    /* who goes first at the same offset */

    int64_t offset[CS_MAX_BUFFERS]; /* of a buffer not placed the lowest that is possible */
    int64_t limit, steps;
    int64_t top[CS_MAX_BUFFERS];  /* of a section: the end of its highest buffer */
    int64_t rest[CS_MAX_BUFFERS]; /* of a section: the sizes that are not placed */
    int16_t
        next[CS_MAX_BUFFERS + 1]; /* a ring of those not placed, whose head is behind the last */
    int16_t prev[CS_MAX_BUFFERS + 1];
    int placed, runs;
    int16_t order[CS_MAX_BUFFERS];       /* of placing */
    int16_t runs_before[CS_MAX_BUFFERS]; /* by that order */
    struct cs_pile_run
        run[3 * CS_MAX_BUFFERS]; /* a buffer makes two edges among the tops at most */
};

/* Looks for an order that keeps the peak within `limit`: true if `offset` holds one. Takes what it
 * used from *steps_p, a step for each buffer placed; false with steps left: there is no such order.
 * Recursion is two calls a buffer. */
bool cs_pile_search(struct cs_pile *pile, int64_t limit, int64_t *steps_p);

#endif
