/* A hash table from backend descriptors to the attributes that applications set. */
#include "intercept/graph/shadow.h"

#include "base/hash.h"
#include "base/invariant.h"
#include "base/lock.h"
#include "cudnn/plan/descriptors.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAD = offsetof(struct cs_shadow, tensor), /* the part before the attributes of a type */
    SHARDS = 32,   /* a fork holds all of these locks, and ThreadSanitizer supports at most 64 */
    BUCKETS = 128, /* for each shard */
    QUICK = 1032   /* bytes of the largest allocation that glibc serves from a thread's cache */
};

_Static_assert(offsetof(struct cs_shadow, pack) + sizeof(struct cs_pack_attributes) <= QUICK,
               "the note of a variant pack is allocated without a lock");

struct shard {
    struct cs_lock lock;
    struct cs_shadow *bucket[BUCKETS];
};

static struct shard shards[SHARDS] = {[0 ... SHARDS - 1] = {.lock = CS_LOCK_INITIALIZER(SHADOW)}};

static uint64_t hash_of(cudnnBackendDescriptor_t descriptor)
{
    return cs_hash_spread((uintptr_t)descriptor >> 4); /* malloc aligns to 16 */
}

static struct shard *shard_of(cudnnBackendDescriptor_t descriptor)
{
    return &shards[hash_of(descriptor) >> 32 & (SHARDS - 1)];
}

static struct cs_shadow **bucket_of(struct shard *shard, cudnnBackendDescriptor_t descriptor)
{
    return &shard->bucket[hash_of(descriptor) >> 40 & (BUCKETS - 1)];
}

/* True if each shadow in the descriptor's bucket belongs there, and each descriptor has one. */
static bool bucket_is_sound(struct shard *shard, cudnnBackendDescriptor_t descriptor)
{
    struct cs_shadow **bucket = bucket_of(shard, descriptor);
    for (const struct cs_shadow *shadow = *bucket; shadow; shadow = shadow->next) {
        if (shard_of(shadow->descriptor) != shard || bucket_of(shard, shadow->descriptor) != bucket)
            return false;
        for (const struct cs_shadow *other = *bucket; other != shadow; other = other->next)
            if (other->descriptor == shadow->descriptor)
                return false;
    }
    return true;
}

static void unlock(struct shard *shard, cudnnBackendDescriptor_t descriptor)
{
    CS_INVARIANT(bucket_is_sound(shard, descriptor));
    cs_unlock(&shard->lock);
}

/* The bytes of a shadow of a type. They are only as many as the type needs, because variant packs
 * are created and destroyed at every call. */
static size_t bytes_of(cudnnBackendDescriptorType_t type)
{
    switch (type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
        return offsetof(struct cs_shadow, tensor) + sizeof(struct cs_tensor_attributes);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
        return offsetof(struct cs_shadow, conv) + sizeof(struct cs_conv_attributes);
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
        return offsetof(struct cs_shadow, pointwise) + sizeof(struct cs_pointwise_attributes);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
        return offsetof(struct cs_shadow, operation) + sizeof(struct cs_operation_attributes);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        return offsetof(struct cs_shadow, graph_note) + sizeof(struct cs_graph_attributes);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        return offsetof(struct cs_shadow, plan) + sizeof(struct cs_plan_attributes);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        return offsetof(struct cs_shadow, pack) + sizeof(struct cs_pack_attributes);
    default:
        return HEAD;
    }
}

/* The bytes of a shadow that are zeroed. The arrays of packs and graphs are not, because only the
 * elements that were set are read. */
static size_t zeroed_bytes_of(cudnnBackendDescriptorType_t type)
{
    switch (type) {
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        return offsetof(struct cs_shadow, pack.pointer);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        return offsetof(struct cs_shadow, graph_note.operation);
    default:
        return bytes_of(type);
    }
}

/* Sets cuDNN's default attributes. A convolution without a mode is a true convolution: so cuDNN
 * (9.19) writes it to the JSON of a plan. */
