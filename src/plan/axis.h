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

/* --- the staged tensors of a plan and their places in the scratch --- */

/* Chooses the staged tensors of a plan with cuts and tile shapes, lays them out and counts the
 * copied bytes. `required`: all tensors that cuts leave non-contiguous or unaligned. Otherwise only
 * a filter that must be staged, and tensors with spare elements. CS_ILLEGAL if one cannot be
 * copied, or if a virtual tensor would be larger than the whole one; CS_OVERFLOW. */
CS_MUST_CHECK enum cs_status cs_plan_stage(struct cs_plan *plan, bool required);

/* --- the proof that a copy moves a staged tensor, without the arithmetic of copy.c --- */

/* True if the copy moves each element of `packed` from or to its place in `view`, and nothing else.
 * The view has the strides of the application's tensor. The extents are those of `packed`. */
bool cs_copy_connects(const struct cs_copy *copy, const struct cs_tensor *view,
                      const struct cs_tensor *packed);

/* --- phases ---
 *
 * A dilated axis cut by phase. With stride 1, if n divides the dilation, every n-th element of y
 * reads only every n-th element of x. These are n independent convolutions, each with the n-th part
 * of the dilation. */

/* The spatial axis that is cut by phase; CS_AXIS_NONE if `axis` is another. */
enum cs_axis cs_phases_of(enum cs_axis axis);

/* The most phases that an axis can be cut into: its dilation, or 1 if it cannot be cut. */
int64_t cs_phases_extent(const struct cs_problem *problem, enum cs_axis axis);

/* True if the contiguous elements of a phase of x or y are smaller than a sector of memory. Then
 * each phase also moves the elements between them. */
bool cs_phases_scattered(const struct cs_problem *problem, enum cs_axis axis);

/* The dilation inside a phase: the largest divisor of the axis's dilation that is at most `step`,
 * or 1 if that makes more than CS_MAX_TILES phases. */
int64_t cs_phases_step(const struct cs_problem *problem, enum cs_axis axis, int64_t step);

/* The range of phase `index` of cut->spacing phases, with equal padding if the cut has it.
 * CS_ILLEGAL if `spacing` is less than 2 or does not divide the dilation, if the phase has no
 * element of x or y, or if its window lies in the padding alone; CS_OVERFLOW. */
CS_MUST_CHECK enum cs_status cs_phases_range(const struct cs_problem *problem,
                                             const struct cs_cut *cut, int64_t index,
                                             struct cs_range *range);

#endif
