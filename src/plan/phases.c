/* The geometry of an axis that is cut by phase: each phase is a range of a separate convolution in
 * one dimension. */
#include "plan/phases.h"

#include "base/checked.h"
#include "plan/axis.h"
#include <stddef.h>

enum {
    SECTOR = 32 /* bytes that a GPU moves at least */
};

enum cs_axis cs_phases_of(enum cs_axis axis)
{
    switch (axis) {
    case CS_AXIS_D_PHASES:
        return CS_AXIS_D;
    case CS_AXIS_H_PHASES:
        return CS_AXIS_H;
    case CS_AXIS_W_PHASES:
        return CS_AXIS_W;
    default:
        return CS_AXIS_NONE;
    }
}

int64_t cs_phases_extent(const struct cs_problem *problem, enum cs_axis axis)
{
    enum cs_dim dim = cs_axis_dim(axis, CS_X);
    bool separate = problem->stride[dim - CS_D] == 1 && problem->tensor[CS_FILTER].dims[dim] > 1;
    return separate ? problem->dilation[dim - CS_D] : 1;
}

bool cs_phases_scattered(const struct cs_problem *problem, enum cs_axis axis)
{
    static const enum cs_operand images[] = {CS_X, CS_Y};
    enum cs_dim dim = cs_axis_dim(axis, CS_X);
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        const struct cs_tensor *tensor = &problem->tensor[images[i]];
        if (tensor->strides[dim] < SECTOR / cs_problem_dtype_size(tensor->dtype))
            return true;
    }
    return false;
}

int64_t cs_phases_step(const struct cs_problem *problem, enum cs_axis axis, int64_t step)
{
    int64_t dilation = cs_phases_extent(problem, axis);
    int64_t every = cs_ceil_div(dilation, step);
    while (every < dilation && every <= CS_MAX_TILES && dilation % every != 0)
        every++;
    return every <= CS_MAX_TILES ? dilation / every : 1;
}

/* One phase. */
struct phase {
    int64_t x, y;  /* its first element of either */
    int64_t ahead; /* elements of the phase by which the first window of y begins before x */
};

/* The first tap of element y is element y - pre of x. Its other taps lie in the same phase of x. */
static struct phase phase_at(const struct cs_problem *problem, enum cs_dim dim, int64_t every,
                             int64_t index)
{
    int64_t pre = problem->pre[dim - CS_D];
    if (problem->direction == CS_BACKWARD_DATA) {
        int64_t y = (index + pre % every) % every;
        return (struct phase){.x = index, .y = y, .ahead = (pre - (y - index)) / every};
    }
    int64_t x = ((index - pre) % every + every) % every;
    return (struct phase){.x = x, .y = index, .ahead = (pre - (index - x)) / every};
}

/* The elements of a phase that begins at `first`. */
static int64_t count_of(int64_t extent, int64_t first, int64_t every)
{
    return first < extent ? cs_ceil_div(extent - first, every) : 0;
}

enum cs_status cs_phases_range(const struct cs_problem *problem, const struct cs_cut *cut,
                               int64_t index, struct cs_range *range)
{
    enum cs_dim dim = cs_axis_dim(cut->axis, CS_X);
    int64_t taps = problem->tensor[CS_FILTER].dims[dim], first;
    if (cut->every < 2 || cs_phases_extent(problem, cut->axis) % cut->every != 0)
        return CS_ILLEGAL;
    struct phase phase = phase_at(problem, dim, cut->every, index);
    int64_t x = count_of(problem->tensor[CS_X].dims[dim], phase.x, cut->every);
    int64_t y = count_of(problem->tensor[CS_Y].dims[dim], phase.y, cut->every);
    struct cs_axis_map map = {.stride = 1, .pre = phase.ahead};
    map.transposed = problem->direction == CS_BACKWARD_DATA;
    map.tiled_extent = map.transposed ? x : y;
    map.other_extent = map.transposed ? y : x;
    if (x < 1 || y < 1)
        return CS_ILLEGAL;
    if (!cs_mul(taps - 1, problem->dilation[dim - CS_D] / cut->every, &map.reach) ||
        !cs_add(map.reach, 1, &map.reach))
        return CS_OVERFLOW;
    enum cs_status status = cs_axis_map_range(&map, 0, map.tiled_extent, range);
    if (status == CS_OK && range->in_count < 1)
        status = CS_ILLEGAL;
    if (status == CS_OK && cut->equal_padding)
        status = cs_axis_map_equalise(&map, range);
    if (status != CS_OK)
        return status;
    range->every = cut->every;
    range->first = index;
    return cs_mul(range->in_first, cut->every, &first) &&
                   cs_add(first, map.transposed ? phase.y : phase.x, &range->in_first)
               ? CS_OK
               : CS_OVERFLOW;
}
