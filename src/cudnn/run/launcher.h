/* Implements struct cs_gpu by cuDNN. It launches through the application's handle, whose stream is
 * switched for tiles on side streams. One thread at a time uses a handle, so no other thread sees
 * the switch. */
#ifndef CS_CUDNN_RUN_LAUNCHER_H
#define CS_CUDNN_RUN_LAUNCHER_H

#include "convshim/gpu.h"
#include "cudnn/bind/real.h"
#include "exec/rewrite.h"

/* One running call. */
struct cs_launcher {
    cudnnHandle_t handle;
    const struct cs_rewrite *rewrite; /* as planned, with the fallback plan */
    void *const *tiles;               /* plans of the tile shapes; NULL: those of `rewrite` */
    const struct cs_problem *problem; /* the whole */
    const int64_t *uid;               /* names of the problem's tensors in variant packs */
    cudnnBackendDescriptor_t
        pack;                    /* the application's variant pack for the whole problem, or NULL */
    struct cs_addresses untiled; /* if `pack` is NULL: the contents of that variant pack */
    int64_t provided;            /* the most bytes of its workspace */
    void *stream;                /* for launches; see cs_launcher_gpu */
};

/* Returns the functions that launch a call. *stream_p becomes the application's stream. If cuDNN
 * does not report it, all launches use that stream. */
struct cs_gpu cs_launcher_gpu(struct cs_launcher *launcher, void **stream_p);

/* Makes the plan of a tile shape, or the fallback plan, ready to run. Returns a status. */
int cs_launcher_prepare(const struct cs_launcher *launcher, int shape);
int cs_launcher_prepare_fallback(const struct cs_launcher *launcher);

/* Runs a finalized plan of the whole problem in other scratch. False if it was not started: its
 * variant pack cannot be made, or cuDNN refuses the call. *status_p: cuDNN's status. */
bool cs_launcher_run(const struct cs_launcher *launcher, cudnnBackendDescriptor_t plan,
                     const struct cs_addresses *addresses, void *scratch, int *status_p);

/* True for a status by which cuDNN refuses a call. A refused call may be run another way, because
 * cuDNN checks the provided workspace before it starts any work. */
bool cs_launcher_is_refused(int status);

/* Makes a finalized variant pack of some addresses, for other ways to launch. The caller destroys
 * it. */
int cs_launcher_pack(const struct cs_launcher *launcher, const struct cs_addresses *addresses,
                     cudnnBackendDescriptor_t *pack_p);

#endif
