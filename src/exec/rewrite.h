/* The objects built once for all executions of a convolution: a plan with an execution plan of the
 * vendor for each tile shape, and the fallback plan that runs the whole. src/intercept owns it. The
 * executor and the launcher read it. */
#ifndef CS_EXEC_REWRITE_H
#define CS_EXEC_REWRITE_H

#include "convshim/plan.h"
#include <stdatomic.h>

enum {
    CS_REWRITE_BETWEEN = 3, /* further tilings of one convolution */
    CS_REWRITE_LAYERS = 16  /* layers that share one plan, by their filters */
};

struct cs_rewrite;

/* A tiling with fewer tiles, built when a call had room for it. */
struct cs_between {
    _Atomic int64_t limit;                /* bytes of scratch that it was built for; 0: none yet */
    _Atomic(struct cs_rewrite *) rewrite; /* NULL: no tiling for that limit has fewer tiles */
};

/* A layer whose ways may give other last bits: it keeps one of them. */
struct cs_settled_layer {
    _Atomic(const void *) filter; /* its address; NULL: unused */
    _Atomic int way;              /* see flow/ways.c; 0: called for the first time */
};

struct cs_rewrite {
    struct cs_plan plan; /* no tiles: every call runs on the fallback plan */
    void *execution_plan[CS_MAX_TILE_SHAPES];
    void *fallback;                        /* NULL: none, in a tiling of `between` */
    void (*destroy)(void *execution_plan); /* the vendor's; NULL is allowed as its argument */
    int64_t added_ns, added_most_ns;       /* both ends of the predicted time that a call takes in
                                              addition       to its untiled time; 0: not known */
    bool keeps_bits;       /* its tiles give the bits of the untiled call (flow.c, judge_tiles) */
    atomic_bool building;  /* a thread builds a tiling of `between` */
    _Atomic int64_t calls; /* of the plan, up to a few */
    struct cs_between between[CS_REWRITE_BETWEEN]; /* owned */
    struct cs_settled_layer layer[CS_REWRITE_LAYERS];
};

/* Destroys the execution plans, the fallback plan and the rewriting itself; NULL is allowed. */
void cs_rewrite_discard(struct cs_rewrite *rewrite);

#endif
