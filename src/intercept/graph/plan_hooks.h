/* Backend plans that convshim stands behind: what they are told, and how they run. */
#ifndef CS_INTERCEPT_GRAPH_PLAN_HOOKS_H
#define CS_INTERCEPT_GRAPH_PLAN_HOOKS_H

#include "cudnn/run/launcher.h"
#include "intercept/graph/shadow.h"

/* Decides on a plan that the client has just finalized and builds its rewriting; the answer is kept
 * in the shadow. */
void cs_rewrite_plan(struct cs *cs, struct cs_shadow *plan);

/* The workspace to tell for an engine configuration that wants `wanted` bytes: what its plan will
 * be told. */
int64_t cs_rewrite_told(struct cs *cs, const struct cs_shadow *configuration, int64_t wanted);

/* A rewritten plan's call, ready for a device. */
struct cs_launcher cs_rewrite_launcher(const struct cs_shadow *plan, cudnnHandle_t handle,
                                       cudnnBackendDescriptor_t pack);

/* Fills in what the client's variant pack gives to a rewritten plan; false if it is not understood:
 * a call for the lifeboat. */
bool cs_rewrite_call(const struct cs_shadow *plan, const struct cs_launcher *launcher,
                     struct cs_call *call);

/* Runs a rewritten plan with the client's variant pack; returns the vendor's status. */
int cs_rewrite_run(struct cs *cs, const struct cs_shadow *plan, cudnnHandle_t handle,
                   cudnnBackendDescriptor_t pack);

#endif
