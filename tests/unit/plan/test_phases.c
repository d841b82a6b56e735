/* Dilated axes cut by phase: random cuts run on the host give the untiled result to the bit. No
 * element is read twice, and the dilation that remains is at most the requested one. */
#include "plan_run.h"
#include "random_problem.h"

enum {
    PROBLEMS = 60000,
    MOST_TILES = 40,
    MOST_DILATION = 6
};

static const enum cs_axis phases[CS_SPATIAL] = {CS_AXIS_D_PHASES, CS_AXIS_H_PHASES,
                                                CS_AXIS_W_PHASES};

struct tally {
    long plans, illegal, run, fused, products, staged, equal, left, direction[CS_DIRECTIONS];
};

/* Of stride 1 and dilated along one axis, the one that is returned. */
static int random_dilated(struct rng *rng, struct cs_problem *problem)
{
    *problem = random_frame(rng);
    const int64_t most[CS_SPATIAL + 1] = {0, 24, 12, 7};
    int i = (int)rng_between(rng, CS_SPATIAL - problem->spatial, CS_SPATIAL - 1);
    random_channels(rng, rng_between(rng, 1, 2), 2, problem);
    for (int dim = CS_SPATIAL - problem->spatial; dim < CS_SPATIAL; dim++)
        random_dimension(rng, rng_between(rng, 1, most[problem->spatial]), 3, dim, problem);
    int64_t dilation = rng_between(rng, 2, MOST_DILATION), taps = rng_between(rng, 2, 4);
    int64_t reach = (taps - 1) * dilation + 1, extent = rng_between(rng, 1, 20);
    random_padding(rng, reach, &problem->pre[i], &problem->post[i]);
    int64_t padded = extent + problem->pre[i] + problem->post[i];
    if (padded < reach)
        problem->post[i] += reach - padded;
    padded = extent + problem->pre[i] + problem->post[i];
    problem->stride[i] = 1;
    problem->dilation[i] = dilation;
    problem->tensor[CS_X].dims[CS_D + i] = extent;
    problem->tensor[CS_FILTER].dims[CS_D + i] = taps;
    problem->tensor[CS_Y].dims[CS_D + i] = padded - reach + 1;
    random_layouts(rng, problem);
    return i;
}

static bool may_accumulate(const struct cs_problem *problem)
{
    return problem->direction != CS_BACKWARD_FILTER ||
           (problem->tensor[CS_FILTER].dtype == CS_F32 && problem->steps == 0);
}

/* The largest divisor of the dilation up to the step. */
static int64_t left_of(int64_t dilation, int64_t step)
{
    while (dilation % step != 0)
        step--;
    return step;
}

/* Every element of both sides is in one tile; tiles of one phase apart. */
static void check_tiles(const struct cs_plan *plan, int cut)
{
    const struct cs_problem *problem = &plan->problem;
    enum cs_dim dim = cs_axis_dim(plan->cut[cut].axis, CS_X);
    bool data = problem->direction == CS_BACKWARD_DATA;
    int64_t spacing = plan->cut[cut].tiles,
            inner = cut == 0 && plan->cuts > 1 ? plan->cut[1].tiles : 1;
    int64_t divided = 0, extent = problem->tensor[data ? CS_X : CS_Y].dims[dim];
    for (int64_t i = 0; i < spacing; i++) {
        static struct cs_problem shape;
        struct cs_tile tile;
        cs_plan_tile(plan, i * inner, &tile);
        cs_plan_problem(plan, tile.shape, &shape);
        const struct cs_range *range = &tile.range[cut];
        CHECK_INT(range->first, i);
        CHECK_INT(range->spacing, spacing);
        CHECK_INT(shape.dilation[dim - CS_D] * spacing, problem->dilation[dim - CS_D]);
        CHECK(range->in_first + (range->in_count - 1) * spacing <
              problem->tensor[data ? CS_Y : CS_X].dims[dim]);
        divided += range->count;
    }
    CHECK_INT(divided, extent);
}

