/* cudaUserObject_t (CUDA Runtime API, Graph Management): an object of the program that graphs keep
 * alive. */
#include "cudart_graph.h"
#include "cudart_race.h"
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct CUuserObject_st {
    cudaHostFn_t destroy;
    void *data;
    size_t refs;                /* the program's and the graphs' */
    struct simdev_clock *users; /* finished work that used it; NULL: none recorded */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *objects; /* those that exist, by address */

static void *destroy_object(void *arg)
{
    const cudaUserObject_t object = arg;
    object->destroy(object->data);
    free(object->users);
    free(object);
    return NULL;
}

/* Runs on a separate thread, because the program's function may take locks that the caller holds.
 */
static void destroy_aside(cudaUserObject_t object)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, destroy_object, object) == 0)
        pthread_detach(thread);
    else
        destroy_object(object);
}

/* Caller holds the lock. */
static void release_references(cudaUserObject_t object, size_t count)
{
    object->refs -= count < object->refs ? count : object->refs;
    if (object->refs > 0)
        return;
    simdev_handle_remove(&objects, object);
    simdev_queue_known(object->users);
    destroy_aside(object);
}

/* --- references held by graphs --- */

/* Caller holds the lock. */
static bool keep_references(struct simdev_keeps *keeps, cudaUserObject_t object, size_t count)
{
    for (size_t i = 0; i < keeps->count; i++) {
        if (keeps->keep[i].object == object) {
            keeps->keep[i].count += count;
            return true;
        }
    }
    struct simdev_keep *grown =
        realloc(keeps->keep, (keeps->count + 1) * sizeof(struct simdev_keep));
    if (!grown)
        return false;
    grown[keeps->count++] = (struct simdev_keep){.object = object, .count = count};
    keeps->keep = grown;
    return true;
}

bool simdev_keeps_copy(struct simdev_keeps *to, const struct simdev_keeps *from)
{
    bool copied = true;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; copied && i < from->count; i++) {
        copied = keep_references(to, from->keep[i].object, from->keep[i].count);
        if (copied)
            from->keep[i].object->refs += from->keep[i].count;
    }
    pthread_mutex_unlock(&lock);
    return copied;
}

void simdev_keeps_drop(struct simdev_keeps *keeps)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < keeps->count; i++)
        release_references(keeps->keep[i].object, keeps->keep[i].count);
    pthread_mutex_unlock(&lock);
    free(keeps->keep);
    *keeps = (struct simdev_keeps){.keep = NULL};
}

void simdev_keeps_used(const struct simdev_keeps *keeps)
{
    const struct simdev_clock *clock = simdev_race_now();
    if (!clock)
        return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < keeps->count; i++) {
        const cudaUserObject_t object = keeps->keep[i].object;
        if (!object->users)
            object->users = simdev_clock_new();
        simdev_clock_join(object->users, clock);
    }
    pthread_mutex_unlock(&lock);
}

/* --- the calls --- */

cudaError_t cudaUserObjectCreate(cudaUserObject_t *out, void *data, cudaHostFn_t destroy,
                                 unsigned refs, unsigned flags)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && (!out || !destroy || refs == 0 || refs > INT_MAX ||
                                 flags != cudaUserObjectNoDestructorSync))
        error = cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return simdev_leave(error);
    cudaUserObject_t object = malloc(sizeof(*object));
    if (!object)
        return simdev_leave(cudaErrorMemoryAllocation);
    *object = (struct CUuserObject_st){.destroy = destroy, .data = data, .refs = refs};
    pthread_mutex_lock(&lock);
    const bool added = simdev_handle_add(&objects, object);
    pthread_mutex_unlock(&lock);
    if (!added) {
        free(object);
        return simdev_leave(cudaErrorMemoryAllocation);
    }
    *out = object;
    return cudaSuccess;
}

static cudaError_t change_references(const char *function, cudaUserObject_t object, unsigned count,
                                     bool retains)
{
    cudaError_t error = simdev_enter(function);
    if (error != cudaSuccess)
        return simdev_leave(error);
    pthread_mutex_lock(&lock);
    if (count == 0 || count > INT_MAX || !simdev_handle_known(&objects, object))
        error = cudaErrorInvalidValue;
    else if (retains)
        object->refs += count;
    else
        release_references(object, count);
    pthread_mutex_unlock(&lock);
    return simdev_leave(error);
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count)
{
    return change_references(__func__, object, count, true);
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count)
{
    return change_references(__func__, object, count, false);
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count,
                                      unsigned flags)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess &&
        (count == 0 || count > INT_MAX || (flags & ~(unsigned)cudaGraphUserObjectMove)))
        error = cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_graph_lock();
    pthread_mutex_lock(&lock);
    if (!simdev_graph_known(graph) || !simdev_handle_known(&objects, object))
        error = cudaErrorInvalidValue;
    else if (!keep_references(&graph->keeps, object, count))
        error = cudaErrorMemoryAllocation;
    else if (!(flags & cudaGraphUserObjectMove))
        object->refs += count;
    pthread_mutex_unlock(&lock);
    simdev_graph_unlock();
    return simdev_leave(error);
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count)
{
    cudaError_t error = simdev_enter(__func__);
    if (error != cudaSuccess)
        return simdev_leave(error);
    struct simdev_keep *kept = NULL;
    simdev_graph_lock();
    pthread_mutex_lock(&lock);
    for (size_t i = 0; simdev_graph_known(graph) && i < graph->keeps.count; i++) {
        if (graph->keeps.keep[i].object == object)
            kept = &graph->keeps.keep[i];
    }
    if (count > 0 && kept && kept->count >= count) {
        kept->count -= count;
        if (kept->count == 0)
            *kept = graph->keeps.keep[--graph->keeps.count];
        release_references(object, count);
    } else {
        error = cudaErrorInvalidValue;
    }
    pthread_mutex_unlock(&lock);
    simdev_graph_unlock();
    return simdev_leave(error);
}
