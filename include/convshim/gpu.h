/* What running a plan asks of a device. The executor knows nothing else of it, so that a test can
 * stand in for a card.
 *
 * Functions that return int give the vendor's own status, 0 for success: it is handed back to the
 * client as it is. Launches are asynchronous and ordered on the client's stream. No function
 * allocates device memory or waits for the device. */
#ifndef CONVSHIM_GPU_H
#define CONVSHIM_GPU_H

#include "convshim/problem.h"

/* Device addresses for one launch. */
struct cs_addresses {
    void *tensor[CS_MAX_TENSORS]; /* of virtual tensors: NULL; of those by value: host addresses */
    void *staged; /* for a packed copy of the filter; NULL where the plan has none */
    void *workspace;
};

struct cs_gpu {
    void *ctx;

    /* Readies a launch of kernel `kind` on these addresses without starting it. The caller releases
     * the launch. */
    int (*bind)(void *ctx, int kind, const struct cs_addresses *addresses, void **launch_p);

    /* Starts a bound launch. */
    int (*launch)(void *ctx, int kind, void *launch);

    /* Releases a bound launch, started or not; the device may still be running it. */
    void (*release)(void *ctx, void *launch);

    /* Starts the whole problem on its lifeboat, with everything as the client brought it. */
    int (*lifeboat)(void *ctx);
};

#endif
