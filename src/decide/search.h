/* Finding the tilings that are worth a policy's look, with as few questions to the vendor as it
 * takes. */
#ifndef CS_DECIDE_SEARCH_H
#define CS_DECIDE_SEARCH_H

#include "decide/shortlist.h"

/* What is decided about; the same for all of a decision. */
struct cs_question {
    const struct cs_problem *problem;
    const struct cs_vendor *vendor;
    const struct cs_profile *profile; /* to predict for; NULL: nothing is predicted */
    int64_t required;                 /* bytes of the untiled plan */
    int64_t limit;                    /* bytes that a tiling may need to be listed */
    bool thorough;                    /* lists also what others listed beat in tiles */
    bool copies;                      /* tiles may work on packed copies */
};

/* Which tilings are looked for. A search along an axis is given one by value: nothing of it stays
 * behind for the next. */
struct cs_mode {
    enum cs_relaxation relaxation; /* of the execution plans asked for */
    int lanes;                     /* that the tiles run on; 0 is 1 */
    bool staged;
};

/* Vendor plans: what may still be built, and what was. */
struct cs_purse {
    int64_t left;     /* that may still be built */
    int64_t kept;     /* of these for products, as long as no tiling is listed */
    int64_t asked;    /* built, refused ones too */
    int64_t answered; /* those that were not refused */
};

struct cs_search {
    const struct cs_question *question;
    struct cs_purse purse;
    struct cs_shortlist list;
    bool overflowed;     /* some cut left 64 bits */
    bool equal_padding;  /* tiles have equal padding from now on: no other was taken */
    int unequal;         /* times that equal padding was no help */
    struct cs_plan plan; /* the cut under examination: every function here may leave another */
};

enum cs_probed {
    CS_FITS, /* every shape was asked; listed */
    CS_OVER, /* some shape needs more than the limit */
    CS_HOLE  /* illegal, refused, or no asks left */
};

/* Lists a tiling if it is legal, none of its shapes is refused and it needs at most the limit.
 * *bytes_p is what the shape that looks largest needs, or one that needs more than the limit, with
 * what is staged; not set at a hole. CS_OK whatever *probed_p says; CS_NOMEM. */
CS_MUST_CHECK enum cs_status cs_search_probe(struct cs_search *search, struct cs_mode mode,
                                             const struct cs_tiling *tiling,
                                             enum cs_probed *probed_p, int64_t *bytes_p);

/* Lists the cut of `axis` into the fewest tiles that needs at most the limit, and what it met on
 * the way there. Looks at no cut into more than `most` tiles. Where the vendor's workspaces do not
 * shrink with the tile, what is listed is still true but may not be the fewest. CS_OK whether
 * something was listed or not; CS_NOMEM. */
CS_MUST_CHECK enum cs_status cs_search_fewest(struct cs_search *search, struct cs_mode mode,
                                              enum cs_axis axis, int64_t most);

/* The same for products of two cuts: the first pair of axes that has one, with the outer counts
 * that give the fewest tiles. Whether a product fits is asked of the vendor, where to look for one
 * is predicted from the operands' sizes. */
CS_MUST_CHECK enum cs_status cs_product_search(struct cs_search *search, struct cs_mode mode);

/* Lists products of images and `axis` with fewer tiles than anything listed, whatever is listed. */
CS_MUST_CHECK enum cs_status cs_product_of_images(struct cs_search *search, struct cs_mode mode,
                                                  enum cs_axis axis);

/* Bytes of a problem's operands together, of which workspaces are predicted to be a line; beyond
 * every limit where they leave 64 bits. */
double cs_search_size(const struct cs_problem *problem);

/* How long the cut under examination would take, its shapes' workspaces being known; 0 if
 * nothing is predicted. */
double cs_search_seconds(const struct cs_search *search);

/* That cut as a candidate. */
struct cs_candidate cs_search_candidate(const struct cs_search *search);

/* The shape of a plan that looks largest of those not in `skipped`, a set of bits; -1 if all are.
 */
int64_t cs_search_largest(const struct cs_plan *plan, unsigned skipped);

/* No tiling with more tiles than this can beat what is listed: fewer tiles, or as many with less
 * halo. INT64_MAX in a thorough search. */
int64_t cs_search_most(const struct cs_search *search);

#endif
