/* cudaGraph_t (CUDA Runtime API, Graph Management): nodes in the order of adding, each with the
 * nodes that it depends on. */
#include "cudart_graph.h"
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *graphs, *nodes; /* those that exist, by address */
static uint64_t next_id = 1;

/* --- inside --- */

cudaGraph_t simdev_graph_create(void)
{
    cudaGraph_t graph = calloc(1, sizeof(*graph));
    if (graph && !simdev_handle_add(&graphs, graph)) {
        free(graph);
        return NULL;
    }
    return graph;
}

static void free_node(cudaGraphNode_t node)
{
    simdev_handle_remove(&nodes, node);
    simdev_item_release(node->item);
    simdev_graph_destroy(node->child);
    free(node->dependency);
    free(node);
}

void simdev_graph_destroy(cudaGraph_t graph)
{
    if (!graph)
        return;
    while (graph->first) {
        cudaGraphNode_t node = graph->first;
        graph->first = node->next;
        free_node(node);
    }
    simdev_handle_remove(&graphs, graph);
    simdev_keeps_drop(&graph->keeps);
    free(graph);
}

bool simdev_graph_known(cudaGraph_t graph)
{
    return simdev_handle_known(&graphs, graph);
}

bool simdev_graph_node_known(cudaGraphNode_t node)
{
    return simdev_handle_known(&nodes, node);
}

bool simdev_graph_has(cudaGraph_t graph, const cudaGraphNode_t *set, size_t count)
{
    if (count > 0 && !set)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!simdev_graph_node_known(set[i]) || set[i]->graph != graph)
            return false;
        for (size_t j = 0; j < i; j++) {
            if (set[j] == set[i])
                return false;
        }
    }
    return true;
}

bool simdev_graph_plain_edges(const cudaGraphEdgeData *edges, size_t count)
{
    static const cudaGraphEdgeData plain;
    for (size_t i = 0; edges && i < count; i++) {
        if (memcmp(&edges[i], &plain, sizeof(plain)) != 0)
            return false;
    }
    return true;
}

void simdev_graph_number(cudaGraph_t graph)
{
    size_t index = 0;
    for (cudaGraphNode_t node = graph->first; node; node = node->next)
        node->index = index++;
}

static bool depends_on(cudaGraphNode_t node, cudaGraphNode_t on)
{
    for (size_t i = 0; i < node->dependencies; i++) {
        if (node->dependency[i] == on)
            return true;
    }
    return false;
}

static bool add_dependencies(cudaGraphNode_t node, const cudaGraphNode_t *on, size_t count)
{
    const size_t total = node->dependencies + count;
    if (count == 0)
        return true;
    cudaGraphNode_t *list = realloc(node->dependency, total * sizeof(cudaGraphNode_t));
    if (!list)
        return false;
    memcpy(list + node->dependencies, on, count * sizeof(cudaGraphNode_t));
    node->dependency = list;
    node->dependencies = total;
    return true;
}

cudaError_t simdev_graph_add_node(cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                  size_t count, const struct simdev_node_parts *parts,
                                  cudaGraphNode_t *out)
{
    if (!simdev_graph_has(graph, dependencies, count))
        return cudaErrorInvalidValue;
    cudaGraphNode_t node = calloc(1, sizeof(*node));
    if (!node)
        return cudaErrorMemoryAllocation;
    if (!add_dependencies(node, dependencies, count) || !simdev_handle_add(&nodes, node)) {
        free(node->dependency);
        free(node);
        return cudaErrorMemoryAllocation;
    }
    node->graph = graph;
    node->id = next_id++;
    node->type = parts->type;
    node->item = parts->item;
    node->child = parts->child;
    if (node->child)
        node->child->is_embedded = true;
    *(graph->last ? &graph->last->next : &graph->first) = node;
    graph->last = node;
    graph->nodes++;
    *out = node;
    return cudaSuccess;
}

/* Adds a copy of the node, without its dependencies. */
static bool copy_node(cudaGraphNode_t node, cudaGraph_t to)
{
    struct simdev_node_parts parts = {.type = node->type};
    cudaGraphNode_t copy;
    if (node->child && !(parts.child = simdev_graph_clone(node->child)))
        return false;
    if (node->item)
        parts.item = simdev_item_retain(node->item);
    if (simdev_graph_add_node(to, NULL, 0, &parts, &copy) != cudaSuccess) {
        simdev_item_release(parts.item);
        simdev_graph_destroy(parts.child);
        return false;
    }
    copy->origin = node->id;
    copy->cluster = node->cluster;
    return true;
}

