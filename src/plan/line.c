#include "plan/line.h"

#include "base/checked.h"

const char *cs_axis_name(enum cs_axis axis)
{
    static const char *const names[CS_AXES] = {"-", "N", "D", "H", "W"};
    return names[axis];
}

enum cs_dim cs_axis_dim(enum cs_axis axis)
{
    static const enum cs_dim dims[CS_AXES] = {
        [CS_AXIS_N] = CS_N, [CS_AXIS_D] = CS_D, [CS_AXIS_H] = CS_H, [CS_AXIS_W] = CS_W};
    return dims[axis];
}

int64_t cs_axis_extent(const struct cs_problem *problem, enum cs_axis axis)
{
    return axis == CS_AXIS_NONE ? 1 : problem->tensor[CS_Y].dims[cs_axis_dim(axis)];
}

enum cs_status cs_line_of(const struct cs_problem *problem, enum cs_axis axis, struct cs_line *line)
{
    enum cs_dim dim = cs_axis_dim(axis);
    struct cs_line made = {
        .dim = dim,
        .in = problem->tensor[CS_X].dims[dim],
        .out = problem->tensor[CS_Y].dims[dim],
        .stride = 1,
        .pre = 0,
        .reach = 1,
    };
    if (dim >= CS_D) {
        int64_t taps = problem->tensor[CS_FILTER].dims[dim];
        made.stride = problem->stride[dim - CS_D];
        made.pre = problem->pre[dim - CS_D];
        if (!cs_mul(taps - 1, problem->dilation[dim - CS_D], &made.reach) ||
            !cs_add(made.reach, 1, &made.reach))
            return CS_OVERFLOW;
    }
    *line = made;
    return CS_OK;
}

enum cs_status cs_line_window(const struct cs_line *line, int64_t first, int64_t count,
                              struct cs_window *window)
{
    int64_t low, length, high;
    if (!cs_mul(first, line->stride, &low) || !cs_add(low, -line->pre, &low) ||
        !cs_mul(count - 1, line->stride, &length) || !cs_add(length, line->reach, &length) ||
        !cs_add(low, length, &high))
        return CS_OVERFLOW;

    int64_t in_first = low > 0 ? low : 0;
    int64_t in_end = high < line->in ? high : line->in;
    window->first = first;
    window->count = count;
    window->in_first = in_first;
    window->in_count = in_end - in_first;
    window->pre = in_first - low;
    window->post = high - in_end;
    return CS_OK;
}
