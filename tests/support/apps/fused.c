#include "fused.h"

#include <math.h>
#include <string.h>

static const char *const FORM_NAMES[] = {"residual", "scaled", "activation", "broadcast",
                                         "input",    "filter", "legacy"};

const char *fused_form_name(enum fused_form form)
{
    return FORM_NAMES[form];
}

bool fused_forms_parse(const char *name, bool *chosen)
{
    bool all = strcmp(name, "all") == 0;
    bool any = all;
    for (enum fused_form i = FUSED_RESIDUAL; i < FUSED_FORMS; i++) {
        chosen[i] = all || strcmp(name, FORM_NAMES[i]) == 0;
        any = any || chosen[i];
    }
    return any || option_refuse("fused", name,
                                "residual, scaled, activation, broadcast, input, filter, legacy "
                                "or all");
}

/* Sizes for which cuDNN has engines that fuse: channels in multiples of eight, mostly. One in
 * `nchw_in` problems is channels-first. */
static void draw_convolution(struct rng *rng, cudnnDataType_t type, int64_t nchw_in,
                             struct conv_problem *p)
{
    int64_t grain = rng_once_in(rng, 8) ? 4 : 8;
    p->spatial = rng_once_in(rng, 6) ? 3 : 2;
    p->layout = rng_once_in(rng, nchw_in) ? LAYOUT_NCHW : LAYOUT_NHWC;
    p->groups = 1;
    p->alpha = 1.0F;
    p->x.type = p->w.type = type;
    p->x.dims = p->w.dims = p->spatial + 2;
    p->x.size[0] = rng_between(rng, 1, 4);
    p->x.size[1] = p->w.size[1] = grain * rng_between(rng, 1, 4);
    p->w.size[0] = grain * rng_between(rng, 1, 4);
    for (int i = 0; i < p->spatial; i++) {
        int64_t kernel = rng_between(rng, 1, 3);
        p->w.size[i + 2] = kernel;
        p->x.size[i + 2] = rng_between(rng, p->spatial == 3 ? 3 : 6, p->spatial == 3 ? 6 : 18);
        p->pre[i] = p->post[i] = rng_between(rng, 0, kernel / 2);
        p->stride[i] = rng_once_in(rng, 4) ? 2 : 1;
        p->dilation[i] = 1;
    }
    conv_output(p);
    tensor_pack(&p->x, p->layout);
    tensor_pack(&p->w, p->layout);
    tensor_pack(&p->y, p->layout);
}

static int add_tensor(struct fused_problem *f, const struct tensor *tensor, cudnnDataType_t type,
                      enum backend_storage storage)
{
    struct fused_tensor *added = &f->tensor[f->tensors];
    added->tensor = *tensor;
    added->tensor.type = type;
    added->storage = storage;
    added->shares = f->tensors;
    return f->tensors++;
}

/* Packed, with the extents of the model where `mask` has a bit, the lowest for the first dimension,
 * and 1 elsewhere. */
static int add_broadcast(struct fused_problem *f, const struct tensor *model, unsigned mask,
                         cudnnDataType_t type)
{
    struct tensor tensor = *model;
    for (int i = 0; i < tensor.dims; i++)
        if ((mask >> i & 1) == 0)
            tensor.size[i] = 1;
    tensor_pack(&tensor, f->conv.layout);
    return add_tensor(f, &tensor, type, BACKEND_MEMORY);
}

static int add_scalar(struct fused_problem *f, struct rng *rng, cudnnDataType_t type)
{
    static const float values[] = {0.5F, 2.0F, -1.0F};
    bool by_value = rng_once_in(rng, 2);
    int scalar = add_broadcast(f, &f->conv.y, 0, type);
    if (by_value)
        f->tensor[scalar].storage = BACKEND_BY_VALUE;
    f->tensor[scalar].value = values[rng_between(rng, 0, 2)];
    return scalar;
}

