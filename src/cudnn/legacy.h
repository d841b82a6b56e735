/* Convolutions of the legacy API, which has no plan object to hang a rewriting on: they are
 * remembered here, per handle and problem, until the handle is destroyed. */
#ifndef CS_CUDNN_LEGACY_H
#define CS_CUDNN_LEGACY_H

#include "cudnn/real.h"
#include "shim/flow.h"

/* What a legacy call says. Scales are NULL where the call has none (queries): alpha 1, beta 0. */
struct cs_legacy_call {
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
    cudnnConvolutionFwdAlgo_t algorithm;
    cudnnMathType_t math; /* filled in here: the descriptor's, or a query result's own */
    const void *alpha, *beta;
};

/* The workspace to tell for a call whose algorithm wants `wanted` bytes. */
size_t cs_legacy_tell(struct cs *cs, struct cs_legacy_call *call, size_t wanted);

/* The same for one result of an algorithm query: its memory field becomes what is told. */
void cs_legacy_tell_result(struct cs *cs, const struct cs_legacy_call *call,
                           cudnnConvolutionFwdAlgoPerf_t *result);

/* Runs a call as tiles in the `brought` bytes at addresses->workspace. False if it is to run as it
 * is; then it was counted as passed on. */
bool cs_legacy_run(struct cs *cs, struct cs_legacy_call *call, const struct cs_addresses *addresses,
                   int64_t brought, int *status_p);

/* Forgets everything of a handle that is about to be destroyed. */
void cs_legacy_forget(cudnnHandle_t handle);

/* Holds (before) or frees (after) the memory across a fork. */
void cs_legacy_fork(bool before);

#endif
