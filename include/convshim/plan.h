/* A tiled convolution: its tiles, their shapes and their scratch.
 *
 * A cut divides one axis into consecutive ranges. A plan is one cut, or the product of two with the
 * first one outermost. Tiles cover the result exactly once. If the axis is summed over
 * (backward-filter along N, D, H, W), they add up to it, and every tile but the first of such a cut
 * has beta 1. The input range of a tile along a spatial axis follows from stride, dilation and
 * padding. It overlaps those of its neighbours by the halo. Tiles that are the same problem at
 * other addresses have one shape and share one execution plan of the vendor.
 *
 * A dilated axis of stride 1 can be cut by phase instead: a tile is every n-th element of x and y
 * along it, if n divides the dilation. Such tiles do not overlap, and their dilation is the n-th
 * part.
 *
 * A plan is a value of fixed size: no pointers, no ownership.
 *
 * A tile's tensors are views of the application's tensors. If the vendor does not accept a view, or
 * handles packed tensors better, the tensor is staged: a packed copy in the scratch. Its input is
 * copied in before the launch and its output is copied out after it.
 *
 * The first and the last tile of a spatial axis have padding on one side. If the vendor accepts
 * only equal padding on both sides, such a tile also computes spare elements, whose values are not
 * used: the divided tensor is staged for it, and only its own elements are copied. */
#ifndef CONVSHIM_PLAN_H
#define CONVSHIM_PLAN_H

#include "convshim/copy.h"
#include "convshim/problem.h"
#include <stddef.h>

enum cs_axis {
    CS_AXIS_NONE,
    CS_AXIS_N, /* batch: x, y */
    CS_AXIS_D, /* spatial: x, y, with a halo */
    CS_AXIS_H,
    CS_AXIS_W,
    CS_AXIS_K,        /* output channels: filter, y; not with groups */
    CS_AXIS_C,        /* input channels: x, filter; not with groups */
    CS_AXIS_D_PHASES, /* every n-th element of D, H, W: x, y; dilated, of stride 1 */
    CS_AXIS_H_PHASES,
    CS_AXIS_W_PHASES,
    CS_AXES
};

enum {
    CS_MAX_CUTS = 2,
    CS_MAX_RUNS = 4,
    CS_MAX_TILE_SHAPES = 16,
    CS_MAX_TILES = 1024,
    CS_MAX_LANES = 8,
    CS_STAGED_ALIGNMENT = 16,  /* bytes; of staged tensors in the scratch */
    CS_SCRATCH_ALIGNMENT = 256 /* bytes; of the parts of a plan's scratch */
};

/* Consecutive tiles of one size. */
struct cs_run {
    int64_t step;                  /* elements a tile */
    int64_t tiles;                 /* at least 1 */
    enum cs_relaxation relaxation; /* of the tiles' engine */
};

/* How to cut a problem. CS_AXIS_NONE in both places leaves it whole, in the second place it means a
 * single cut. The first cut may begin with runs of tiles of other sizes. The rest is cut by its
 * step. */
struct cs_tiling {
    enum cs_axis axis[CS_MAX_CUTS];
    int64_t step[CS_MAX_CUTS]; /* elements of a tile. For phases: the remaining dilation, a divisor
                                  of the whole. 1 without an axis */
    int lanes;                 /* tiles that may run at once; 0 is 1 */
    enum cs_relaxation relaxation; /* of the tiles' engine, except in runs */
    bool staged; /* tensors that cuts leave in pieces, or not aligned to CS_STAGED_ALIGNMENT, are
                    staged */
    bool equal_padding; /* tiles have equal padding on both sides of cut axes, except in
                           backward-filter */
    int runs;           /* usually 0 */
    struct cs_run run[CS_MAX_RUNS - 1];
};

/* Properties that the tiles of one shape share along one cut. */
struct cs_slice {
    int64_t count;     /* extent of the range that is divided */
    int64_t in_count;  /* extent of the range that goes with it on the other side of the window; =
                          count unless the axis is spatial */
    int64_t pre, post; /* padding along the axis */
    int64_t spare_before, spare_after; /* elements computed outside the divided range */
    bool accumulates; /* adds to the application's or an earlier tile's output: beta is 1 */
    enum cs_relaxation relaxation;
    int64_t alignment[CS_MAX_TENSORS]; /* the alignment that all of these tiles have */
};

