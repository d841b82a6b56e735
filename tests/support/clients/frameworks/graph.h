/* The backend API in the pieces that frameworks put together. Functions return cuDNN's own status.
 * The caller destroys each returned object, with cudnnBackendDestroyDescriptor or the function
 * named here. */
#ifndef GRAPH_H
#define GRAPH_H

#include "../../apps/backend.h"
#include "session.h"

#define GRAPH_PARTS 40
#define GRAPH_CONFIGS 128 /* more than three heuristics modes answer */

/* The computation of a graph: alpha * convolution + beta * result. Forward may go on: + z_factor *
 * z, if z_factor is not NULL, + bias, and the rectifier; z is the tensor of y. */
struct wish {
    enum direction direction;
    float alpha, beta;
    bool biased, relu;
    const float *z_factor;
};

/* Descriptors of a finalized operation graph, that one among them. */
struct graph {
    int count;
    cudnnBackendDescriptor_t part[GRAPH_PARTS], graph;
};

/* graph_close is due also after a failure; the structure must begin as zeros. */
cudnnStatus_t graph_open(cudnnHandle_t handle, const struct operands *operands,
                         const struct wish *wish, struct graph *graph);
void graph_close(struct graph *graph);

/* Engine configs, in the heuristics' order. configs_ask appends the results of a mode; it queries
 * their number first. */
struct configs {
    int count;
    cudnnBackendDescriptor_t config[GRAPH_CONFIGS];
};

cudnnStatus_t configs_ask(const struct graph *graph, cudnnBackendHeurMode_t mode,
                          struct configs *configs);
void configs_close(struct configs *configs);

/* Whether the config's engine bears a numerical note. */
cudnnStatus_t config_bears(cudnnBackendDescriptor_t config, cudnnBackendNumericalNote_t note,
                           bool *bears_p);
/* ENGINECFG_WORKSPACE_SIZE: before there is a plan. */
cudnnStatus_t config_size(cudnnBackendDescriptor_t config, int64_t *bytes_p);

/* The plan gets the handle too unless it is NULL. */
cudnnStatus_t plan_open(cudnnBackendDescriptor_t config, cudnnHandle_t handle,
                        cudnnBackendDescriptor_t *plan_p);
void plan_close(cudnnBackendDescriptor_t plan);
/* EXECUTION_PLAN_WORKSPACE_SIZE, queried without a count as cudnn-frontend does. */
cudnnStatus_t plan_size(cudnnBackendDescriptor_t plan, int64_t *bytes_p);

/* The variant pack for Execute: all tensors of the operands, whether the plan uses bias or not. */
cudnnStatus_t pack_open(const struct operands *operands, const struct wish *wish, void *workspace,
                        cudnnBackendDescriptor_t *pack_p);
/* With its own variant pack. */
cudnnStatus_t plan_run(const struct session *session, cudnnBackendDescriptor_t plan,
                       const struct operands *operands, const struct wish *wish, void *workspace);

/* The formula by which operands_verify checks a run of it. */
struct formula wish_formula(const struct wish *wish);

#endif
