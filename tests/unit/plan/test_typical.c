/* The tile that predictions assume for all: their number equals the plan's own, and the tile is one
 * of the plan's, at every step of every axis. Also plans without such a tile. */
#include "check.h"
#include "convshim/plan.h"
#include "sample_problem.h"

/* Of each cut the tile in the middle, of phases the first. */
static bool is_the_middle(const struct cs_plan *plan, const struct cs_problem *typical)
{
    static struct cs_problem shape;
    struct cs_tile tile;
    int64_t index = 0;
    bool same = true;
    for (int c = 0; c < plan->cuts; c++) {
        bool phases = plan->cut[c].axis >= CS_AXIS_D_PHASES;
        index = index * plan->cut[c].tiles + (phases ? 0 : (plan->cut[c].tiles - 1) / 2);
    }
    cs_plan_tile(plan, index, &tile);
    cs_plan_problem(plan, tile.shape, &shape);
    for (int i = 0; i < typical->tensors; i++)
        same &=
            memcmp(shape.tensor[i].dims, typical->tensor[i].dims, sizeof shape.tensor[i].dims) == 0;
    return same;
}

static void check_tiling(const struct cs_problem *problem, const struct cs_tiling *tiling,
                         struct cs_problem *tile)
{
    static struct cs_plan plan;
    int64_t tiles = 0;
    enum cs_status cut = cs_plan_cut(problem, tiling, &plan);
    enum cs_status status = cs_typical_tile(problem, tiling, tile, &tiles);
    CHECK_INT(status, cut);
    if (status != CS_OK || cut != CS_OK)
        return;
    CHECK_INT(tiles, plan.tiles);
    CHECK(is_the_middle(&plan, tile));
    CHECK(tile->beta ==
          (problem->direction == CS_BACKWARD_FILTER && tiling->axis[0] != CS_AXIS_NONE &&
                   tiling->axis[0] != CS_AXIS_K && tiling->axis[0] != CS_AXIS_C
               ? 1
               : problem->beta));
}

/* The same tile problem throughout: nothing of the one before is left in it. */
static void every_step_of_every_axis(void)
{
    for (int direction = 0; direction < CS_DIRECTIONS; direction++) {
        const struct cs_problem problem = rows((enum cs_direction)direction, 1);
        struct cs_problem tile = problem;
        for (int axis = CS_AXIS_N; axis < CS_AXES; axis++)
            for (int64_t step = -1; step <= 65; step++) {
                struct cs_tiling tiling = {.axis = {(enum cs_axis)axis}, .step = {step, 1}};
                check_tiling(&problem, &tiling, &tile);
            }
        check_tiling(&problem, &(struct cs_tiling){.step = {1, 1}}, &tile);
    }
}

/* Strides, groups, different padding after than before. */
static void axes_that_are_no_two_alike(void)
{
    for (int direction = 0; direction < CS_DIRECTIONS; direction++) {
        const struct cs_problem problem = awkward((enum cs_direction)direction);
        struct cs_problem tile = problem;
        for (int axis = CS_AXIS_H; axis <= CS_AXIS_C; axis++)
            for (int64_t step = 1; step <= 21; step++) {
                struct cs_tiling tiling = {.axis = {(enum cs_axis)axis}, .step = {step, 1}};
                check_tiling(&problem, &tiling, &tile);
                tiling = (struct cs_tiling){.axis = {CS_AXIS_H, CS_AXIS_W}, .step = {step, 3}};
                check_tiling(&problem, &tiling, &tile);
            }
    }
}

static void phases(void)
{
    for (int direction = 0; direction <= CS_BACKWARD_DATA; direction++) {
        struct cs_problem problem = rows((enum cs_direction)direction, 1);
        problem.dilation[1] = problem.pre[1] = problem.post[1] = 12;
        struct cs_problem tile = problem;
        CHECK_INT(cs_problem_check(&problem), CS_OK);
        for (int64_t step = -1; step <= 13; step++) {
            struct cs_tiling tiling = {.axis = {CS_AXIS_H_PHASES}, .step = {step, 1}};
            check_tiling(&problem, &tiling, &tile);
            tiling = (struct cs_tiling){.axis = {CS_AXIS_N, CS_AXIS_H_PHASES}, .step = {1, step}};
            check_tiling(&problem, &tiling, &tile);
        }
    }
}

/* Images of one element, alone and next to two rows, at the largest number of tiles. */
static void tiles_reach_their_maximum(void)
{
    for (int64_t images = CS_MAX_TILES - 1; images <= CS_MAX_TILES + 1; images++) {
        struct cs_problem problem = rows(CS_FORWARD, 1), tile;
        problem.tensor[CS_X].dims[CS_N] = problem.tensor[CS_Y].dims[CS_N] = images;
        tile = problem;
        check_tiling(&problem, &(struct cs_tiling){.axis = {CS_AXIS_N}, .step = {1, 1}}, &tile);
        problem.tensor[CS_X].dims[CS_N] = problem.tensor[CS_Y].dims[CS_N] = images / 2;
        tile = problem;
        for (int64_t rows_a_tile = 31; rows_a_tile <= 32; rows_a_tile++) {
            struct cs_tiling tiling = {.axis = {CS_AXIS_N, CS_AXIS_H}, .step = {1, rows_a_tile}};
            check_tiling(&problem, &tiling, &tile);
        }
    }
}

/* Two taps that far apart, and as many phases; images in one phase each. */
static void phases_reach_their_maximum(void)
{
    for (int64_t apart = CS_MAX_TILES - 2; apart <= CS_MAX_TILES + 2; apart += 2) {
        for (int64_t images = 1; images <= 2; images++) {
            struct cs_problem problem = {.direction = CS_FORWARD,
                                         .compute = CS_F32,
                                         .spatial = 2,
                                         .groups = 1,
                                         .stride = {1, 1, 1},
                                         .dilation = {1, apart / images, 1},
                                         .alpha = 1,
                                         .tensor = {{.dims = {images, 1, 1, 2 * apart, 1}},
                                                    {.dims = {1, 1, 1, 2, 1}},
                                                    {.dims = {images, 1, 1, 0, 1}}}};
            problem.tensor[CS_Y].dims[CS_H] = 2 * apart - apart / images;
            struct rng rng = {1};
            for (int i = 0; i < CS_OPERANDS; i++) {
                problem.tensor[i].alignment = 16;
                problem.tensor[i].dtype = CS_F32;
                random_strides(&rng, CHANNELS_FIRST, 2, &problem.tensor[i]);
            }
            settle_operands(&problem);
            CHECK_INT(cs_problem_check(&problem), CS_OK);
            struct cs_problem tile = problem;
            struct cs_tiling tiling = {.axis = {CS_AXIS_N, CS_AXIS_H_PHASES}, .step = {1, 1}};
            if (images == 1)
                tiling = (struct cs_tiling){.axis = {CS_AXIS_H_PHASES}, .step = {1, 1}};
            check_tiling(&problem, &tiling, &tile);
        }
    }
}

int main(void)
{
    TEST(every_step_of_every_axis);
    TEST(axes_that_are_no_two_alike);
    TEST(phases);
    TEST(tiles_reach_their_maximum);
    TEST(phases_reach_their_maximum);
    return REPORT();
}
