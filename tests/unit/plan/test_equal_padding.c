/* Tiles with equal padding on both sides: random cuts run on the host give the untiled result to
 * the bit, and have the properties that hold by construction. */
#include "plan_run.h"
#include "random_problem.h"
#include "sample_problem.h"

enum {
    PROBLEMS = 60000,
    MOST_TILES = 40
};

struct tally {
    long plans, equalised, spare, free, run, fused, products, illegal, direction[CS_DIRECTIONS];
    long before, behind;
};

static bool is_spatial(enum cs_axis axis)
{
    return axis >= CS_AXIS_D && axis <= CS_AXIS_W;
}

/* A tile that was equal without is as it was; the others have as little more as it takes. */
static void check_range(const struct cs_plan *plan, int cut, const struct cs_range *was,
                        const struct cs_range *now, struct tally *tally)
{
    const struct cs_problem *problem = &plan->problem;
    int64_t stride = problem->stride[plan->cut[cut].axis - CS_AXIS_D];
    CHECK_INT(now->pre, now->post);
    CHECK(now->first == was->first && now->count == was->count);
    CHECK(now->spare_before == 0 || now->spare_after == 0);
    if (was->pre == was->post) {
        CHECK(memcmp(was, now, sizeof *was) == 0);
        return;
    }
    int64_t apart = was->pre > was->post ? was->pre - was->post : was->post - was->pre;
    int64_t spare = now->spare_before + now->spare_after;
    tally->before += now->spare_before > 0;
    tally->behind += now->spare_after > 0;
    tally->free += spare == 0;
    if (problem->direction == CS_BACKWARD_DATA) {
        CHECK(now->in_first == was->in_first && now->in_count == was->in_count);
        CHECK(spare <= apart && now->pre <= was->pre);
    } else {
        CHECK(was->in_first - now->in_first < stride && spare * stride < apart + stride);
        CHECK(now->in_first + now->in_count == was->in_first + was->in_count);
    }
}

static void check_plan(const struct cs_plan *plan, const struct cs_plan *plain, struct tally *tally)
{
    bool unequal = false, spare = false;
    CHECK_INT(plan->tiles, plain->tiles);
    for (int64_t i = 0; i < plan->tiles; i++) {
        struct cs_tile was, now;
        cs_plan_tile(plain, i, &was);
        cs_plan_tile(plan, i, &now);
        for (int c = 0; c < plan->cuts; c++) {
            if (!is_spatial(plan->cut[c].axis))
                continue;
            check_range(plan, c, &was.range[c], &now.range[c], tally);
            unequal |= was.range[c].pre != was.range[c].post;
            spare |= now.range[c].spare_before + now.range[c].spare_after > 0;
        }
    }
    CHECK_INT(plan->tiling.equal_padding, unequal);
    CHECK_INT(cs_plan_validate(plan, plan->staged), CS_OK);
    tally->equalised += unequal;
    tally->spare += spare;
    tally->fused += spare && plan->problem.steps > 0;
    tally->products += spare && plan->cuts > 1;
    if (!spare)
        return;
    CHECK(plan->staged > 0);
    int64_t differ = host_differs(plan);
    tally->run += differ >= 0;
    tally->direction[plan->problem.direction] += differ >= 0;
    CHECK(differ <= 0);
}

static void cut_and_check(const struct cs_problem *problem, struct cs_tiling tiling,
                          struct tally *tally)
{
    static struct cs_plan plan, plain;
    tiling.equal_padding = false;
    if (cs_plan_cut(problem, &tiling, &plain) != CS_OK || plain.tiles > MOST_TILES)
        return;
    CHECK(!plain.tiling.equal_padding);
    tiling.equal_padding = true;
    enum cs_status status = cs_plan_cut(problem, &tiling, &plan);
    CHECK(status == CS_OK || status == CS_ILLEGAL);
    tally->plans++;
    tally->illegal += status != CS_OK;
    if (status != CS_OK)
        return;
    if (problem->direction != CS_BACKWARD_FILTER)
        check_plan(&plan, &plain, tally);
    else
        CHECK(cs_cut_tiling_equal(&plan.tiling, &plain.tiling) && plan.copied == plain.copied);
}

/* Mostly a spatial axis that can be cut. */
static enum cs_axis random_axis(struct rng *rng, const struct cs_problem *problem, int cut)
{
    enum cs_axis axis = (enum cs_axis)rng_between(rng, CS_AXIS_N, CS_AXIS_C);
    if (cut == 0 && rng_between(rng, 0, 3))
        axis = (enum cs_axis)rng_between(rng, CS_AXIS_D, CS_AXIS_W);
    if (is_spatial(axis) && cs_axis_extent(problem, axis) < 2)
        axis = CS_AXIS_W;
    return axis;
}