static struct fused_step *add_step(struct fused_problem *f, cudnnPointwiseMode_t mode, int x, int b,
                                   int y)
{
    struct fused_step *step = &f->step[f->steps++];
    *step = (struct fused_step){.mode = mode,
                                .x = x,
                                .b = b,
                                .y = y,
                                .alpha1 = 1.0F,
                                .alpha2 = 1.0F,
                                .upper_clip = INFINITY,
                                .elu_alpha = 1.0F,
                                .swish_beta = 1.0F};
    return step;
}

/* Appends the next step after the convolution. Its result is an f32 number between two operations.
 */
static struct fused_step *append(struct fused_problem *f, cudnnPointwiseMode_t mode, int b)
{
    int x = f->result;
    f->result = add_tensor(f, &f->conv.y, CUDNN_DATA_FLOAT, BACKEND_VIRTUAL);
    return add_step(f, mode, x, b, f->result);
}

static float draw_factor(struct rng *rng)
{
    static const float factors[] = {0.5F, 2.0F, -1.0F};
    return rng_once_in(rng, 2) ? 1.0F : factors[rng_between(rng, 0, 2)];
}

static void append_bias(struct fused_problem *f, struct rng *rng)
{
    bool single = rng_once_in(rng, 4);
    append(f, CUDNN_POINTWISE_ADD,
           add_broadcast(f, &f->conv.y, 2, single ? CUDNN_DATA_FLOAT : f->conv.x.type));
}

static void append_activation(struct fused_problem *f, struct rng *rng)
{
    static const cudnnPointwiseMode_t curves[] = {
        CUDNN_POINTWISE_SWISH_FWD,   CUDNN_POINTWISE_GELU_FWD, CUDNN_POINTWISE_GELU_APPROX_TANH_FWD,
        CUDNN_POINTWISE_SIGMOID_FWD, CUDNN_POINTWISE_TANH_FWD, CUDNN_POINTWISE_ELU_FWD};
    int64_t kind = rng_between(rng, 0, 9);
    if (kind < 6) {
        append(f, curves[kind], -1);
        f->exact = false;
        return;
    }
    if (kind == 6)
        return;
    struct fused_step *relu = append(f, CUDNN_POINTWISE_RELU_FWD, -1);
    if (kind == 7)
        relu->upper_clip = 6.0F;
    if (kind == 8)
        relu->lower_slope = 0.25F;
}

static void append_residual(struct fused_problem *f, struct rng *rng, bool in_place)
{
    int side = add_tensor(f, &f->conv.y, f->conv.x.type, BACKEND_MEMORY);
    append(f, CUDNN_POINTWISE_ADD, side)->alpha2 = in_place ? 0.0F : draw_factor(rng);
    append_bias(f, rng);
    append(f, CUDNN_POINTWISE_RELU_FWD, -1);
    if (in_place)
        f->tensor[side].shares = f->result;
}

static void append_scaled(struct fused_problem *f, struct rng *rng)
{
    append(f, CUDNN_POINTWISE_MUL, add_scalar(f, rng, CUDNN_DATA_FLOAT));
    if (rng_once_in(rng, 2)) {
        int side = add_tensor(f, &f->conv.y, f->conv.x.type, BACKEND_MEMORY);
        int scaled = add_tensor(f, &f->conv.y, CUDNN_DATA_FLOAT, BACKEND_VIRTUAL);
        add_step(f, CUDNN_POINTWISE_MUL, side, add_scalar(f, rng, CUDNN_DATA_FLOAT), scaled);
        append(f, CUDNN_POINTWISE_ADD, scaled);
    }
    append_bias(f, rng);
    append_activation(f, rng);
}

/* Per sample, per row, of everything but channels, or whole. */
static void append_broadcast(struct fused_problem *f, struct rng *rng)
{
    static const unsigned masks[] = {1, 1 << 2, 1 | 2, 2, 1 | 4 | 8 | 16, 31};
    bool multiply = rng_once_in(rng, 3);
    int operand = add_broadcast(f, &f->conv.y, masks[rng_between(rng, 0, 5)], f->conv.x.type);
    append(f, multiply ? CUDNN_POINTWISE_MUL : CUDNN_POINTWISE_ADD, operand);
    if (rng_once_in(rng, 2))
        append(f, CUDNN_POINTWISE_RELU_FWD, -1);
}

