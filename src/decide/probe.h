/* Queries the vendor about one tiling, and keeps the tiling of least cost. */
#ifndef CS_DECIDE_PROBE_H
#define CS_DECIDE_PROBE_H

#include "decide/question.h"

/* The set of tilings to search. */
struct cs_mode {
    enum cs_relaxation
        relaxation; /* how far the engines of queried plans may be from the application's */
    int lanes;      /* for the tiles; 0: one, or two where a guess is faster */
    bool staged;
};

/* The budget of vendor plans: how many may still be built, and how many were. */
struct cs_plan_budget {
    int64_t left;     /* plans that may still be built */
    int64_t queries;  /* built, refused ones too */
    int64_t answered; /* those that were not refused */
};

/* The state of a search for the tiling of least cost. */
struct cs_search {
    const struct cs_question *question;
    struct cs_plan_budget budget;
    struct cs_candidate best; /* candidate of least cost so far; at first the untiled call */
    double least;             /* cost of the best candidate */
    bool found;               /* a tiling within the limits was confirmed */
    bool possible;   /* nothing was found, but a guess fits: it is vetoed, or costs too much */
    bool slow;       /* the cheapest guess is predicted to take longer than the untiled call */
    bool overflowed; /* some cut left 64 bits */
    bool refused;    /* the vendor refused a guess */
    bool
        equal_padding; /* tiles have equal padding from now on, because other padding was refused */
    int unequal;       /* times that equal padding did not help */
    struct cs_plan plan; /* the cut under examination; every function here may replace it */
};

/* The result of the queries about one tiling. */
enum cs_probed {
    CS_FITS, /* every shape was queried */
    CS_OVER, /* some shape needs more than the limit */
    CS_HOLE  /* illegal, refused, or no queries left */
};

/* Begins a search. The untiled call is the best candidate so far. */
void cs_probe_begin(struct cs_search *search, const struct cs_question *question,
                    struct cs_candidate untiled);

/* Queries the vendor for the shapes of a tiling. Returns CS_OK with *probed_p, or CS_NOMEM.
 * CS_FITS: *candidate_p is the tiling, and it may become the best.
 * CS_OVER: only `workspace` of *candidate_p is set, to the need of the shapes that were queried
 * until the limit was exceeded, staged tensors included. */
CS_MUST_CHECK enum cs_status cs_probe(struct cs_search *search, struct cs_mode mode,
                                      const struct cs_tiling *tiling, enum cs_probed *probed_p,
                                      struct cs_candidate *candidate_p);

#endif
