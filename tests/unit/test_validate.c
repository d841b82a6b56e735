#include "check.h"
#include "convshim/plan.h"

/* The same validation of tiles that are not the plan's: what a mistake in cs_plan_tile would look
 * like. */
static void wrong_tile(const struct cs_plan *plan, int64_t index, struct cs_tile *tile);
enum cs_status validate_wrong_tiles(const struct cs_plan *plan, int64_t limit);
#define cs_plan_tile wrong_tile
#define cs_plan_validate validate_wrong_tiles
#include "plan/validate.c" /* NOLINT(bugprone-suspicious-include) */
#undef cs_plan_tile
#undef cs_plan_validate

/* 2x4x64x12 f16, 3x3, pad 1: in tiles of 15 rows the kinds 0 (first), 1 (inner) and 2 (the rest).
 */
static struct cs_problem rows(void)
{
    return (struct cs_problem){
        .compute = CS_F32,
        .spatial = 2,
        .groups = 1,
        .pre = {0, 1, 1},
        .post = {0, 1, 1},
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1},
        .alpha = 1,
        .tensor = {{{2, 4, 1, 64, 12}, {3072, 768, 0, 12, 1}, 16, CS_F16},
                   {{8, 4, 1, 3, 3}, {36, 9, 0, 3, 1}, 16, CS_F16},
                   {{2, 8, 1, 64, 12}, {6144, 768, 0, 12, 1}, 16, CS_F16}},
    };
}

static void good_plan(struct cs_plan *plan)
{
    struct cs_problem problem = rows();
    CHECK_INT(cs_plan_cut(&problem, CS_AXIS_H, 15, plan), CS_OK);
    CHECK_INT(plan->kinds, 3);
    for (int k = 0; k < plan->kinds; k++)
        plan->kind[k].workspace = 100 + k;
    cs_plan_settle(plan);
}

/* Damages a plan in the way of that number; what was done, or NULL beyond the last way. */
static const char *break_plan(struct cs_plan *plan, int way)
{
    struct cs_problem *whole = &plan->problem, *inner = &plan->kind[1].problem;
    int number = 0;
#define BREAK(change)                                                                              \
    if (number++ == way) {                                                                         \
        change;                                                                                    \
        return #change;                                                                            \
    }
    BREAK(plan->head++)
    BREAK(plan->head = 0)
    BREAK(plan->step++)
    BREAK(plan->step--)
    BREAK(plan->step = INT64_MAX)
    BREAK(plan->tiles--)
    BREAK(plan->tiles++)
    BREAK(plan->tiles = 0)
    BREAK(plan->tiles = CS_MAX_TILES + 1)
    BREAK(plan->kinds--)
    BREAK(plan->kinds++)
    BREAK(plan->kinds = CS_MAX_KINDS + 1)
    BREAK(plan->kind_of[1] = 0)
    BREAK(plan->kind_of[1] = 200)
    BREAK(plan->kind[1].tiles++)
    BREAK(plan->kind[1].workspace = plan->workspace + 1)
    BREAK(plan->kind[1].workspace = -1)
    BREAK(plan->workspace--)
    BREAK(plan->workspace++)
    BREAK(plan->halo++)
    BREAK(plan->axis = CS_AXIS_W)
    BREAK(plan->axis = CS_AXES)
    BREAK(plan->axis = CS_AXIS_NONE)
    BREAK(inner->tensor[CS_X].dims[CS_H]++)
    BREAK(inner->tensor[CS_X].dims[CS_H]--)
    BREAK(inner->tensor[CS_Y].dims[CS_H]--)
    BREAK(inner->pre[1] = 1)
    BREAK(inner->post[1] = 1)
    BREAK(plan->kind[2].problem.post[1] = 0)
    BREAK(plan->kind[0].problem.pre[1] = 0)
    BREAK(inner->tensor[CS_X].alignment = 16)
    BREAK(inner->tensor[CS_FILTER].alignment = 32)
    BREAK(inner->tensor[CS_Y].alignment = 3)
    BREAK(inner->tensor[CS_X].strides[CS_C]--)
    BREAK(inner->tensor[CS_Y].strides[CS_H] = 13)
    BREAK(inner->stride[1] = 2)
    BREAK(inner->dilation[2] = 2)
    BREAK(inner->groups = 2)
    BREAK(inner->beta = 1)
    BREAK(inner->tensor[CS_X].dtype = CS_BF16)
    BREAK(inner->flipped = true)
    BREAK(whole->pre[1]++)
    BREAK(whole->post[1]--)
    BREAK(whole->tensor[CS_X].dims[CS_H]--)
    BREAK(whole->tensor[CS_Y].dims[CS_H]++)
    BREAK(whole->tensor[CS_X].strides[CS_H] = INT64_MAX)
    BREAK(whole->tensor[CS_X].alignment = 8)
    return NULL;
}

