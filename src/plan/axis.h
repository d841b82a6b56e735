/* A cut axis of a convolution as a convolution in one dimension: the divided range and its
 * corresponding range on the other side of the window. */
#ifndef CS_PLAN_AXIS_H
#define CS_PLAN_AXIS_H

#include "convshim/plan.h"

/* The relation between the elements of x and y along an axis. */
struct cs_axis_map {
    int64_t tiled_extent, other_extent; /* extents of the divided and of the other operand */
    int64_t stride, pre;
    int64_t reach;   /* elements of x that the window of one element of y spans */
    bool transposed; /* x is divided and y follows, not the other way round */
};

/* Makes the map of an axis that can be cut, and is not cut by phase. CS_OVERFLOW only for problems
 * that never passed cs_problem_check. */
CS_MUST_CHECK enum cs_status cs_axis_map_of(const struct cs_problem *problem, enum cs_axis axis,
                                            struct cs_axis_map *axis_map);

/* Maps the divided range [first, first + count) to its range on the other side of the window.
 * Padding replaces elements that do not exist. in_count <= 0: the window lies entirely in the
 * padding, which happens only if y is divided. */
CS_MUST_CHECK enum cs_status cs_axis_map_range(const struct cs_axis_map *axis_map, int64_t first,
                                               int64_t count, struct cs_range *range);

/* Makes the padding of a range equal on both sides, with as few spare elements of the divided range
 * as possible. If y is divided, padding is added, up to the larger one or just above it. If x is
 * divided, padding is removed. CS_OVERFLOW if the result exceeds 64 bits. */
CS_MUST_CHECK enum cs_status cs_axis_map_equalise(const struct cs_axis_map *axis_map,
                                                  struct cs_range *range);

/* True if the result is a sum over the axis: each tile adds to the output of earlier ones. */
bool cs_axis_accumulates(const struct cs_problem *problem, enum cs_axis axis);

/* The dimension along which tiles cut the tensor of that index, CS_DIMS if they take it whole. */
enum cs_dim cs_axis_cuts(const struct cs_problem *problem, enum cs_axis axis, int tensor);

/* The operand whose range along N, D, H or W is divided into tiles: x for data gradients, else y.
 * The ranges of the other operands follow from it. */
enum cs_operand cs_axis_divided_side(const struct cs_problem *problem);

#endif