static void set_defaults(struct cs_shadow *shadow)
{
    enum cs_direction direction;
    if (shadow->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
        shadow->tensor.alignment = 1;
        shadow->tensor.uid = CS_NO_UID;
    } else if (shadow->type == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR) {
        shadow->conv.flipped = true;
    } else if (cs_operation_direction(shadow->type, &direction)) {
        shadow->operation.type = shadow->type;
        shadow->operation.alpha = 1;
    } else if (shadow->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
        shadow->operation.type = shadow->type;
    }
}

/* Destroys a rewriting with cancellation disabled, because cuDNN may contain cancellation points. A
 * cancelled thread would leak the rest of the rewriting. */
static void discard_rewrite(struct cs_rewrite *rewrite)
{
    int cancel;
    if (!rewrite)
        return;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    cs_rewrite_discard(rewrite);
    pthread_setcancelstate(cancel, NULL);
}

/* Destroys a shadow and its objects. Must not be called under a shard's lock, because destroying a
 * plan's tiles calls cuDNN. */
static void destroy_shadow(struct cs_shadow *shadow)
{
    if (!shadow)
        return;
    if (shadow->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
        discard_rewrite(shadow->plan.verdict.rewrite);
    cs_graph_drop(shadow->graph);
    free(shadow);
}

static struct cs_shadow *unlink_locked(struct shard *shard, cudnnBackendDescriptor_t descriptor)
{
    struct cs_shadow **link = bucket_of(shard, descriptor);
    while (*link && (*link)->descriptor != descriptor)
        link = &(*link)->next;
    struct cs_shadow *found = *link;
    if (found)
        *link = found->next;
    return found;
}

void cs_shadow_add(cudnnBackendDescriptor_t descriptor, cudnnBackendDescriptorType_t type)
{
    struct shard *shard = shard_of(descriptor);
    struct cs_shadow *shadow = malloc(bytes_of(type));
    if (shadow) {
        shadow->descriptor = descriptor;
        shadow->type = type;
        shadow->listed = false;
        shadow->graph = NULL;
        memset((char *)shadow + HEAD, 0, zeroed_bytes_of(type) - HEAD);
        set_defaults(shadow);
    }
    cs_lock(&shard->lock);
    /* cuDNN returned this address again: the earlier descriptor was destroyed by a call that did
     * not pass through the library. */
    struct cs_shadow *stale = unlink_locked(shard, descriptor);
    if (shadow) {
        struct cs_shadow **bucket = bucket_of(shard, descriptor);
        shadow->next = *bucket;
        *bucket = shadow;
    }
    unlock(shard, descriptor);
    destroy_shadow(stale);
}

/* The lock protects only the table. cuDNN forbids using a descriptor while another thread destroys
 * or changes it. */
struct cs_shadow *cs_shadow_find(cudnnBackendDescriptor_t descriptor)
{
    struct shard *shard = shard_of(descriptor);
    cs_lock(&shard->lock);
    struct cs_shadow *shadow = *bucket_of(shard, descriptor);
    while (shadow && shadow->descriptor != descriptor)
        shadow = shadow->next;
    unlock(shard, descriptor);
    return shadow;
}

void cs_shadow_remove(cudnnBackendDescriptor_t descriptor)
{
    struct shard *shard = shard_of(descriptor);
    cs_lock(&shard->lock);
    struct cs_shadow *shadow = unlink_locked(shard, descriptor);
    unlock(shard, descriptor);
    destroy_shadow(shadow);
}

void cs_shadow_origin(struct cs_shadow *shadow, struct cs_graph *graph)
{
    struct cs_graph *old = shadow->graph;
    shadow->graph = cs_graph_keep(graph);
    cs_graph_drop(old);
}

void cs_shadow_fork(bool before)
{
    for (int i = 0; i < SHARDS; i++) {
        if (before)
            cs_lock_next(&shards[i].lock);
        else
            cs_unlock(&shards[i].lock);
    }
}

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
