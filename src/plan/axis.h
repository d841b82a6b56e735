/* A cut axis of a convolution as a convolution in one dimension: the range that is divided, and the
 * one that goes with it on the other side of the window. */
#ifndef CS_PLAN_AXIS_H
#define CS_PLAN_AXIS_H

#include "convshim/plan.h"

struct cs_axis_map {
    int64_t tiled_extent, other_extent; /* extents */
    int64_t stride, pre;
    int64_t reach;   /* elements of x from the first to the last tap of one of y */
    bool transposed; /* x is divided and y follows, not the other way round */
};

/* `axis` can be cut, and not by phase. CS_OVERFLOW only for problems that never passed
 * cs_problem_check. */
CS_MUST_CHECK enum cs_status cs_axis_map_of(const struct cs_problem *problem, enum cs_axis axis,
                                            struct cs_axis_map *axis_map);

/* The range [first, first + count) of what is divided with what goes with it, as far as that
 * exists; padding stands for the rest. in_count <= 0: the window lies in the padding alone, which
 * happens only where y is divided. */
CS_MUST_CHECK enum cs_status cs_axis_map_range(const struct cs_axis_map *axis_map, int64_t first,
                                               int64_t count, struct cs_range *range);

/* Makes the padding of a range equal on both sides, with as few spare elements of what is divided
 * as that takes: where y is divided padding is added, up to the larger one or just above it, where
 * x is it is taken away. CS_OVERFLOW if that leaves 64 bits. */
CS_MUST_CHECK enum cs_status cs_axis_map_equalise(const struct cs_axis_map *axis_map,
                                                  struct cs_range *range);

/* True if the result is a sum over the axis: tiles add to what others have left. */
bool cs_axis_accumulates(const struct cs_problem *problem, enum cs_axis axis);

/* The dimension along which tiles cut the tensor of that index, CS_DIMS if they take it whole. */
enum cs_dim cs_axis_cuts(const struct cs_problem *problem, enum cs_axis axis, int tensor);

/* The operand whose range is divided; the others' follow. Along axes without a window they are the
 * same. */
enum cs_operand cs_axis_divided_side(const struct cs_problem *problem);

#endif