/* `copies` holds the copies of the nodes by their index. */
static bool copy_dependencies(cudaGraph_t graph, cudaGraphNode_t *copies)
{
    for (cudaGraphNode_t node = graph->first; node; node = node->next) {
        for (size_t i = 0; i < node->dependencies; i++) {
            if (!add_dependencies(copies[node->index], &copies[node->dependency[i]->index], 1))
                return false;
        }
    }
    return true;
}

cudaGraph_t simdev_graph_clone(cudaGraph_t graph)
{
    cudaGraph_t clone = simdev_graph_create();
    cudaGraphNode_t *copies = malloc((graph->nodes + 1) * sizeof(cudaGraphNode_t));
    if (!clone || !copies)
        goto destroy;
    simdev_graph_number(graph);
    for (cudaGraphNode_t node = graph->first; node; node = node->next) {
        if (!copy_node(node, clone))
            goto destroy;
        copies[node->index] = clone->last;
    }
    if (!copy_dependencies(graph, copies) || !simdev_keeps_copy(&clone->keeps, &graph->keeps))
        goto destroy;
    free(copies);
    return clone;

destroy:
    free(copies);
    simdev_graph_destroy(clone);
    return NULL;
}

static void reset_node(void *data)
{
    cudaGraphNode_t node = data;
    simdev_item_release(node->item);
    free(node->dependency);
    free(node);
}

static void reset_graph(void *data)
{
    cudaGraph_t graph = data;
    simdev_keeps_drop(&graph->keeps);
    free(graph);
}

void simdev_graph_reset(void)
{
    pthread_mutex_lock(&lock);
    simdev_graph_exec_reset();
    tdestroy(nodes, reset_node);
    tdestroy(graphs, reset_graph);
    nodes = graphs = NULL;
    pthread_mutex_unlock(&lock);
}

void simdev_graph_lock(void)
{
    pthread_mutex_lock(&lock);
}

void simdev_graph_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* --- making graphs --- */

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && (!graph || flags != 0))
        error = cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return simdev_leave(error);
    pthread_mutex_lock(&lock);
    cudaGraph_t made = simdev_graph_create();
    pthread_mutex_unlock(&lock);
    if (!made)
        return simdev_leave(cudaErrorMemoryAllocation);
    *graph = made;
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    cudaError_t error = simdev_enter(__func__);
    if (error != cudaSuccess)
        return simdev_leave(error);
    pthread_mutex_lock(&lock);
    if (!simdev_graph_known(graph) || graph->is_embedded)
        error = cudaErrorInvalidValue;
    else if (graph->is_capturing)
        error = cudaErrorIllegalState;
    else
        simdev_graph_destroy(graph);
    pthread_mutex_unlock(&lock);
    return simdev_leave(error);
}

/* CUDA neither copies nor embeds a graph with memory nodes. */
static bool has_memory_nodes(cudaGraph_t graph)
{
    cudaGraphNode_t node = graph->first;
    while (node && node->type != cudaGraphNodeTypeMemAlloc &&
           node->type != cudaGraphNodeTypeMemFree)
        node = node->next;
    return node != NULL;
}

cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t original)
{
    cudaError_t error = simdev_enter(__func__);
    if (error != cudaSuccess)
        return simdev_leave(error);
    cudaGraph_t made = NULL;
    pthread_mutex_lock(&lock);
    if (!clone || !simdev_graph_known(original))
        error = cudaErrorInvalidValue;
    else if (has_memory_nodes(original))
        error = cudaErrorNotSupported;
    else if (!(made = simdev_graph_clone(original)))
        error = cudaErrorMemoryAllocation;
    else
        *clone = made;
    pthread_mutex_unlock(&lock);
    return simdev_leave(error);
}

/* Caller holds the lock, and keeps ownership of the item if this fails. */
static cudaError_t add_known(cudaGraphNode_t *out, cudaGraph_t graph,
                             const cudaGraphNode_t *dependencies, size_t count,
                             const struct simdev_node_parts *parts)
{
    cudaGraphNode_t node;
    if (!simdev_graph_known(graph))
        return cudaErrorInvalidValue;
    cudaError_t error = simdev_graph_add_node(graph, dependencies, count, parts, &node);
    if (error == cudaSuccess)
        *out = node;
    return error;
}