static void every_corruption_is_seen(void)
{
    static struct cs_plan good, bad;
    const char *change;
    int way = 0;
    good_plan(&good);
    for (; bad = good, (change = break_plan(&bad, way)) != NULL; way++) {
        enum cs_status status = cs_plan_validate(&bad, INT64_MAX);
        if (status != CS_INVALID)
            printf("# passes: %s\n", change);
        CHECK_INT(status, CS_INVALID);
    }
    printf("# %d ways to break a plan\n", way);
    CHECK(way > 40);
}

enum {
    TILE_FIELDS = 9,
    WRONG_TILES = 2 * TILE_FIELDS + 5
};
static int wrong_way;

static void damage_tile(const struct cs_plan *plan, int way, struct cs_tile *tile)
{
    const int64_t row = 12 * 2;
    switch (way) {
    case 0:
        tile->kind = 0;
        break;
    case 1:
        tile->kind = (int)plan->kinds;
        break;
    case 2: /* in step with its offset, and still one row off */
        tile->in_first++;
        tile->offset[CS_X] += row;
        break;
    case 3:
        tile->in_first--;
        tile->offset[CS_X] -= row;
        break;
    case 4:
        tile->first++;
        tile->offset[CS_Y] += row;
        break;
    default: /* none: WRONG_TILES and beyond */
        break;
    }
}

static void wrong_tile(const struct cs_plan *plan, int64_t index, struct cs_tile *tile)
{
    cs_plan_tile(plan, index, tile);
    if (index != 2)
        return;
    int64_t *const fields[TILE_FIELDS] = {
        &tile->first, &tile->count,        &tile->in_first,          &tile->in_count,    &tile->pre,
        &tile->post,  &tile->offset[CS_X], &tile->offset[CS_FILTER], &tile->offset[CS_Y]};
    if (wrong_way < TILE_FIELDS)
        ++*fields[wrong_way];
    else if (wrong_way < 2 * TILE_FIELDS)
        --*fields[wrong_way - TILE_FIELDS];
    else
        damage_tile(plan, wrong_way - 2 * TILE_FIELDS, tile);
}

static void every_wrong_tile_is_seen(void)
{
    static struct cs_plan plan;
    good_plan(&plan);
    for (wrong_way = 0; wrong_way < WRONG_TILES; wrong_way++) {
        enum cs_status status = validate_wrong_tiles(&plan, INT64_MAX);
        if (status != CS_INVALID)
            printf("# wrong tile %d passes\n", wrong_way);
        CHECK_INT(status, CS_INVALID);
    }
    CHECK_INT(validate_wrong_tiles(&plan, INT64_MAX), CS_OK);
}

static void good_plans_pass(void)
{
    static struct cs_plan plan;
    good_plan(&plan);
    CHECK_INT(plan.workspace, 102);
    CHECK_INT(plan.kind[1].problem.tensor[CS_X].alignment, 8);
    CHECK_INT(cs_plan_validate(&plan, 102), CS_OK);
    CHECK_INT(cs_plan_validate(&plan, 101), CS_INVALID);
    plan.kind[1].problem.tensor[CS_X].alignment = 2; /* less than it could be, but true */
    CHECK_INT(cs_plan_validate(&plan, 102), CS_OK);
}

static void whole_plans(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = rows();
    CHECK_INT(cs_plan_cut(&problem, CS_AXIS_NONE, 1, &plan), CS_OK);
    CHECK_INT(cs_plan_validate(&plan, 0), CS_OK);
    plan.kind[0].problem.pre[1] = 0;
    CHECK_INT(cs_plan_validate(&plan, 0), CS_INVALID);
}

int main(void)
{
    TEST(good_plans_pass);
    TEST(whole_plans);
    TEST(every_corruption_is_seen);
    TEST(every_wrong_tile_is_seen);
    return REPORT();
}
