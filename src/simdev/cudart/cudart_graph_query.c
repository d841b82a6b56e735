/* Queries of cudaGraph_t: nodes, edges, types. */
#include "cudart_graph.h"
#include <stdio.h>
#include <string.h>

/* A list that is returned to the program: entries that fit are written, `found` counts all. */
struct list {
    cudaGraphNode_t *node, *to;
    cudaGraphEdgeData *edge;
    size_t room, found;
};

static void add_to_list(struct list *list, cudaGraphNode_t node, cudaGraphNode_t to)
{
    const size_t i = list->found++;
    if (i >= list->room)
        return;
    if (list->node)
        list->node[i] = node;
    if (list->to)
        list->to[i] = to;
    if (list->edge)
        memset(&list->edge[i], 0, sizeof(list->edge[i]));
}

static struct list begin_list(cudaGraphNode_t *node, cudaGraphNode_t *to, cudaGraphEdgeData *edge,
                              const size_t *count)
{
    return (struct list){.node = node, .to = to, .edge = edge, .room = node ? *count : 0};
}

/* Clears the unused entries and returns the number of entries, present or written. */
static void end_list(struct list *list, size_t *count)
{
    const size_t found = list->found;
    while (list->found < list->room)
        add_to_list(list, NULL, NULL);
    *count = list->node && list->room < found ? list->room : found;
}

static cudaError_t list_nodes(const char *function, cudaGraph_t graph, cudaGraphNode_t *out,
                              size_t *count, bool roots_only)
{
    cudaError_t error = simdev_enter(function);
    if (error == cudaSuccess && !count)
        error = cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    if (simdev_graph_known(graph)) {
        struct list list = begin_list(out, NULL, NULL, count);
        for (cudaGraphNode_t node = graph->first; node; node = node->next) {
            if (!roots_only || node->dependencies == 0)
                add_to_list(&list, node, NULL);
        }
        end_list(&list, count);
    } else {
        error = cudaErrorInvalidValue;
    }
    simdev_graph_unlock();
    return simdev_leave(error);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *out, size_t *count)
{
    return list_nodes(__func__, graph, out, count, false);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *out, size_t *count)
{
    return list_nodes(__func__, graph, out, count, true);
}

/* Edges of a graph, or of one node: those that lead to it or away from it. Caller holds the lock.
 */
enum edges {
    EDGES_ALL,
    EDGES_TO,
    EDGES_FROM
};

static void put_edges(struct list *list, cudaGraph_t graph, cudaGraphNode_t of, enum edges which)
{
    for (cudaGraphNode_t to = graph->first; to; to = to->next) {
        for (size_t i = 0; i < to->dependencies; i++) {
            cudaGraphNode_t from = to->dependency[i];
            if (which == EDGES_ALL)
                add_to_list(list, from, to);
            else if (which == EDGES_TO && to == of)
                add_to_list(list, from, NULL);
            else if (which == EDGES_FROM && from == of)
                add_to_list(list, to, NULL);
        }
    }
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                              cudaGraphEdgeData *edges, size_t *count)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && (!count || !from != !to || (edges && !from)))
        error = cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    if (simdev_graph_known(graph)) {
        struct list list = begin_list(from, to, edges, count);
        put_edges(&list, graph, NULL, EDGES_ALL);
        end_list(&list, count);
    } else {
        error = cudaErrorInvalidValue;
    }
    simdev_graph_unlock();
    return simdev_leave(error);
}

static cudaError_t list_neighbours(const char *function, cudaGraphNode_t node, cudaGraphNode_t *out,
                                   cudaGraphEdgeData *edges, size_t *count, enum edges which)
{
    cudaError_t error = simdev_enter(function);
    if (error == cudaSuccess && (!count || (edges && !out)))
        error = cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    if (simdev_graph_node_known(node)) {
        struct list list = begin_list(out, NULL, edges, count);
        put_edges(&list, node->graph, node, which);
        end_list(&list, count);
    } else {
        error = cudaErrorInvalidValue;
    }
    simdev_graph_unlock();
    return simdev_leave(error);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *out,
                                         cudaGraphEdgeData *edges, size_t *count)
{
    return list_neighbours(__func__, node, out, edges, count, EDGES_TO);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *out,
                                           cudaGraphEdgeData *edges, size_t *count)
{
    return list_neighbours(__func__, node, out, edges, count, EDGES_FROM);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
    cudaError_t error = simdev_enter(__func__);
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    if (type && simdev_graph_node_known(node))
        *type = node->type;
    else
        error = cudaErrorInvalidValue;
    simdev_graph_unlock();
    return simdev_leave(error);
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph)
{
    cudaError_t error = simdev_enter(__func__);
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    if (graph && simdev_graph_node_known(node) && node->child)
        *graph = node->child;
    else
        error = cudaErrorInvalidValue;
    simdev_graph_unlock();
    return simdev_leave(error);
}

static void print_graph(FILE *file, cudaGraph_t graph)
{
    fputs("digraph simdev {\n", file);
    for (cudaGraphNode_t node = graph->first; node; node = node->next) {
        fprintf(file, "    n%llu [label=\"type %d\"];\n", (unsigned long long)node->id,
                (int)node->type);
        for (size_t i = 0; i < node->dependencies; i++)
            fprintf(file, "    n%llu -> n%llu;\n", (unsigned long long)node->dependency[i]->id,
                    (unsigned long long)node->id);
    }
    fputs("}\n", file);
}

/* Prints nodes and edges. The flags request details that are not simulated. */
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned flags)
{
    (void)flags;
    cudaError_t error = simdev_enter(__func__);
    FILE *file = error == cudaSuccess && path ? fopen(path, "we") : NULL;
    if (error == cudaSuccess && !file)
        error = cudaErrorOperatingSystem;
    simdev_graph_lock();
    if (error == cudaSuccess && !simdev_graph_known(graph))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        print_graph(file, graph);
    simdev_graph_unlock();
    if (file && fclose(file) != 0 && error == cudaSuccess)
        error = cudaErrorOperatingSystem;
    return simdev_leave(error);
}
