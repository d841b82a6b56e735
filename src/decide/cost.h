/* How long a plan runs on a device, predicted from the plan alone. For comparing ways to run one
 * problem: the same errors are in all of them. Pure; any thread; no product can overflow, as
 * everything is counted in double.
 *
 * The model. A tile is a matrix product (implicit GEMM) that thread blocks of 128 x 128 results
 * share, fewer along an extent that is shorter; blocks run in waves of one for each multiprocessor,
 * and a wave that is not full takes as long as a full one. (NVIDIA, Matrix Multiplication
 * Background User's Guide, DU-09799-001, chapter 3.) In backward-filter the sum is split between
 * blocks where there are too few of them.
 *
 * Every operand's byte moves once for each tile that reads or writes it, every byte of workspace
 * twice. A workspace as large as the operands is a change of layout (channels first to channels
 * last and back, as the tensor-core engines of cuDNN 9.19 do): kernels of their own read the
 * operands and write the workspace before the convolution and the other way round behind it. So a
 * tile takes
 *
 *     conversions + max(arithmetic, memory of the convolution) + its kernels' own time
 *
 * A kernel's own time is not known better than a range, from kernel_us to kernel_us_most. `seconds`
 * is the lower end. `most` is the upper end: a choice between many small tiles and few large ones
 * has to hold there, too.
 *
 * L2 serves what is moved again soon: workspace, and what tiles read in common (halo, filter, the
 * operand that a cut leaves whole), where what passes through L2 in between fits: the workspace and
 * half of the operands of all tiles that run at once. Between once and twice that size its part
 * falls from all to nothing. All else moves at the memory's bandwidth, memory clock * 2 * bus
 * width.
 *
 * Lanes overlap one tile's conversions with another's arithmetic: of what one lane takes beyond the
 * busiest of arithmetic (waves filled up by other lanes), memory and an equal share of lanes, a
 * part falls away.
 *
 * Where the engine's notes are known they say whether it uses tensor cores (f32 as TF32) and
 * Winograd's transforms, which save multiplications; its knobs say in how many parts sums are
 * split. Else f32 is taken to run on tensor cores if the workspace is at least half of the
 * operands: engines without tensor cores convert nothing. Tiles that choose their own engine
 * (CS_TILE_HEURISTICS) have tensor cores for 16 bits and none for f32. */
#ifndef CS_DECIDE_COST_H
#define CS_DECIDE_COST_H

#include "convshim/plan.h"
#include "convshim/profile.h"

struct cs_cost {
    double seconds;    /* predicted, of the whole call; above 0 and finite */
    double most;       /* the same with kernel_us_most for each kernel: not below `seconds` */
    double memory;     /* seconds of all tiles' bytes, if nothing else went on */
    double arithmetic; /* seconds of all tiles' waves, likewise */
    double launches;   /* seconds that kernels and lanes add, of `seconds` */
    double moved;      /* bytes to and from the device's memory */
    double cached;     /* bytes that L2 serves */
};

/* Values for the rows of cost.def. */
struct cs_coefficients {
#define CS_COST(name, value, least, most, unit, meaning) double name;
#include "decide/cost.def"
#undef CS_COST
};
extern const struct cs_coefficients cs_cost_defaults;

/* For a plan that cs_plan_cut made and whose shapes' workspaces are known; without cuts it is the
 * untiled call. */
struct cs_cost cs_cost_of(const struct cs_plan *plan, const struct cs_profile *profile);

/* The same with other coefficients, each within its bounds. */
struct cs_cost cs_cost_with(const struct cs_plan *plan, const struct cs_profile *profile,
                            const struct cs_coefficients *coefficients);

/* Tiles that are all alike. */
struct cs_cost_tiles {
    double count;     /* a part of one at the end of an axis counts as a part */
    double launched;  /* the same as a whole */
    double workspace; /* bytes of one */
    int lanes;        /* 0 is 1 */
    enum cs_relaxation relaxation;
};

/* For so many tiles of one extent (cs_typical_tile), without a plan. */
struct cs_cost cs_cost_of_tiles(const struct cs_problem *untiled, const struct cs_problem *tile,
                                const struct cs_cost_tiles *tiles,
                                const struct cs_profile *profile);

#endif
