/* Plans on several lanes: their number, and the place of each in the scratch. Validation checks
 * both itself. */
#include "check.h"
#include "convshim/plan.h"
#include "sample_problem.h"

enum {
    PROBLEMS = 4000,
    SEED = 20270
};

static bool adds_up(const struct cs_plan *plan)
{
    bool sums = false;
    for (int c = 0; c < plan->cuts; c++)
        sums |= plan->problem.direction == CS_BACKWARD_FILTER && plan->cut[c].axis != CS_AXIS_K &&
                plan->cut[c].axis != CS_AXIS_C;
    return sums;
}

static int64_t padded(int64_t bytes)
{
    return (bytes + CS_SCRATCH_ALIGNMENT - 1) / CS_SCRATCH_ALIGNMENT * CS_SCRATCH_ALIGNMENT;
}

static int64_t largest_of(const struct cs_plan *plan)
{
    int64_t largest = 0;
    for (int64_t i = 0; i < plan->shapes; i++)
        largest = plan->shape[i].workspace > largest ? plan->shape[i].workspace : largest;
    return largest;
}

/* Checks that all parts are aligned, inside the scratch and disjoint, in the smallest size: only
 * the highest part needs no padding. */
static void check_layout(const struct cs_plan *plan, int lanes)
{
    struct cs_lane lane[CS_MAX_LANES];
    int64_t largest = largest_of(plan), bytes = cs_plan_scratch(plan, lanes, lane);
    CHECK_INT(bytes, lanes * (plan->staged + padded(largest)) - (padded(largest) - largest));
    for (int i = 0; i < 2 * lanes; i++) {
        int64_t begin = i % 2 ? lane[i / 2].workspace : lane[i / 2].staged;
        int64_t end = begin + (i % 2 ? largest : plan->staged);
        CHECK(begin >= 0 && begin % CS_SCRATCH_ALIGNMENT == 0 && end <= bytes);
        for (int j = 0; j < i; j++) {
            int64_t from = j % 2 ? lane[j / 2].workspace : lane[j / 2].staged;
            int64_t to = from + (j % 2 ? largest : plan->staged);
            CHECK(from == to || begin == end || end <= from || to <= begin);
        }
    }
}

static void check_plan(struct rng *rng, const struct cs_problem *problem,
                       const struct cs_tiling *tiling, struct cs_plan *plan)
{
    static struct cs_plan again;
    int most = adds_up(plan) ? 1 : plan->tiles < CS_MAX_LANES ? (int)plan->tiles : CS_MAX_LANES;
    int required = tiling->lanes < 1 ? 1 : tiling->lanes;
    CHECK_INT(plan->lanes, required < most ? required : most);
    for (int64_t i = 0; i < plan->shapes; i++)
        plan->shape[i].workspace = rng_between(rng, 0, 1) * rng_magnitude(rng, 30);
    cs_plan_settle(plan);
    CHECK_INT(plan->workspace, cs_plan_scratch(plan, plan->lanes, NULL));
    for (int lanes = 1; lanes <= plan->lanes; lanes++)
        check_layout(plan, lanes);
    CHECK_INT(cs_plan_validate(plan, plan->workspace), CS_OK);
    CHECK_INT(cs_plan_validate(plan, plan->workspace - 1), CS_INVALID);

    struct cs_tiling settled = plan->tiling;
    CHECK_INT(settled.lanes, plan->lanes);
    CHECK_INT(cs_plan_cut(problem, &settled, &again), CS_OK);
    CHECK_INT(again.lanes, plan->lanes);
    CHECK_INT(again.tiles, plan->tiles);
}

static void random_plans(void)
{
    static struct cs_plan plan;
    struct rng rng = {SEED};
    int plans = 0, beside = 0, staged = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        struct cs_problem problem = random_small(&rng);
        RANDOM_CASE(SEED, i, &problem);
        struct cs_tiling tiling = {.axis = {(enum cs_axis)rng_between(&rng, 0, CS_AXIS_C)},
                                   .lanes = (int)rng_between(&rng, -1, CS_MAX_LANES + 2)};
        if (tiling.axis[0] != CS_AXIS_NONE && rng_between(&rng, 0, 2) == 0)
            tiling.axis[1] = (enum cs_axis)rng_between(&rng, CS_AXIS_N, CS_AXIS_C);
        for (int c = 0; c < CS_MAX_CUTS; c++)
            tiling.step[c] = rng_between(&rng, 1, cs_axis_extent(&problem, tiling.axis[c]));
        if (cs_plan_cut(&problem, &tiling, &plan) != CS_OK)
            continue;
        plans++;
        beside += plan.lanes > 1;
        staged += plan.lanes > 1 && plan.staged > 0;
        check_plan(&rng, &problem, &tiling, &plan);
    }
    printf("# of %d plans %d on more than one lane, %d of them staged\n", plans, beside, staged);
    CHECK(plans > PROBLEMS / 4 && beside > plans / 8 && staged > 5);
}

