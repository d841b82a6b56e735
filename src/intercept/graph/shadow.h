/* A small copy of what applications set in backend descriptors, keyed by descriptor, dropped when
 * it is destroyed.
 *
 * The table is thread-safe. A shadow itself is used like its descriptor: by one thread at a time
 * while it is being set, by any number once it is finalized. */
#ifndef CS_INTERCEPT_GRAPH_SHADOW_H
#define CS_INTERCEPT_GRAPH_SHADOW_H

#include "flow/flow.h"
#include "intercept/graph/attributes.h"
#include "intercept/graph/graph.h"

struct cs_plan_attributes {
    enum cs_reason reason; /* set before the plan is finalized */
    int64_t held; /* likewise: bytes that were reported before it was written to JSON; 0: none */
    cudnnHandle_t handle; /* likewise; NULL: none */
    struct cs_verdict verdict;
    bool counted; /* its graph holds a convolution: executions are counted */
};

struct cs_shadow {
    struct cs_shadow *next; /* in the table */
    cudnnBackendDescriptor_t descriptor;
    cudnnBackendDescriptorType_t type;
    bool listed; /* of configurations and plans of them: heuristics offered it beside others */
    struct cs_graph *graph; /* where it comes from: of finalized graphs, heuristics, engines,
                               configurations, plans */
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

/* Starts a shadow for a new descriptor; types that carry nothing for us get one without notes.
 * Replaces whatever the address meant before. Out of host memory the descriptor stays unknown. */
void cs_shadow_add(cudnnBackendDescriptor_t descriptor, cudnnBackendDescriptorType_t type);

/* The shadow, or NULL for a descriptor that was made elsewhere. Valid until cs_shadow_remove. */
struct cs_shadow *cs_shadow_find(cudnnBackendDescriptor_t descriptor);

/* Forgets a descriptor and all that hangs on it. */
void cs_shadow_remove(cudnnBackendDescriptor_t descriptor);

/* Notes where a descriptor comes from. */
void cs_shadow_origin(struct cs_shadow *shadow, struct cs_graph *graph);

/* Holds (before) or frees (after) the table across a fork. */
void cs_shadow_fork(bool before);

#endif