/* The computation of the legacy call as a graph: alpha1, alpha2 and the bias always. */
static void append_legacy(struct fused_problem *f, struct rng *rng)
{
    bool in_place = rng_once_in(rng, 2);
    float alpha2 = rng_once_in(rng, 3) ? 0.0F : draw_factor(rng);
    int side = add_tensor(f, &f->conv.y, f->conv.x.type, BACKEND_MEMORY);
    struct fused_step *sum = append(f, CUDNN_POINTWISE_ADD, side);
    sum->alpha1 = rng_once_in(rng, 3) ? draw_factor(rng) : 1.0F;
    sum->alpha2 = alpha2;
    append(f, CUDNN_POINTWISE_ADD, add_broadcast(f, &f->conv.y, 2, f->conv.x.type));
    append(f, rng_once_in(rng, 2) ? CUDNN_POINTWISE_RELU_FWD : CUDNN_POINTWISE_IDENTITY, -1);
    if (in_place)
        f->tensor[side].shares = f->result;
}

/* A step between a tensor in memory and the operand of the convolution at *operand, which becomes
 * virtual: a product with one number or with one number per channel, or ReLU. */
static void prepend(struct fused_problem *f, struct rng *rng, int *operand)
{
    static const unsigned masks[] = {1, 2, 31};
    int source = *operand;
    const struct tensor model = f->tensor[source].tensor;
    int64_t kind = rng_between(rng, 0, 3);
    int b = -1;
    if (kind == 1)
        b = add_scalar(f, rng, model.type);
    else if (kind > 1)
        b = add_broadcast(f, &model, masks[rng_between(rng, 0, 2)], model.type);
    *operand = add_tensor(f, &model, model.type, BACKEND_VIRTUAL);
    add_step(f, b < 0 ? CUDNN_POINTWISE_RELU_FWD : CUDNN_POINTWISE_MUL, source, b, *operand);
    f->before = f->steps;
}

void fused_random(uint64_t seed, uint64_t index, enum fused_form form, cudnnDataType_t type,
                  struct fused_problem *problem)
{
    struct rng rng = rng_of(seed, index);
    struct fused_problem *f = problem;
    memset(f, 0, sizeof *f);
    f->form = form;
    f->exact = true;
    /* Most engines that fuse need channels last. */
    bool usual = form == FUSED_RESIDUAL || form == FUSED_ACTIVATION || form == FUSED_LEGACY;
    draw_convolution(&rng, type, usual ? 2 : 6, &f->conv);
    f->x = add_tensor(f, &f->conv.x, type, BACKEND_MEMORY);
    f->w = add_tensor(f, &f->conv.w, type, BACKEND_MEMORY);
    if (form == FUSED_INPUT)
        prepend(f, &rng, &f->x);
    if (form == FUSED_FILTER)
        prepend(f, &rng, &f->w);
    f->y = f->result = add_tensor(f, &f->conv.y, CUDNN_DATA_FLOAT, BACKEND_VIRTUAL);
    switch (form) {
    case FUSED_RESIDUAL:
        append_residual(f, &rng, rng_once_in(&rng, 3));
        break;
    case FUSED_SCALED:
        append_scaled(f, &rng);
        break;
    case FUSED_ACTIVATION:
        append_bias(f, &rng);
        append_activation(f, &rng);
        break;
    case FUSED_BROADCAST:
        append_broadcast(f, &rng);
        break;
    case FUSED_LEGACY:
        append_legacy(f, &rng);
        break;
    default:
        break;
    }
    f->tensor[f->result].storage = BACKEND_MEMORY;
    f->tensor[f->result].tensor.type = type;
}
