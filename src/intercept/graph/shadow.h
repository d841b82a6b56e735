/* Records of backend descriptors (shadows). A shadow contains the attributes that the application
 * has set and convshim needs. It is found by its descriptor and removed when the descriptor is
 * destroyed.
 *
 * The table is thread-safe. A shadow is used like its descriptor: by one thread at a time while it
 * is being set, by any number after it is finalized. */
#ifndef CS_INTERCEPT_GRAPH_SHADOW_H
#define CS_INTERCEPT_GRAPH_SHADOW_H

#include "convshim/problem.h"
#include "cudnn/plan/handle_id.h"
#include "flow/flow.h"
#include "intercept/graph/attributes.h"
#include <stdatomic.h>

/* A plan. The first three members are set before the plan is finalized. */
struct cs_plan_attributes {
    enum cs_reason reason; /* why it cannot be described */
    int64_t held; /* bytes that were reported before it was written to JSON; 0: not loaded */
    cudnnHandle_t handle; /* NULL: not set */
    struct cs_verdict verdict;
    bool counted; /* its graph contains a convolution: executions are counted */
};

struct cs_shadow {
    struct cs_shadow *next; /* next in its bucket of the table */
    cudnnBackendDescriptor_t descriptor;
    cudnnBackendDescriptorType_t type;
    bool listed; /* of engine configurations and their plans: a heuristics list of several contained
                    it */
    struct cs_graph
        *graph; /* the graph of finalized graphs, heuristics, engines, configurations, plans */
    union {
        struct cs_tensor_attributes tensor;
        struct cs_conv_attributes conv;
        struct cs_pointwise_attributes pointwise;
        struct cs_operation_attributes operation;
        struct cs_graph_attributes graph_note;
        struct cs_plan_attributes plan;
        struct cs_pack_attributes pack;
    };
};

/* Adds a shadow for a new descriptor, and replaces an earlier shadow at the address. For a type
 * without relevant attributes it has no member of the union. If host memory is short, the
 * descriptor stays unknown. */
void cs_shadow_add(cudnnBackendDescriptor_t descriptor, cudnnBackendDescriptorType_t type);

/* Finds the shadow of a descriptor. NULL if the library did not see the descriptor being created.
 * Valid until cs_shadow_remove. */
struct cs_shadow *cs_shadow_find(cudnnBackendDescriptor_t descriptor);

/* Removes a descriptor's shadow and frees the objects that it owns. */
void cs_shadow_remove(cudnnBackendDescriptor_t descriptor);

/* Records the graph that a descriptor was made from. */
void cs_shadow_origin(struct cs_shadow *shadow, struct cs_graph *graph);

/* Locks the table before a fork, and unlocks it after it. */
void cs_shadow_fork(bool before);

/* --- graphs ---
 *
 * The facts of an operation graph, collected while the application builds it, because cuDNN has no
 * query for its operations. After the graph is finalized, only the flags change. All descriptors
 * that are made from the graph (heuristics, engines, configurations, plans) share them. These
 * descriptors may outlive the graph's. */

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
