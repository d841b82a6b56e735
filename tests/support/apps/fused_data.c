#include "fused.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Scales, side inputs and bias may multiply the sums of a convolution and add to them. */
#define SHARE 8

/* The tensor in memory that the convolution's operand is made from. */
static int source_of(const struct fused_problem *f, int operand)
{
    return f->before > 0 && f->step[0].y == operand ? f->step[0].x : operand;
}

static bool is_scalar(const struct fused_problem *f, int tensor)
{
    return f->tensor[tensor].value != 0.0F;
}

static bool is_factor(const struct fused_problem *f, int tensor)
{
    for (int i = 0; i < f->steps; i++)
        if (f->step[i].b == tensor && f->step[i].mode == CUDNN_POINTWISE_MUL)
            return true;
    return false;
}

static void fill_further(const struct fused_problem *f, int index, struct rng *rng, enum data kind,
                         void *image)
{
    const struct fused_tensor *tensor = &f->tensor[index];
    int64_t range = is_factor(f, index) ? 1 : f->conv.x.type == CUDNN_DATA_BFLOAT16 ? 2 : 8;
    if (is_scalar(f, index))
        dtype_store(tensor->tensor.type, image, 0, tensor->value);
    else
        problem_fill_view(&tensor->tensor, rng, kind, range, 1, image);
}

bool fused_fill(const struct fused_problem *problem, uint64_t seed, enum data kind,
                struct fused_data *data)
{
    const struct fused_problem *f = problem;
    struct rng rng = rng_of(seed, 1);
    struct problem_data operands;
    memset(data, 0, sizeof *data);
    if (!problem_fill_share(&f->conv, seed, kind, SHARE, &operands))
        return false;
    data->image[source_of(f, f->x)] = operands.x;
    data->image[source_of(f, f->w)] = operands.w;
    data->image[f->result] = operands.y;
    for (int i = 0; i < f->tensors; i++) {
        const struct fused_tensor *tensor = &f->tensor[i];
        bool done = data->image[i] != NULL || tensor->storage != BACKEND_MEMORY;
        if (!done && tensor->shares == i) {
            data->image[i] = malloc(tensor_storage_bytes(&tensor->tensor));
            if (data->image[i] == NULL)
                goto release;
        }
        if (!done)
            fill_further(f, i, &rng, kind, data->image[tensor->shares]);
    }
    return true;
release:
    fused_release(data);
    return false;
}

void fused_release(struct fused_data *data)
{
    for (int i = 0; i < FUSED_MAX_TENSORS; i++)
        free(data->image[i]);
    memset(data, 0, sizeof *data);
}

/* The elements of every tensor in double, in the order of the coordinates. */
struct values {
    double *of[FUSED_MAX_TENSORS];
};

static double activate(const struct fused_step *step, double x)
{
    switch (step->mode) {
    case CUDNN_POINTWISE_RELU_FWD:
        if (x < (double)step->lower_clip)
            return (double)step->lower_clip +
                   (double)step->lower_slope * (x - (double)step->lower_clip);
        return fmin(x, (double)step->upper_clip);
    case CUDNN_POINTWISE_ELU_FWD:
        return x < 0.0 ? (double)step->elu_alpha * expm1(x) : x;
    case CUDNN_POINTWISE_SWISH_FWD:
        return x / (1.0 + exp(-(double)step->swish_beta * x));
    case CUDNN_POINTWISE_SIGMOID_FWD:
        return 1.0 / (1.0 + exp(-x));
    case CUDNN_POINTWISE_TANH_FWD:
        return tanh(x);
    case CUDNN_POINTWISE_GELU_FWD:
        return 0.5 * x * (1.0 + erf(x * M_SQRT1_2));
    case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
        return 0.5 * x *
               (1.0 + tanh(0.5 * M_SQRT1_2 * M_2_SQRTPI * 2.0 * (x + 0.044715 * x * x * x)));
    default:
        return x;
    }
}

/* The index, in the order of this tensor, of the element at these coordinates of a larger one. */
static size_t place_of(const struct tensor *tensor, const int64_t *at)
{
    int64_t place = 0;
    for (int i = 0; i < tensor->dims; i++)
        place = place * tensor->size[i] + (tensor->size[i] == 1 ? 0 : at[i]);
    return (size_t)place;
}

static void run_step(const struct fused_problem *f, const struct fused_step *step,
                     const struct values *values)
{
    const struct tensor *y = &f->tensor[step->y].tensor;
    int64_t at[CLIENT_MAX_DIMS] = {0};
    double *result = values->of[step->y];
    do {
        double x =
            (double)step->alpha1 * values->of[step->x][place_of(&f->tensor[step->x].tensor, at)];
        if (step->b >= 0) {
            double b = (double)step->alpha2 *
                       values->of[step->b][place_of(&f->tensor[step->b].tensor, at)];
            x = step->mode == CUDNN_POINTWISE_MUL ? x * b : x + b;
        }
        *result++ = activate(step, x);
    } while (tensor_step(y, at));
}

/* The image of an operand that a step has made; NULL if memory is out. */
static void *store(const struct tensor *tensor, const double *values)
{
    int64_t at[CLIENT_MAX_DIMS] = {0};
    void *image = malloc(tensor_storage_bytes(tensor));
    if (image == NULL)
        return NULL;
    do
        dtype_store(tensor->type, image, tensor_index(tensor, at), (float)*values++);
    while (tensor_step(tensor, at));
    return image;
}

