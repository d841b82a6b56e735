/* A rewritten convolution: which tiles, of which kinds, with how much scratch.
 *
 * Tiles cut the output along one axis into consecutive ranges that cover it exactly once; the input
 * range of a tile follows from stride, dilation and padding and overlaps its neighbours' by the
 * halo. Tiles that are the same problem on other addresses are of one kind: one execution plan of
 * the vendor serves them all. A plan is a value of fixed size: no pointers, no ownership. */
#ifndef CONVSHIM_PLAN_H
#define CONVSHIM_PLAN_H

#include "convshim/problem.h"
#include <stddef.h>

enum cs_axis {
    CS_AXIS_NONE, /* the whole problem in one launch */
    CS_AXIS_N,
    CS_AXIS_D,
    CS_AXIS_H,
    CS_AXIS_W,
    CS_AXES
};

enum {
    CS_MAX_KINDS = 16,
    CS_MAX_TILES = 1024
};

struct cs_kind {
    struct cs_problem
        problem;   /* the tile as a convolution of its own: the client's strides, true alignments */
    int64_t tiles; /* how many tiles are of this kind */
    int64_t workspace; /* bytes that the vendor asks for; 0 until it was asked */
};

struct cs_plan {
    struct cs_problem problem; /* the whole */
    enum cs_axis axis;
    int64_t head; /* output elements along the axis in the first tile */
    int64_t step; /* in every other tile but the last, which takes the rest */
    int64_t tiles;
    int64_t kinds;
    int64_t workspace; /* scratch bytes that the whole plan needs: the largest of its kinds (one
                          lane) */
    int64_t halo;      /* bytes of x read more than once, summed over tiles */
    uint8_t kind_of[CS_MAX_TILES];
    struct cs_kind kind[CS_MAX_KINDS];
};

/* One tile of a plan. */
struct cs_tile {
    int kind;
    int64_t first, count;        /* output range along the axis */
    int64_t in_first, in_count;  /* input range along the axis */
    int64_t pre, post;           /* padding of this tile along the axis */
    int64_t offset[CS_OPERANDS]; /* bytes from the operand's base address to the tile's */
};

/* "-", "N", "D", "H", "W". */
const char *cs_axis_name(enum cs_axis axis);

/* The dimension of x and y that an axis cuts. Not for CS_AXIS_NONE. */
enum cs_dim cs_axis_dim(enum cs_axis axis);

/* Output elements along an axis: how often it can be cut at most. 1 for CS_AXIS_NONE. */
int64_t cs_axis_extent(const struct cs_problem *problem, enum cs_axis axis);

/* Cuts a checked problem along `axis` into tiles of `step` output elements. Tiles whose window
 * would lie in the padding alone are merged into their neighbours. Workspaces are left 0.
 * CS_ILLEGAL if that gives more than CS_MAX_TILES tiles or CS_MAX_KINDS kinds, or if no such cut
 * exists (one tile is a cut for CS_AXIS_NONE alone); CS_OVERFLOW. *plan holds nothing of use unless
 * CS_OK. */
CS_MUST_CHECK enum cs_status cs_plan_cut(const struct cs_problem *problem, enum cs_axis axis,
                                         int64_t step, struct cs_plan *plan);

/* Tile `index` of [0, plan->tiles) of a plan that cs_plan_cut made. Of any other plan with head and
 * step of at least 1 a tile that leaves 64 bits comes out with count 0. */
void cs_plan_tile(const struct cs_plan *plan, int64_t index, struct cs_tile *tile);

/* Takes over the kinds' workspaces: plan->workspace becomes what the plan needs in all. */
void cs_plan_settle(struct cs_plan *plan);

/* Proves the invariants from the plan alone: output covered exactly once and in order, every tile's
 * window equal to the whole problem's, halos inside the padded input, every tile inside its
 * tensors, alignments true, scratch at most `limit` bytes. Independent of cs_plan_cut's arithmetic.
 * CS_INVALID if one is broken. */
CS_MUST_CHECK enum cs_status cs_plan_validate(const struct cs_plan *plan, int64_t limit);

/* The plan as stable text, one line a tile after a head line; like snprintf, returns the length it
 * needs. */
int cs_plan_dump(const struct cs_plan *plan, char *text, size_t size);

#endif
