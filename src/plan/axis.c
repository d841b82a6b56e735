/* The one-dimensional geometry of a tiled axis: which input range an output range reads, halo
 * and padding included. */
#include "plan/axis.h"

#include "base/checked.h"

static const int64_t CHANNELS = 8; /* channels that 16-bit kernels read together */

const char *cs_axis_tiling_name(const struct cs_tiling *tiling)
{
#define PAIRS(a)                                                                                   \
    {                                                                                              \
        a, a "N", a "D", a "H", a "W", a "K", a "C", a "d", a "h", a "w"                           \
    }
    static const char *const names[CS_AXES][CS_AXES] = {
        {"-"},      PAIRS("N"), PAIRS("D"), PAIRS("H"), PAIRS("W"),
        PAIRS("K"), PAIRS("C"), PAIRS("d"), PAIRS("h"), PAIRS("w"),
    };
#undef PAIRS
    return tiling->axis[0] == CS_AXIS_NONE ? "-" : names[tiling->axis[0]][tiling->axis[1]];
}

bool cs_axis_tiling_by_phase(const struct cs_tiling *tiling)
{
    return cs_phases_of(tiling->axis[0]) != CS_AXIS_NONE ||
           cs_phases_of(tiling->axis[1]) != CS_AXIS_NONE;
}

enum cs_dim cs_axis_dim(enum cs_axis axis, enum cs_operand side)
{
    static const enum cs_dim image[CS_AXES] = {CS_DIMS, CS_N,    CS_D, CS_H, CS_W,
                                               CS_DIMS, CS_DIMS, CS_D, CS_H, CS_W};
    switch (side) {
    case CS_X:
        return axis == CS_AXIS_C ? CS_C : image[axis];
    case CS_Y:
        return axis == CS_AXIS_K ? CS_C : image[axis];
    case CS_FILTER:
    case CS_OPERANDS:
        break;
    }
    return axis == CS_AXIS_K ? CS_N : axis == CS_AXIS_C ? CS_C : CS_DIMS;
}

enum cs_dim cs_axis_cuts(const struct cs_problem *problem, enum cs_axis axis, int tensor)
{
    const struct cs_tensor *t = &problem->tensor[tensor];
    enum cs_dim dim = cs_axis_dim(axis, t->side);
    return dim < CS_DIMS && t->dims[dim] == problem->tensor[t->side].dims[dim] ? dim : CS_DIMS;
}

enum cs_operand cs_axis_divided_side(const struct cs_problem *problem)
{
    return problem->direction == CS_BACKWARD_DATA ? CS_X : CS_Y;
}

bool cs_axis_accumulates(const struct cs_problem *problem, enum cs_axis axis)
{
    return problem->direction == CS_BACKWARD_FILTER && axis != CS_AXIS_NONE && axis != CS_AXIS_K &&
           axis != CS_AXIS_C;
}

static bool is_spatial(enum cs_axis axis)
{
    return axis >= CS_AXIS_D && axis <= CS_AXIS_W;
}

/* True if tiles can add to the output of earlier ones. A sum that is rounded to 16 bits after each
 * tile would lose bits that a single launch keeps. After pointwise operations there is no sum left
 * to add to. */
static bool can_accumulate(const struct cs_problem *problem)
{
    return problem->compute == CS_F32 && problem->steps == 0 &&
           problem->tensor[CS_FILTER].dtype == CS_F32;
}

/* True if slices of the filter along C can be staged, which such a cut needs. Only the filter
 * itself can be staged, not tensors that are computed from it or with it. */
static bool can_stage(const struct cs_problem *problem)
{
    if (problem->tensor[CS_FILTER].is_virtual)
        return false;
    for (int i = CS_OPERANDS; i < problem->tensors; i++) {
        const struct cs_tensor *tensor = &problem->tensor[i];
        if (tensor->side == CS_FILTER && !tensor->is_virtual &&
            cs_axis_cuts(problem, CS_AXIS_C, i) != CS_DIMS)
            return false;
    }
    return true;
}

static bool can_cut(const struct cs_problem *problem, enum cs_axis axis)
{
    if (axis == CS_AXIS_K)
        return problem->groups == 1 && problem->direction != CS_BACKWARD_DATA;
    if (axis == CS_AXIS_C)
        return problem->groups == 1 && problem->direction != CS_FORWARD && can_stage(problem);
    return axis != CS_AXIS_NONE && (!cs_axis_accumulates(problem, axis) || can_accumulate(problem));
}

static int64_t divided_extent(const struct cs_problem *problem, enum cs_axis axis)
{
    enum cs_operand side = axis == CS_AXIS_K   ? CS_Y
                           : axis == CS_AXIS_C ? CS_X
                                               : cs_axis_divided_side(problem);
    return problem->tensor[side].dims[cs_axis_dim(axis, side)];
}

int64_t cs_axis_extent(const struct cs_problem *problem, enum cs_axis axis)
{
    if (!can_cut(problem, axis))
        return 1;
    return cs_phases_of(axis) != CS_AXIS_NONE ? cs_phases_extent(problem, axis)
                                              : divided_extent(problem, axis);
}

int64_t cs_axis_unit(const struct cs_problem *problem, enum cs_axis axis)
{
    if (axis == CS_AXIS_K || axis == CS_AXIS_C)
        return divided_extent(problem, axis) > CHANNELS ? CHANNELS : 1;
    if (problem->direction == CS_BACKWARD_DATA && is_spatial(axis))
        return problem->stride[axis - CS_AXIS_D];
    return 1;
}

