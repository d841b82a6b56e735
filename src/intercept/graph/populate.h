/* Tiled plans in CUDA graphs that the application builds by cudnnBackendPopulateCudaGraph: a
 * child graph per tile, one after the other since they share the workspace, together one child
 * graph of the application's. Without the CUDA runtime, or where tiles cannot be nodes, the
 * fallback plan is populated. */
#ifndef CS_INTERCEPT_GRAPH_POPULATE_H
#define CS_INTERCEPT_GRAPH_POPULATE_H

#include "cudnn/bind/runtime.h"
#include "intercept/graph/shadow.h"

/* Adds a tiled plan to the application's graph, which is left as it was if that fails, and counts
 * it as a call. Returns the vendor's status. */
int cs_populate(struct cs *cs, const struct cs_shadow *plan, cudnnHandle_t handle,
                cudnnBackendDescriptor_t pack, cudaGraph_t graph);

/* Gives the nodes of a graph that cs_populate has filled, or of a clone, other addresses. */
int cs_populate_update(struct cs *cs, const struct cs_shadow *plan, cudnnHandle_t handle,
                       cudnnBackendDescriptor_t pack, cudaGraph_t graph);

#endif
