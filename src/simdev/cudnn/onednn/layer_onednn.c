/* Layers other than convolutions by oneDNN: creation and execution of a primitive. Softmax, the
 * gradients of activations and biases, and local response normalisation. */
#include "layer_onednn.h"

#include <omp.h>
#include <stdlib.h>

/* ---- a primitive ---- */

enum {
    TENSORS = 16 /* more than any call has */
};

/* Those of the call that this thread visits. */
static _Thread_local struct {
    struct simdev_layout tensor[TENSORS];
    int count;
} visited;

static void drop_tensors(void)
{
    while (visited.count > 0)
        simdev_layout_drop(&visited.tensor[--visited.count]);
}

const struct simdev_layout *simdev_layer_tensor(int rank, const int64_t *dim)
{
    static const struct simdev_layout none;
    dnnl_dims_t extent = {0}, stride = {0}; /* rank is at least 1, which cppcheck cannot see */
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        extent[i] = dim[i];
        stride[i] = step;
        step *= dim[i];
    }
    if (visited.count == TENSORS ||
        !simdev_layout_make(rank, extent, stride, &visited.tensor[visited.count]))
        return &none;
    return &visited.tensor[visited.count++];
}

static simdev_described operand_layout(const_dnnl_primitive_desc_t desc, int name)
{
    return dnnl_primitive_desc_query_md(desc, dnnl_query_exec_arg_md, name);
}

float *simdev_layer_memory(const_dnnl_primitive_desc_t desc, int name)
{
    return malloc(dnnl_memory_desc_get_size(operand_layout(desc, name)) + 1);
}

enum {
    ARGUMENTS = 10
};

static bool execute_primitive(const_dnnl_primitive_desc_t desc, int count,
                              const dnnl_exec_arg_t *args)
{
    dnnl_primitive_t primitive = NULL;
    dnnl_stream_t stream = NULL;
    bool ok = dnnl_primitive_create(&primitive, desc) == dnnl_success &&
              dnnl_stream_create(&stream, simdev_onednn_engine(), dnnl_stream_default_flags) ==
                  dnnl_success &&
              dnnl_primitive_execute(primitive, stream, count, args) == dnnl_success;
    if (stream) {
        ok = dnnl_stream_wait(stream) == dnnl_success && ok;
        dnnl_stream_destroy(stream);
    }
    if (primitive)
        dnnl_primitive_destroy(primitive);
    return ok;
}

bool simdev_layer_execute(const_dnnl_primitive_desc_t desc, int count,
                          const struct simdev_layer_argument *argument)
{
    dnnl_exec_arg_t args[ARGUMENTS + 1];
    float *scratchpad = simdev_layer_memory(desc, DNNL_ARG_SCRATCHPAD);
    int made = 0;
    bool ok = scratchpad && count <= ARGUMENTS;
    for (int i = 0; ok && i <= count; i++) {
        const struct simdev_layer_argument last = {DNNL_ARG_SCRATCHPAD, scratchpad};
        const struct simdev_layer_argument *a = i < count ? &argument[i] : &last;
        args[made].arg = a->name;
        ok = dnnl_memory_create(&args[made].memory, operand_layout(desc, a->name),
                                simdev_onednn_engine(), a->data) == dnnl_success;
        made += ok;
    }
    ok = ok && execute_primitive(desc, made, args);
    for (int i = 0; i < made; i++)
        dnnl_memory_destroy(args[i].memory);
    free(scratchpad);
    return ok;
}

/* ---- softmax ---- */

static bool describe_softmax(const struct simdev_host_call *call, struct simdev_layer_plan *plan)
{
    const struct simdev_planes p = simdev_planes_of(&call->operand[0].view);
    const bool whole = call->mode == CUDNN_SOFTMAX_MODE_INSTANCE;
    const int64_t image[3] = {p.images, p.channels * p.elements, 1};
    const int64_t channel[3] = {p.images, p.channels, p.elements};
    const struct simdev_layout *t = simdev_layer_tensor(3, whole ? image : channel);
    const bool is_log = call->algorithm == CUDNN_SOFTMAX_LOG;
    return simdev_create_softmax(t, is_log, NULL, &plan->forward) &&
           (call->layer != SIMDEV_LAYER_SOFTMAX_GRADIENT ||
            simdev_create_softmax(t, is_log, plan->forward, &plan->backward));
}

static bool run_softmax(const struct simdev_host_call *call, const struct simdev_layer_plan *plan,
                        float *const value[])
{
    const struct simdev_layer_argument forward[] = {{DNNL_ARG_SRC, value[0]},
                                                    {DNNL_ARG_DST, value[1]}};
    const struct simdev_layer_argument backward[] = {
        {DNNL_ARG_DST, value[0]}, {DNNL_ARG_DIFF_DST, value[1]}, {DNNL_ARG_DIFF_SRC, value[2]}};
    return call->layer == SIMDEV_LAYER_SOFTMAX ? simdev_layer_execute(plan->forward, 2, forward)
                                               : simdev_layer_execute(plan->backward, 3, backward);
}