static void check_plan(const struct cs_plan *plan, struct tally *tally)
{
    tally->plans++;
    tally->fused += plan->problem.steps > 0;
    tally->products += plan->cuts > 1;
    tally->staged += plan->tiling.staged;
    tally->equal += plan->tiling.equal_padding;
    for (int c = 0; c < plan->cuts; c++)
        if (plan->cut[c].axis >= CS_AXIS_D_PHASES)
            check_tiles(plan, c);
    if (plan->cuts == 1)
        CHECK_INT(plan->halo, 0);
    CHECK_INT(cs_plan_validate(plan, plan->staged), CS_OK);
    int64_t differ = host_differs(plan);
    tally->run += differ >= 0;
    tally->direction[plan->problem.direction] += differ >= 0;
    CHECK(differ <= 0);
}

/* A phase without an element of x or y, or one that lies in the padding alone, is no tile. */
static bool has_all_phases(const struct cs_problem *problem, int i, int64_t spacing)
{
    return problem->tensor[CS_X].dims[CS_D + i] >= spacing &&
           problem->tensor[CS_Y].dims[CS_D + i] >= spacing;
}

static void cut_and_check(struct rng *rng, struct tally *tally)
{
    static struct cs_plan plan;
    struct cs_problem problem;
    int i = random_dilated(rng, &problem);
    int64_t dilation = problem.dilation[i], step = rng_between(rng, 1, dilation - 1);
    bool first = rng_between(rng, 0, 3) != 0, product = rng_between(rng, 0, 2) == 0;
    struct cs_tiling tiling = {.step = {step, 1},
                               .axis = {phases[i]},
                               .staged = rng_between(rng, 0, 3) == 0,
                               .equal_padding = rng_between(rng, 0, 2) == 0};
    CHECK_INT(cs_axis_extent(&problem, phases[i]), may_accumulate(&problem) ? dilation : 1);
    CHECK_INT(cs_axis_unit(&problem, phases[i]), 1);
    if (product) {
        enum cs_axis other = (enum cs_axis)rng_between(rng, CS_AXIS_N, CS_AXES - 1);
        tiling.axis[first] = other;
        tiling.axis[!first] = phases[i];
        tiling.step[!first] = step;
        tiling.step[first] = rng_between(rng, 1, cs_axis_extent(&problem, other));
        if (cs_axis_dim(other, CS_X) == (enum cs_dim)(CS_D + i))
            CHECK_INT(cs_plan_cut(&problem, &tiling, &plan), CS_ILLEGAL);
    }
    enum cs_status status = cs_plan_cut(&problem, &tiling, &plan);
    CHECK(status == CS_OK || status == CS_ILLEGAL);
    tally->illegal += status != CS_OK;
    int64_t left = left_of(dilation, step);
    if (status != CS_OK || plan.tiles > MOST_TILES) {
        bool padding = problem.pre[i] >= dilation || problem.post[i] >= dilation;
        CHECK(product || tiling.staged || tiling.equal_padding || padding || status == CS_OK ||
              !may_accumulate(&problem) || !has_all_phases(&problem, i, dilation / left));
        return;
    }
    int c = plan.cut[0].axis == phases[i] ? 0 : 1;
    CHECK(has_all_phases(&problem, i, dilation / left));
    CHECK_INT(plan.tiling.step[c], left);
    CHECK_INT(plan.cut[c].tiles, dilation / left);
    tally->left += left > 1;
    check_plan(&plan, tally);
}

static void results_are_the_same(void)
{
    const int count = random_count(PROBLEMS);
    struct rng rng = {31};
    struct tally tally = {0};
    for (int i = 0; i < count; i++)
        cut_and_check(&rng, &tally);
    printf("# %ld plans, %ld illegal; %ld fused, %ld products, %ld staged, %ld with equal padding, "
           "%ld still dilated; %ld run (forward %ld, dgrad %ld, wgrad %ld)\n",
           tally.plans, tally.illegal, tally.fused, tally.products, tally.staged, tally.equal,
           tally.left, tally.run, tally.direction[CS_FORWARD], tally.direction[CS_BACKWARD_DATA],
           tally.direction[CS_BACKWARD_FILTER]);
    CHECK(tally.run > count / 5 && tally.fused > count / 40 && tally.products > count / 60);
    CHECK(tally.staged > count / 40 && tally.equal > count / 100 && tally.left > count / 20);
    for (int direction = 0; direction < CS_DIRECTIONS; direction++)
        CHECK(tally.direction[direction] > count / 40);
}

