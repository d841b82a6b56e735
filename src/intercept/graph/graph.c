/* Reference-counted facts of an operation graph, shared by its plans. */
#include "intercept/graph/graph.h"

#include <stdlib.h>

struct cs_graph *cs_graph_keep(struct cs_graph *graph)
{
    if (graph)
        atomic_fetch_add_explicit(&graph->references, 1, memory_order_relaxed);
    return graph;
}

void cs_graph_drop(struct cs_graph *graph)
{
    if (graph && atomic_fetch_sub_explicit(&graph->references, 1, memory_order_acq_rel) == 1)
        free(graph);
}
