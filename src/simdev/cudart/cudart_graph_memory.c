/* Allocations of graphs: which memory a launch takes and gives back, and the pool of each device.
 */
#include "cudart_graph_memory.h"
#include "cudart_context.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t CHUNK = 32 << 20; /* by which a pool grows */

struct allocation {
    struct allocation *next;
    void *ptr;
    size_t bytes;
    int device;
    unsigned refs;   /* of nodes, and one while it is counted */
    bool is_counted; /* as used memory of its pool */
};

static struct {
    uint64_t used, used_high, reserved, reserved_high;
} pool[SIMDEV_MAX_DEVICES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all of this */
static struct allocation *allocations;

static uint64_t in_chunks(uint64_t bytes)
{
    return (bytes + CHUNK - 1) / CHUNK * CHUNK;
}

static void raise_to(uint64_t *high, uint64_t value)
{
    if (value > *high)
        *high = value;
}

static void trim_pool(int device)
{
    const uint64_t needed = in_chunks(pool[device].used);
    if (pool[device].reserved > needed)
        simdev_mem_give_back(device, pool[device].reserved - needed);
    pool[device].reserved = needed;
}

static void drop_reference(struct allocation *allocation)
{
    struct allocation **link = &allocations;
    if (--allocation->refs > 0)
        return;
    while (*link != allocation)
        link = &(*link)->next;
    *link = allocation->next;
    simdev_mem_graph_end(allocation->ptr);
    free(allocation);
}

/* False if the device is full. */
static bool count_allocation(struct allocation *allocation)
{
    const int device = allocation->device;
    const uint64_t used = pool[device].used + allocation->bytes;
    if (used > pool[device].reserved) {
        if (!simdev_mem_hold(device, in_chunks(used) - pool[device].reserved, allocation->bytes))
            return false;
        pool[device].reserved = in_chunks(used);
    }
    pool[device].used = used;
    raise_to(&pool[device].used_high, used);
    raise_to(&pool[device].reserved_high, pool[device].reserved);
    allocation->is_counted = true;
    allocation->refs++;
    return true;
}

static void uncount_allocation(struct allocation *allocation)
{
    if (!allocation->is_counted)
        return;
    allocation->is_counted = false;
    pool[allocation->device].used -= allocation->bytes;
    drop_reference(allocation);
}

static struct allocation *find_allocation(const void *ptr)
{
    struct allocation *allocation = allocations;
    while (allocation && allocation->ptr != ptr)
        allocation = allocation->next;
    return allocation;
}

/* --- work of nodes --- */

static void run_allocation(void *arg)
{
    const struct allocation *allocation = arg;
    simdev_mem_graph_begin(allocation->ptr);
}

static void run_free(void *arg)
{
    const struct allocation *allocation = arg;
    simdev_mem_graph_pause(allocation->ptr);
}

static void release_reference(void *arg)
{
    pthread_mutex_lock(&lock);
    drop_reference(arg);
    pthread_mutex_unlock(&lock);
}

cudaError_t simdev_graph_memory_allocate(int device, size_t bytes, struct simdev_work *work,
                                         void **ptr)
{
    const struct simdev_owner owner = {.device = device, .pool = (unsigned)SIMDEV_GRAPH_POOL};
    struct allocation *made = bytes > 0 ? calloc(1, sizeof(*made)) : NULL;
    if (!made)
        return bytes > 0 ? cudaErrorMemoryAllocation : cudaErrorInvalidValue;
    *made = (struct allocation){.bytes = bytes, .device = device, .refs = 1};
    cudaError_t error =
        simdev_mem_allocate(SIMDEV_DEVICE, owner, bytes, SIMDEV_KIND_GRAPH, &made->ptr);
    if (error != cudaSuccess) {
        free(made);
        return error;
    }
    pthread_mutex_lock(&lock);
    made->next = allocations;
    allocations = made;
    pthread_mutex_unlock(&lock);
    *ptr = made->ptr;
    *work = (struct simdev_work){.type = cudaGraphNodeTypeMemAlloc,
                                 .run = run_allocation,
                                 .release = release_reference,
                                 .arg = made};
    return cudaSuccess;
}

cudaError_t simdev_graph_memory_free(void *ptr, struct simdev_work *work)
{
    pthread_mutex_lock(&lock);
    struct allocation *allocation = find_allocation(ptr);
    if (allocation)
        allocation->refs++;
    pthread_mutex_unlock(&lock);
    *work = (struct simdev_work){.type = cudaGraphNodeTypeMemFree,
                                 .run = run_free,
                                 .release = release_reference,
                                 .arg = allocation};
    return allocation ? cudaSuccess : cudaErrorInvalidValue;
}

struct simdev_graph_memory simdev_graph_memory_of(const struct simdev_work *work)
{
    const struct allocation *allocation = work->arg;
    return (struct simdev_graph_memory){
        .ptr = allocation->ptr, .bytes = allocation->bytes, .device = allocation->device};
}

/* --- launches --- */

static bool is_allocation(const struct simdev_work *work)
{
    return work->type == cudaGraphNodeTypeMemAlloc;
}

/* Frees the memory that the last launch left, or refuses it. */
static cudaError_t begin_launch(const struct simdev_work *const *work, size_t count_of_work,
                                bool frees)
{
    for (size_t i = 0; i < count_of_work; i++) {
        const struct allocation *allocation = work[i]->arg;
        if (is_allocation(work[i]) && allocation->is_counted && !frees)
            return cudaErrorInvalidValue;
    }
    for (size_t i = 0; i < count_of_work; i++)
        if (is_allocation(work[i]))
            uncount_allocation(work[i]->arg);
    return cudaSuccess;
}

cudaError_t simdev_graph_memory_launch(const struct simdev_work *const *work, size_t count_of_work,
                                       bool frees)
{
    pthread_mutex_lock(&lock);
    cudaError_t error = begin_launch(work, count_of_work, frees);
    for (size_t i = 0; error == cudaSuccess && i < count_of_work; i++) {
        if (!is_allocation(work[i]))
            uncount_allocation(work[i]->arg);
        else if (!count_allocation(work[i]->arg))
            error = cudaErrorMemoryAllocation;
    }
    for (size_t i = 0; error == cudaErrorMemoryAllocation && i < count_of_work; i++)
        if (is_allocation(work[i]))
            uncount_allocation(work[i]->arg);
    pthread_mutex_unlock(&lock);
    return error;
}

void simdev_graph_memory_freed(const void *ptr)
{
    pthread_mutex_lock(&lock);
    struct allocation *allocation = find_allocation(ptr);
    if (allocation)
        uncount_allocation(allocation);
    pthread_mutex_unlock(&lock);
}

void simdev_graph_memory_reset(int device)
{
    pthread_mutex_lock(&lock);
    for (struct allocation *a = allocations, *next; a; a = next) {
        next = a->next;
        if (a->device == device)
            uncount_allocation(a);
    }
    trim_pool(device);
    pthread_mutex_unlock(&lock);
}

/* --- calls --- */

/* Adds a node with this work, which it owns, unless `error` is one. Leaves the call with the
 * status.
 */
static cudaError_t add_node(cudaError_t error, cudaGraphNode_t *node, cudaGraph_t graph,
                            const cudaGraphNode_t *dependencies, size_t count_of_nodes,
                            struct simdev_work *work)
{
    if (error != cudaSuccess)
        return simdev_leave(error);
    error = simdev_graph_add_work(node, graph, dependencies, count_of_nodes, work);
    if (error != cudaSuccess)
        work->release(work->arg);
    return simdev_leave(error);
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                     const cudaGraphNode_t *dependencies, size_t count_of_nodes,
                                     struct cudaMemAllocNodeParams *params)
{
    struct simdev_work work;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess &&
        (!params || params->poolProps.allocType != cudaMemAllocationTypePinned))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && params->poolProps.location.type != cudaMemLocationTypeDevice)
        error = cudaErrorNotSupported;
    if (error == cudaSuccess)
        error = simdev_check_device(params->poolProps.location.id);
    if (error == cudaSuccess)
        error = simdev_graph_memory_allocate(params->poolProps.location.id, params->bytesize, &work,
                                             &params->dptr);
    return add_node(error, node, graph, dependencies, count_of_nodes, &work);
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                    const cudaGraphNode_t *dependencies, size_t count_of_nodes,
                                    void *ptr)
{
    struct simdev_work work;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = simdev_graph_memory_free(ptr, &work);
    return add_node(error, node, graph, dependencies, count_of_nodes, &work);
}