struct cs_cut {
    enum cs_axis axis;
    bool equal_padding; /* all of its tiles have equal padding, by spare elements */
    int64_t spacing;    /* elements from one of a tile's to its next; 1 except for phases */
    int runs;
    struct cs_run run[CS_MAX_RUNS +
                      1]; /* consecutive. The last range takes the rest, regardless of its run */
    int64_t tiles;        /* tiles of all runs */
    int64_t slices;       /* different ones */
    uint8_t slice_of[CS_MAX_TILES]; /* the index of each tile's slice */
    struct cs_slice slice[CS_MAX_TILE_SHAPES];
};

struct cs_tile_shape {
    int64_t tiles;     /* how many tiles are of this shape */
    int64_t workspace; /* bytes that the vendor requires; 0 until it was queried */
    int64_t staged;    /* bytes of the plan's staged tensors; 0 if it has none of them */
    enum cs_relaxation relaxation; /* of its execution plan's engine */
};

struct cs_plan {
    struct cs_problem problem; /* the whole */
    struct cs_tiling tiling;   /* the tiling of the cut, with rounded steps and its actual lanes */
    int cuts;                  /* 0: the whole problem in one launch */
    struct cs_cut cut[CS_MAX_CUTS];
    int64_t tiles;
    int64_t shapes;
    int lanes; /* tile i runs on lane i % lanes, in parallel with other lanes. 1 if tiles add up */
    int64_t workspace;              /* scratch bytes that the whole plan needs on all its lanes */
    bool stages;                    /* the tiling requests staged tensors, and the plan has some */
    bool is_staged[CS_MAX_TENSORS]; /* in all shapes. Without `stages` only a filter that is
                                       cut along C: the vendor accepts no view of filters */
    int64_t staged_at[CS_MAX_TENSORS]; /* bytes from a lane's staged tensors to this one, a multiple
                                          of CS_SCRATCH_ALIGNMENT; 0 if it is not staged */
    int64_t staged;                    /* bytes of all of a tile's staged tensors, a multiple of
                                          CS_SCRATCH_ALIGNMENT; all are in use during a launch */
    int64_t copied;                    /* bytes copied in and out, summed over tiles */
    int64_t halo;                      /* bytes of x and y read more than once, summed over tiles */
    struct cs_tile_shape
        shape[CS_MAX_TILE_SHAPES]; /* slice of cut 0 times slices of cut 1 plus slice of cut 1 */
};

/* A tile's range along one cut. */
struct cs_range {
    int64_t first, count; /* range of the divided operand */
    int64_t in_first,
        in_count;    /* of the corresponding operand; the same unless the axis is spatial */
    int64_t spacing; /* elements from one to the next, in both operands; 1 except for phases */
    int64_t pre, post;
    int64_t spare_before, spare_after; /* elements computed in addition to `count` */
};

/* One tile of a plan. */
struct cs_tile {
    int shape;
    struct cs_range range[CS_MAX_CUTS];
    int64_t offset[CS_MAX_TENSORS]; /* bytes from the tensor's base address to the tile's */
};

/* Returns the letters of a tiling's axes, such as "H" or "KC": N, D, H, W, K, C, and d, h, w for
 * phases. "-" without an axis. */
const char *cs_axis_tiling_name(const struct cs_tiling *tiling);

/* True if an axis of phases is cut. */
bool cs_axis_tiling_by_phase(const struct cs_tiling *tiling);

/* True if all members are equal: cuts, lanes, relaxations, staging and padding. */
bool cs_cut_tiling_equal(const struct cs_tiling *a, const struct cs_tiling *b);

/* Returns the dimension that an axis cuts in tensors of a side, CS_DIMS if it leaves them whole. */
enum cs_dim cs_axis_dim(enum cs_axis axis, enum cs_operand side);

/* Returns the largest number of parts of an axis. For phases this is the dilation. It is 1 for
 * CS_AXIS_NONE and for an axis that cannot be cut: K and C with groups, C in forward, C if the
 * filter is virtual or another tensor on its side would be cut too, K in backward-data, sums into a
 * filter gradient of 16 bits, phases with a stride. */
int64_t cs_axis_extent(const struct cs_problem *problem, enum cs_axis axis);

/* Returns the unit of steps along an axis: they are rounded up to a multiple of it. Steps of phases
 * are rounded down to a divisor of the dilation instead. */
int64_t cs_axis_unit(const struct cs_problem *problem, enum cs_axis axis);

