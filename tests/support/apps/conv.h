/* One convolution through cuDNN, in any direction, as frameworks run it: query a plan, query its
 * workspace, execute. */
#ifndef CONV_H
#define CONV_H

#include "client.h"

enum conv_api {
    CONV_GRAPH, /* cudnnBackend* */
    CONV_LEGACY /* cudnnConvolution* */
};

const char *conv_api_name(enum conv_api api);
bool conv_api_parse(const char *name, enum conv_api *api);
/* Sets, by api, which of the two are meant by "graph", "legacy" or "both"; false, with a line on
 * stderr, otherwise. */
bool conv_apis_parse(const char *name, bool *chosen);

/* Which of x, w and y is computed from the other two. */
enum conv_direction {
    CONV_FORWARD, /* y */
    CONV_DATA,    /* x, the gradient with respect to the input of the forward convolution */
    CONV_FILTER,  /* w, the gradient with respect to the filter */
    CONV_DIRECTIONS
};

/* forward, data, filter */
const char *conv_direction_name(enum conv_direction direction);
bool conv_direction_parse(const char *name, enum conv_direction *direction);
/* Like conv_apis_parse: a direction's name or "all". */
bool conv_directions_parse(const char *name, bool *chosen);

/* result = alpha * conv + beta * result, cross-correlation, computed in float. Unused places of the
 * arrays are 0. */
struct conv_problem {
    enum conv_direction direction;
    int spatial; /* 2 or 3; x, w and y have two dimensions more */
    enum layout layout;
    struct tensor x, w, y; /* w is packed */
    int64_t groups;
    int64_t pre[3], post[3]; /* padding before and after; the legacy API needs equal ones */
    int64_t stride[3], dilation[3];
    float alpha, beta;
};

/* The tensor that the direction computes. */
const struct tensor *conv_result(const struct conv_problem *problem);

/* Sets y's dimensions from the rest. False if the kernel does not fit into the padded input. */
bool conv_output(struct conv_problem *problem);

/* True if one plan serves both. */
bool conv_same(const struct conv_problem *a, const struct conv_problem *b);

struct conv_plan;

struct conv_settings {
    cudnnBackendHeurMode_t mode; /* graph: queried first */
    bool no_fallback;            /* graph: mode FALLBACK is not queried after `mode` */
    bool plan_handle;            /* graph: the plan is given the handle, as older clients do */
    bool ask_config;  /* graph: fill config_workspace, from the engine config before the plan */
    bool ask_notes;   /* graph: fill notes */
    bool precompiled; /* graph: pass over engines that are compiled at run time; with ask_notes */
    /* graph: given every answer that works, all of one query; none is kept, the outcome is
     * OUTCOME_REFUSED. May be NULL. */
    void (*each)(void *ctx, const struct conv_plan *plan);
    void *ctx;
    bool ask_workspace; /* legacy: name the algorithm and query its workspace, as deterministic
                           frameworks do, instead of reading it from the algorithm query */
};

/* A problem that cuDNN has agreed to run, by the engine of the `choice`-th answer. Used by one
 * thread at a time. The plan needs nothing of the problem it was made from. */
struct conv_plan {
    enum conv_api api;
    enum conv_direction direction;
    int choice;
    int64_t engine;           /* global index; legacy: the algorithm */
    int64_t workspace;        /* bytes */
    int64_t config_workspace; /* bytes by the engine config, -1 if not queried or not reported */
    uint64_t notes; /* graph, if queried: bit n for the engine's numerical note n, bit 32 + n for
                       its behaviour note n */
    float alpha, beta;
    cudnnBackendDescriptor_t plan; /* graph, the only descriptor left */
    cudnnTensorDescriptor_t x, y;  /* legacy */
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
    int algorithm; /* a number of the direction's own enumeration */
};

/* Plans with the first answer of the library, not before the `first`-th, that works. The settings
 * may be NULL. On OUTCOME_OK the caller owns the plan. */
enum outcome conv_plan_create(cudnnHandle_t handle, enum conv_api api,
                              const struct conv_problem *problem,
                              const struct conv_settings *settings, int first,
                              struct conv_plan *plan);
void conv_plan_destroy(struct conv_plan *plan);

/* Runs on the handle's stream without waiting. Pointers are those of the tensors' first elements,
 * one of them the result's; the workspace has at least plan->workspace bytes and may be NULL if
 * that is 0. */
enum outcome conv_plan_run(cudnnHandle_t handle, const struct conv_plan *plan, void *x, void *w,
                           void *y, void *workspace);

/* Runs the problem like an eager framework: with *plan if *planned, else with the first answer that
 * works, which *plan then holds; the workspace is allocated for the call and freed after it. An
 * answer that cuDNN then refuses to run, or for whose workspace there is no memory, gives its turn
 * to the next. The caller owns *plan if *planned. */
enum outcome conv_run(cudnnHandle_t handle, enum conv_api api, const struct conv_problem *problem,
                      const struct conv_settings *settings, void *x, void *w, void *y,
                      struct conv_plan *plan, bool *planned);

/* The implementations of the functions above for both APIs. */
enum outcome conv_graph_plan(cudnnHandle_t handle, const struct conv_problem *problem,
                             const struct conv_settings *settings, int first,
                             struct conv_plan *plan);
enum outcome conv_graph_run(cudnnHandle_t handle, const struct conv_plan *plan, void *x, void *w,
                            void *y, void *workspace);
enum outcome conv_legacy_plan(cudnnHandle_t handle, const struct conv_problem *problem,
                              const struct conv_settings *settings, int first,
                              struct conv_plan *plan);
enum outcome conv_legacy_run(cudnnHandle_t handle, const struct conv_plan *plan, void *x, void *w,
                             void *y, void *workspace);
void conv_legacy_destroy(struct conv_plan *plan);

#endif
