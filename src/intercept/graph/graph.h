/* What is known of an operation graph, noted while the application builds it, since cuDNN has no
 * query for its operations. Immutable but for `planned` once the graph is finalized; shared by
 * everything that comes from it (heuristics, engines, configurations, plans), which all outlive it.
 */
#ifndef CS_INTERCEPT_GRAPH_GRAPH_H
#define CS_INTERCEPT_GRAPH_GRAPH_H

#include "convshim/problem.h"
#include "cudnn/bind/real.h"
#include <stdatomic.h>

struct cs_graph {
    atomic_int references;
    atomic_bool planned;   /* a plan of it was finalized */
    bool convolution;      /* false: none of our business, not even counted */
    enum cs_reason reason; /* CS_REASON_NONE: `problem` holds it */
    struct cs_problem problem;
    int64_t uid[CS_MAX_TENSORS]; /* the application's names for the tensors of `problem` */
    cudnnHandle_t handle;        /* NULL: planned by device properties */
    int64_t handle_number;       /* of the handle when the graph was finalized, when it was alive;
                                    0: not asked */
};

/* Another reference; NULL gives NULL. */
struct cs_graph *cs_graph_keep(struct cs_graph *graph);

/* Gives a reference back; NULL is allowed. */
void cs_graph_drop(struct cs_graph *graph);

#endif
