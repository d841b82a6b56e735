/* A dilated axis cut by phase. With stride 1, if n divides the dilation, every n-th element of y
 * reads only every n-th element of x. These are n independent convolutions, each with the n-th part
 * of the dilation. */
#ifndef CS_PLAN_PHASES_H
#define CS_PLAN_PHASES_H

#include "convshim/plan.h"

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
