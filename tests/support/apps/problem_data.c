#include "problems.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Magnitude that a sum of integers may reach so that alpha and beta of the random problems, halves
 * among them, still give numbers the type holds exactly; for f32, so that the float accumulators
 * do. */
static int64_t largest_sum(cudnnDataType_t type)
{
    if (type == CUDNN_DATA_FLOAT)
        return 1 << 20;
    return type == CUDNN_DATA_HALF ? 512 : 64;
}

struct integers {
    int64_t range;    /* values are -range..range */
    int64_t nonzeros; /* of a filter, at most */
};

/* The number of products that an element of the result is the sum of, where padding takes none. */
static int64_t products(const struct conv_problem *p)
{
    if (p->direction == CONV_FILTER)
        return tensor_elements(&p->y) / p->y.size[1];
    int64_t taps = tensor_elements(&p->w) / p->w.size[0] / p->w.size[1];
    return taps * (p->direction == CONV_DATA ? p->w.size[0] / p->groups : p->w.size[1]);
}

static struct integers pick_integers(const struct conv_problem *p, int64_t share)
{
    int64_t sum = largest_sum(p->x.type) / share;
    int64_t range = 8;
    while (range > 1 && products(p) * range * range > sum)
        range--;
    return (struct integers){range, sum / (range * range)};
}

void problem_fill_view(const struct tensor *tensor, struct rng *rng, enum data kind, int64_t range,
                       int64_t factor, void *buffer)
{
    int64_t at[CLIENT_MAX_DIMS] = {0};
    do {
        float value = kind == DATA_NORMAL ? rng_normal(rng)
                                          : (float)(factor * rng_between(rng, -range, range));
        dtype_store(tensor->type, buffer, tensor_index(tensor, at), value);
    } while (tensor_step(tensor, at));
}

/* Which channel of the result the elements of the sparse operand at these coordinates add to. */
static int64_t channel_fed(const struct conv_problem *p, const int64_t *at)
{
    if (p->direction == CONV_FILTER)
        return at[1];
    int64_t group = at[0] / (p->w.size[0] / p->groups);
    return p->direction == CONV_DATA ? group * p->w.size[1] + at[1] : at[0];
}

/* Sparse, if sums of a full operand could exceed the range of the result's type. `left` counts the
 * elements still allowed, by channel of the result. */
static void fill_sparse(const struct conv_problem *p, const struct tensor *tensor, struct rng *rng,
                        struct integers integers, int64_t *left, void *buffer)
{
    int64_t at[CLIENT_MAX_DIMS] = {0};
    int64_t reduction = products(p);
    do {
        int64_t *allowed = &left[channel_fed(p, at)];
        /* Half the allowed density: the cap is seldom met before the operand's end. */
        bool zero = *allowed == 0 || (integers.nonzeros < reduction &&
                                      rng_between(rng, 1, 2 * reduction) > integers.nonzeros);
        int64_t value = zero ? 0 : rng_between(rng, -integers.range, integers.range);
        *allowed -= value != 0;
        dtype_store(tensor->type, buffer, tensor_index(tensor, at), (float)value);
    } while (tensor_step(tensor, at));
}

/* Fills the two operands that are multiplied. `left` has a place for each channel of x and y. */
static void fill_operands(const struct conv_problem *p, struct rng *rng, enum data kind,
                          struct integers integers, int64_t *left, const struct problem_data *data)
{
    const struct tensor *tensors[] = {&p->x, &p->w, &p->y};
    void *const buffers[] = {data->x, data->w, data->y};
    int result = p->direction == CONV_FORWARD ? 2 : p->direction == CONV_DATA ? 0 : 1;
    int sparse = p->direction == CONV_FILTER ? 2 : 1;
    int channels = (int)(p->x.size[1] + p->y.size[1]);
    for (int i = 0; i < channels; i++)
        left[i] = integers.nonzeros;
    for (int i = 0; i < 3; i++) {
        if (i != result && (i != sparse || kind == DATA_NORMAL))
            problem_fill_view(tensors[i], rng, kind, integers.range, 1, buffers[i]);
        else if (i != result)
            fill_sparse(p, tensors[i], rng, integers, left, buffers[i]);
    }
    /* Even numbers: halves of them are whole. */
    if (p->beta != 0.0F)
        problem_fill_view(tensors[result], rng, kind, 8, 2, buffers[result]);
}

static void *blank(const struct tensor *tensor)
{
    void *buffer = malloc(tensor_storage_bytes(tensor));
    if (buffer != NULL)
        memset(buffer, 0xff, tensor_storage_bytes(tensor));
    return buffer;
}

bool problem_fill_share(const struct conv_problem *problem, uint64_t seed, enum data kind,
                        int64_t share, struct problem_data *data)
{
    struct rng rng = rng_of(seed, 0);
    struct problem_data made = {blank(&problem->x), blank(&problem->w), blank(&problem->y)};
    int64_t *left = calloc((size_t)(problem->x.size[1] + problem->y.size[1]), sizeof *left);
    bool good = made.x != NULL && made.w != NULL && made.y != NULL && left != NULL;
    if (good) {
        fill_operands(problem, &rng, kind, pick_integers(problem, share), left, &made);
        *data = made;
    } else {
        problem_release(&made);
    }
    free(left);
    return good;
}

