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

static struct integers pick_integers(cudnnDataType_t type, int64_t reduction)
{
    int64_t sum = largest_sum(type);
    int64_t range = 8;
    while (range > 1 && reduction * range * range > sum)
        range--;
    return (struct integers){range, sum / (range * range)};
}

static void fill_view(const struct tensor *tensor, struct rng *rng, enum data kind, int64_t range,
                      int64_t factor, void *buffer)
{
    int64_t at[CLIENT_MAX_DIMS] = {0};
    do {
        float value = kind == DATA_NORMAL ? rng_normal(rng)
                                          : (float)(factor * rng_between(rng, -range, range));
        dtype_store(tensor->type, buffer, tensor_index(tensor, at), value);
    } while (tensor_step(tensor, at));
}

/* Sparse where a full filter could exceed what the output's type holds. */
static void fill_filter(const struct tensor *w, struct rng *rng, struct integers integers,
                        void *buffer)
{
    int64_t at[CLIENT_MAX_DIMS] = {0};
    int64_t reduction = tensor_elements(w) / w->size[0];
    int64_t filter = -1;
    int64_t left = 0;
    do {
        if (at[0] != filter) {
            filter = at[0];
            left = integers.nonzeros;
        }
        /* Half the allowed density: the cap is seldom met before the filter's end. */
        bool zero = left == 0 || (integers.nonzeros < reduction &&
                                  rng_between(rng, 1, 2 * reduction) > integers.nonzeros);
        int64_t value = zero ? 0 : rng_between(rng, -integers.range, integers.range);
        left -= value != 0;
        dtype_store(w->type, buffer, tensor_index(w, at), (float)value);
    } while (tensor_step(w, at));
}

static void *blank(const struct tensor *tensor)
{
    void *buffer = malloc(tensor_storage_bytes(tensor));
    if (buffer != NULL)
        memset(buffer, 0xff, tensor_storage_bytes(tensor));
    return buffer;
}

bool problem_fill(const struct conv_problem *problem, uint64_t seed, enum data kind,
                  struct problem_data *data)
{
    struct rng rng = rng_of(seed, 0);
    int64_t reduction = tensor_elements(&problem->w) / problem->w.size[0];
    struct integers integers = pick_integers(problem->x.type, reduction);
    struct problem_data made = {blank(&problem->x), blank(&problem->w), blank(&problem->y)};
    if (made.x == NULL || made.w == NULL || made.y == NULL) {
        problem_release(&made);
        return false;
    }
    fill_view(&problem->x, &rng, kind, integers.range, 1, made.x);
    if (kind == DATA_NORMAL)
        fill_view(&problem->w, &rng, kind, 0, 1, made.w);
    else
        fill_filter(&problem->w, &rng, integers, made.w);
    /* Even numbers: halves of them are whole. */
    if (problem->beta != 0.0F)
        fill_view(&problem->y, &rng, kind, 8, 2, made.y);
    *data = made;
    return true;
}

void problem_release(struct problem_data *data)
{
    free(data->x);
    free(data->w);
    free(data->y);
}

/* Sum over one group's channels and the kernel for the output element at these coordinates. */
static double sum_products(const struct conv_problem *p, const struct problem_data *data,
                           const int64_t *out)
{
    int64_t channels = p->w.size[1];
    int64_t first = out[1] / (p->w.size[0] / p->groups) * channels;
    struct tensor filter = p->w;
    filter.size[0] = 1;
    int64_t tap[CLIENT_MAX_DIMS] = {0};
    int64_t in[CLIENT_MAX_DIMS] = {out[0]};
    double sum = 0.0;
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
        sum += (double)dtype_load(p->x.type, data->x, tensor_index(&p->x, in)) *
               (double)dtype_load(p->w.type, data->w, weight);
    } while (tensor_step(&filter, tap));
    return sum;
}

void problem_reference(const struct conv_problem *problem, const struct problem_data *data, void *y)
{
    int64_t at[CLIENT_MAX_DIMS] = {0};
    do {
        size_t index = tensor_index(&problem->y, at);
        double value = (double)problem->alpha * sum_products(problem, data, at);
        if (problem->beta != 0.0F)
            value += (double)problem->beta * (double)dtype_load(problem->y.type, y, index);
        dtype_store(problem->y.type, y, index, (float)value);
    } while (tensor_step(&problem->y, at));
}