enum cs_status cs_axis_map_of(const struct cs_problem *problem, enum cs_axis axis,
                              struct cs_axis_map *axis_map)
{
    struct cs_axis_map made = {.stride = 1, .reach = 1};
    made.tiled_extent = made.other_extent = divided_extent(problem, axis);
    if (is_spatial(axis)) {
        enum cs_dim dim = cs_axis_dim(axis, CS_X);
        int64_t taps = problem->tensor[CS_FILTER].dims[dim];
        made.transposed = problem->direction == CS_BACKWARD_DATA;
        made.other_extent = problem->tensor[made.transposed ? CS_Y : CS_X].dims[dim];
        made.stride = problem->stride[dim - CS_D];
        made.pre = problem->pre[dim - CS_D];
        if (!cs_mul(taps - 1, problem->dilation[dim - CS_D], &made.reach) ||
            !cs_add(made.reach, 1, &made.reach))
            return CS_OVERFLOW;
    }
    *axis_map = made;
    return CS_OK;
}

/* Maps a range if x is divided: finds the elements of y whose windows reach [first, first + count)
 * of x. If there are none, because the range is after the last window or between two, the range has
 * the element before, which reads padding only. */
static enum cs_status transposed_range(const struct cs_axis_map *axis_map, int64_t first,
                                       int64_t count, struct cs_range *range)
{
    const int64_t stride = axis_map->stride, reach = axis_map->reach;
    const int64_t last_of_y = axis_map->other_extent - 1;
    int64_t low, high, pre, length; /* positions in x with its padding */
    if (!cs_add(first, axis_map->pre, &low) || !cs_add(low, count - 1, &high))
        return CS_OVERFLOW;
    int64_t begin = low < reach ? 0 : cs_ceil_div(low - reach + 1, stride);
    begin = cs_min(begin, cs_min(low / stride, last_of_y));
    int64_t last = cs_min(high / stride, last_of_y);

    /* The windows from `begin` to `last` together start `pre` elements before the range. */
    if (!cs_mul(begin, -stride, &pre) || !cs_add(low, pre, &pre) ||
        !cs_mul(last - begin, stride, &length) || !cs_add(length, reach, &length))
        return CS_OVERFLOW;
    int64_t post = length - count < pre ? 0 : length - count - pre;
    *range = (struct cs_range){.first = first,
                               .count = count,
                               .in_first = begin,
                               .in_count = last - begin + 1,
                               .spacing = 1,
                               .pre = pre,
                               .post = post};
    return CS_OK;
}

enum cs_status cs_axis_map_range(const struct cs_axis_map *axis_map, int64_t first, int64_t count,
                                 struct cs_range *range)
{
    if (axis_map->transposed)
        return transposed_range(axis_map, first, count, range);
    int64_t low, length, high;
    if (!cs_mul(first, axis_map->stride, &low) || !cs_add(low, -axis_map->pre, &low) ||
        !cs_mul(count - 1, axis_map->stride, &length) ||
        !cs_add(length, axis_map->reach, &length) || !cs_add(low, length, &high))
        return CS_OVERFLOW;

    int64_t in_first = low > 0 ? low : 0;
    int64_t in_end = cs_min(high, axis_map->other_extent);
    *range = (struct cs_range){.first = first,
                               .count = count,
                               .in_first = in_first,
                               .in_count = in_end - in_first,
                               .spacing = 1,
                               .pre = in_first - low,
                               .post = high - in_end};
    return CS_OK;
}

/* Equalises the padding if y is divided: adds spare elements of y on the side with less padding.
 * Each adds a window, which moves the padding by a stride. After the range, an incomplete window
 * adds no element. Before it, the windows may begin up to a stride too early. Then x begins earlier
 * if it has such elements, otherwise both sides get more padding. */
static enum cs_status equalise_y(const struct cs_axis_map *axis_map, struct cs_range *range)
{
    int64_t missing = range->post - range->pre, span; /* padding before the range */
    if (missing < 0) {
        range->spare_after = -missing / axis_map->stride;
        range->post = range->pre;
        return CS_OK;
    }
    range->spare_before = cs_ceil_div(missing, axis_map->stride);
    if (!cs_mul(range->spare_before, axis_map->stride, &span))
        return CS_OVERFLOW;
    int64_t earlier = span - missing;
    if (range->pre == 0 && earlier <= range->in_first) {
        range->in_first -= earlier;
        range->pre = range->post;
        return cs_add(range->in_count, earlier, &range->in_count) ? CS_OK : CS_OVERFLOW;
    }
    if (!cs_add(range->pre, span, &range->pre))
        return CS_OVERFLOW;
    range->post = range->pre;
    return CS_OK;
}

/* Equalises the padding if x is divided: replaces padding by spare elements of dx. The windows of
 * dy together are `shortest` elements long. dx with its padding has that length, or less than a
 * stride more. */
static enum cs_status equalise_x(const struct cs_axis_map *axis_map, struct cs_range *range)
{
    int64_t padded, shortest, longest;
    if (!cs_mul(range->in_count - 1, axis_map->stride, &shortest) ||
        !cs_add(shortest, axis_map->reach, &shortest) ||
        !cs_add(shortest, axis_map->stride - 1, &longest) || !cs_mul(2, range->pre, &padded) ||
        !cs_add(padded, range->count, &padded))
        return CS_OVERFLOW;
    if (padded < shortest)
        range->spare_after = shortest - padded;
    if (padded > longest)
        range->spare_before = padded - longest;
    range->pre -= range->spare_before;
    range->post = range->pre;
    return CS_OK;
}

enum cs_status cs_axis_map_equalise(const struct cs_axis_map *axis_map, struct cs_range *range)
{
    if (range->pre == range->post)
        return CS_OK;
    return axis_map->transposed ? equalise_x(axis_map, range) : equalise_y(axis_map, range);
}
