/* Graphs as the stand-in libcudart keeps them. Everything here is guarded by the graph lock, which
 * the caller of every function holds. */
#ifndef CUDART_GRAPH_H
#define CUDART_GRAPH_H

#include "cudart_internal.h"

/* References to user objects; a lock of their own guards what they share. */
struct simdev_keeps {
    struct simdev_keep {
        cudaUserObject_t object;
        size_t count;
    } * keep;
    size_t count;
};

/* Adds references of its own; false if memory is short. */
bool simdev_keeps_copy(struct simdev_keeps *to, const struct simdev_keeps *from);
void simdev_keeps_drop(struct simdev_keeps *keeps);
/* The work that the calling thread runs has used them: whoever is told that an object is gone knows
 * that it is over. */
void simdev_keeps_used(const struct simdev_keeps *keeps);

struct CUgraphNode_st {
    cudaGraph_t graph;
    cudaGraphNode_t next; /* in the order of adding */
    uint64_t id;          /* never given twice */
    uint64_t origin;      /* the id of the node that this one was copied from; 0: none */
    enum cudaGraphNodeType type;
    struct simdev_item *item; /* a reference; NULL: an empty or a child graph node */
    cudaGraph_t child;        /* embedded, owned; NULL: any other node */
    cudaGraphNode_t *dependency;
    size_t dependencies;
    size_t index;                 /* scratch: the place in the order of adding */
    size_t first_step, last_step; /* scratch of cudart_graph_exec.c */
};

struct CUgraph_st {
    cudaGraphNode_t first, last;
    size_t nodes;
    struct simdev_keeps keeps;
    bool is_embedded;  /* in a child graph node, or in an executable graph */
    bool is_capturing; /* a capture adds to it */
};

/* NULL if memory is short. */
cudaGraph_t simdev_graph_create(void);
cudaGraph_t simdev_graph_clone(cudaGraph_t graph);
/* With everything embedded; NULL is nothing. */
void simdev_graph_destroy(cudaGraph_t graph);
bool simdev_graph_known(cudaGraph_t graph);
bool simdev_graph_node_known(cudaGraphNode_t node);
/* True if the `count` nodes are different ones of the graph. */
bool simdev_graph_has(cudaGraph_t graph, const cudaGraphNode_t *nodes, size_t count);

/* What a node is made of; on success the item's reference and the child are the node's. */
struct simdev_node_parts {
    enum cudaGraphNodeType type;
    struct simdev_item *item;
    cudaGraph_t child;
};
/* The dependencies have to be nodes of the graph, and different ones: else cudaErrorInvalidValue.
 */
cudaError_t simdev_graph_add_node(cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                  size_t count, const struct simdev_node_parts *parts,
                                  cudaGraphNode_t *node);
/* True if the edges have the default data, or none: others are not simulated. */
bool simdev_graph_plain_edges(const cudaGraphEdgeData *edges, size_t count);
/* Numbers the nodes from 0 in `index`. */
void simdev_graph_number(cudaGraph_t graph);

/* Destroys every executable graph. */
void simdev_graph_exec_reset(void);

#endif
