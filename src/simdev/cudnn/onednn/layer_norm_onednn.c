/* Batch normalisation by oneDNN: inference, training and the gradients. */
#include <math.h>
#include <stdlib.h>

#include "layer_onednn.h"

/* One parameter per channel, or per element of an image. It applies to `repeats` neighbours in each
 * image. */
struct batch {
    int64_t images, parameters, repeats;
};

static struct batch batch_of(const struct simdev_host_call *call)
{
    const struct simdev_planes p = simdev_planes_of(&call->operand[0].view);
    if (call->mode == CUDNN_BATCHNORM_PER_ACTIVATION)
        return (struct batch){p.images, p.channels * p.elements, 1};
    return (struct batch){p.images, p.channels, p.elements};
}

bool simdev_norm_describe(const struct simdev_host_call *call, struct simdev_layer_plan *plan)
{
    const struct batch b = batch_of(call);
    const struct simdev_layout *t =
        simdev_layer_tensor(4, (int64_t[]){b.images, b.parameters, b.repeats, 1});
    const bool is_inference = call->layer == SIMDEV_LAYER_NORM_INFERENCE;
    const float epsilon = (float)call->epsilon;
    return simdev_create_norm(t, is_inference, epsilon, NULL, &plan->forward) &&
           (call->layer != SIMDEV_LAYER_NORM_GRADIENT ||
            simdev_create_norm(t, false, epsilon, plan->forward, &plan->backward));
}

/* As in cuDNN: the saved value is the inverse deviation, the running value is the unbiased
 * variance. */
static void keep_moments(const struct simdev_host_call *call, const float *mean,
                         const float *variance, float *const value[])
{
    const struct batch b = batch_of(call);
    const double count = (double)(b.images * b.repeats), factor = call->factor;
    for (int64_t c = 0; c < b.parameters; c++) {
        const double unbiased = count > 1 ? variance[c] * count / (count - 1) : variance[c];
        if (value[6])
            value[6][c] = (float)((1 - factor) * value[4][c] + factor * mean[c]);
        if (value[7])
            value[7][c] = (float)((1 - factor) * value[5][c] + factor * unbiased);
        if (value[8])
            value[8][c] = mean[c];
        if (value[9])
            value[9][c] = (float)(1 / sqrt(variance[c] + call->epsilon));
    }
}

static bool run_forward(const struct simdev_layer_plan *plan, float *x, float *y, float *scale,
                        float *bias, float *mean, float *variance)
{
    const struct simdev_layer_argument all[] = {
        {DNNL_ARG_SRC, x},      {DNNL_ARG_DST, y},     {DNNL_ARG_SCALE, scale},
        {DNNL_ARG_SHIFT, bias}, {DNNL_ARG_MEAN, mean}, {DNNL_ARG_VARIANCE, variance}};
    return simdev_layer_execute(plan->forward, 6, all);
}

/* The moments that were saved, or those of x. */
static bool read_moments(const struct simdev_host_call *call, const struct simdev_layer_plan *plan,
                         float *const value[], float *mean, float *variance)
{
    if (!value[6] || !value[7]) {
        float *y = simdev_layer_memory(plan->forward, DNNL_ARG_DST);
        /* The shift may be any value, because y is not used. */
        const bool ok = y && run_forward(plan, value[0], y, value[3], value[3], mean, variance);
        free(y);
        return ok;
    }
    for (int64_t c = 0, count = batch_of(call).parameters; c < count; c++) {
        const double inverse = value[7][c];
        mean[c] = value[6][c];
        variance[c] = (float)(1 / (inverse * inverse) - call->epsilon);
    }
    return true;
}

static bool run_backward(const struct simdev_layer_plan *plan, float *const value[], float *mean,
                         float *variance)
{
    /* No gradient depends on the shift, but oneDNN 2 requires it. */
    const int first = DNNL_VERSION_MAJOR >= 3;
    const struct simdev_layer_argument all[] = {
        {DNNL_ARG_SHIFT, value[3]},      {DNNL_ARG_SRC, value[0]},
        {DNNL_ARG_DIFF_DST, value[1]},   {DNNL_ARG_DIFF_SRC, value[2]},
        {DNNL_ARG_SCALE, value[3]},      {DNNL_ARG_DIFF_SCALE, value[4]},
        {DNNL_ARG_DIFF_SHIFT, value[5]}, {DNNL_ARG_MEAN, mean},
        {DNNL_ARG_VARIANCE, variance}};
    return simdev_layer_execute(plan->backward, 9 - first, all + first);
}

bool simdev_norm_run(const struct simdev_host_call *call, const struct simdev_layer_plan *plan,
                     float *const value[])
{
    if (call->layer == SIMDEV_LAYER_NORM_INFERENCE)
        return run_forward(plan, value[0], value[1], value[2], value[3], value[4], value[5]);
    const size_t parameters = (size_t)batch_of(call).parameters;
    float *mean = calloc(2 * parameters, sizeof *mean);
    if (!mean)
        return false;
    float *variance = mean + parameters;
    bool ok;
    if (call->layer == SIMDEV_LAYER_NORM_TRAINING) {
        ok = run_forward(plan, value[0], value[1], value[2], value[3], mean, variance);
        if (ok)
            keep_moments(call, mean, variance, value);
    } else {
        ok = read_moments(call, plan, value, mean, variance) &&
             run_backward(plan, value, mean, variance);
    }
    free(mean);
    return ok;
}
