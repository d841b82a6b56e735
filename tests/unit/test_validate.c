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

/* What every tile of one kind, and the kind with them, is wrong by: nothing in the plan contradicts
 * itself. */
static const struct lie {
    const char *what;
    int kind;
    int64_t first, count, in_first, in_count, pre, post;
    bool repeats; /* the third tile is the second once more */
} lies[] = {
    {"the truth", .kind = 1},
    {"padding for the last row", .kind = 1, .in_count = -1, .post = 1},
    {"padding for the first row", .kind = 1, .in_first = 1, .in_count = -1, .pre = 1},
    {"a row too low", .kind = 1, .in_first = 1},
    {"a row too high", .kind = 1, .in_first = -1},
    {"the end is missing", .kind = 2, .count = -1, .post = -1},
    {"a row is written twice", .kind = 0, .count = 1, .in_count = 1},
    {"a row is left out", .kind = 0, .count = -1, .in_count = -1},
    {"rows written elsewhere", .kind = 1, .first = 1},
    {"no padding in front", .kind = 0, .pre = -1, .in_count = 1},
    {"the same rows twice", .kind = 1, .repeats = true},
    {"outside the input", .kind = 2, .in_count = 1, .post = -1},
};
static const struct lie *lie;

enum {
    ROW = 12 * 2,          /* bytes of one row of x and y */
    ROWS = 2 * 4 * 12 * 2, /* of all that lie at one height of x */
    TILE_FIELDS = 9
};
static int wrong_field = -1; /* of the third tile; a sign is added to it */

static void wrong_tile(const struct cs_plan *plan, int64_t index, struct cs_tile *tile)
{
    cs_plan_tile(plan, lie && lie->repeats && index == 2 ? 1 : index, tile);
    if (lie && tile->kind == lie->kind) {
        tile->first += lie->first;
        tile->count += lie->count;
        tile->in_first += lie->in_first;
        tile->in_count += lie->in_count;
        tile->pre += lie->pre;
        tile->post += lie->post;
        tile->offset[CS_X] += lie->in_first * ROW;
        tile->offset[CS_Y] += lie->first * ROW;
    }
    int64_t *const fields[TILE_FIELDS] = {
        &tile->first, &tile->count,        &tile->in_first,          &tile->in_count,    &tile->pre,
        &tile->post,  &tile->offset[CS_X], &tile->offset[CS_FILTER], &tile->offset[CS_Y]};
    if (index == 2 && wrong_field >= 0)
        *fields[wrong_field / 2] += wrong_field % 2 ? 1 : -1;
}

static void every_wrong_field_is_seen(void)
{
    static struct cs_plan plan;
    good_plan(&plan);
    lie = NULL;
    for (wrong_field = 0; wrong_field < 2 * TILE_FIELDS; wrong_field++) {
        enum cs_status status = validate_wrong_tiles(&plan, INT64_MAX);
        if (status != CS_INVALID)
            printf("# wrong field %d passes\n", wrong_field);
        CHECK_INT(status, CS_INVALID);
    }
    wrong_field = -1;
    CHECK_INT(validate_wrong_tiles(&plan, INT64_MAX), CS_OK);
}

/* The kind and the halo as the lie has them. */
static void tell(struct cs_plan *plan)
{
    struct cs_problem *kind = &plan->kind[lie->kind].problem;
    kind->tensor[CS_X].dims[CS_H] += lie->in_count;
    kind->tensor[CS_Y].dims[CS_H] += lie->count;
    kind->pre[1] += lie->pre;
    kind->post[1] += lie->post;
    kind->tensor[CS_X].alignment = kind->tensor[CS_Y].alignment = 8;
    int64_t end = 0;
    plan->halo = 0;
    for (int64_t i = 0; i < plan->tiles; i++) {
        struct cs_tile tile;
        wrong_tile(plan, i, &tile);
        if (tile.in_first < end)
            plan->halo += (end - tile.in_first) * ROWS;
        end = tile.in_first + tile.in_count;
    }
}

static void consistent_lies_are_seen(void)
{
    static struct cs_plan plan;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        good_plan(&plan);
        lie = &lies[i];
        tell(&plan);
        enum cs_status status = validate_wrong_tiles(&plan, INT64_MAX);
        if (status != (i ? CS_INVALID : CS_OK))
            printf("# %s: status %d\n", lie->what, (int)status);
        CHECK_INT(status, i ? CS_INVALID : CS_OK);
    }
    lie = NULL;
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
    TEST(every_wrong_field_is_seen);
    TEST(consistent_lies_are_seen);
    return REPORT();
}
