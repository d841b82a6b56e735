/* What planning asks of the vendor: execution plans for problems, built with the engine that the
 * client chose.
 *
 * A kernel is the vendor's plan for one problem, opaque here. Functions may be called from any
 * thread, each vendor value from one at a time. Nothing here touches the device. */
#ifndef CONVSHIM_VENDOR_H
#define CONVSHIM_VENDOR_H

#include "convshim/problem.h"

/* How far `build` may go from what the client chose. */
enum cs_latitude {
    CS_CLIENTS_KNOBS,   /* its engine and knobs, or the nearest to them that takes the problem */
    CS_ENGINE_DEFAULTS, /* its engine with that engine's own settings of the knobs */
    CS_ENGINE_ALIKE, /* of the engines that compute and behave alike the one with least workspace */
    CS_TILES_OWN, /* where the client was left with the plain engine that takes everything: of what
                     the heuristics offer for the tile the first other one that computes nothing
                     that the client's types would not: no reduced precision, no transforms, no
                     order of sums that changes, and nothing that has to be compiled */
    CS_LATITUDES
};

struct cs_vendor {
    void *ctx;
    bool compiles; /* the client's engine is compiled for every plan, which takes up to seconds */

    /* Builds the client's own engine for `problem`. The caller owns the kernel. CS_REFUSED if the
     * engine does not take the problem. */
    enum cs_status (*build)(void *ctx, const struct cs_problem *problem, void **kernel_p,
                            int64_t *workspace_p);

    /* Builds the lifeboat: any engine that runs the client's whole problem in at most `limit`
     * bytes. */
    enum cs_status (*lifeboat)(void *ctx, int64_t limit, void **kernel_p, int64_t *workspace_p);

    /* Destroys a kernel of either kind; NULL is allowed. Needs no ctx: kernels outlive the vendor
     * value. */
    void (*destroy)(void *kernel);

    /* Sets the latitude of `build`, which begins with CS_CLIENTS_KNOBS. NULL: there is no other. */
    void (*allow)(void *ctx, enum cs_latitude latitude);
};

#endif