static void plan_on(enum cs_direction direction, struct cs_tiling tiling, struct cs_plan *plan)
{
    struct cs_problem problem = rows(direction, 1);
    CHECK_INT(cs_problem_check(&problem), CS_OK);
    CHECK_INT(cs_plan_cut(&problem, &tiling, plan), CS_OK);
    for (int64_t i = 0; i < plan->shapes; i++)
        plan->shape[i].workspace = 1000;
    cs_plan_settle(plan);
    CHECK_INT(cs_plan_validate(plan, plan->workspace), CS_OK);
}

static void wrong_numbers_of_lanes(void)
{
    static struct cs_plan good, bad;
    plan_on(CS_FORWARD, (struct cs_tiling){.axis = {CS_AXIS_H}, .step = {16, 1}, .lanes = 2},
            &good);
    CHECK_INT(good.tiles, 4);
    CHECK_INT(good.workspace, 2024);
    for (int lanes = -1; lanes <= CS_MAX_LANES + 1; lanes++) {
        bad = good;
        bad.lanes = lanes;
        CHECK_INT(cs_plan_validate(&bad, INT64_MAX), lanes == 2 ? CS_OK : CS_INVALID);
        if (lanes < 1 || lanes > CS_MAX_LANES)
            continue;
        cs_plan_settle(&bad);
        CHECK_INT(cs_plan_validate(&bad, INT64_MAX), lanes <= 4 ? CS_OK : CS_INVALID);
    }
    bad = good;
    bad.shape[1].workspace = INT64_MAX;
    cs_plan_settle(&bad);
    CHECK_INT(bad.workspace, INT64_MAX);
    CHECK_INT(cs_plan_validate(&bad, INT64_MAX), CS_INVALID);

    /* Two launches that add to one gradient at once. */
    plan_on(CS_BACKWARD_FILTER,
            (struct cs_tiling){.axis = {CS_AXIS_H}, .step = {16, 1}, .lanes = 2}, &good);
    CHECK_INT(good.lanes, 1);
    good.lanes = 2;
    cs_plan_settle(&good);
    CHECK_INT(cs_plan_validate(&good, INT64_MAX), CS_INVALID);
}

static struct mistake {
    int on, lane; /* of the layout on that many lanes */
    int64_t staged, workspace, bytes;
} mistake;

/* A mistake in the layout, as the validation would see it. */
WRAPPED(int64_t, cs_plan_scratch, const struct cs_plan *plan, int lanes, struct cs_lane lane[])
{
    int64_t bytes = __real_cs_plan_scratch(plan, lanes, lane);
    if (lanes != mistake.on)
        return bytes;
    if (lane) {
        lane[mistake.lane].staged += mistake.staged;
        lane[mistake.lane].workspace += mistake.workspace;
    }
    return bytes + mistake.bytes;
}

/* Each lane's copy has 512 bytes, its workspace 1000. */
static void wrong_layouts(void)
{
    static struct cs_plan plan;
    static const int64_t shifts[] = {-1, 1, 16, -256, 256, -1024, 1024, -1536, 1536, INT64_MAX / 2};
    plan_on(CS_BACKWARD_FILTER,
            (struct cs_tiling){.axis = {CS_AXIS_K, CS_AXIS_C}, .step = {4, 3}, .lanes = 3}, &plan);
    CHECK_INT(plan.lanes, 3);
    CHECK_INT(plan.staged, 512);
    mistake.on = 0;
    CHECK_INT(cs_plan_validate(&plan, plan.workspace), CS_OK);
    for (mistake.on = 1; mistake.on <= 3; mistake.on++)
        for (mistake.lane = 0; mistake.lane < mistake.on; mistake.lane++)
            for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++) {
                mistake.staged = shifts[i];
                CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_INVALID);
                mistake.staged = 0;
                mistake.workspace = shifts[i];
                CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_INVALID);
                mistake.workspace = 0;
            }
    for (mistake.on = 1; mistake.on <= 3; mistake.on++) {
        mistake.lane = 0;
        mistake.bytes = -1;
        CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_INVALID);
        mistake.bytes = plan.workspace; /* fewer lanes that need more */
        CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_INVALID);
        mistake.bytes = 0;
    }
}

int main(void)
{
    TEST(random_plans);
    TEST(wrong_numbers_of_lanes);
    TEST(wrong_layouts);
    return REPORT();
}
