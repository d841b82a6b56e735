/* Converts an application's operation graph to a problem. */
#ifndef CS_INTERCEPT_GRAPH_DESCRIBE_GRAPH_H
#define CS_INTERCEPT_GRAPH_DESCRIBE_GRAPH_H

#include "convshim/gpu.h"
#include "intercept/graph/shadow.h"

/* Makes the facts of an operation graph that was just finalized, with one reference. NULL if host
 * memory is short. */
struct cs_graph *cs_describe_graph(const struct cs_shadow *shadow);

/* Finds the addresses of a problem's tensors in a variant pack. False if one is missing. An input
 * that the pointwise operations scale by 0 may be missing if a result has the same layout. */
bool cs_describe_pack(const struct cs_shadow *pack, const struct cs_graph *graph,
                      struct cs_addresses *addresses);

/* Sets the number of groups of a problem from the channels of its tensors. Returns
 * CS_REASON_ATTRIBUTE if x's channels are no multiple of the filter's. */
enum cs_reason cs_describe_groups(struct cs_problem *problem);

/* Returns the reason why a complete problem cannot be planned, or CS_REASON_NONE. An unchecked
 * problem must not be planned. */
enum cs_reason cs_describe_check(const struct cs_problem *problem);

#endif
