/* Backend plans that convshim stands behind: what they are told, and how they run. */
#ifndef CS_CUDNN_REWRITE_GRAPH_H
#define CS_CUDNN_REWRITE_GRAPH_H

#include "cudnn/shadow.h"

/* Decides on a plan that the client has just finalized and builds its rewriting; the answer is kept
 * in the shadow. */
void cs_rewrite_plan(struct cs *cs, struct cs_shadow *plan);

/* The workspace to tell for an engine configuration that wants `wanted` bytes: what its plan will
 * be told. */
int64_t cs_rewrite_told(struct cs *cs, const struct cs_shadow *configuration, int64_t wanted);

/* Runs a rewritten plan with the client's variant pack; returns the vendor's status. */
int cs_rewrite_run(struct cs *cs, const struct cs_shadow *plan, cudnnHandle_t handle,
                   cudnnBackendDescriptor_t pack);

#endif
