/* Parses and prints a convolution as people write it, and turns it into a problem. */
#include "cli/layers/layers.h"

#include "base/checked.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGNMENT = 16 /* that frameworks declare for tensors of their allocators */
};

static bool find_word(const char *text, const char *const *words, int count, int *place_p)
{
    for (int i = 0; i < count; i++) {
        if (words[i] && strcmp(text, words[i]) == 0) {
            *place_p = i;
            return true;
        }
    }
    return false;
}

static const char *const directions[] = {"fwd", "dgrad", "wgrad", "forward"};

bool cs_shape_direction(const char *text, enum cs_direction *direction_p)
{
    int place;
    if (!find_word(text, directions, 4, &place))
        return false;
    *direction_p = place == 3 ? CS_FORWARD : (enum cs_direction)place;
    return true;
}

const char *cs_shape_direction_name(enum cs_direction direction)
{
    return directions[direction];
}

bool cs_shape_dtype(const char *text, enum cs_dtype *dtype_p)
{
    static const struct {
        const char *name;
        enum cs_dtype dtype;
    } others[] = {{"fp16", CS_F16},  {"half", CS_F16},    {"float16", CS_F16},  {"fp32", CS_F32},
                  {"float", CS_F32}, {"float32", CS_F32}, {"bfloat16", CS_BF16}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(text, others[i].name) == 0) {
            *dtype_p = others[i].dtype;
            return true;
        }
    }
    for (int i = 0; i < CS_DTYPES; i++) {
        if (strcmp(text, cs_problem_dtype_name((enum cs_dtype)i)) == 0) {
            *dtype_p = (enum cs_dtype)i;
            return true;
        }
    }
    return false;
}

bool cs_shape_layout(const char *text, enum cs_order *layout_p)
{
    static const char *const names[] = {"nchw", "ncdhw", "ncw", "nhwc", "ndhwc", "nwc"};
    int place;
    if (!find_word(text, names, 6, &place))
        return false;
    *layout_p = place < 3 ? CS_CHANNELS_FIRST : CS_CHANNELS_LAST;
    return true;
}

int cs_shape_numbers(const char *text, int64_t *numbers, int limit)
{
    for (int count = 0; count < limit; text++) {
        char *end;
        errno = 0;
        long long number = strtoll(text, &end, 10);
        if (end == text || errno != 0 || strchr(" \t\n\r\v\f+", *text))
            return 0;
        numbers[count++] = number;
        text = end;
        if (*text == '\0')
            return count;
        if (*text != 'x')
            return 0;
    }
    return 0;
}

struct refusal {
    char *error;
    size_t size;
};

/* Refuses the first value below `least`. The names are the column names of a list. */
static bool at_least(struct refusal refusal, int64_t least, const char *rule,
                     const char *const *names, const int64_t *values, int count)
{
    for (int i = 0; i < count; i++) {
        if (values[i] < least) {
            snprintf(refusal.error, refusal.size, "%s: %s is %" PRId64, rule, names[i], values[i]);
            return false;
        }
    }
    return true;
}

static bool check_numbers(const struct cs_shape *shape, struct refusal refusal)
{
    static const char *const input[] = {"n", "c", "d", "h", "w"};
    static const char *const filter[] = {"k", "kd", "kh", "kw"};
    static const char *const pad[] = {"pd", "ph", "pw"}, *const stride[] = {"sd", "sh", "sw"};
    static const char *const dilation[] = {"dd", "dh", "dw"}, *const groups[] = {"groups"};
    static const char steps[] = "strides and dilations must be at least 1";
    const int64_t in[] = {shape->n, shape->c, shape->in[0], shape->in[1], shape->in[2]};
    const int64_t out[] = {shape->k, shape->kernel[0], shape->kernel[1], shape->kernel[2]};
    return at_least(refusal, 1, "the input's extents must be at least 1", input, in, CS_DIMS) &&
           at_least(refusal, 1, "the filter's extents must be at least 1", filter, out,
                    CS_DIMS - 1) &&
           at_least(refusal, 0, "paddings must not be negative", pad, shape->pad, CS_SPATIAL) &&
           at_least(refusal, 1, steps, stride, shape->stride, CS_SPATIAL) &&
           at_least(refusal, 1, steps, dilation, shape->dilation, CS_SPATIAL) &&
           at_least(refusal, 1, "there must be at least 1 group", groups, &shape->groups, 1);
}

