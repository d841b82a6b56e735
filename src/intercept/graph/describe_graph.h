/* From what applications have set in an operation graph to a problem. */
#ifndef CS_INTERCEPT_GRAPH_DESCRIBE_GRAPH_H
#define CS_INTERCEPT_GRAPH_DESCRIBE_GRAPH_H

#include "convshim/gpu.h"
#include "intercept/graph/shadow.h"

/* The facts of an operation graph that was just finalized, with one reference; NULL out of host
 * memory. */
struct cs_graph *cs_describe_graph(const struct cs_shadow *shadow);

/* The addresses that a variant pack gives to a problem's tensors; false if it does not give them
 * all. A side input that is scaled by 0 needs none, where the result is laid out like it. */
bool cs_describe_pack(const struct cs_shadow *pack, const struct cs_graph *graph,
                      struct cs_addresses *addresses);

/* Fills in the groups of a problem whose tensors, window and steps are set. */
enum cs_reason cs_describe_finish(struct cs_problem *problem);

/* Checks a finished problem; nothing may be planned for one that was not checked. */
enum cs_reason cs_describe_check(const struct cs_problem *problem);

#endif
