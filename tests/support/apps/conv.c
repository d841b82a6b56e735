#include "conv.h"

#include <string.h>

const char *conv_api_name(enum conv_api api)
{
    return api == CONV_GRAPH ? "graph" : "legacy";
}

bool conv_api_parse(const char *name, enum conv_api *api)
{
    bool legacy = strcmp(name, "legacy") == 0;
    if (!legacy && strcmp(name, "graph") != 0)
        return false;
    *api = legacy ? CONV_LEGACY : CONV_GRAPH;
    return true;
}

bool conv_apis_parse(const char *name, bool *chosen)
{
    enum conv_api api = CONV_GRAPH;
    bool both = strcmp(name, "both") == 0;
    if (!both && !conv_api_parse(name, &api))
        return option_refuse("api", name, "graph, legacy or both");
    chosen[CONV_GRAPH] = both || api == CONV_GRAPH;
    chosen[CONV_LEGACY] = both || api == CONV_LEGACY;
    return true;
}

const char *conv_direction_name(enum conv_direction direction)
{
    static const char *const names[] = {"forward", "data", "filter"};
    return names[direction];
}

bool conv_direction_parse(const char *name, enum conv_direction *direction)
{
    for (enum conv_direction i = CONV_FORWARD; i < CONV_DIRECTIONS; i++) {
        if (strcmp(name, conv_direction_name(i)) == 0) {
            *direction = i;
            return true;
        }
    }
    return false;
}

bool conv_directions_parse(const char *name, bool *chosen)
{
    enum conv_direction direction = CONV_FORWARD;
    bool all = strcmp(name, "all") == 0;
    if (!all && !conv_direction_parse(name, &direction))
        return option_refuse("direction", name, "forward, data, filter or all");
    for (enum conv_direction i = CONV_FORWARD; i < CONV_DIRECTIONS; i++)
        chosen[i] = all || i == direction;
    return true;
}

const struct tensor *conv_result(const struct conv_problem *problem)
{
    const struct tensor *const results[] = {&problem->y, &problem->x, &problem->w};
    return results[problem->direction];
}

bool conv_output(struct conv_problem *problem)
{
    struct tensor *y = &problem->y;
    y->type = problem->x.type;
    y->dims = problem->spatial + 2;
    y->size[0] = problem->x.size[0];
    y->size[1] = problem->w.size[0];
    for (int i = 0; i < problem->spatial; i++) {
        int64_t padded = problem->x.size[i + 2] + problem->pre[i] + problem->post[i];
        int64_t reach = problem->dilation[i] * (problem->w.size[i + 2] - 1) + 1;
        if (padded < reach)
            return false;
        y->size[i + 2] = (padded - reach) / problem->stride[i] + 1;
    }
    return true;
}

static bool same_tensor(const struct tensor *a, const struct tensor *b)
{
    return a->type == b->type && a->dims == b->dims &&
           memcmp(a->size, b->size, sizeof a->size) == 0 &&
           memcmp(a->stride, b->stride, sizeof a->stride) == 0 &&
           tensor_alignment(a) == tensor_alignment(b);
}

bool conv_same(const struct conv_problem *a, const struct conv_problem *b)
{
    return a->direction == b->direction && a->spatial == b->spatial && a->layout == b->layout &&
           same_tensor(&a->x, &b->x) && same_tensor(&a->w, &b->w) && same_tensor(&a->y, &b->y) &&
           a->groups == b->groups && memcmp(a->pre, b->pre, sizeof a->pre) == 0 &&
           memcmp(a->post, b->post, sizeof a->post) == 0 &&
           memcmp(a->stride, b->stride, sizeof a->stride) == 0 &&
           memcmp(a->dilation, b->dilation, sizeof a->dilation) == 0 && a->alpha == b->alpha &&
           a->beta == b->beta;
}

enum outcome conv_plan_create(cudnnHandle_t handle, enum conv_api api,
                              const struct conv_problem *problem,
                              const struct conv_settings *settings, int first,
                              struct conv_plan *plan)
{
    static const struct conv_settings defaults = {.mode = CUDNN_HEUR_MODE_A};
    const struct conv_settings *chosen = settings != NULL ? settings : &defaults;
    if (api == CONV_GRAPH)
        return conv_graph_plan(handle, problem, chosen, first, plan);
    return conv_legacy_plan(handle, problem, chosen, first, plan);
}

void conv_plan_destroy(struct conv_plan *plan)
{
    if (plan->api == CONV_GRAPH)
        cudnnBackendDestroyDescriptor(plan->plan);
    else
        conv_legacy_destroy(plan);
}

enum outcome conv_plan_run(cudnnHandle_t handle, const struct conv_plan *plan, void *x, void *w,
                           void *y, void *workspace)
{
    if (plan->api == CONV_GRAPH)
        return conv_graph_run(handle, plan, x, w, y, workspace);
    return conv_legacy_run(handle, plan, x, w, y, workspace);
}

static enum outcome call_plan(cudnnHandle_t handle, const struct conv_plan *plan, void *x, void *w,
                              void *y)
{
    void *workspace = NULL;
    enum outcome outcome = OUTCOME_ERROR;
    if (plan->workspace > 0) {
        cudaError_t error = cudaMalloc(&workspace, (size_t)plan->workspace);
        if (error == cudaErrorMemoryAllocation) {
            cudaGetLastError();
            return OUTCOME_REFUSED;
        }
        TRY_CUDA(error, done);
    }
    outcome = conv_plan_run(handle, plan, x, w, y, workspace);
    if (workspace != NULL && cudaFree(workspace) != cudaSuccess)
        outcome = OUTCOME_ERROR;
done:
    return outcome;
}

enum outcome conv_run(cudnnHandle_t handle, enum conv_api api, const struct conv_problem *problem,
                      const struct conv_settings *settings, void *x, void *w, void *y,
                      struct conv_plan *plan, bool *planned)
{
    for (int first = 0;; first = plan->choice + 1) {
        if (!*planned) {
            enum outcome outcome = conv_plan_create(handle, api, problem, settings, first, plan);
            if (outcome != OUTCOME_OK)
                return outcome;
            *planned = true;
        }
        enum outcome outcome = call_plan(handle, plan, x, w, y);
        if (outcome != OUTCOME_REFUSED)
            return outcome;
        conv_plan_destroy(plan);
        *planned = false;
    }
}
