/* Pooling by oneDNN, forward and backward, with one to three spatial extents. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "layer_onednn.h"

static bool is_max(const struct simdev_host_call *call)
{
    return call->pooling.mode == CUDNN_POOLING_MAX ||
           call->pooling.mode == CUDNN_POOLING_MAX_DETERMINISTIC;
}

static const struct simdev_view *input_of(const struct simdev_host_call *call)
{
    return &call->operand[call->layer == SIMDEV_LAYER_POOLING ? 0 : 2].view;
}

static const struct simdev_view *result_of(const struct simdev_host_call *call)
{
    return &call->operand[call->layer == SIMDEV_LAYER_POOLING ? 1 : 0].view;
}

/* If the result is larger than the padding allows, adds padding at the end. False: a window would
 * lie outside the input. */
static bool window_of(const struct simdev_host_call *call, struct simdev_window *w)
{
    const struct cudnnPoolingStruct *p = &call->pooling;
    for (int i = 0; i < p->spatial; i++) {
        const int64_t in = input_of(call)->dim[2 + i], out = result_of(call)->dim[2 + i];
        w->extent[i] = p->window[i];
        w->stride[i] = p->stride[i];
        w->gap[i] = 0;
        w->lower[i] = p->pad[i];
        w->upper[i] = (out - 1) * p->stride[i] + p->window[i] - in - p->pad[i];
        if (w->lower[i] >= w->extent[i] || w->upper[i] >= w->extent[i])
            return false;
    }
    return true;
}

static dnnl_alg_kind_t algorithm_of(const struct simdev_host_call *call)
{
    return is_max(call) ? dnnl_pooling_max
           : call->pooling.mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
               ? dnnl_pooling_avg_include_padding
               : dnnl_pooling_avg_exclude_padding;
}

static bool describe_forward(const struct simdev_host_call *call, dnnl_alg_kind_t algorithm,
                             dnnl_primitive_desc_t *out)
{
    const struct simdev_view *in = input_of(call), *result = result_of(call);
    const struct simdev_layout *x = simdev_layer_tensor(in->rank, in->dim);
    const struct simdev_layout *y = simdev_layer_tensor(result->rank, result->dim);
    struct simdev_window w;
    return window_of(call, &w) && simdev_create_pooling(x, y, algorithm, &w, NULL, out);
}

bool simdev_pooling_describe(const struct simdev_host_call *call, struct simdev_layer_plan *plan)
{
    const struct simdev_view *in = input_of(call), *result = result_of(call);
    const struct simdev_layout *x = simdev_layer_tensor(in->rank, in->dim);
    const struct simdev_layout *y = simdev_layer_tensor(result->rank, result->dim);
    struct simdev_window w;
    bool ok = describe_forward(call, algorithm_of(call), &plan->forward);
    if (ok && call->layer == SIMDEV_LAYER_POOLING_GRADIENT)
        ok = window_of(call, &w) &&
             simdev_create_pooling(x, y, algorithm_of(call), &w, plan->forward, &plan->backward);
    return ok;
}

/* oneDNN's maximum ignores NaN, and starts with the lowest finite number. */
static bool has_value(const float *x, int64_t count, bool (*is_it)(float))
{
    for (int64_t i = 0; i < count; i++)
        if (is_it(x[i]))
            return true;
    return false;
}

static bool is_nan(float x)
{
    return isnan(x);
}

static bool is_lowest(float x)
{
    return isinf(x) && x < 0;
}

/* Writes NaN wherever a window contains one. It is the average of a tensor with NaN at those
 * elements and 0 at all others. */
static bool propagate_nan(const struct simdev_host_call *call, float *const value[])
{
    const int64_t inputs = simdev_view_elements(&call->operand[0].view);
    const int64_t results = simdev_view_elements(&call->operand[1].view);
    dnnl_primitive_desc_t average = NULL;
    float *marked = calloc((size_t)(inputs + results), sizeof *marked);
    bool ok = marked && describe_forward(call, dnnl_pooling_avg_include_padding, &average);
    for (int64_t i = 0; ok && i < inputs; i++)
        marked[i] = isnan(value[0][i]) ? NAN : 0;
    const struct simdev_layer_argument both[] = {{DNNL_ARG_SRC, marked},
                                                 {DNNL_ARG_DST, marked + inputs}};
    ok = ok && simdev_layer_execute(average, 2, both);
    for (int64_t i = 0; ok && i < results; i++)
        value[1][i] += marked[inputs + i];
    if (average)
        dnnl_primitive_desc_destroy(average);
    free(marked);
    return ok;
}

static bool run_forward(const struct simdev_host_call *call, const struct simdev_layer_plan *plan,
                        float *x, float *y, float *indices)
{
    const struct simdev_layer_argument all[] = {
        {DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}, {DNNL_ARG_WORKSPACE, indices}};
    return simdev_layer_execute(plan->forward, is_max(call) ? 3 : 2, all);
}

static bool run_backward(const struct simdev_host_call *call, const struct simdev_layer_plan *plan,
                         float *const value[], float *indices)
{
    const struct simdev_layer_argument all[] = {{DNNL_ARG_DIFF_DST, value[1]},
                                                {DNNL_ARG_DIFF_SRC, value[3]},
                                                {DNNL_ARG_WORKSPACE, indices}};
    return simdev_layer_execute(plan->backward, is_max(call) ? 3 : 2, all);
}

static bool run_pooling(const struct simdev_host_call *call, const struct simdev_layer_plan *plan,
                        float *const value[], float *indices)
{
    const int64_t inputs = simdev_view_elements(&call->operand[0].view);
    const bool nan = call->pooling.nan == CUDNN_PROPAGATE_NAN;
    if (!run_forward(call, plan, value[0], value[1], indices))
        return false;
    if (is_max(call) && has_value(value[0], inputs, is_lowest))
        for (int64_t i = 0, n = simdev_view_elements(&call->operand[1].view); i < n; i++)
            if (value[1][i] == -FLT_MAX)
                value[1][i] = -INFINITY;
    return !is_max(call) || !nan || !has_value(value[0], inputs, is_nan) ||
           propagate_nan(call, value);
}

/* The gradient of a maximum goes to the position that the forward run found, so the forward run is
 * repeated. */
static bool pool_back(const struct simdev_host_call *call, const struct simdev_layer_plan *plan,
                      float *const value[], float *indices)
{
    const int64_t inputs = simdev_view_elements(&call->operand[2].view);
    const bool nan = call->pooling.nan == CUDNN_PROPAGATE_NAN;
    if (!is_max(call))
        return run_backward(call, plan, value, indices);
    for (int64_t i = 0; nan && i < inputs; i++)
        if (isnan(value[2][i]))
            value[2][i] = INFINITY;
    float *y = simdev_layer_memory(plan->forward, DNNL_ARG_DST);
    const bool ok = y && run_forward(call, plan, value[2], y, indices) &&
                    run_backward(call, plan, value, indices);
    free(y);
    return ok;
}

bool simdev_pooling_run(const struct simdev_host_call *call, const struct simdev_layer_plan *plan,
                        float *const value[])
{
    float *indices = simdev_layer_memory(plan->forward, DNNL_ARG_WORKSPACE);
    const bool ok =
        indices && (call->layer == SIMDEV_LAYER_POOLING ? run_pooling(call, plan, value, indices)
                                                        : pool_back(call, plan, value, indices));
    free(indices);
    return ok;
}
