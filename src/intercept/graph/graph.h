/* The facts of an operation graph, collected while the application builds it, because cuDNN has no
 * query for its operations. After the graph is finalized, only the flags change. All descriptors
 * that are made from the graph (heuristics, engines, configurations, plans) share them. These
 * descriptors may outlive the graph's. */
#ifndef CS_INTERCEPT_GRAPH_GRAPH_H
#define CS_INTERCEPT_GRAPH_GRAPH_H

#include "convshim/problem.h"
#include "cudnn/plan/handle_id.h"
#include <stdatomic.h>

struct cs_graph {
    atomic_int references;
    atomic_bool planned;   /* a plan of it was finalized */
    atomic_bool many;      /* several were: most of them may run only to be timed */
    bool convolution;      /* false: calls of the graph are not tiled and not counted */
    enum cs_reason reason; /* why it is not tiled; CS_REASON_NONE: `problem` is set */
    struct cs_problem problem;
    int64_t uid[CS_MAX_TENSORS]; /* the application's names for the tensors of `problem` */
    cudnnHandle_t handle;        /* NULL: planned by device properties */
    struct cs_handle_id id;      /* of `handle` when the graph was finalized */
};

/* Adds a reference. NULL returns NULL. */
struct cs_graph *cs_graph_keep(struct cs_graph *graph);

/* Releases a reference. NULL is allowed. */
void cs_graph_drop(struct cs_graph *graph);

#endif
