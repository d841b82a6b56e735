/* cudaGraphExec_t (CUDA Runtime API, Graph Management): a private copy of the graph, and an image
 * of it to run.
 *
 * An image never changes. A launch holds a reference, so an update does not change launches that
 * are already queued. One launch is one operation on its stream. */
#include "cudart_account.h"
#include "cudart_graph.h"
#include "cudart_graph_memory.h"
#include "cudart_race.h"
#include "cudart_time.h"
#include <search.h>
#include <stdlib.h>

/* A node, or one of the two ends of a child graph. */
struct step {
    struct simdev_item *item; /* a reference; NULL: nothing to run */
    size_t first, count;      /* its dependencies, in `on` */
};

struct image {
    atomic_uint refs;
    size_t steps, edges;
    struct step *step;
    size_t *on;                /* places of steps */
    size_t *order;             /* a valid execution order */
    unsigned char *before;     /* for simdev_race_step; NULL if the race check is off */
    struct simdev_keeps keeps; /* of the graph and everything embedded */
    bool has_host_function, has_memory_nodes;
};

struct CUgraphExec_st {
    cudaGraph_t graph; /* the origins of its nodes are the program's nodes */
    struct image *image;
    struct simdev_op *last; /* the last launch, a reference; NULL: none */
    unsigned long long flags;
};

static void *execs; /* existing executable graphs, by address; under the graph lock */

/* --- images --- */

static void release_image(void *arg)
{
    struct image *image = arg;
    if (!image || atomic_fetch_sub(&image->refs, 1) > 1)
        return;
    for (size_t i = 0; i < image->steps; i++)
        simdev_item_release(image->step[i].item);
    free(image->step);
    free(image->on);
    free(image->order);
    free(image->before);
    simdev_keeps_drop(&image->keeps);
    free(image);
}

static void run_image(void *arg)
{
    const struct image *image = arg;
    for (size_t i = 0; i < image->steps; i++) {
        const struct simdev_item *item = image->step[image->order[i]].item;
        simdev_race_step(image->before, image->steps, image->order[i]);
        if (item)
            item->work.run(item->work.arg);
    }
    simdev_keeps_used(&image->keeps);
}

/* Counts steps and edges. A child graph has one step before all its nodes and one after them. */
static void count_steps(cudaGraph_t graph, struct image *image)
{
    for (cudaGraphNode_t node = graph->first; node; node = node->next) {
        node->first_step = node->last_step = image->steps++;
        image->edges +=
            node->dependencies + 1; /* a root has one edge, from the start of its child graph */
        if (!node->child)
            continue;
        count_steps(node->child, image);
        image->edges += node->child->nodes + 1;
        node->last_step = image->steps++;
    }
}

static void add_dependency(struct image *image, size_t step, size_t on)
{
    image->on[image->step[step].first + image->step[step].count++] = on;
}

static bool is_memory_node(enum cudaGraphNodeType type)
{
    return type == cudaGraphNodeTypeMemAlloc || type == cudaGraphNodeTypeMemFree;
}

/* `start`: the step before all of the graph's nodes; SIZE_MAX for the outermost graph. */
static void fill_steps(cudaGraph_t graph, size_t start, struct image *image)
{
    for (cudaGraphNode_t node = graph->first; node; node = node->next) {
        struct step *step = &image->step[node->first_step];
        step->first = image->edges;
        for (size_t i = 0; i < node->dependencies; i++)
            add_dependency(image, node->first_step, node->dependency[i]->last_step);
        if (node->dependencies == 0 && start != SIZE_MAX)
            add_dependency(image, node->first_step, start);
        image->edges += step->count;
        if (node->item)
            step->item = simdev_item_retain(node->item);
        image->has_host_function |= node->type == cudaGraphNodeTypeHost;
        image->has_memory_nodes |= is_memory_node(node->type);
        if (!node->child)
            continue;
        fill_steps(node->child, node->first_step, image);
        image->step[node->last_step].first = image->edges;
        add_dependency(image, node->last_step, node->first_step);
        for (cudaGraphNode_t inner = node->child->first; inner; inner = inner->next)
            add_dependency(image, node->last_step, inner->last_step);
        image->edges += image->step[node->last_step].count;
    }
}

static bool keep_all(cudaGraph_t graph, struct image *image)
{
    bool kept = simdev_keeps_copy(&image->keeps, &graph->keeps);
    for (cudaGraphNode_t node = graph->first; kept && node; node = node->next)
        kept = !node->child || keep_all(node->child, image);
    return kept;
}