cudaError_t simdev_graph_add_work(cudaGraphNode_t *node, cudaGraph_t graph,
                                  const cudaGraphNode_t *dependencies, size_t count,
                                  const struct simdev_work *work)
{
    if (!node)
        return cudaErrorInvalidValue;
    struct simdev_item *item = simdev_item_create(work);
    if (!item)
        return cudaErrorMemoryAllocation;
    const struct simdev_node_parts parts = {.type = work->type, .item = item};
    pthread_mutex_lock(&lock);
    cudaError_t error = add_known(node, graph, dependencies, count, &parts);
    pthread_mutex_unlock(&lock);
    if (error != cudaSuccess)
        simdev_item_abandon(item);
    return error;
}

cudaError_t simdev_graph_add(cudaGraph_t graph, const struct simdev_work *work)
{
    cudaGraphNode_t node;
    return simdev_graph_add_work(&node, graph, NULL, 0, work);
}

/* Replaces the work of the node. `node` NULL: of the graph's only node. */
static cudaError_t replace_work(cudaGraphNode_t node, cudaGraph_t graph,
                                const struct simdev_work *work)
{
    cudaError_t error = cudaErrorInvalidValue;
    struct simdev_item *item = simdev_item_create(work);
    if (!item)
        return cudaErrorMemoryAllocation;
    pthread_mutex_lock(&lock);
    if (!node && graph && simdev_graph_known(graph) && graph->nodes == 1)
        node = graph->first;
    if (node && simdev_graph_node_known(node) && node->type == work->type && node->item &&
        node->item->work.maker == work->maker) {
        struct simdev_item *old = node->item;
        node->item = item;
        item = old;
        error = cudaSuccess;
    }
    pthread_mutex_unlock(&lock);
    if (error == cudaSuccess)
        simdev_item_release(item);
    else
        simdev_item_abandon(item);
    return error;
}

cudaError_t simdev_graph_replace(cudaGraph_t graph, const struct simdev_work *work)
{
    return replace_work(NULL, graph, work);
}

cudaError_t simdev_graph_set_work(cudaGraphNode_t node, const struct simdev_work *work)
{
    return replace_work(node, NULL, work);
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                  const cudaGraphNode_t *dependencies, size_t count)
{
    const struct simdev_node_parts parts = {.type = cudaGraphNodeTypeEmpty};
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !node)
        error = cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return simdev_leave(error);
    pthread_mutex_lock(&lock);
    error = add_known(node, graph, dependencies, count, &parts);
    pthread_mutex_unlock(&lock);
    return simdev_leave(error);
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                       const cudaGraphNode_t *dependencies, size_t count,
                                       cudaGraph_t child)
{
    struct simdev_node_parts parts = {.type = cudaGraphNodeTypeGraph};
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !node)
        error = cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return simdev_leave(error);
    pthread_mutex_lock(&lock);
    if (!simdev_graph_known(child))
        error = cudaErrorInvalidValue;
    else if (has_memory_nodes(child))
        error = cudaErrorNotSupported;
    else if (!(parts.child = simdev_graph_clone(child)))
        error = cudaErrorMemoryAllocation;
    if (error == cudaSuccess)
        error = add_known(node, graph, dependencies, count, &parts);
    if (error != cudaSuccess)
        simdev_graph_destroy(parts.child);
    pthread_mutex_unlock(&lock);
    return simdev_leave(error);
}

/* All edges are added, or none on an error. Caller holds the lock. */
static cudaError_t add_edges(cudaGraph_t graph, const cudaGraphNode_t *from,
                             const cudaGraphNode_t *to, size_t count)
{
    size_t added = 0;
    for (; added < count; added++) {
        cudaGraphNode_t a = from[added], b = to[added];
        if (!simdev_graph_has(graph, &a, 1) || !simdev_graph_has(graph, &b, 1) || a == b ||
            depends_on(b, a) || !add_dependencies(b, &a, 1))
            break;
    }
    if (added == count)
        return cudaSuccess;
    while (added-- > 0)
        to[added]->dependencies--;
    return cudaErrorInvalidValue;
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                     const cudaGraphNode_t *to, const cudaGraphEdgeData *edges,
                                     size_t count)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && count > 0 && (!from || !to))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && !simdev_graph_plain_edges(edges, count))
        error = cudaErrorNotSupported;
    if (error != cudaSuccess)
        return simdev_leave(error);
    pthread_mutex_lock(&lock);
    error = simdev_graph_known(graph) ? add_edges(graph, from, to, count) : cudaErrorInvalidValue;
    pthread_mutex_unlock(&lock);
    return simdev_leave(error);
}
