/* The geometry of an axis that is cut by phase: each phase is a range of a separate convolution in
 * one dimension. */
#include "plan/axis.h"

#include "base/checked.h"
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
    int64_t spacing = cs_ceil_div(dilation, step);
    while (spacing < dilation && spacing <= CS_MAX_TILES && dilation % spacing != 0)
        spacing++;
    return spacing <= CS_MAX_TILES ? dilation / spacing : 1;
}

/* A phase: every n-th element of x and of y. */
struct phase {
    int64_t x, y;  /* the phase's first element of x and of y */
    int64_t ahead; /* elements of the phase by which the first window of y begins before x */
};

/* Finds phase `index` in x and y. The first tap of element y is element y - pre of x. Its other
 * taps lie in the same phase of x. */
static struct phase phase_at(const struct cs_problem *problem, enum cs_dim dim, int64_t spacing,
                             int64_t index)
{
    int64_t pre = problem->pre[dim - CS_D];
    if (problem->direction == CS_BACKWARD_DATA) {
        int64_t y = (index + pre % spacing) % spacing;
        return (struct phase){.x = index, .y = y, .ahead = (pre - (y - index)) / spacing};
    }
    int64_t x = ((index - pre) % spacing + spacing) % spacing;
    return (struct phase){.x = x, .y = index, .ahead = (pre - (index - x)) / spacing};
}

/* The number of elements of a phase that begins at `first`. */
static int64_t count_of(int64_t extent, int64_t first, int64_t spacing)
{
    return first < extent ? cs_ceil_div(extent - first, spacing) : 0;
}

/* A phase as a convolution in one dimension, whose elements are those of the phase. CS_ILLEGAL if x
 * or y has none. */
static enum cs_status map_phase(const struct cs_problem *problem, enum cs_dim dim, int64_t spacing,
                                const struct phase *phase, struct cs_axis_map *map)
{
    int64_t taps = problem->tensor[CS_FILTER].dims[dim];
    int64_t dilation = problem->dilation[dim - CS_D] / spacing;
    int64_t x = count_of(problem->tensor[CS_X].dims[dim], phase->x, spacing);
    int64_t y = count_of(problem->tensor[CS_Y].dims[dim], phase->y, spacing);
    bool transposed = problem->direction == CS_BACKWARD_DATA;
    *map = (struct cs_axis_map){.tiled_extent = transposed ? x : y,
                                .other_extent = transposed ? y : x,
                                .stride = 1,
                                .pre = phase->ahead,
                                .transposed = transposed};
    if (x < 1 || y < 1)
        return CS_ILLEGAL;
    return cs_mul(taps - 1, dilation, &map->reach) && cs_add(map->reach, 1, &map->reach)
               ? CS_OK
               : CS_OVERFLOW;
}

enum cs_status cs_phases_range(const struct cs_problem *problem, const struct cs_cut *cut,
                               int64_t index, struct cs_range *range)
{
    enum cs_dim dim = cs_axis_dim(cut->axis, CS_X);
    struct cs_axis_map map;
    int64_t in_offset;
    if (cut->spacing < 2 || cs_phases_extent(problem, cut->axis) % cut->spacing != 0)
        return CS_ILLEGAL;
    const struct phase phase = phase_at(problem, dim, cut->spacing, index);
    enum cs_status status = map_phase(problem, dim, cut->spacing, &phase, &map);
    if (status == CS_OK)
        status = cs_axis_map_range(&map, 0, map.tiled_extent, range);
    if (status == CS_OK && range->in_count < 1)
        status = CS_ILLEGAL;
    if (status == CS_OK && cut->equal_padding)
        status = cs_axis_map_equalise(&map, range);
    if (status != CS_OK)
        return status;

    /* From elements of the phase to elements of the whole. */
    range->spacing = cut->spacing;
    range->first = index;
    return cs_mul(range->in_first, cut->spacing, &in_offset) &&
                   cs_add(in_offset, map.transposed ? phase.y : phase.x, &range->in_first)
               ? CS_OK
               : CS_OVERFLOW;
}
