/* Graphs inside the simulated libcudart. The graph lock guards everything here. The caller of every
 * function holds it. */
#ifndef CUDART_GRAPH_H
#define CUDART_GRAPH_H

#include "cudart_internal.h"

/* References to user objects. A separate lock guards the objects. */
struct simdev_keeps {
    struct simdev_keep {
        cudaUserObject_t object;
        size_t count;
    } * keep;
    size_t count;
};

/* Adds separate references. False if memory is short. */
bool simdev_keeps_copy(struct simdev_keeps *to, const struct simdev_keeps *from);
void simdev_keeps_drop(struct simdev_keeps *keeps);
/* The work that the calling thread runs has used these objects. So the destruction of an object
 * also reports the end of that work to the host. */
void simdev_keeps_used(const struct simdev_keeps *keeps);

struct CUgraphNode_st {
    cudaGraph_t graph;
    cudaGraphNode_t next; /* in the order of adding */
    uint64_t id;          /* never given twice */
    uint64_t origin;      /* the id of the node that this one was copied from; 0: none */
    enum cudaGraphNodeType type;
    struct simdev_item *item;         /* a reference; NULL: an empty or a child graph node */
    cudaGraph_t child;                /* embedded, owned; NULL: any other node */
    cudaLaunchAttributeValue cluster; /* blocks of a cluster; zeros: not set */
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
/* Also destroys everything embedded. Does nothing if `graph` is NULL. */
void simdev_graph_destroy(cudaGraph_t graph);
bool simdev_graph_known(cudaGraph_t graph);
bool simdev_graph_node_known(cudaGraphNode_t node);
/* True if the `count` nodes are distinct nodes of the graph. */
bool simdev_graph_has(cudaGraph_t graph, const cudaGraphNode_t *nodes, size_t count);

/* Parts of a node. On success, the node owns the item's reference and the child. */
struct simdev_node_parts {
    enum cudaGraphNodeType type;
    struct simdev_item *item;
    cudaGraph_t child;
};
/* The dependencies have to be distinct nodes of the graph. Otherwise returns cudaErrorInvalidValue.
 */
cudaError_t simdev_graph_add_node(cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                  size_t count, const struct simdev_node_parts *parts,
                                  cudaGraphNode_t *node);
/* True if `edges` is NULL or default data. Other edges are not simulated. */
bool simdev_graph_plain_edges(const cudaGraphEdgeData *edges, size_t count);
/* Numbers the nodes from 0 in `index`. */
void simdev_graph_number(cudaGraph_t graph);

/* Destroys every executable graph. */
void simdev_graph_exec_reset(void);

#endif