bool problem_fill(const struct conv_problem *problem, uint64_t seed, enum data kind,
                  struct problem_data *data)
{
    return problem_fill_share(problem, seed, kind, 1, data);
}

void problem_release(struct problem_data *data)
{
    free(data->x);
    free(data->w);
    free(data->y);
}

void *problem_result(const struct conv_problem *problem, const struct problem_data *data)
{
    void *const images[] = {data->y, data->x, data->w};
    return images[problem->direction];
}

static double load(const struct tensor *tensor, const void *image, const int64_t *at)
{
    return (double)dtype_load(tensor->type, image, tensor_index(tensor, at));
}

/* Over one group's input channels and the kernel, for the element of y at these coordinates. */
static double sum_forward(const struct conv_problem *p, const struct problem_data *data,
                          const int64_t *out)
{
    struct tensor filter = p->w;
    int64_t tap[CLIENT_MAX_DIMS] = {0};
    int64_t in[CLIENT_MAX_DIMS] = {out[0]};
    int64_t first = out[1] / (p->w.size[0] / p->groups) * p->w.size[1];
    double sum = 0.0;
    filter.size[0] = 1;
    do {
        bool inside = true;
        in[1] = first + tap[1];
        for (int i = 0; i < p->spatial; i++) {
            int64_t at = out[i + 2] * p->stride[i] - p->pre[i] + tap[i + 2] * p->dilation[i];
            inside = inside && at >= 0 && at < p->x.size[i + 2];
            in[i + 2] = at;
        }
        if (!inside)
            continue;
        size_t weight = tensor_index(&p->w, tap) + (size_t)(out[1] * p->w.stride[0]);
        sum += load(&p->x, data->x, in) * (double)dtype_load(p->w.type, data->w, weight);
    } while (tensor_step(&filter, tap));
    return sum;
}

/* Over one group's output channels and the kernel, for the element of x at these coordinates. */
static double sum_data(const struct conv_problem *p, const struct problem_data *data,
                       const int64_t *in)
{
    struct tensor filter = p->w;
    int64_t step[CLIENT_MAX_DIMS] = {0};
    int64_t out[CLIENT_MAX_DIMS] = {in[0]};
    int64_t outputs = p->w.size[0] / p->groups;
    int64_t first = in[1] / p->w.size[1] * outputs;
    double sum = 0.0;
    filter.size[0] = outputs;
    filter.size[1] = 1;
    do {
        bool inside = true;
        int64_t tap[CLIENT_MAX_DIMS] = {first + step[0], in[1] % p->w.size[1]};
        out[1] = tap[0];
        for (int i = 0; i < p->spatial; i++) {
            int64_t at = in[i + 2] + p->pre[i] - step[i + 2] * p->dilation[i];
            inside =
                inside && at >= 0 && at % p->stride[i] == 0 && at / p->stride[i] < p->y.size[i + 2];
            out[i + 2] = at / p->stride[i];
            tap[i + 2] = step[i + 2];
        }
        if (inside)
            sum += load(&p->y, data->y, out) * load(&p->w, data->w, tap);
    } while (tensor_step(&filter, step));
    return sum;
}

/* Over the batch and the places of y, for the element of w at these coordinates. */
static double sum_filter(const struct conv_problem *p, const struct problem_data *data,
                         const int64_t *tap)
{
    struct tensor channel = p->y;
    int64_t step[CLIENT_MAX_DIMS] = {0};
    int64_t input = tap[0] / (p->w.size[0] / p->groups) * p->w.size[1] + tap[1];
    double sum = 0.0;
    channel.size[1] = 1;
    do {
        bool inside = true;
        int64_t out[CLIENT_MAX_DIMS] = {step[0], tap[0]};
        int64_t in[CLIENT_MAX_DIMS] = {step[0], input};
        for (int i = 0; i < p->spatial; i++) {
            int64_t at = step[i + 2] * p->stride[i] - p->pre[i] + tap[i + 2] * p->dilation[i];
            inside = inside && at >= 0 && at < p->x.size[i + 2];
            in[i + 2] = at;
            out[i + 2] = step[i + 2];
        }
        if (inside)
            sum += load(&p->x, data->x, in) * load(&p->y, data->y, out);
    } while (tensor_step(&channel, step));
    return sum;
}

static double reference(const struct conv_problem *p, const struct problem_data *data,
                        const void *result, const int64_t *at)
{
    double sum = p->direction == CONV_FORWARD ? sum_forward(p, data, at)
                 : p->direction == CONV_DATA  ? sum_data(p, data, at)
                                              : sum_filter(p, data, at);
    double value = (double)p->alpha * sum;
    if (p->beta != 0.0F)
        value += (double)p->beta * load(conv_result(p), result, at);
    return value;
}

void problem_reference(const struct conv_problem *problem, const struct problem_data *data,
                       void *result)
{
    const struct tensor *tensor = conv_result(problem);
    int64_t at[CLIENT_MAX_DIMS] = {0};
    do {
        float value = (float)reference(problem, data, result, at);
        dtype_store(tensor->type, result, tensor_index(tensor, at), value);
    } while (tensor_step(tensor, at));
}

void problem_reference_double(const struct conv_problem *problem, const struct problem_data *data,
                              const void *result, double *elements)
{
    int64_t at[CLIENT_MAX_DIMS] = {0};
    do
        *elements++ = reference(problem, data, result, at);
    while (tensor_step(conv_result(problem), at));
}
