/* The arithmetic of pooling, on packed f32. */
#include "cudnn_host_math.h"

#include <math.h>
#include <string.h>

/* Both tensors as planes of three extents, and the window. */
struct geometry {
    int64_t planes, in[3], out[3], window[3], pad[3], stride[3];
    bool is_max, counts_padding;
};

static struct geometry geometry_of(const struct simdev_host_call *call, const struct simdev_view *x,
                                   const struct simdev_view *y)
{
    const struct cudnnPoolingStruct *p = &call->pooling;
    struct geometry g = {.planes = x->dim[0] * x->dim[1]};
    g.is_max = p->mode == CUDNN_POOLING_MAX || p->mode == CUDNN_POOLING_MAX_DETERMINISTIC;
    g.counts_padding = p->mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
    for (int i = 0; i < 3; i++) {
        const int own = i - (3 - p->spatial);
        g.in[i] = own < 0 ? 1 : x->dim[2 + own];
        g.out[i] = own < 0 ? 1 : y->dim[2 + own];
        g.window[i] = own < 0 ? 1 : p->window[own];
        g.pad[i] = own < 0 ? 0 : p->pad[own];
        g.stride[i] = own < 0 ? 1 : p->stride[own];
    }
    return g;
}

/* The part of an output's window that lies inside the input. */
struct box {
    int64_t first[3], end[3];
};

static struct box box_of(const struct geometry *g, const int64_t at[3])
{
    struct box b;
    for (int i = 0; i < 3; i++) {
        const int64_t low = at[i] * g->stride[i] - g->pad[i];
        b.first[i] = low < 0 ? 0 : low;
        b.end[i] = low + g->window[i] > g->in[i] ? g->in[i] : low + g->window[i];
    }
    return b;
}

static int64_t index_in(const struct geometry *g, int64_t d, int64_t h, int64_t w)
{
    return (d * g->in[1] + h) * g->in[2] + w;
}

static double divisor(const struct geometry *g, const struct box *b)
{
    double all = 1, inside = 1;
    for (int i = 0; i < 3; i++) {
        all *= (double)g->window[i];
        inside *= (double)(b->end[i] - b->first[i]);
    }
    return g->counts_padding ? all : inside;
}

/* The first index of the largest element; the sum of all. */
static int64_t look(const struct geometry *g, const struct box *b, const float *x, double *sum)
{
    int64_t best = -1;
    *sum = 0;
    for (int64_t d = b->first[0]; d < b->end[0]; d++)
        for (int64_t h = b->first[1]; h < b->end[1]; h++)
            for (int64_t w = b->first[2]; w < b->end[2]; w++) {
                const int64_t i = index_in(g, d, h, w);
                *sum += x[i];
                if (best < 0 || x[i] > x[best] || (isnan(x[i]) && !isnan(x[best])))
                    best = i;
            }
    return best;
}

static void spread(const struct geometry *g, const struct box *b, double each, float *dx)
{
    for (int64_t d = b->first[0]; d < b->end[0]; d++)
        for (int64_t h = b->first[1]; h < b->end[1]; h++)
            for (int64_t w = b->first[2]; w < b->end[2]; w++)
                dx[index_in(g, d, h, w)] += (float)each;
}

static int64_t volume(const int64_t extent[3])
{
    return extent[0] * extent[1] * extent[2];
}

static void place_of(const struct geometry *g, int64_t index, int64_t at[3])
{
    at[2] = index % g->out[2];
    at[1] = index / g->out[2] % g->out[1];
    at[0] = index / g->out[2] / g->out[1];
}

void simdev_pooling_forward(const struct simdev_host_call *call, float *const value[])
{
    const struct geometry g = geometry_of(call, &call->operand[0].view, &call->operand[1].view);
    for (int64_t p = 0; p < g.planes; p++)
        for (int64_t o = 0; o < volume(g.out); o++) {
            const float *x = value[0] + p * volume(g.in);
            int64_t at[3];
            double sum;
            place_of(&g, o, at);
            const struct box b = box_of(&g, at);
            const int64_t best = look(&g, &b, x, &sum);
            const double average = best < 0 ? 0 : sum / divisor(&g, &b);
            value[1][p * volume(g.out) + o] = g.is_max && best >= 0 ? x[best] : (float)average;
        }
}

void simdev_pooling_backward(const struct simdev_host_call *call, float *const value[])
{
    const struct geometry g = geometry_of(call, &call->operand[2].view, &call->operand[0].view);
    for (int64_t p = 0; p < g.planes; p++)
        for (int64_t o = 0; o < volume(g.out); o++) {
            const float *x = value[2] + p * volume(g.in);
            float *dx = value[3] + p * volume(g.in);
            const double dy = value[1][p * volume(g.out) + o];
            int64_t at[3];
            double sum;
            place_of(&g, o, at);
            const struct box b = box_of(&g, at);
            const int64_t best = look(&g, &b, x, &sum);
            if (g.is_max && best >= 0)
                dx[best] += (float)dy;
            else if (best >= 0)
                spread(&g, &b, dy / divisor(&g, &b), dx);
        }
}