/* ---- gradients of biases and activations ---- */

/* oneDNN adds sequentially in f32. Summing the rows first, then their sums, has a smaller rounding
 * error. */
static bool describe_bias(const struct simdev_host_call *call, struct simdev_layer_plan *plan)
{
    const struct simdev_view *view = &call->operand[0].view;
    const struct simdev_planes p = simdev_planes_of(view);
    const int64_t row = view->dim[view->rank - 1], rows = p.elements / row;
    const struct simdev_layout *dy =
        simdev_layer_tensor(4, (int64_t[]){p.images, p.channels, rows, row});
    const struct simdev_layout *sums =
        simdev_layer_tensor(4, (int64_t[]){p.images, p.channels, rows, 1});
    const struct simdev_layout *db = simdev_layer_tensor(4, (int64_t[]){1, p.channels, 1, 1});
    return simdev_create_sum(dy, sums, &plan->forward) &&
           simdev_create_sum(sums, db, &plan->backward);
}

static bool run_bias(const struct simdev_host_call *call, const struct simdev_layer_plan *plan,
                     float *const value[])
{
    float *sums = simdev_layer_memory(plan->forward, DNNL_ARG_DST);
    const struct simdev_layer_argument first[] = {{DNNL_ARG_SRC, value[0]}, {DNNL_ARG_DST, sums}};
    const struct simdev_layer_argument second[] = {{DNNL_ARG_SRC, sums}, {DNNL_ARG_DST, value[1]}};
    const bool ok = sums && simdev_layer_execute(plan->forward, 2, first) &&
                    simdev_layer_execute(plan->backward, 2, second);
    (void)call;
    free(sums);
    return ok;
}

/* An activation with oneDNN's name and its two parameters. Its gradient uses y or x. */
struct eltwise {
    dnnl_alg_kind_t forward, backward;
    bool is_of_result;
    float alpha, beta;
};

static bool eltwise_of(const struct cudnnActivationStruct *activation, struct eltwise *out)
{
    const float coefficient = (float)activation->coefficient;
    switch (activation->mode) {
    case CUDNN_ACTIVATION_SIGMOID:
        *out = (struct eltwise){dnnl_eltwise_logistic, dnnl_eltwise_logistic_use_dst_for_bwd, true,
                                0, 0};
        return true;
    case CUDNN_ACTIVATION_TANH:
        *out = (struct eltwise){dnnl_eltwise_tanh, dnnl_eltwise_tanh_use_dst_for_bwd, true, 0, 0};
        return true;
    case CUDNN_ACTIVATION_RELU:
        *out = (struct eltwise){dnnl_eltwise_relu, dnnl_eltwise_relu, false, 0, 0};
        return true;
    case CUDNN_ACTIVATION_CLIPPED_RELU:
        *out = (struct eltwise){dnnl_eltwise_clip_v2, dnnl_eltwise_clip_v2, false, 0, coefficient};
        return true;
    case CUDNN_ACTIVATION_ELU:
        *out = (struct eltwise){dnnl_eltwise_elu, dnnl_eltwise_elu, false, coefficient, 0};
        return true;
    case CUDNN_ACTIVATION_SWISH:
        *out = (struct eltwise){dnnl_eltwise_swish, dnnl_eltwise_swish, false,
                                (float)activation->swish_beta, 0};
        return true;
    case CUDNN_ACTIVATION_IDENTITY:
        *out = (struct eltwise){dnnl_eltwise_linear, dnnl_eltwise_linear, false, 1, 0};
        return true;
    default:
        return false;
    }
}

static bool describe_activation(const struct simdev_host_call *call, struct simdev_layer_plan *plan)
{
    const int64_t elements = simdev_view_elements(&call->operand[0].view);
    const struct simdev_layout *t = simdev_layer_tensor(1, &elements);
    struct eltwise e;
    return eltwise_of(&call->activation, &e) &&
           simdev_create_eltwise(t, e.forward, e.alpha, e.beta, NULL, &plan->forward) &&
           simdev_create_eltwise(t, e.backward, e.alpha, e.beta, plan->forward, &plan->backward);
}

static bool run_activation(const struct simdev_host_call *call,
                           const struct simdev_layer_plan *plan, float *const value[])
{
    struct eltwise e;
    if (!eltwise_of(&call->activation, &e))
        return false;
    const struct simdev_layer_argument of_input = {DNNL_ARG_SRC, value[2]};
    const struct simdev_layer_argument of_result = {DNNL_ARG_DST, value[0]};
    const struct simdev_layer_argument backward[] = {{DNNL_ARG_DIFF_DST, value[1]},
                                                     {DNNL_ARG_DIFF_SRC, value[3]},
                                                     e.is_of_result ? of_result : of_input};
    return simdev_layer_execute(plan->backward, 3, backward);
}

