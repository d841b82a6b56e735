/* One convolution planned through the backend API, and the shared parts of the modes of `plans`. */
#ifndef PLANS_H
#define PLANS_H

#include "../apps/backend.h"
#include "layer_memory.h"

enum part {
    PART_X,
    PART_W,
    PART_Y,
    PART_CONV,
    PART_OPERATION,
    PART_GRAPH,
    PART_HEURISTICS,
    PART_CONFIG,
    PART_CACHE,
    PART_PLAN,
    PARTS
};

/* All descriptors of one plan. */
struct chain {
    cudnnBackendDescriptor_t part[PARTS];
};

struct client {
    cudnnHandle_t handle;
    struct conv_problem problem;
    struct layer_memory memory;
    void *workspace;
};

/* A plan by the first answer of the heuristics, all descriptors before it included. */
bool plans_make(const struct client *client, struct chain *chain);

/* The workspace that the plan reports; false if its configuration reports another. */
bool plans_reported(const struct chain *chain, int64_t *bytes);

/* A finalized variant pack of the client's memory; the caller destroys it. */
bool plans_pack(const struct client *client, void *workspace, cudnnBackendDescriptor_t *pack);

/* Waits, and compares the output with the expected one. */
bool plans_right(struct client *client);

/* Modes: the plan as nodes that cuDNN puts into a CUDA graph, the same with the second plan of an
 * operation graph, and a plan's execution captured from a stream. */
bool plans_populate(struct client *client, struct chain *chain, int64_t *bytes);
bool plans_populate_second(struct client *client, struct chain *chain, int64_t *bytes);
bool plans_capture(struct client *client, struct chain *chain, int64_t *bytes);

#endif