static bool run_convolution(const struct fused_problem *f, const struct values *values)
{
    struct problem_data data = {store(&f->conv.x, values->of[f->x]),
                                store(&f->conv.w, values->of[f->w]), NULL};
    bool good = data.x != NULL && data.w != NULL;
    if (good)
        problem_reference_double(&f->conv, &data, NULL, values->of[f->y]);
    problem_release(&data);
    return good;
}

static void load(const struct fused_problem *f, int index, const struct fused_data *data,
                 double *values)
{
    const struct fused_tensor *tensor = &f->tensor[index];
    const void *image = data->image[tensor->shares];
    int64_t at[CLIENT_MAX_DIMS] = {0};
    if (tensor->storage == BACKEND_BY_VALUE)
        *values = (double)tensor->value;
    if (tensor->storage != BACKEND_MEMORY)
        return;
    do
        *values++ =
            (double)dtype_load(tensor->tensor.type, image, tensor_index(&tensor->tensor, at));
    while (tensor_step(&tensor->tensor, at));
}

bool fused_reference(const struct fused_problem *problem, const struct fused_data *data,
                     double *elements)
{
    const struct fused_problem *f = problem;
    struct values values = {{NULL}};
    bool good = true;
    for (int i = 0; i < f->tensors && good; i++) {
        values.of[i] = malloc((size_t)tensor_elements(&f->tensor[i].tensor) * sizeof(double));
        good = values.of[i] != NULL;
        if (good)
            load(f, i, data, values.of[i]);
    }
    for (int i = 0; i <= f->steps && good; i++) {
        if (i == f->before)
            good = run_convolution(f, &values);
        if (i < f->steps && good)
            run_step(f, &f->step[i], &values);
    }
    if (good)
        memcpy(elements, values.of[f->result],
               (size_t)tensor_elements(&f->tensor[f->result].tensor) * sizeof(double));
    for (int i = 0; i < f->tensors; i++)
        free(values.of[i]);
    return good;
}

static const char *mode_name(cudnnPointwiseMode_t mode)
{
    switch (mode) {
    case CUDNN_POINTWISE_ADD:
        return "add";
    case CUDNN_POINTWISE_MUL:
        return "mul";
    case CUDNN_POINTWISE_RELU_FWD:
        return "relu";
    case CUDNN_POINTWISE_ELU_FWD:
        return "elu";
    case CUDNN_POINTWISE_SWISH_FWD:
        return "swish";
    case CUDNN_POINTWISE_SIGMOID_FWD:
        return "sigmoid";
    case CUDNN_POINTWISE_TANH_FWD:
        return "tanh";
    case CUDNN_POINTWISE_GELU_FWD:
        return "gelu";
    case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
        return "gelutanh";
    default:
        return "identity";
    }
}

/* Its number, with "v" before a virtual one and the extents of one that is broadcast; of a scalar
 * its value, with "=" before one by value. */
static int print_operand(const struct fused_problem *f, int index, char *text, size_t bytes)
{
    static const char *const marks[] = {"", "v", "="};
    const struct fused_tensor *tensor = &f->tensor[index];
    bool whole = tensor_elements(&tensor->tensor) == tensor_elements(&f->conv.y);
    if (is_scalar(f, index))
        return snprintf(text, bytes, "%s%g", marks[tensor->storage], (double)tensor->value);
    int used = snprintf(text, bytes, "%s%d%s", marks[tensor->storage], index,
                        tensor->shares != index ? "(result)" : "");
    for (int i = 0; i < tensor->tensor.dims && !whole; i++)
        used += snprintf(text + used, bytes - (size_t)used, "%c%d", i == 0 ? ':' : 'x',
                         (int)tensor->tensor.size[i]);
    if (!whole)
        used += snprintf(text + used, bytes - (size_t)used, ":%s", dtype_name(tensor->tensor.type));
    return used;
}

void fused_print(const struct fused_problem *problem, char *text, size_t bytes)
{
    const struct fused_problem *f = problem;
    problem_print(&f->conv, text, bytes);
    size_t used = strlen(text);
    used += (size_t)snprintf(text + used, bytes - used, " fused=%s", fused_form_name(f->form));
    for (int i = 0; i < f->steps && used + 160 < bytes; i++) {
        const struct fused_step *step = &f->step[i];
        used += (size_t)snprintf(text + used, bytes - used, ";%d=%s%s(%g*", step->y,
                                 mode_name(step->mode), i < f->before ? "-before" : "",
                                 (double)step->alpha1);
        used += (size_t)print_operand(f, step->x, text + used, bytes - used);
        if (step->b >= 0) {
            used += (size_t)snprintf(text + used, bytes - used, ",%g*", (double)step->alpha2);
            used += (size_t)print_operand(f, step->b, text + used, bytes - used);
        }
        if (step->mode == CUDNN_POINTWISE_RELU_FWD && step->upper_clip < INFINITY)
            used += (size_t)snprintf(text + used, bytes - used, ",<=%g", (double)step->upper_clip);
        if (step->lower_slope != 0.0F)
            used +=
                (size_t)snprintf(text + used, bytes - used, ",slope%g", (double)step->lower_slope);
        used += (size_t)snprintf(text + used, bytes - used, ")");
    }
}