static void results_are_the_same(void)
{
    const int count = random_count(PROBLEMS);
    struct rng rng = {20261122};
    struct tally tally = {0};
    for (int i = 0; i < count; i++) {
        struct cs_problem problem = random_small(&rng);
        RANDOM_CASE(20261122, i, &problem);
        struct cs_tiling tiling = {.step = {1, 1}, .staged = rng_between(&rng, 0, 3) == 0};
        for (int c = 0; c < CS_MAX_CUTS; c++) {
            if (c > 0 && rng_between(&rng, 0, 2))
                break;
            tiling.axis[c] = random_axis(&rng, &problem, c);
            tiling.step[c] = rng_between(&rng, 1, cs_axis_extent(&problem, tiling.axis[c]));
        }
        cut_and_check(&problem, tiling, &tally);
    }
    printf(
        "# %ld plans, %ld illegal, %ld unequal without; %ld with spare elements, %ld tiles before, "
        "%ld behind, %ld without any; %ld run (forward %ld, dgrad %ld), %ld fused, %ld products\n",
        tally.plans, tally.illegal, tally.equalised, tally.spare, tally.before, tally.behind,
        tally.free, tally.run, tally.direction[CS_FORWARD], tally.direction[CS_BACKWARD_DATA],
        tally.fused, tally.products);
    CHECK(tally.equalised > count / 10 && tally.run > count / 20);
    CHECK(tally.before > count / 20 && tally.behind > count / 20 && tally.free > count / 100);
    CHECK(tally.direction[CS_FORWARD] > count / 100 &&
          tally.direction[CS_BACKWARD_DATA] > count / 100);
    CHECK(tally.fused > count / 200 && tally.products > count / 200);
    CHECK(tally.illegal < tally.plans / 20);
}

/* 3x3 filters with padding 1: one row more than its own for the first tile of y and the last one.
 */
static void rows_of_an_image(void)
{
    static struct cs_plan plan;
    const struct cs_tiling tiling = {.axis = {CS_AXIS_H}, .step = {16, 1}, .equal_padding = true};
    struct cs_problem problem = rows(CS_FORWARD, 1), shape;
    struct cs_tile tile;
    CHECK_INT(cs_plan_cut(&problem, &tiling, &plan), CS_OK);
    CHECK(plan.tiling.equal_padding && !plan.tiling.staged);
    for (int64_t i = 0; i < plan.tiles; i++) {
        bool first = i == 0, last = i == plan.tiles - 1;
        cs_plan_tile(&plan, i, &tile);
        cs_plan_problem(&plan, tile.shape, &shape);
        CHECK_INT(tile.range[0].pre, first || last);
        CHECK_INT(tile.range[0].post, first || last);
        CHECK_INT(tile.range[0].spare_before, last);
        CHECK_INT(tile.range[0].spare_after, first);
        CHECK_INT(cs_plan_is_staged(&plan, tile.shape, CS_Y), first || last);
        CHECK(!cs_plan_is_staged(&plan, tile.shape, CS_X));
        CHECK_INT(plan.shape[tile.shape].staged, first || last ? plan.staged : 0);
        CHECK_INT(shape.tensor[CS_Y].dims[CS_H], tile.range[0].count + (first || last));
    }
}

/* If the vendor accepts the padding, it is unchanged. */
static void equal_padding_is_left_unchanged(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = rows(CS_FORWARD, 1);
    struct cs_tiling tiling = {.axis = {CS_AXIS_N}, .step = {1, 1}, .equal_padding = true};
    CHECK_INT(cs_plan_cut(&problem, &tiling, &plan), CS_OK);
    CHECK(!plan.tiling.equal_padding && plan.staged == 0);
    problem = rows(CS_BACKWARD_FILTER, 1);
    problem.tensor[CS_FILTER].dtype = CS_F32;
    tiling.axis[0] = CS_AXIS_H;
    CHECK_INT(cs_plan_cut(&problem, &tiling, &plan), CS_OK);
    CHECK(!plan.tiling.equal_padding && plan.staged == 0);
}

/* A launch that adds to its result, scaled by any number, finds it in the packed copy. */
static void packed_result_with_beta_is_copied_in(void)
{
    static struct cs_plan plan;
    static const double betas[] = {0, 0.5, 1, -2};
    const struct cs_tiling tiling = {.axis = {CS_AXIS_H}, .step = {16, 1}, .equal_padding = true};
    struct cs_stage stage[CS_MAX_TENSORS];
    int64_t copied = 0;
    for (size_t i = 0; i < sizeof betas / sizeof *betas; i++) {
        struct cs_problem problem = rows(CS_FORWARD, 1);
        struct cs_tile first;
        problem.beta = betas[i];
        CHECK_INT(cs_plan_cut(&problem, &tiling, &plan), CS_OK);
        cs_plan_tile(&plan, 0, &first);
        CHECK_INT(cs_plan_stages(&plan, first.shape, stage), 1);
        CHECK(stage[0].tensor == CS_Y && stage[0].out);
        CHECK_INT(stage[0].in, betas[i] != 0);
        if (i == 0)
            copied = plan.copied;
        CHECK_INT(plan.copied, i == 0 ? copied : 2 * copied);
    }
}

int main(void)
{
    TEST(results_are_the_same);
    TEST(rows_of_an_image);
    TEST(equal_padding_is_left_unchanged);
    TEST(packed_result_with_beta_is_copied_in);
    return REPORT();
}
