/* The arithmetic of softmax, batch normalisation, and the gradients of activations and biases, on
 * packed f32 with sums in double. */
#include "cudnn_host_math.h"

#include <math.h>

/* ---- softmax ---- */

/* Which elements belong together: `count` of them, `step` apart. */
struct group {
    int64_t groups, count, step;
};

static struct group group_of(const struct simdev_host_call *call)
{
    const struct simdev_planes p = simdev_planes_of(&call->operand[0].view);
    if (call->mode == CUDNN_SOFTMAX_MODE_INSTANCE)
        return (struct group){p.images, p.channels * p.elements, 1};
    return (struct group){p.images * p.elements, p.channels, p.elements};
}

static int64_t start_of(const struct group *g, int64_t index)
{
    return g->step == 1 ? index * g->count : index / g->step * g->count * g->step + index % g->step;
}

void simdev_softmax_forward(const struct simdev_host_call *call, float *const value[])
{
    const struct group g = group_of(call);
    for (int64_t i = 0; i < g.groups; i++) {
        const float *x = value[0] + start_of(&g, i);
        float *y = value[1] + start_of(&g, i);
        float most = -INFINITY;
        double sum = 0;
        for (int64_t j = 0; j < g.count; j++)
            most = fmaxf(most, x[j * g.step]);
        for (int64_t j = 0; j < g.count; j++)
            sum += exp((double)x[j * g.step] - most);
        for (int64_t j = 0; j < g.count; j++) {
            const double shifted = (double)x[j * g.step] - most;
            y[j * g.step] = (float)(call->algorithm == CUDNN_SOFTMAX_LOG ? shifted - log(sum)
                                                                         : exp(shifted) / sum);
        }
    }
}

void simdev_softmax_backward(const struct simdev_host_call *call, float *const value[])
{
    const struct group g = group_of(call);
    const bool is_log = call->algorithm == CUDNN_SOFTMAX_LOG;
    for (int64_t i = 0; i < g.groups; i++) {
        const float *y = value[0] + start_of(&g, i), *dy = value[1] + start_of(&g, i);
        float *dx = value[2] + start_of(&g, i);
        double sum = 0;
        for (int64_t j = 0; j < g.count; j++)
            sum += (double)dy[j * g.step] * (is_log ? 1 : y[j * g.step]);
        for (int64_t j = 0; j < g.count; j++) {
            const double own = y[j * g.step], up = dy[j * g.step];
            dx[j * g.step] = (float)(is_log ? up - exp(own) * sum : own * (up - sum));
        }
    }
}

/* ---- gradients ---- */

void simdev_bias_gradient(const struct simdev_host_call *call, float *const value[])
{
    const struct simdev_planes p = simdev_planes_of(&call->operand[0].view);
    for (int64_t c = 0; c < p.channels; c++) {
        double sum = 0;
        for (int64_t n = 0; n < p.images; n++)
            for (int64_t i = 0; i < p.elements; i++)
                sum += value[0][(n * p.channels + c) * p.elements + i];
        value[1][c] = (float)sum;
    }
}

/* dy/dx from x and y. */
static double slope(const struct cudnnActivationStruct *activation, double x, double y)
{
    const double most =
        activation->mode == CUDNN_ACTIVATION_CLIPPED_RELU ? activation->coefficient : INFINITY;
    const double beta = activation->swish_beta, sigmoid = 1 / (1 + exp(-beta * x));
    switch (activation->mode) {
    case CUDNN_ACTIVATION_SIGMOID:
        return y * (1 - y);
    case CUDNN_ACTIVATION_TANH:
        return 1 - y * y;
    case CUDNN_ACTIVATION_RELU:
    case CUDNN_ACTIVATION_CLIPPED_RELU:
        return x > 0 && x < most ? 1 : 0;
    case CUDNN_ACTIVATION_ELU:
        return x > 0 ? 1 : activation->coefficient * exp(x);
    case CUDNN_ACTIVATION_SWISH:
        return sigmoid + beta * x * sigmoid * (1 - sigmoid);
    default:
        return 1;
    }
}

void simdev_activation_gradient(const struct simdev_host_call *call, float *const value[])
{
    const int64_t elements = simdev_view_elements(&call->operand[0].view);
    for (int64_t i = 0; i < elements; i++)
        value[3][i] = (float)(value[1][i] * slope(&call->activation, value[2][i], value[0][i]));
}

/* ---- batch normalisation: a parameter for each channel, or for each element of an image ---- */

