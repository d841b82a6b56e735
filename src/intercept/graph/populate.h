/* Adds tiled plans to CUDA graphs that the application builds by cudnnBackendPopulateCudaGraph.
 * Each plan becomes one child graph of the application's graph. It contains a child graph for each
 * tile, one after the other because tiles share the workspace. Without the CUDA runtime, or if
 * tiles cannot be nodes, the fallback plan is used. */
#ifndef CS_INTERCEPT_GRAPH_POPULATE_H
#define CS_INTERCEPT_GRAPH_POPULATE_H

#include "cudnn/bind/runtime.h"
#include "intercept/graph/shadow.h"

/* Adds a tiled plan to the application's graph and counts a call. On failure the graph is
 * unchanged. Returns the vendor's status. */
int cs_populate(struct cs *cs, const struct cs_shadow *plan, cudnnHandle_t handle,
                cudnnBackendDescriptor_t pack, cudaGraph_t graph);

/* Changes the addresses in the nodes of a graph that cs_populate has filled, or of a clone. Returns
 * the vendor's status. */
int cs_populate_update(struct cs *cs, const struct cs_shadow *plan, cudnnHandle_t handle,
                       cudnnBackendDescriptor_t pack, cudaGraph_t graph);

#endif