/* An atrous head: 128 rows, 12 apart. */
static struct cs_problem atrous(enum cs_direction direction, int64_t stride)
{
    struct cs_problem problem = {.direction = direction,
                                 .compute = CS_F32,
                                 .spatial = 2,
                                 .groups = 1,
                                 .pre = {0, 12, 12},
                                 .post = {0, 12, 12},
                                 .stride = {1, stride, 1},
                                 .dilation = {1, 12, 12},
                                 .alpha = 1,
                                 .tensor = {{.dims = {1, 64, 1, 128, 128}},
                                            {.dims = {32, 64, 1, 3, 3}},
                                            {.dims = {1, 32, 1, 127 / stride + 1, 128}}}};
    struct rng rng = {1};
    for (int i = 0; i < CS_OPERANDS; i++) {
        problem.tensor[i].alignment = 16;
        problem.tensor[i].dtype = CS_F16;
        random_strides(&rng, CHANNELS_FIRST, 2, &problem.tensor[i]);
    }
    settle_operands(&problem);
    CHECK_INT(cs_problem_check(&problem), CS_OK);
    return problem;
}

static void rows_of_a_head(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = atrous(CS_FORWARD, 1), shape;
    struct cs_tiling tiling = {.axis = {CS_AXIS_H_PHASES}, .step = {5, 1}};
    CHECK_INT(cs_plan_cut(&problem, &tiling, &plan), CS_OK);
    CHECK(plan.tiles == 3 && plan.tiling.step[0] == 4 && plan.halo == 0 && plan.staged == 0);
    for (int64_t i = 0; i < plan.shapes; i++) {
        cs_plan_problem(&plan, i, &shape);
        CHECK(shape.dilation[1] == 4 && shape.pre[1] == 4 && shape.post[1] == 4);
        CHECK_INT(shape.tensor[CS_X].strides[CS_H], 3 * 128);
        CHECK(shape.tensor[CS_X].dims[CS_H] == 43 || shape.tensor[CS_X].dims[CS_H] == 42);
    }
    tiling.step[0] = 1;
    CHECK_INT(cs_plan_cut(&problem, &tiling, &plan), CS_OK);
    cs_plan_problem(&plan, 0, &shape);
    CHECK(plan.tiles == 12 && plan.shapes == 2 && shape.dilation[1] == 1 && shape.pre[1] == 1);
}

static void uncuttable_axes_are_refused(void)
{
    static struct cs_plan plan;
    struct cs_problem strided = atrous(CS_FORWARD, 2), problem = atrous(CS_FORWARD, 1);
    struct cs_problem filter = atrous(CS_BACKWARD_FILTER, 1);
    struct cs_tiling tiling = {.axis = {CS_AXIS_H_PHASES}, .step = {6, 1}};
    CHECK_INT(cs_axis_extent(&strided, CS_AXIS_H_PHASES), 1);
    CHECK_INT(cs_axis_extent(&strided, CS_AXIS_W_PHASES), 12);
    CHECK_INT(cs_axis_extent(&filter, CS_AXIS_H_PHASES), 1); /* sums of 16 bits */
    CHECK_INT(cs_axis_extent(&problem, CS_AXIS_D_PHASES), 1);
    CHECK_INT(cs_plan_cut(&problem, &tiling, &plan), CS_OK);
    CHECK_INT(cs_plan_cut(&strided, &tiling, &plan), CS_ILLEGAL);
    CHECK_INT(cs_plan_cut(&filter, &tiling, &plan), CS_ILLEGAL);
    for (int64_t step = -1; step <= 12; step++) {
        tiling.step[0] = step;
        CHECK_INT(cs_plan_cut(&problem, &tiling, &plan),
                  step >= 1 && step < 12 ? CS_OK : CS_ILLEGAL);
    }
    tiling.step[0] = 6;
    tiling.runs = 1;
    tiling.run[0] = (struct cs_run){3, 1, CS_SAME_KNOBS};
    CHECK_INT(cs_plan_cut(&problem, &tiling, &plan), CS_ILLEGAL);
}

int main(void)
{
    TEST(results_are_the_same);
    TEST(rows_of_a_head);
    TEST(uncuttable_axes_are_refused);
    return REPORT();
}