/* Cuts a checked problem. Steps are rounded up so that tiles have few shapes: to multiples of the
 * stride in backward-data, and of eight channels. A tile whose window would lie entirely in the
 * padding is merged into its neighbour. Workspaces are left 0. *plan is valid only with CS_OK.
 * CS_OVERFLOW if a number exceeds 64 bits. CS_ILLEGAL if one of these holds:
 * - the plan would have more than CS_MAX_TILES tiles or CS_MAX_TILE_SHAPES shapes
 * - an axis cannot be cut, or is cut twice, also if one of the two cuts is by phase
 * - a cut by phase has runs
 * - a cut would have less than two tiles, or a phase without an element
 * - a staged tensor cannot be copied (copy.h) */
CS_MUST_CHECK enum cs_status cs_plan_cut(const struct cs_problem *problem,
                                         const struct cs_tiling *tiling, struct cs_plan *plan);

/* Sets the extents and beta of `tile` to those of a tile from the middle of a cut, and *tiles_p to
 * the number of tiles, without making a plan. It is for predictions. `tile` begins as a copy of the
 * problem, and may be reused for the next call. Its other members stay those of the whole problem.
 * CS_ILLEGAL if cs_plan_cut would find too many or too few tiles. Runs, shapes and staging are
 * ignored. */
CS_MUST_CHECK enum cs_status cs_typical_tile(const struct cs_problem *problem,
                                             const struct cs_tiling *tiling,
                                             struct cs_problem *tile, int64_t *tiles_p);

/* Makes a separate convolution from shape `shape` of [0, plan->shapes), with the application's
 * strides and the tiles' actual alignments. Staged tensors are packed in the order of the
 * application's strides. */
void cs_plan_problem(const struct cs_plan *plan, int64_t shape, struct cs_problem *problem);

/* True if tiles of that shape have the tensor packed in the scratch. Either all shapes have it so,
 * or the shape has spare elements along a cut of it. */
bool cs_plan_is_staged(const struct cs_plan *plan, int64_t shape, int tensor);

/* One staged tensor of a tile shape. */
struct cs_stage {
    int tensor;
    bool in, out;    /* the view is read before the launch, or written after it */
    int64_t skipped; /* bytes from the packed tensor to the copied part: spare elements before it */
    struct cs_copy copy;
};

/* Fills in the staged tensors of a shape, in the order of their numbers, and returns their number.
 * If cs_plan_cut did not make the plan, tensors that cannot be copied are left out. */
int cs_plan_stages(const struct cs_plan *plan, int64_t shape,
                   struct cs_stage stage[CS_MAX_TENSORS]);

/* Fills in tile `index` of [0, plan->tiles) of a plan that cs_plan_cut made. Any other plan needs a
 * checked problem, axes that can be cut, and runs, steps and tiles of at least 1. Then a tile that
 * does not exist or exceeds 64 bits becomes zeros. */
void cs_plan_tile(const struct cs_plan *plan, int64_t index, struct cs_tile *tile);

/* A lane's parts of the scratch, as offsets from its base, multiples of CS_SCRATCH_ALIGNMENT. */
struct cs_lane {
    int64_t staged;    /* offset of its plan->staged bytes */
    int64_t workspace; /* offset of its workspace, which has room for every shape */
};

/* Lays out the scratch of a plan on `lanes` lanes, [1, plan->lanes]. Any lane can run any tile, so
 * a plan may run on fewer lanes than it was made for. Returns the bytes needed, INT64_MAX if they
 * exceed 64 bits. `lane` may be NULL. */
int64_t cs_plan_scratch(const struct cs_plan *plan, int lanes, struct cs_lane lane[]);

/* Sets plan->workspace to the bytes that the whole plan needs, from the workspaces of its shapes.
 */
void cs_plan_settle(struct cs_plan *plan);

/* Checks a plan without the arithmetic of cs_plan_cut. CS_INVALID if one of these does not hold:
 * - the result is covered exactly once and in order, or summed exactly once
 * - every tile's window equals the whole problem's
 * - halos are inside the padded input, and tiles are inside their tensors
 * - alignments are true
 * - staged tensors do not overlap, and are copied element by element
 * - the scratch is at most `limit` bytes */
CS_MUST_CHECK enum cs_status cs_plan_validate(const struct cs_plan *plan, int64_t limit);

#endif
