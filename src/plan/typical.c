/* A tile from the middle of a cut, for predictions: no plan of all tiles is made. */
#include "base/checked.h"
#include "plan/axis.h"

/* Gives the tile the extents of a range along an axis, and beta 1 if tiles add up. */
static void set_extents(const struct cs_problem *untiled, enum cs_axis axis,
                        const struct cs_range *range, struct cs_problem *tile)
{
    for (int i = 0; i < untiled->tensors; i++) {
        enum cs_dim dim = cs_axis_cuts(untiled, axis, i);
        if (dim != CS_DIMS)
            tile->tensor[i].dims[dim] = untiled->tensor[i].side == cs_axis_divided_side(untiled)
                                            ? range->count
                                            : range->in_count;
    }
    if (cs_axis_accumulates(untiled, axis))
        tile->beta = 1;
}

/* Cuts the tile to the first phase of an axis, because no phase is longer. Multiplies *tiles_p by
 * the number of phases. */
static enum cs_status take_phase(const struct cs_problem *untiled, enum cs_axis axis, int64_t step,
                                 struct cs_problem *tile, int64_t *tiles_p)
{
    int64_t dilation = cs_axis_extent(untiled, axis);
    struct cs_cut cut = {.axis = axis};
    struct cs_range range;
    if (step < 1 || step >= dilation)
        return CS_ILLEGAL;
    cut.spacing = dilation / cs_phases_step(untiled, axis, step);
    if (*tiles_p > CS_MAX_TILES / cut.spacing || cs_phases_range(untiled, &cut, 0, &range) != CS_OK)
        return CS_ILLEGAL;
    *tiles_p *= cut.spacing;
    set_extents(untiled, axis, &range, tile);
    return CS_OK;
}

/* Cuts the tile to the middle one of consecutive tiles. Multiplies *tiles_p by their number. */
static enum cs_status take_middle(const struct cs_problem *untiled, enum cs_axis axis, int64_t step,
                                  struct cs_problem *tile, int64_t *tiles_p)
{
    int64_t unit = cs_axis_unit(untiled, axis), extent = cs_axis_extent(untiled, axis);
    struct cs_axis_map map;
    struct cs_range range;
    if (step < 1 || step >= extent || cs_axis_map_of(untiled, axis, &map) != CS_OK)
        return CS_ILLEGAL;
    step = cs_ceil_div(step, unit) * unit;
    int64_t tiles = cs_ceil_div(extent, step);
    if (tiles < 2 || *tiles_p > CS_MAX_TILES / tiles)
        return CS_ILLEGAL;
    if (cs_axis_map_range(&map, (tiles - 1) / 2 * step, step, &range) != CS_OK ||
        range.in_count < 1)
        return CS_ILLEGAL;
    *tiles_p *= tiles;
    set_extents(untiled, axis, &range, tile);
    return CS_OK;
}

enum cs_status cs_typical_tile(const struct cs_problem *problem, const struct cs_tiling *tiling,
                               struct cs_problem *tile, int64_t *tiles_p)
{
    *tiles_p = 1;
    tile->beta = problem->beta;
    for (int i = 0; i < problem->tensors; i++)
        for (int dim = 0; dim < CS_DIMS; dim++)
            tile->tensor[i].dims[dim] = problem->tensor[i].dims[dim];
    for (int c = 0; c < CS_MAX_CUTS && tiling->axis[c] != CS_AXIS_NONE; c++) {
        bool phases = cs_phases_of(tiling->axis[c]) != CS_AXIS_NONE;
        enum cs_status status = (phases ? take_phase : take_middle)(problem, tiling->axis[c],
                                                                    tiling->step[c], tile, tiles_p);
        if (status != CS_OK)
            return status;
    }
    return CS_OK;
}
