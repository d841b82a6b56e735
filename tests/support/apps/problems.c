#include "problems.h"

#include <string.h>

/* Bounds that keep a problem small for the client's clock: elements of a tensor, multiply-adds of a
 * convolution. */
#define MAX_ELEMENTS 20000
#define MAX_WORK 4000000

static int64_t draw_output_extent(struct rng *rng, int spatial)
{
    return rng_between(rng, 1, rng_once_in(rng, 3) ? 3 : spatial == 3 ? 8 : 28);
}

/* An extent of 1 with a kernel of 1: how a 1-D convolution looks in 2-D. */
static void draw_flat_axis(struct conv_problem *p, int axis)
{
    p->x.size[axis + 2] = p->w.size[axis + 2] = 1;
    p->pre[axis] = p->post[axis] = 0;
    p->stride[axis] = p->dilation[axis] = 1;
}

/* A property that all axes of a problem share. */
enum shape {
    SHAPE_ANY,
    SHAPE_TRANSPOSED, /* a transposed convolution that doubles the extent, if read as backward-data
                       */
    SHAPE_GAPS        /* stride over kernel: no window covers some of the input */
};

/* As in segmentation heads, the extent usually stays the same. The padding may also exceed the
 * dilation. */
static void draw_dilated_axis(struct rng *rng, struct conv_problem *p, int axis, bool symmetric)
{
    int64_t kernel = rng_between(rng, 1, 3) == 1 ? 2 : 3;
    int64_t dilation = rng_between(rng, 2, 8);
    int64_t reach = dilation * (kernel - 1);
    bool same = !rng_once_in(rng, 3);
    p->w.size[axis + 2] = kernel;
    p->x.size[axis + 2] = reach + rng_between(rng, 1, 24);
    p->pre[axis] = same ? reach / 2 : rng_between(rng, 0, reach);
    p->post[axis] = same ? reach - reach / 2 : rng_between(rng, 0, reach);
    if (symmetric)
        p->post[axis] = p->pre[axis];
    p->stride[axis] = 1;
    p->dilation[axis] = dilation;
}

/* Draws the output extent and works back to the input, so that few-row outputs are as common as
 * wished; up to stride - 1 rows at the end are in no window. */
static void draw_axis(struct rng *rng, struct conv_problem *p, int axis, bool symmetric,
                      enum shape shape)
{
    bool transposed = shape == SHAPE_TRANSPOSED;
    bool gaps = shape == SHAPE_GAPS;
    int64_t kernel = transposed ? 4 : rng_between(rng, 1, gaps ? 2 : p->spatial == 3 ? 4 : 7);
    int64_t stride = transposed            ? 2
                     : gaps                ? rng_between(rng, 3, 4)
                     : rng_once_in(rng, 2) ? 1
                                           : rng_between(rng, 1, 4);
    int64_t dilation = shape != SHAPE_ANY || rng_once_in(rng, 2) ? 1 : rng_between(rng, 1, 3);
    int64_t pre = transposed ? 1 : rng_between(rng, 0, 5);
    int64_t post = rng_once_in(rng, 2) ? pre : rng_between(rng, 0, 1) * rng_between(rng, 0, 5);
    if (symmetric || transposed)
        post = pre;
    int64_t reach = dilation * (kernel - 1) + 1;
    int64_t input = (draw_output_extent(rng, p->spatial) - 1) * stride + reach - pre - post +
                    (transposed ? 0 : rng_between(rng, 0, stride - 1));
    p->x.size[axis + 2] = input > 0 ? input : 1;
    p->w.size[axis + 2] = kernel;
    p->pre[axis] = pre;
    p->post[axis] = post;
    p->stride[axis] = stride;
    p->dilation[axis] = dilation;
}

static void draw_channels(struct rng *rng, struct conv_problem *p)
{
    int64_t inputs = rng_between(rng, 1, 12);
    int64_t outputs = rng_between(rng, 1, 12);
    p->groups = 1;
    if (rng_once_in(rng, 4)) {
        bool depthwise = rng_once_in(rng, 2);
        p->groups = rng_between(rng, 2, depthwise ? 12 : 4);
        inputs = p->groups * (depthwise ? 1 : rng_between(rng, 1, 4));
        outputs = p->groups * rng_between(rng, 1, depthwise ? 2 : 4);
    } else if (!rng_once_in(rng, 4)) {
        /* Multiples of eight open the engines with workspaces. */
        inputs = 8 * rng_between(rng, 1, 4);
        outputs = 8 * rng_between(rng, 1, 4);
    }
    p->x.size[1] = inputs;
    p->w.size[0] = outputs;
    p->w.size[1] = inputs / p->groups;
}

static void draw_scaling(struct rng *rng, struct conv_problem *p)
{
    static const float alphas[] = {0.5F, -1.0F, 2.0F};
    static const float betas[] = {1.0F, -0.5F, 2.0F};
    p->alpha = 1.0F;
    /* Gradients are added up by many clients. */
    if (rng_once_in(rng, p->direction == CONV_FORWARD ? 6 : 2)) {
        p->alpha = alphas[rng_between(rng, 0, 2)];
        p->beta = betas[rng_between(rng, 0, 2)];
    }
}