struct batch {
    int64_t parameters, repeats, images; /* a parameter is for `repeats` neighbours of each image */
};

static struct batch batch_of(const struct simdev_host_call *call)
{
    const struct simdev_planes p = simdev_planes_of(&call->operand[0].view);
    if (call->mode == CUDNN_BATCHNORM_PER_ACTIVATION)
        return (struct batch){p.channels * p.elements, 1, p.images};
    return (struct batch){p.channels, p.elements, p.images};
}

static int64_t place(const struct batch *b, int64_t image, int64_t parameter, int64_t i)
{
    return (image * b->parameters + parameter) * b->repeats + i;
}

void simdev_batchnorm_inference(const struct simdev_host_call *call, float *const value[])
{
    const struct batch b = batch_of(call);
    for (int64_t c = 0; c < b.parameters; c++) {
        const double scale = value[2][c] / sqrt(value[5][c] + call->epsilon);
        for (int64_t n = 0; n < b.images; n++)
            for (int64_t i = 0; i < b.repeats; i++) {
                const int64_t at = place(&b, n, c, i);
                value[1][at] = (float)((value[0][at] - value[4][c]) * scale + value[3][c]);
            }
    }
}

static void moments(const struct batch *b, const float *x, int64_t c, double *mean,
                    double *variance)
{
    const double count = (double)(b->images * b->repeats);
    double sum = 0, squares = 0;
    for (int64_t n = 0; n < b->images; n++)
        for (int64_t i = 0; i < b->repeats; i++)
            sum += x[place(b, n, c, i)];
    *mean = sum / count;
    for (int64_t n = 0; n < b->images; n++)
        for (int64_t i = 0; i < b->repeats; i++) {
            const double off = x[place(b, n, c, i)] - *mean;
            squares += off * off;
        }
    *variance = squares / count;
}

/* Operands: x, y, scale, bias, running mean and variance as they were and as they become, saved
 * mean and inverse deviation. */
void simdev_batchnorm_training(const struct simdev_host_call *call, float *const value[])
{
    const struct batch b = batch_of(call);
    const double count = (double)(b.images * b.repeats), factor = call->factor;
    for (int64_t c = 0; c < b.parameters; c++) {
        double mean, variance;
        moments(&b, value[0], c, &mean, &variance);
        const double inverse = 1 / sqrt(variance + call->epsilon);
        for (int64_t n = 0; n < b.images; n++)
            for (int64_t i = 0; i < b.repeats; i++) {
                const int64_t at = place(&b, n, c, i);
                value[1][at] = (float)((value[0][at] - mean) * inverse * value[2][c] + value[3][c]);
            }
        const double unbiased = count > 1 ? variance * count / (count - 1) : variance;
        if (value[6])
            value[6][c] = (float)((1 - factor) * value[4][c] + factor * mean);
        if (value[7])
            value[7][c] = (float)((1 - factor) * value[5][c] + factor * unbiased);
        if (value[8])
            value[8][c] = (float)mean;
        if (value[9])
            value[9][c] = (float)inverse;
    }
}

/* Operands: x, dy, dx, scale, gradients of scale and bias, saved mean and inverse deviation (both
 * or none). */
void simdev_batchnorm_backward(const struct simdev_host_call *call, float *const value[])
{
    const struct batch b = batch_of(call);
    const double count = (double)(b.images * b.repeats);
    for (int64_t c = 0; c < b.parameters; c++) {
        double mean, variance, of_scale = 0, of_bias = 0;
        moments(&b, value[0], c, &mean, &variance);
        double inverse = 1 / sqrt(variance + call->epsilon);
        if (value[6] && value[7]) {
            mean = value[6][c];
            inverse = value[7][c];
        }
        for (int64_t n = 0; n < b.images; n++)
            for (int64_t i = 0; i < b.repeats; i++) {
                const int64_t at = place(&b, n, c, i);
                of_bias += value[1][at];
                of_scale += value[1][at] * (value[0][at] - mean) * inverse;
            }
        for (int64_t n = 0; n < b.images; n++)
            for (int64_t i = 0; i < b.repeats; i++) {
                const int64_t at = place(&b, n, c, i);
                const double normal = (value[0][at] - mean) * inverse;
                value[2][at] =
                    (float)(value[3][c] * inverse *
                            (value[1][at] - of_bias / count - normal * of_scale / count));
            }
        value[4][c] = (float)of_scale;
        value[5][c] = (float)of_bias;
    }
}
