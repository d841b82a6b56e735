/* Backend plans that convshim rewrites: their reported sizes and their execution. */
#ifndef CS_INTERCEPT_GRAPH_PLAN_HOOKS_H
#define CS_INTERCEPT_GRAPH_PLAN_HOOKS_H

#include "cudnn/bind/runtime.h"
#include "cudnn/run/launcher.h"
#include "intercept/graph/shadow.h"

/* Decides on a plan that the application has just finalized, and builds its tiles' plans. Stores
 * the result in the shadow. */
void cs_plan_hooks_finalize(struct cs *cs, struct cs_shadow *plan);

/* Returns the workspace to report for an engine configuration that requires `required` bytes. A
 * plan of the configuration reports the same size later. */
int64_t cs_plan_hooks_reported(struct cs *cs, const struct cs_shadow *configuration,
                               int64_t required);

/* A launcher for one call of a tiled plan. The plan and the pack must outlive it. */
struct cs_launcher cs_plan_hooks_launcher(const struct cs_shadow *plan, cudnnHandle_t handle,
                                          cudnnBackendDescriptor_t pack);

/* Fills in the addresses of a call from the application's variant pack. False if the pack is not
 * understood: the call then needs the fallback plan. */
bool cs_plan_hooks_call(const struct cs_shadow *plan, const struct cs_launcher *launcher,
                        struct cs_call *call);

/* Counts a plan that is about to be executed unchanged with this variant pack. */
void cs_plan_hooks_pass(struct cs *cs, const struct cs_shadow *plan, cudnnBackendDescriptor_t pack);

/* Runs a tiled plan with the application's variant pack. Returns the vendor's status. */
int cs_plan_hooks_run(struct cs *cs, const struct cs_shadow *plan, cudnnHandle_t handle,
                      cudnnBackendDescriptor_t pack);

/* --- graphs that the application builds ---
 *
 * Adds tiled plans to CUDA graphs that the application builds by cudnnBackendPopulateCudaGraph.
 * Each plan becomes one child graph of the application's graph. It contains a child graph for each
 * tile, one after the other because tiles share the workspace. Without the CUDA runtime, or if
 * tiles cannot be nodes, the fallback plan is used. */

/* Adds a tiled plan to the application's graph and counts a call. On failure the graph is
 * unchanged. Returns the vendor's status. */
int cs_populate(struct cs *cs, const struct cs_shadow *plan, cudnnHandle_t handle,
                cudnnBackendDescriptor_t pack, cudaGraph_t graph);

/* Changes the addresses in the nodes of a graph that cs_populate has filled, or of a clone. Returns
 * the vendor's status. */
int cs_populate_update(struct cs *cs, const struct cs_shadow *plan, cudnnHandle_t handle,
                       cudnnBackendDescriptor_t pack, cudaGraph_t graph);

#endif
