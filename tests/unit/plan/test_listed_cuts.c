/* The cuts of a list of convolutions along every axis, against tests/golden: the figures of each
 * plan and a number for all of its tiles, shapes and copies. See tests/README.md, Decisions. */
#include "convshim/plan.h"
#include "golden_lines.h"
#include "listed_problems.h"

static uint64_t digest_of_tile(uint64_t digest, const struct cs_plan *plan, int64_t index)
{
    struct cs_tile tile;
    cs_plan_tile(plan, index, &tile);
    const int64_t shape = tile.shape;
    digest = golden_digest(digest, &shape, 1);
    for (int c = 0; c < plan->cuts; c++) {
        const struct cs_range *range = &tile.range[c];
        const int64_t word[] = {range->first,    range->count,        range->in_first,
                                range->in_count, range->spacing,      range->pre,
                                range->post,     range->spare_before, range->spare_after};
        digest = golden_digest(digest, word, (int)(sizeof word / sizeof *word));
    }
    return golden_digest(digest, tile.offset, plan->problem.tensors);
}

static uint64_t digest_of_copies(uint64_t digest, const struct cs_plan *plan, int64_t shape)
{
    struct cs_stage stage[CS_MAX_TENSORS];
    int stages = cs_plan_stages(plan, shape, stage);
    for (int i = 0; i < stages; i++) {
        const struct cs_copy *copy = &stage[i].copy;
        const int64_t word[] = {stage[i].tensor,  stage[i].in,    stage[i].out,
                                stage[i].skipped, copy->width,    copy->height,
                                copy->depth,      copy->times,    copy->pitch[0],
                                copy->pitch[1],   copy->slice[0], copy->slice[1],
                                copy->step[0],    copy->step[1],  plan->staged_at[stage[i].tensor]};
        digest = golden_digest(digest, word, (int)(sizeof word / sizeof *word));
    }
    return digest;
}

static uint64_t digest_of_shape(uint64_t digest, const struct cs_plan *plan, int64_t shape)
{
    struct cs_problem problem;
    cs_plan_problem(plan, shape, &problem);
    const int64_t word[] = {problem.beta > 0, plan->shape[shape].tiles, plan->shape[shape].staged,
                            plan->shape[shape].relaxation};
    digest = golden_digest(digest, word, (int)(sizeof word / sizeof *word));
    digest = golden_digest(digest, problem.pre, CS_SPATIAL);
    digest = golden_digest(digest, problem.post, CS_SPATIAL);
    digest = golden_digest(digest, problem.dilation, CS_SPATIAL);
    for (int i = 0; i < problem.tensors; i++) {
        digest = golden_digest(digest, problem.tensor[i].dims, CS_DIMS);
        digest = golden_digest(digest, problem.tensor[i].strides, CS_DIMS);
        digest = golden_digest(digest, &problem.tensor[i].alignment, 1);
    }
    return digest_of_copies(digest, plan, shape);
}

static uint64_t digest_of(const struct cs_plan *plan)
{
    uint64_t digest = 0;
    for (int64_t i = 0; i < plan->shapes; i++)
        digest = digest_of_shape(digest, plan, i);
    for (int64_t i = 0; i < plan->tiles; i++)
        digest = digest_of_tile(digest, plan, i);
    return digest;
}

/* The tile that a prediction assumes for all. */
static void put_typical(const struct cs_problem *problem, const struct cs_tiling *tiling)
{
    struct cs_problem tile;
    int64_t tiles;
    memcpy(&tile, problem, sizeof tile);
    enum cs_status status = cs_typical_tile(problem, tiling, &tile, &tiles);
    golden_put(" typical %d", (int)status);
    if (status != CS_OK)
        return;
    uint64_t digest = golden_digest(0, &tiles, 1);
    for (int i = 0; i < tile.tensors; i++)
        digest = golden_digest(digest, tile.tensor[i].dims, CS_DIMS);
    golden_put(" %lld %04x", (long long)tiles, (unsigned)(digest & 0xffff));
}

static void put_cut(const char *name, const struct cs_problem *problem,
                    const struct cs_tiling *tiling)
{
    static struct cs_plan plan;
    enum cs_status status = cs_plan_cut(problem, tiling, &plan);
    golden_put("%s %s %s %lld,%lld lanes %d%s%s runs %d: ", name,
               cs_problem_direction_name(problem->direction), cs_axis_tiling_name(tiling),
               (long long)tiling->step[0], (long long)tiling->step[1], tiling->lanes,
               tiling->staged ? " staged" : "", tiling->equal_padding ? " equal" : "",
               tiling->runs);
    if (status != CS_OK) {
        golden_put("no, %d\n", (int)status);
        return;
    }
    for (int64_t k = 0; k < plan.shapes; k++)
        plan.shape[k].workspace = 70000 + 1000 * k;
    cs_plan_settle(&plan);
    CHECK_INT(cs_plan_validate(&plan, plan.workspace), CS_OK);
    CHECK_INT(cs_plan_validate(&plan, plan.workspace - 1), CS_INVALID);
    golden_put("%lld,%lld tiles %lld shapes %lld lanes %d bytes %lld staged %lld copied %lld again "
               "%lld %08x",
               (long long)plan.tiling.step[0], (long long)plan.tiling.step[1],
               (long long)plan.tiles, (long long)plan.shapes, plan.lanes, (long long)plan.workspace,
               (long long)plan.staged, (long long)plan.copied, (long long)plan.halo,
               (unsigned)digest_of(&plan));
    put_typical(problem, tiling);
    golden_put("\n");
}

/* Ways to cut along an axis, another one for each problem and axis in turn. */
static struct cs_tiling tiling_of(const struct cs_problem *problem, enum cs_axis axis, int turn)
{
    static const int part[] = {2, 3, 5, 7, 11, 40};
    int64_t extent = cs_axis_extent(problem, axis);
    struct cs_tiling tiling = {
        .axis = {axis}, .step = {1 + extent / part[turn % 6], 1}, .lanes = 1 + turn % 3};
    tiling.staged = turn % 4 == 1;
    tiling.equal_padding = turn % 7 == 2;
    if (turn % 5 == 3 && cs_axis_extent(problem, CS_AXIS_H) > 8 && axis != CS_AXIS_H) {
        tiling.axis[1] = CS_AXIS_H;
        tiling.step[1] = cs_axis_extent(problem, CS_AXIS_H) / 4;
    } else if (turn % 5 == 4) {
        tiling.runs = 1;
        tiling.run[0] = (struct cs_run){extent / 9 + 1, 3, CS_DEFAULT_KNOBS};
    }
    return tiling;
}

static void cuts(void)
{
    int turn = 0;
    for (int i = 0; i < LISTED * CS_DIRECTIONS; i++) {
        struct cs_problem problem;
        const char *name = listed_problem[i / CS_DIRECTIONS].name;
        if (!listed_make(i / CS_DIRECTIONS, (enum cs_direction)(i % CS_DIRECTIONS), &problem))
            continue;
        for (int axis = CS_AXIS_N; axis < CS_AXES; axis++) {
            struct cs_tiling tiling = tiling_of(&problem, (enum cs_axis)axis, turn);
            if (cs_axis_extent(&problem, (enum cs_axis)axis) < 2)
                continue;
            put_cut(name, &problem, &tiling);
            turn++;
        }
    }
    golden_end("tests/golden/cuts.txt");
}

int main(void)
{
    TEST(cuts);
    return REPORT();
}
