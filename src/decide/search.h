/* Finding the tilings that are worth a policy's look, with as few questions to the vendor as it
 * takes. */
#ifndef CS_DECIDE_SEARCH_H
#define CS_DECIDE_SEARCH_H

#include "decide/shortlist.h"

/* What is decided about; the same for all of a decision. */
struct cs_question {
    const struct cs_problem *problem;
    const struct cs_vendor *vendor;
    const struct cs_profile *profile; /* to predict for */
    int64_t required;                 /* bytes of the untiled plan */
    int64_t limit;                    /* bytes that a tiling may need to be listed */
    bool copies;                      /* tiles may work on packed copies */
};

/* Which tilings are looked for. */
struct cs_mode {
    enum cs_relaxation relaxation; /* of the execution plans asked for */
    int lanes;                     /* that the tiles run on; 0 is 1 */
    bool staged;
};

/* Vendor plans: what may still be built, and what was. */
struct cs_purse {
    int64_t left;     /* that may still be built */
    int64_t asked;    /* built, refused ones too */
    int64_t answered; /* those that were not refused */
};

struct cs_search {
    const struct cs_question *question;
    struct cs_purse purse;
    struct cs_shortlist list;
    bool overflowed;     /* some cut left 64 bits */
    bool refused;        /* the vendor refused a guess */
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

/* Lists tilings along one axis each, of the first axes that have some: into so many tiles, or
 * (`tiles` is 0) into the fewest that need at most the limit. Where the vendor's workspaces do not
 * shrink with the tile, a listed tiling may not be the one of fewest tiles. CS_OK; CS_NOMEM. */
CS_MUST_CHECK enum cs_status cs_search_axes(struct cs_search *search, struct cs_mode mode,
                                            int64_t tiles);

/* Bytes of a problem's operands together, of which workspaces are predicted to be a line; beyond
 * every limit where they leave 64 bits. */
double cs_search_size(const struct cs_problem *problem);

#endif
