/* struct cs_gpu over cuDNN: launches through the application's own handle, whose stream is switched
 * for tiles on side streams. A handle is one thread's at a time, so nobody else sees that. */
#ifndef CS_CUDNN_RUN_LAUNCHER_H
#define CS_CUDNN_RUN_LAUNCHER_H

#include "convshim/gpu.h"
#include "cudnn/bind/real.h"
#include "exec/rewrite.h"

/* One call being run. */
struct cs_launcher {
    cudnnHandle_t handle;
    const struct cs_rewrite *rewrite;
    const struct cs_problem *problem; /* the whole */
    const int64_t *uid;               /* of the problem's tensors */
    cudnnBackendDescriptor_t
        pack; /* the application's variant pack for the whole problem, or NULL: */
    struct cs_addresses untiled; /* what it would hold */
    int64_t provided;            /* bytes of its workspace at the most */
    void *stream;                /* that launches go to; see cs_launcher_gpu */
};

/* *stream_p becomes the application's stream. Where cuDNN does not report it, launches go to that
 * one alone.
 */
struct cs_gpu cs_launcher_gpu(struct cs_launcher *launcher, void **stream_p);

/* Makes the plan of a tile shape, or the fallback plan, ready to be run, where it is not yet; a
 * status. */
int cs_launcher_prepare(const struct cs_launcher *launcher, int shape);
int cs_launcher_prepare_fallback(const struct cs_launcher *launcher);

/* A finalized variant pack of some addresses; the caller destroys it. For other ways to launch. */
int cs_launcher_pack(const struct cs_launcher *launcher, const struct cs_addresses *addresses,
                     cudnnBackendDescriptor_t *pack_p);

#endif