/* Computes which steps come before which, by paths of edges. */
static void mark_before(struct image *image)
{
    const size_t steps = image->steps;
    if (!simdev_race_on() || !(image->before = calloc(steps * steps / 8 + 1, 1)))
        return;
    for (size_t i = 0; i < steps; i++) {
        const size_t s = image->order[i];
        for (size_t e = 0; e < image->step[s].count; e++) {
            const size_t on = image->on[image->step[s].first + e];
            for (size_t a = 0; a < steps; a++) {
                const size_t from = a * steps + on, to = a * steps + s;
                if (a == on || image->before[from / 8] >> from % 8 & 1)
                    image->before[to / 8] |= (unsigned char)(1u << to % 8);
            }
        }
    }
}

/* Takes the ready step that became ready last, or a random one if there is a seed. It differs from
 * the order of adding, on which programs must not rely. cudaErrorInvalidValue if the dependencies
 * are circular. */
static cudaError_t sort_steps(struct image *image)
{
    cudaError_t error = cudaErrorMemoryAllocation;
    size_t *waits = calloc(image->steps + 1, sizeof(size_t));
    size_t *begin = calloc(image->steps + 2, sizeof(size_t));
    size_t *next = calloc(image->edges + 1, sizeof(size_t)); /* of step s: from begin[s] on */
    size_t *ready = calloc(image->steps + 1, sizeof(size_t));
    size_t sorted = 0, free_steps = 0;
    if (!waits || !begin || !next || !ready)
        goto release;
    for (size_t e = 0; e < image->edges; e++)
        begin[image->on[e] + 2]++;
    for (size_t s = 2; s <= image->steps; s++)
        begin[s] += begin[s - 1];
    for (size_t s = 0; s < image->steps; s++) {
        const struct step *step = &image->step[s];
        waits[s] = step->count;
        for (size_t i = 0; i < step->count; i++)
            next[begin[image->on[step->first + i] + 1]++] = s;
        if (step->count == 0)
            ready[free_steps++] = s;
    }
    while (free_steps > 0) {
        const size_t picked = simdev_schedule_pick(ready, free_steps);
        const size_t s = image->order[sorted++] = ready[picked];
        ready[picked] = ready[--free_steps];
        for (size_t e = begin[s]; e < begin[s + 1]; e++) {
            if (--waits[next[e]] == 0)
                ready[free_steps++] = next[e];
        }
    }
    error = sorted == image->steps ? cudaSuccess : cudaErrorInvalidValue;

release:
    free(ready);
    free(next);
    free(begin);
    free(waits);
    return error;
}

static cudaError_t make_image(cudaGraph_t graph, struct image **out)
{
    struct image *image = calloc(1, sizeof(*image));
    if (!image)
        return cudaErrorMemoryAllocation;
    atomic_init(&image->refs, 1);
    count_steps(graph, image);
    image->step = calloc(image->steps + 1, sizeof(struct step));
    image->on = calloc(image->edges + 1, sizeof(size_t));
    image->order = calloc(image->steps + 1, sizeof(size_t));
    if (!image->step || !image->on || !image->order || !keep_all(graph, image)) {
        image->steps = 0;
        release_image(image);
        return cudaErrorMemoryAllocation;
    }
    image->edges = 0;
    fill_steps(graph, SIZE_MAX, image);
    cudaError_t error = sort_steps(image);
    if (error == cudaSuccess) {
        mark_before(image);
        *out = image;
    } else
        release_image(image);
    return error;
}

/* --- creation and destruction --- */

static void destroy_exec(cudaGraphExec_t exec)
{
    release_image(exec->image);
    simdev_graph_destroy(exec->graph);
    if (exec->last)
        simdev_op_release(exec->last);
    free(exec);
}

/* Caller holds the lock, here and below. */
static cudaError_t instantiate_graph(cudaGraph_t graph, unsigned long long flags,
                                     cudaGraphExec_t *out)
{
    cudaError_t error = cudaErrorMemoryAllocation;
    if (!simdev_graph_known(graph))
        return cudaErrorInvalidValue;
    cudaGraphExec_t exec = calloc(1, sizeof(*exec));
    if (!exec)
        return error;
    exec->flags = flags;
    exec->graph = simdev_graph_clone(graph);
    if (!exec->graph)
        goto destroy;
    exec->graph->is_embedded = true;
    error = make_image(exec->graph, &exec->image);
    if (error != cudaSuccess)
        goto destroy;
    if (!simdev_handle_add(&execs, exec)) {
        error = cudaErrorMemoryAllocation;
        goto destroy;
    }
    *out = exec;
    return cudaSuccess;

destroy:
    destroy_exec(exec);
    return error;
}

