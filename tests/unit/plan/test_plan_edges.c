/* Cuts at the edges of the legal range, and names of axes. */
#include "check.h"
#include "convshim/plan.h"
#include "sample_problem.h"

static struct cs_tiling one_cut(enum cs_axis axis, int64_t step)
{
    return (struct cs_tiling){.axis = {axis}, .step = {step, 1}};
}

static enum cs_status cut_one(const struct cs_problem *problem, enum cs_axis axis, int64_t step,
                              struct cs_plan *plan)
{
    struct cs_tiling tiling = one_cut(axis, step);
    return cs_plan_cut(problem, &tiling, plan);
}

static void untiled_plan_has_one_kind(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = rows(CS_FORWARD, 1), shape;
    struct cs_tile tile;
    CHECK_INT(cut_one(&problem, CS_AXIS_NONE, 1, &plan), CS_OK);
    CHECK_INT(plan.cuts, 0);
    CHECK_INT(plan.tiles, 1);
    CHECK_INT(plan.shapes, 1);
    CHECK_INT(plan.shape[0].tiles, 1);
    CHECK_INT(plan.halo, 0);
    int64_t want[CS_PROBLEM_WORDS], got[CS_PROBLEM_WORDS];
    int used = cs_problem_words(&problem, want);
    cs_plan_problem(&plan, 0, &shape);
    CHECK_INT(cs_problem_words(&shape, got), used);
    CHECK(memcmp(want, got, (size_t)used * sizeof *want) == 0);
    cs_plan_tile(&plan, 0, &tile);
    CHECK_INT(tile.shape, 0);
    for (int i = 0; i < CS_OPERANDS; i++)
        CHECK_INT(tile.offset[i], 0);
}

static void steps_out_of_range(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = rows(CS_FORWARD, 1), channels = deep();
    CHECK_INT(cut_one(&problem, CS_AXIS_H, 0, &plan), CS_ILLEGAL);
    struct cs_tiling runs = {.axis = {CS_AXIS_H}, .step = {8, 1}, .runs = 1};
    runs.run[0] = (struct cs_run){4, 3, CS_SAME_KNOBS};
    CHECK_INT(cs_plan_cut(&problem, &runs, &plan), CS_OK);
    CHECK_INT(plan.tiles, 3 + 7); /* 12 rows in fours, 52 in eights */
    runs.run[0].tiles = 0;
    CHECK_INT(cs_plan_cut(&problem, &runs, &plan), CS_ILLEGAL);
    runs.run[0].tiles = INT64_MAX;
    CHECK_INT(cs_plan_cut(&problem, &runs, &plan), CS_OK); /* no more than there are */
    CHECK_INT(plan.tiles, 16);
    runs.run[0].step = 0;
    CHECK_INT(cs_plan_cut(&problem, &runs, &plan), CS_ILLEGAL);
    runs.run[0].step = INT64_MAX;
    CHECK(cs_plan_cut(&problem, &runs, &plan) != CS_OK);
    CHECK_INT(cut_one(&problem, CS_AXIS_H, -3, &plan), CS_ILLEGAL);
    CHECK_INT(cut_one(&problem, CS_AXIS_H, 64, &plan), CS_ILLEGAL);
    CHECK_INT(cut_one(&problem, CS_AXIS_H, INT64_MAX, &plan), CS_ILLEGAL);
    CHECK_INT(cut_one(&problem, CS_AXIS_D, 1, &plan), CS_ILLEGAL);
    CHECK_INT(cut_one(&problem, CS_AXIS_C, 1, &plan), CS_ILLEGAL);
    CHECK_INT(cut_one(&problem, CS_AXES, 1, &plan), CS_ILLEGAL);
    CHECK_INT(cut_one(&channels, CS_AXIS_N, 1, &plan), CS_ILLEGAL);
    CHECK_INT(cut_one(&problem, CS_AXIS_H, 63, &plan), CS_OK);
    CHECK_INT(plan.tiles, 2);
    struct cs_tiling twice = {.axis = {CS_AXIS_H, CS_AXIS_H}, .step = {32, 8}};
    CHECK_INT(cs_plan_cut(&problem, &twice, &plan), CS_ILLEGAL);
    struct cs_tiling second = {.axis = {CS_AXIS_NONE, CS_AXIS_H}, .step = {1, 8}};
    CHECK_INT(cs_plan_cut(&problem, &second, &plan), CS_ILLEGAL);
    CHECK_INT(cs_axis_extent(&problem, CS_AXIS_NONE), 1);
    CHECK_INT(cs_axis_extent(&problem, CS_AXIS_H), 64);

    /* Steps are rounded up, and the plan contains the rounded value. */
    CHECK_INT(cut_one(&channels, CS_AXIS_C, 3, &plan), CS_OK);
    CHECK_INT(plan.tiling.axis[0], CS_AXIS_C);
    CHECK_INT(plan.tiling.step[0], 8);
    CHECK_INT(plan.tiling.axis[1], CS_AXIS_NONE);
    CHECK_INT(plan.tiling.step[1], 1);
    CHECK_INT(cut_one(&channels, CS_AXIS_C, 17, &plan), CS_ILLEGAL);
}

static void names(void)
{
    static const char *const name[CS_AXES] = {"-", "N", "D", "H", "W", "K", "C", "d", "h", "w"};
    for (int a = 0; a < CS_AXES; a++) {
        struct cs_tiling alone = one_cut((enum cs_axis)a, 1);
        CHECK_STR(cs_axis_tiling_name(&alone), name[a]);
        for (int b = CS_AXIS_N; a != CS_AXIS_NONE && b < CS_AXES; b++) {
            struct cs_tiling pair = {.axis = {(enum cs_axis)a, (enum cs_axis)b}, .step = {1, 1}};
            const char both[] = {name[a][0], name[b][0], 0};
            CHECK_STR(cs_axis_tiling_name(&pair), both);
        }
    }
}

/* Input rows of nearly 2^62 bytes, read twice and more: the bytes themselves fit, their sum does
 * not. */
static void halo_overflow_is_reported(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = {
        .compute = CS_F32,
        .spatial = 1,
        .groups = 1,
        .pre = {0, 0, 20},
        .post = {0, 0, 20},
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1},
        .alpha = 1,
        .tensor = {{.dims = {1, INT64_C(1) << 56, 1, 1, 16}, .strides = {1, 16, 0, 0, 1}},
                   {.dims = {1, INT64_C(1) << 56, 1, 1, 16}, .strides = {1, 16, 0, 0, 1}},
                   {.dims = {1, 1, 1, 1, 41}, .strides = {41, 41, 0, 0, 1}}},
    };
    for (int i = 0; i < CS_OPERANDS; i++) {
        problem.tensor[i].alignment = 16;
        problem.tensor[i].dtype = CS_F16;
    }
    settle_operands(&problem);
    CHECK_INT(cs_problem_check(&problem), CS_OK);
    CHECK_INT(cut_one(&problem, CS_AXIS_W, 3, &plan), CS_OVERFLOW);
    CHECK_INT(cut_one(&problem, CS_AXIS_W, 20, &plan), CS_OK);
}

int main(void)
{
    TEST(untiled_plan_has_one_kind);
    TEST(steps_out_of_range);
    TEST(names);
    TEST(halo_overflow_is_reported);
    return REPORT();
}