/* ---- local response normalisation ---- */

/* oneDNN's window is centred on a channel, so it would reduce an even number of channels by one. */
static bool describe_lrn(const struct simdev_host_call *call, struct simdev_layer_plan *plan)
{
    const struct cudnnLRNStruct *l = &call->lrn;
    const struct simdev_planes p = simdev_planes_of(&call->operand[0].view);
    const struct simdev_layout *t =
        simdev_layer_tensor(4, (int64_t[]){p.images, p.channels, p.elements, 1});
    const float alpha = (float)l->alpha, beta = (float)l->beta, k = (float)l->k;
    return l->n % 2 == 1 && simdev_create_lrn(t, l->n, alpha, beta, k, NULL, &plan->forward) &&
           (call->layer != SIMDEV_LAYER_LRN_GRADIENT ||
            simdev_create_lrn(t, l->n, alpha, beta, k, plan->forward, &plan->backward));
}

static bool run_lrn(const struct simdev_host_call *call, const struct simdev_layer_plan *plan,
                    float *const value[])
{
    const bool is_forward = call->layer == SIMDEV_LAYER_LRN;
    float *kept = simdev_layer_memory(plan->forward, DNNL_ARG_WORKSPACE);
    float *y = is_forward ? value[1] : simdev_layer_memory(plan->forward, DNNL_ARG_DST);
    const struct simdev_layer_argument forward[] = {
        {DNNL_ARG_SRC, value[is_forward ? 0 : 2]}, {DNNL_ARG_DST, y}, {DNNL_ARG_WORKSPACE, kept}};
    bool ok = kept && y && simdev_layer_execute(plan->forward, 3, forward);
    if (ok && !is_forward) {
        const struct simdev_layer_argument backward[] = {{DNNL_ARG_SRC, value[2]},
                                                         {DNNL_ARG_DIFF_DST, value[1]},
                                                         {DNNL_ARG_DIFF_SRC, value[3]},
                                                         {DNNL_ARG_WORKSPACE, kept}};
        ok = simdev_layer_execute(plan->backward, 4, backward);
    }
    if (!is_forward)
        free(y);
    free(kept);
    return ok;
}

/* ---- which is which ---- */

static const struct {
    bool (*describe)(const struct simdev_host_call *call, struct simdev_layer_plan *plan);
    bool (*run)(const struct simdev_host_call *call, const struct simdev_layer_plan *plan,
                float *const value[]);
} layers[SIMDEV_LAYERS] = {
    [SIMDEV_LAYER_SOFTMAX] = {describe_softmax, run_softmax},
    [SIMDEV_LAYER_SOFTMAX_GRADIENT] = {describe_softmax, run_softmax},
    [SIMDEV_LAYER_BIAS_GRADIENT] = {describe_bias, run_bias},
    [SIMDEV_LAYER_ACTIVATION_GRADIENT] = {describe_activation, run_activation},
    [SIMDEV_LAYER_LRN] = {describe_lrn, run_lrn},
    [SIMDEV_LAYER_LRN_GRADIENT] = {describe_lrn, run_lrn},
    [SIMDEV_LAYER_NORM_INFERENCE] = {simdev_norm_describe, simdev_norm_run},
    [SIMDEV_LAYER_NORM_TRAINING] = {simdev_norm_describe, simdev_norm_run},
    [SIMDEV_LAYER_NORM_GRADIENT] = {simdev_norm_describe, simdev_norm_run},
    [SIMDEV_LAYER_POOLING] = {simdev_pooling_describe, simdev_pooling_run},
    [SIMDEV_LAYER_POOLING_GRADIENT] = {simdev_pooling_describe, simdev_pooling_run},
};

/* Waking a team of threads pays off from this many elements. */
static const int64_t large = 1 << 20;

/* oneDNN gets the same number of threads when it selects an implementation as when it computes.
 * `value` NULL: only checks whether oneDNN supports the call. */
static bool run_or_check(const struct simdev_host_call *call, float *const value[])
{
    struct simdev_layer_plan plan = {NULL, NULL};
    const int team = omp_get_max_threads();
    if (!simdev_onednn_engine())
        return false;
    if (simdev_view_elements(&call->operand[0].view) < large)
        omp_set_num_threads(1);
    const bool ok = layers[call->layer].describe(call, &plan) &&
                    (!value || layers[call->layer].run(call, &plan, value));
    omp_set_num_threads(team);
    if (plan.backward)
        dnnl_primitive_desc_destroy(plan.backward);
    if (plan.forward)
        dnnl_primitive_desc_destroy(plan.forward);
    drop_tensors();
    return ok;
}

bool simdev_layer_takes(const struct simdev_host_call *call)
{
    return run_or_check(call, NULL);
}

bool simdev_layer_run(const struct simdev_host_call *call, float *const value[])
{
    return run_or_check(call, value);
}