/* Packs the tensor or places it inside a larger one. `grain` elements divide the offset. */
static void draw_placement(struct rng *rng, struct tensor *tensor, enum layout layout,
                           int64_t grain)
{
    int64_t outer[CLIENT_MAX_DIMS];
    int64_t corner[CLIENT_MAX_DIMS];
    if (!rng_once_in(rng, 4)) {
        tensor_pack(tensor, layout);
        return;
    }
    for (int i = 0; i < tensor->dims; i++) {
        int64_t excess = rng_between(rng, 0, 3);
        outer[i] = tensor->size[i] + excess;
        corner[i] = rng_between(rng, 0, excess);
    }
    tensor_embed(tensor, layout, outer, corner);
    int64_t excess = tensor->offset % grain;
    tensor->offset -= excess;
}

static bool small_enough(const struct conv_problem *p)
{
    int64_t outputs = tensor_elements(&p->y);
    int64_t weights = tensor_elements(&p->w);
    return tensor_elements(&p->x) <= MAX_ELEMENTS && outputs <= MAX_ELEMENTS &&
           weights <= MAX_ELEMENTS && outputs * (weights / p->w.size[0]) <= MAX_WORK;
}

static enum shape draw_shape(struct rng *rng)
{
    if (rng_once_in(rng, 5))
        return SHAPE_TRANSPOSED;
    return rng_once_in(rng, 5) ? SHAPE_GAPS : SHAPE_ANY;
}

static bool draw(struct rng *rng, enum conv_direction direction, cudnnDataType_t type,
                 bool symmetric, bool dilated, struct conv_problem *p)
{
    memset(p, 0, sizeof *p);
    p->direction = direction;
    int64_t flat = rng_between(rng, -1, 6);
    p->spatial = rng_once_in(rng, 4) ? 3 : 2;
    p->layout = rng_once_in(rng, 3) ? LAYOUT_NHWC : LAYOUT_NCHW;
    p->x.type = p->w.type = type;
    p->x.dims = p->w.dims = p->spatial + 2;
    p->x.size[0] = rng_between(rng, 1, 6);
    if (dilated && !rng_once_in(rng, 4))
        p->x.size[0] = 1; /* else there are images to be cut apart */
    draw_channels(rng, p);
    draw_scaling(rng, p);
    enum shape shape = direction == CONV_FORWARD ? SHAPE_ANY : draw_shape(rng);
    for (int i = 0; i < p->spatial; i++) {
        if (p->spatial == 2 && flat == i)
            draw_flat_axis(p, i);
        else if (dilated && !rng_once_in(rng, 4))
            draw_dilated_axis(rng, p, i, symmetric);
        else
            draw_axis(rng, p, i, symmetric, shape);
    }
    if (!conv_output(p) || !small_enough(p))
        return false;
    int64_t grain = symmetric ? 16 / (int64_t)dtype_size(type) : 1;
    tensor_pack(&p->w, p->layout);
    draw_placement(rng, &p->x, p->layout, grain);
    draw_placement(rng, &p->y, p->layout, grain);
    return true;
}

void problem_random(uint64_t seed, uint64_t index, enum conv_direction direction,
                    cudnnDataType_t type, bool symmetric, struct conv_problem *problem)
{
    struct rng rng = rng_of(seed, index);
    while (!draw(&rng, direction, type, symmetric, false, problem))
        continue;
}

void problem_dilated(uint64_t seed, uint64_t index, enum conv_direction direction,
                     cudnnDataType_t type, bool symmetric, struct conv_problem *problem)
{
    struct rng rng = rng_of(seed, index);
    while (!draw(&rng, direction, type, symmetric, true, problem))
        continue;
}

void problem_patch_conv(uint64_t index, enum conv_direction direction, cudnnDataType_t type,
                        struct conv_problem *problem)
{
    struct conv_problem *p = problem;
    int64_t height = 24 + (int64_t)(index % 105);
    int64_t kernel = 2 + (int64_t)(index / 105 % 6);
    int64_t stride = 1 + (int64_t)(index / 630 % 4);
    int64_t padding = (int64_t)(index / 2520 % 5);
    int64_t dilation = 1 + (int64_t)(index / 12600 % 2);
    memset(p, 0, sizeof *p);
    p->direction = direction;
    p->spatial = 2;
    p->groups = 1;
    p->alpha = 1.0F;
    p->x.type = p->w.type = type;
    p->x.dims = p->w.dims = 4;
    p->x.size[0] = 1;
    /* With fewer channels cuDNN selects engines without workspace, which a sweep is not about. */
    p->x.size[1] = p->w.size[1] = 16;
    p->w.size[0] = 8;
    p->x.size[2] = height;
    /* The narrowest that holds the largest kernel of the sweep without padding. */
    p->x.size[3] = 13;
    for (int i = 0; i < 2; i++) {
        p->w.size[i + 2] = kernel;
        p->pre[i] = p->post[i] = padding;
        p->stride[i] = stride;
        p->dilation[i] = dilation;
    }
    conv_output(p);
    tensor_pack(&p->x, p->layout);
    tensor_pack(&p->w, p->layout);
    tensor_pack(&p->y, p->layout);
}