/* Graphs that the device launches are not simulated. */
static cudaError_t make_exec(const char *function, cudaGraphExec_t *out, cudaGraph_t graph,
                             unsigned long long flags)
{
    const unsigned long long known = cudaGraphInstantiateFlagAutoFreeOnLaunch |
                                     cudaGraphInstantiateFlagUpload |
                                     cudaGraphInstantiateFlagUseNodePriority;
    cudaError_t error = simdev_enter(function);
    if (error == cudaSuccess && !out)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && (flags & ~known))
        error = flags & cudaGraphInstantiateFlagDeviceLaunch ? cudaErrorNotSupported
                                                             : cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    error = instantiate_graph(graph, flags, out);
    simdev_graph_unlock();
    return simdev_leave(error);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    return make_exec(__func__, exec, graph, flags);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                          unsigned long long flags)
{
    return make_exec(__func__, exec, graph, flags);
}

static bool is_known(cudaGraphExec_t exec)
{
    return simdev_handle_known(&execs, exec);
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags)
{
    cudaError_t error = simdev_enter(__func__);
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    if (flags && is_known(exec))
        *flags = exec->flags;
    else
        error = cudaErrorInvalidValue;
    simdev_graph_unlock();
    return simdev_leave(error);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = simdev_capture_refuse_unsafe();
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    if (is_known(exec)) {
        simdev_handle_remove(&execs, exec);
        destroy_exec(exec);
    } else {
        error = cudaErrorInvalidValue;
    }
    simdev_graph_unlock();
    return simdev_leave(error);
}

static void destroy_handle(void *exec)
{
    destroy_exec(exec);
}

void simdev_graph_exec_reset(void)
{
    tdestroy(execs, destroy_handle);
    execs = NULL;
}

/* --- updates --- */

/* True if `to` can replace `from`: the same nodes and edges, added in the same order. Numbers the
 * nodes of both. */
static bool is_compatible(cudaGraph_t from, cudaGraph_t to, cudaGraphExecUpdateResultInfo *info)
{
    *info = (cudaGraphExecUpdateResultInfo){.result = cudaGraphExecUpdateErrorTopologyChanged};
    if (from->nodes != to->nodes)
        return false;
    simdev_graph_number(from);
    simdev_graph_number(to);
    for (cudaGraphNode_t a = from->first, b = to->first; a; a = a->next, b = b->next) {
        info->errorNode = b;
        if (a->type != b->type) {
            info->result = cudaGraphExecUpdateErrorNodeTypeChanged;
            return false;
        }
        if (a->dependencies != b->dependencies)
            return false;
        for (size_t i = 0; i < a->dependencies; i++) {
            if (a->dependency[i]->index != b->dependency[i]->index) {
                info->errorFromNode = b->dependency[i];
                return false;
            }
        }
        if (a->child && !is_compatible(a->child, b->child, info))
            return false;
    }
    *info = (cudaGraphExecUpdateResultInfo){.result = cudaGraphExecUpdateSuccess};
    return true;
}

/* Takes over the work of a graph that is_compatible() accepted. */
static void adopt_work(cudaGraph_t graph, cudaGraph_t from)
{
    for (cudaGraphNode_t a = graph->first, b = from->first; a; a = a->next, b = b->next) {
        struct simdev_item *old = a->item;
        if (b->item)
            a->item = simdev_item_retain(b->item);
        simdev_item_release(old);
        if (a->child)
            adopt_work(a->child, b->child);
    }
}

/* `part`: the executable graph's copy, or a graph embedded in it. */
static cudaError_t update_exec(cudaGraphExec_t exec, cudaGraph_t part, cudaGraph_t from,
                               cudaGraphExecUpdateResultInfo *info)
{
    struct image *image;
    if (!is_compatible(part, from, info))
        return cudaErrorGraphExecUpdateFailure;
    adopt_work(part, from);
    cudaError_t error = make_image(exec->graph, &image);
    if (error != cudaSuccess) {
        info->result = cudaGraphExecUpdateError;
        return error;
    }
    release_image(exec->image);
    exec->image = image;
    return cudaSuccess;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo *out)
{
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateError};
    cudaError_t error = simdev_enter(__func__);
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    error = is_known(exec) && simdev_graph_known(graph)
                ? update_exec(exec, exec->graph, graph, &info)
                : cudaErrorInvalidValue;
    simdev_graph_unlock();
    if (out)
        *out = info;
    return simdev_leave(error);
}

