/* Convolutions by plain loops, for cases that oneDNN does not support. */
#include <stdlib.h>
#include <string.h>

#include "cudnn_internal.h"

/* The convolution as nested loops, for cases that oneDNN refuses. Dimensions are padded to three
 * spatial ones. */

struct plain {
    enum simdev_conv_kind kind;
    int64_t batch, groups, filters, channels; /* filters and channels of one group */
    int64_t in[3], taps[3], out[3];
    int64_t stride[3], dilation[3], pad[3];
    int64_t step[SIMDEV_ROLES][5]; /* strides of n or k, c, d, h, w */
    float *data[SIMDEV_ROLES];
    double *sum; /* one per element of the result, in dense order */
};

static void describe_loops(const struct simdev_geometry *geometry, const struct simdev_view *view,
                           struct plain *p)
{
    const struct simdev_view *x = &view[SIMDEV_X], *w = &view[SIMDEV_W], *y = &view[SIMDEV_Y];
    const int lead = SIMDEV_MAX_SPATIAL - geometry->spatial;
    *p = (struct plain){.kind = geometry->kind,
                        .batch = x->dim[0],
                        .groups = geometry->groups,
                        .filters = w->dim[0] / geometry->groups,
                        .channels = w->dim[1]};
    for (int i = 0; i < SIMDEV_MAX_SPATIAL; i++) {
        const int from = i - lead;
        const bool real = from >= 0;
        p->in[i] = real ? x->dim[2 + from] : 1;
        p->taps[i] = real ? w->dim[2 + from] : 1;
        p->out[i] = real ? y->dim[2 + from] : 1;
        p->stride[i] = real ? geometry->stride[from] : 1;
        p->dilation[i] = real ? geometry->dilation[from] : 1;
        p->pad[i] = real ? geometry->pad_lower[from] : 0;
        for (int role = 0; role < SIMDEV_ROLES; role++)
            p->step[role][2 + i] = real ? view[role].stride[2 + from] : 0;
    }
    for (int role = 0; role < SIMDEV_ROLES; role++) {
        p->step[role][0] = view[role].stride[0];
        p->step[role][1] = view[role].stride[1];
        p->data[role] = (float *)(void *)view[role].data;
    }
}

static int64_t offset_of(const struct plain *p, enum simdev_role role, int64_t a, int64_t b,
                         const int64_t position[3])
{
    const int64_t *step = p->step[role];
    return a * step[0] + b * step[1] + position[0] * step[2] + position[1] * step[3] +
           position[2] * step[4];
}

static int64_t dense_index(int64_t a, int64_t b, int64_t extent, const int64_t size[3],
                           const int64_t position[3])
{
    return (((a * extent + b) * size[0] + position[0]) * size[1] + position[1]) * size[2] +
           position[2];
}

/* One multiplication, at a position in the filter and in the output. */
static void multiply_once(const struct plain *p, int64_t n, int64_t k, int64_t c,
                          const int64_t tap[3], const int64_t out[3])
{
    const int64_t channel = k / p->filters * p->channels + c;
    int64_t in[3];
    for (int i = 0; i < 3; i++) {
        in[i] = out[i] * p->stride[i] - p->pad[i] + tap[i] * p->dilation[i];
        if (in[i] < 0 || in[i] >= p->in[i])
            return;
    }
    const double x = p->kind == SIMDEV_CONV_BACKWARD_DATA
                         ? 0
                         : (double)p->data[SIMDEV_X][offset_of(p, SIMDEV_X, n, channel, in)];
    const double w = p->kind == SIMDEV_CONV_BACKWARD_FILTER
                         ? 0
                         : (double)p->data[SIMDEV_W][offset_of(p, SIMDEV_W, k, c, tap)];
    const double y = p->kind == SIMDEV_CONV_FORWARD
                         ? 0
                         : (double)p->data[SIMDEV_Y][offset_of(p, SIMDEV_Y, n, k, out)];
    const int64_t channels = p->groups * p->channels, filters = p->groups * p->filters;
    if (p->kind == SIMDEV_CONV_FORWARD)
        p->sum[dense_index(n, k, filters, p->out, out)] += x * w;
    else if (p->kind == SIMDEV_CONV_BACKWARD_DATA)
        p->sum[dense_index(n, channel, channels, p->in, in)] += y * w;
    else
        p->sum[dense_index(k, c, p->channels, p->taps, tap)] += x * y;
}

static void each_tap(const struct plain *p, int64_t n, int64_t k, const int64_t out[3])
{
    for (int64_t c = 0; c < p->channels; c++)
        for (int64_t d = 0; d < p->taps[0]; d++)
            for (int64_t h = 0; h < p->taps[1]; h++)
                for (int64_t w = 0; w < p->taps[2]; w++)
                    multiply_once(p, n, k, c, (int64_t[3]){d, h, w}, out);
}

static void each_output(const struct plain *p)
{
    for (int64_t n = 0; n < p->batch; n++)
        for (int64_t k = 0; k < p->groups * p->filters; k++)
            for (int64_t d = 0; d < p->out[0]; d++)
                for (int64_t h = 0; h < p->out[1]; h++)
                    for (int64_t w = 0; w < p->out[2]; w++)
                        each_tap(p, n, k, (int64_t[3]){d, h, w});
}

static void store_result(const struct plain *p, const struct simdev_view *result)
{
    const enum simdev_role role = simdev_conv_result(p->kind);
    const int64_t *size = role == SIMDEV_X ? p->in : role == SIMDEV_W ? p->taps : p->out;
    const double *from = p->sum;
    for (int64_t a = 0; a < result->dim[0]; a++)
        for (int64_t b = 0; b < result->dim[1]; b++)
            for (int64_t d = 0; d < size[0]; d++)
                for (int64_t h = 0; h < size[1]; h++)
                    for (int64_t w = 0; w < size[2]; w++)
                        p->data[role][offset_of(p, role, a, b, (int64_t[3]){d, h, w})] =
                            (float)*from++;
}

bool simdev_convolve_plain(const struct simdev_geometry *geometry,
                           const struct simdev_view view[SIMDEV_ROLES])
{
    const struct simdev_view *result = &view[simdev_conv_result(geometry->kind)];
    struct plain p;
    describe_loops(geometry, view, &p);
    p.sum = calloc((size_t)simdev_view_elements(result), sizeof *p.sum);
    if (!p.sum)
        return false;
    each_output(&p);
    store_result(&p, result);
    free(p.sum);
    return true;
}
