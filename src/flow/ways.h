/* The ways to run a tiled convolution, one of which each call takes: untiled or with fewer tiles,
 * in scratch from the program's own allocator below its peak, or as planned, in the reported
 * workspace. Any doubt means as planned. */
#ifndef CS_FLOW_WAYS_H
#define CS_FLOW_WAYS_H

#include "exec/exec.h"
#include "exec/rewrite.h"
#include "flow/instance.h"
#include "level/level.h"

/* The functions by which the caller of a plan builds and runs its other ways. */
struct cs_way_maker {
    void *ctx;

    /* Runs the application's own plan in `bytes` of scratch. False if it was not started.
     * *status_p: the vendor's status. */
    bool (*run_untiled)(void *ctx, const struct cs_call *call, void *scratch, int64_t bytes,
                        int *status_p);

    /* Makes the call's tiles those of another rewriting. */
    void (*use)(void *ctx, const struct cs_rewrite *tiles);

    /* Builds tiles that need at most `limit` bytes, without a fallback plan. The caller owns the
     * result. NULL if there are none. */
    struct cs_rewrite *(*build)(void *ctx, struct cs *cs, int64_t limit);

    int patience; /* calls before the first one for which tiles are built */
};

/* A tiled convolution that is about to run. */
struct cs_way_call {
    struct cs_rewrite *planned;
    const struct cs_gpu *gpu;
    const struct cs_call *call;
    int64_t required; /* bytes of the application's own plan */
    int64_t reported;
    int64_t most; /* the most bytes of scratch that the options allow */
};

/* Runs a call untiled or with fewer tiles, if there is room. False if it has to run as planned, and
 * nothing was started. *tiles_p: the tiles that ran, NULL: untiled. The call is counted in the
 * level (cs_level_count), not in the account. */
bool cs_ways_run(struct cs *cs, const struct cs_way_call *call, const struct cs_way_maker *maker,
                 const struct cs_rewrite **tiles_p, struct cs_outcome *outcome_p);

#endif
