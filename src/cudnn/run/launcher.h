/* Implements struct cs_gpu by cuDNN. It launches through the application's handle, whose stream is
 * switched for tiles on side streams. One thread at a time uses a handle, so no other thread sees
 * the switch. */
#ifndef CS_CUDNN_RUN_LAUNCHER_H
#define CS_CUDNN_RUN_LAUNCHER_H

#include "convshim/copy.h"
#include "convshim/gpu.h"
#include "cudnn/bind/real.h"
#include "exec/rewrite.h"
#include <cuda.h>

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

/* --- implements struct cs_device by the CUDA driver, for the calling thread's current context ---
 */

extern const struct cs_device cs_device_cuda;

/* --- staged tensors ---
 *
 * Copies staged tensors by the CUDA driver, on a stream or as nodes of a graph. Statuses are
 * cuDNN's. */

/* True if the driver can copy and the calling thread has a context. */
bool cs_copy_possible(void);

/* Returns box `number` of a copy (of copy->times) in the driver's form. `in`: from the view into
 * the packed tensor, else out of it. */
CUDA_MEMCPY3D cs_copy_box(const struct cs_copy *copy, void *view, void *packed, bool in,
                          int64_t number);

/* Starts a copy on a stream, which may be captured. */
int cs_copy_start(const struct cs_copy *copy, void *view, void *packed, bool in, void *stream);

/* Adds a box to a graph after *last_p, which becomes the new node. NULL: the box depends on no
 * node. */
int cs_copy_add_node(const CUDA_MEMCPY3D *box, CUgraph graph, CUgraphNode *last_p);

/* Changes the box of a node that cs_copy_add_node made. */
int cs_copy_change_node(const CUDA_MEMCPY3D *box, CUgraphNode node);

#endif