static uint64_t *number_of(int device, enum cudaGraphMemAttributeType attribute)
{
    switch ((int)attribute) {
    case cudaGraphMemAttrUsedMemCurrent:
        return &pool[device].used;
    case cudaGraphMemAttrUsedMemHigh:
        return &pool[device].used_high;
    case cudaGraphMemAttrReservedMemCurrent:
        return &pool[device].reserved;
    case cudaGraphMemAttrReservedMemHigh:
        return &pool[device].reserved_high;
    default:
        return NULL;
    }
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute,
                                           void *value)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = simdev_check_device(device);
    if (error == cudaSuccess && (!value || !number_of(device, attribute)))
        error = cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return simdev_leave(error);
    pthread_mutex_lock(&lock);
    memcpy(value, number_of(device, attribute), sizeof(uint64_t));
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

/* Only high-water marks can be set. They restart at the current value. */
cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute,
                                           void *value)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && (!value || (attribute != cudaGraphMemAttrUsedMemHigh &&
                                            attribute != cudaGraphMemAttrReservedMemHigh)))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simdev_check_device(device);
    if (error != cudaSuccess)
        return simdev_leave(error);
    pthread_mutex_lock(&lock);
    if (attribute == cudaGraphMemAttrUsedMemHigh)
        pool[device].used_high = pool[device].used;
    else
        pool[device].reserved_high = pool[device].reserved;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

cudaError_t cudaDeviceGraphMemTrim(int device)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = simdev_check_device(device);
    if (error != cudaSuccess)
        return simdev_leave(error);
    pthread_mutex_lock(&lock);
    trim_pool(device);
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}
