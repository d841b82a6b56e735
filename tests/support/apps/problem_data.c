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

/* A tensor's numbers, by their place in its storage, and its extents as N, C, D, H, W. */
struct numbers {
    double *of;
    int64_t offset, size[5], stride[5];
};

/* Ends the program if memory is out. All zero without an image. */
static struct numbers numbers_of(const struct tensor *tensor, const void *image)
{
    struct numbers numbers = {.offset = tensor->offset, .size = {1, 1, 1, 1, 1}};
    numbers.of = calloc((size_t)tensor->storage, sizeof *numbers.of);
    if (numbers.of == NULL)
        abort();
    for (int i = 0; i < tensor->dims; i++) {
        int dim = i < 2 ? i : i + 5 - tensor->dims;
        numbers.size[dim] = tensor->size[i];
        numbers.stride[dim] = tensor->stride[i];
    }
    for (size_t i = 0; image != NULL && i < (size_t)tensor->storage; i++)
        numbers.of[i] = (double)dtype_load(tensor->type, image, i);
    return numbers;
}

static int64_t row_of(const struct numbers *numbers, int64_t n, int64_t c, const int64_t *at)
{
    return numbers->offset + n * numbers->stride[0] + c * numbers->stride[1] +
           at[0] * numbers->stride[2] + at[1] * numbers->stride[3];
}

/* The element of x along the last axes at which this tap meets this place of y; false outside. */
static bool meets(const struct conv_problem *p, const struct numbers *x, int axis, int64_t out,
                  int64_t tap, int64_t *in)
{
    int i = axis - (3 - p->spatial);
    *in = i < 0 ? out : out * p->stride[i] - p->pre[i] + tap * p->dilation[i];
    return *in >= 0 && *in < x->size[axis + 2];
}

/* Adds the products of one row of x and one of y with one element of w, each to the result. */
static void add_row(const struct conv_problem *p, const struct numbers *x, double *w,
                    const struct numbers *y, int64_t x_row, int64_t y_row, int64_t tap)
{
    for (int64_t out = 0, in; out < y->size[4]; out++) {
        if (!meets(p, x, 2, out, tap, &in))
            continue;
        double *from = &x->of[x_row + in * x->stride[4]], *to = &y->of[y_row + out * y->stride[4]];
        if (p->direction == CONV_FORWARD)
            *to += *from * *w;
        else if (p->direction == CONV_DATA)
            *from += *to * *w;
        else
            *w += *from * *to;
    }
}

/* Every product of an element of x, one of w and one of y that belong together, once: two of them
 * are multiplied, and added to the third. */
static void add_products(const struct conv_problem *p, const struct numbers *x,
                         const struct numbers *w, const struct numbers *y)
{
    int64_t tap[CLIENT_MAX_DIMS] = {0};
    do {
        int64_t t[3] = {0}, out[2], in[2];
        memcpy(t + 3 - p->spatial, tap + 2, (size_t)p->spatial * sizeof *t);
        int64_t channel = tap[0] / (p->w.size[0] / p->groups) * p->w.size[1] + tap[1];
        double *weight = &w->of[tensor_index(&p->w, tap)];
        for (int64_t n = 0; n < y->size[0]; n++)
            for (out[0] = 0; out[0] < y->size[2]; out[0]++)
                for (out[1] = 0; out[1] < y->size[3]; out[1]++)
                    if (meets(p, x, 0, out[0], t[0], &in[0]) &&
                        meets(p, x, 1, out[1], t[1], &in[1]))
                        add_row(p, x, weight, y, row_of(x, n, channel, in),
                                row_of(y, n, tap[0], out), t[2]);
    } while (tensor_step(&p->w, tap));
}

void problem_reference_double(const struct conv_problem *p, const struct problem_data *data,
                              const void *result, double *elements)
{
    const enum conv_direction d = p->direction;
    const struct tensor *tensor = conv_result(p);
    struct numbers x = numbers_of(&p->x, d == CONV_DATA ? NULL : data->x);
    struct numbers w = numbers_of(&p->w, d == CONV_FILTER ? NULL : data->w);
    struct numbers y = numbers_of(&p->y, d == CONV_FORWARD ? NULL : data->y);
    const double *sums = d == CONV_FORWARD ? y.of : d == CONV_DATA ? x.of : w.of;
    int64_t at[CLIENT_MAX_DIMS] = {0};
    add_products(p, &x, &w, &y);
    do {
        size_t place = tensor_index(tensor, at);
        *elements = (double)p->alpha * sums[place];
        if (p->beta != 0.0F)
            *elements += (double)p->beta * (double)dtype_load(tensor->type, result, place);
        elements++;
    } while (tensor_step(tensor, at));
    free(x.of);
    free(w.of);
    free(y.of);
}

void problem_reference(const struct conv_problem *problem, const struct problem_data *data,
                       void *result)
{
    const struct tensor *tensor = conv_result(problem);
    int64_t at[CLIENT_MAX_DIMS] = {0};
    double *elements = calloc((size_t)tensor_elements(tensor), sizeof *elements), *next = elements;
    if (elements == NULL)
        abort();
    problem_reference_double(problem, data, result, elements);
    do
        dtype_store(tensor->type, result, tensor_index(tensor, at), (float)*next++);
    while (tensor_step(tensor, at));
    free(elements);
}