/* Dense strides in the order of the layout; 0 in the dimension that a 2-D convolution lacks. */
static bool pack_tensor(struct cs_tensor *tensor, const struct cs_shape *shape)
{
    static const enum cs_dim orders[][CS_DIMS] = {{CS_W, CS_H, CS_D, CS_C, CS_N},
                                                  {CS_C, CS_W, CS_H, CS_D, CS_N}};
    int64_t stride = 1;
    for (int i = 0; i < CS_DIMS; i++) {
        enum cs_dim dim = orders[shape->layout][i];
        tensor->strides[dim] = shape->spatial == 2 && dim == CS_D ? 0 : stride;
        if (!cs_mul(stride, tensor->dims[dim], &stride))
            return false;
    }
    return true;
}

static bool output_extent(const struct cs_shape *shape, int i, int64_t *extent_p, char *error,
                          size_t size)
{
    int64_t padding, padded, window;
    if (!cs_mul(shape->pad[i], 2, &padding) || !cs_add(shape->in[i], padding, &padded) ||
        !cs_mul(shape->kernel[i] - 1, shape->dilation[i], &window) || !cs_add(window, 1, &window)) {
        snprintf(error, size, "extents beyond 64 bits");
        return false;
    }
    if (window > padded) {
        snprintf(error, size,
                 "along %c the window of %" PRId64 " is larger than the padded input of %" PRId64,
                 "DHW"[i], window, padded);
        return false;
    }
    *extent_p = (padded - window) / shape->stride[i] + 1;
    return true;
}

static void set_tensor(struct cs_problem *problem, enum cs_operand operand, int64_t first,
                       int64_t second, enum cs_dtype dtype)
{
    problem->tensor[operand] =
        (struct cs_tensor){.dims = {first, second, 1, 1, 1},
                           .alignment = ALIGNMENT,
                           .dtype = dtype,
                           .side = operand,
                           .written = operand == cs_result(problem->direction)};
}

static bool set_extents(const struct cs_shape *shape, struct cs_problem *problem, char *error,
                        size_t size)
{
    for (int i = 0; i < CS_SPATIAL; i++) {
        problem->pre[i] = problem->post[i] = shape->pad[i];
        problem->stride[i] = shape->stride[i];
        problem->dilation[i] = shape->dilation[i];
        problem->tensor[CS_X].dims[CS_D + i] = shape->in[i];
        problem->tensor[CS_FILTER].dims[CS_D + i] = shape->kernel[i];
        if (!output_extent(shape, i, &problem->tensor[CS_Y].dims[CS_D + i], error, size))
            return false;
    }
    return true;
}

/* Refuses the remaining errors, after the checks that have their own error texts. */
static bool check_problem(const struct cs_problem *problem, char *error, size_t size)
{
    enum cs_status status = cs_problem_check(problem);
    if (status != CS_OK)
        snprintf(error, size, "%s",
                 status == CS_OVERFLOW ? "tensors beyond 64 bits" : "not a convolution");
    return status == CS_OK;
}

bool cs_shape_problem(const struct cs_shape *shape, struct cs_problem *problem, char *error,
                      size_t size)
{
    struct cs_problem made = {.direction = shape->direction,
                              .compute = CS_F32,
                              .spatial = shape->spatial,
                              .groups = shape->groups,
                              .alpha = 1,
                              .tensors = CS_OPERANDS};
    if (!check_numbers(shape, (struct refusal){error, size}))
        return false;
    if (shape->c % shape->groups != 0 || shape->k % shape->groups != 0) {
        snprintf(error, size,
                 "%" PRId64 " and %" PRId64 " channels cannot be split into %" PRId64 " groups",
                 shape->c, shape->k, shape->groups);
        return false;
    }
    set_tensor(&made, CS_X, shape->n, shape->c, shape->dtype);
    set_tensor(&made, CS_FILTER, shape->k, shape->c / shape->groups, shape->dtype);
    set_tensor(&made, CS_Y, shape->n, shape->k, shape->dtype);
    if (!set_extents(shape, &made, error, size))
        return false;
    for (int i = 0; i < CS_OPERANDS; i++) {
        if (!pack_tensor(&made.tensor[i], shape)) {
            snprintf(error, size, "tensors beyond 64 bits");
            return false;
        }
    }
    if (!check_problem(&made, error, size))
        return false;
    *problem = made;
    return true;
}