/* The copy of the program's node, at any depth; NULL if there is none. */
static cudaGraphNode_t find_copy(cudaGraph_t graph, uint64_t origin)
{
    cudaGraphNode_t found = NULL;
    for (cudaGraphNode_t node = graph->first; node && !found; node = node->next) {
        if (node->origin == origin)
            found = node;
        else if (node->child)
            found = find_copy(node->child, origin);
    }
    return found;
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 cudaGraph_t child)
{
    cudaGraphExecUpdateResultInfo info;
    cudaGraphNode_t copy = NULL;
    cudaError_t error = simdev_enter(__func__);
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    if (is_known(exec) && simdev_graph_known(child) && simdev_graph_node_known(node))
        copy = find_copy(exec->graph, node->id);
    error =
        copy && copy->child ? update_exec(exec, copy->child, child, &info) : cudaErrorInvalidValue;
    simdev_graph_unlock();
    return simdev_leave(error);
}

cudaError_t simdev_graph_exec_set(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t from)
{
    struct image *image;
    cudaGraphNode_t copy = NULL, changed = NULL;
    cudaError_t error = cudaErrorInvalidValue;
    simdev_graph_lock();
    if (is_known(exec) && simdev_graph_known(from) && simdev_graph_node_known(node)) {
        copy = find_copy(exec->graph, node->id);
        changed = from->first;
    }
    if (copy && changed && copy->type == changed->type && changed->item) {
        struct simdev_item *old = copy->item;
        copy->item = simdev_item_retain(changed->item);
        error = make_image(exec->graph, &image);
        simdev_item_release(error == cudaSuccess ? old : copy->item);
        if (error != cudaSuccess)
            copy->item = old;
    }
    if (error == cudaSuccess) {
        release_image(exec->image);
        exec->image = image;
    }
    simdev_graph_unlock();
    return error;
}

/* --- launches --- */

/* Sum of all steps, because they run one after another here. */
static uint64_t time_of(const struct image *image)
{
    uint64_t nanoseconds = 0;
    for (size_t i = 0; simdev_account_on() && i < image->steps; i++)
        if (image->step[i].item)
            nanoseconds += simdev_time_of_work(&image->step[i].item->work);
    return nanoseconds;
}

/* Counts the memory that a launch allocates and frees. */
static cudaError_t count_memory(const struct image *image, bool frees)
{
    size_t count = 0;
    if (!image->has_memory_nodes)
        return cudaSuccess;
    const struct simdev_work **work = calloc(image->steps + 1, sizeof(*work));
    if (!work)
        return cudaErrorMemoryAllocation;
    for (size_t i = 0; i < image->steps; i++) {
        const struct simdev_item *item = image->step[image->order[i]].item;
        if (item && is_memory_node(item->work.type))
            work[count++] = &item->work;
    }
    const cudaError_t error = simdev_graph_memory_launch(work, count, frees);
    free((void *)work);
    return error;
}

/* Ordered after all work on the stream and after the last launch of the same executable graph. */
static cudaError_t launch_exec(cudaGraphExec_t exec, cudaStream_t stream)
{
    struct simdev_op *op;
    struct simdev_stream_info info;
    cudaError_t error = simdev_queue_describe(stream, &info);
    if (error == cudaSuccess)
        error = count_memory(exec->image, exec->flags & cudaGraphInstantiateFlagAutoFreeOnLaunch);
    if (error != cudaSuccess)
        return error;
    const struct simdev_work work = {
        .run = run_image, .release = release_image, .arg = exec->image};
    struct simdev_task task = {.after = exec->last,
                               .nanoseconds = time_of(exec->image),
                               .host_function = exec->image->has_host_function};
    task.item = simdev_item_create(&work);
    if (!task.item)
        return cudaErrorMemoryAllocation;
    atomic_fetch_add(&exec->image->refs, 1); /* the work's */
    error = simdev_queue_submit(stream, &task, &op);
    simdev_item_release(task.item);
    if (error != cudaSuccess)
        return error;
    if (exec->last)
        simdev_op_release(exec->last);
    exec->last = op;
    simdev_count(SIMDEV_GRAPH_LAUNCHES);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = simdev_capture_refuse(stream);
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    error = is_known(exec) ? launch_exec(exec, stream) : cudaErrorInvalidValue;
    simdev_graph_unlock();
    return simdev_leave(error);
}

/* A launch needs no preparation on the device. */
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    struct simdev_stream_info info;
    cudaError_t error = simdev_enter(__func__);
    if (error != cudaSuccess)
        return simdev_leave(error);
    error = simdev_queue_describe(stream, &info);
    simdev_graph_lock();
    if (error == cudaSuccess && !is_known(exec))
        error = cudaErrorInvalidValue;
    simdev_graph_unlock();
    return simdev_leave(error);
}
