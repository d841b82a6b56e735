#include "check.h"
#include "convshim/plan.h"
#include "sample_problem.h"

static void settle(struct cs_plan *plan)
{
    for (int k = 0; k < plan->shapes; k++)
        plan->shape[k].workspace = 100 + k;
    cs_plan_settle(plan);
}

static void cut(const struct cs_problem *problem, struct cs_tiling tiling, struct cs_plan *plan)
{
    CHECK_INT(cs_problem_check(problem), CS_OK);
    CHECK_INT(cs_plan_cut(problem, &tiling, plan), CS_OK);
    settle(plan);
}

static void good_plan(struct cs_plan *plan)
{
    struct cs_problem problem = rows(CS_FORWARD, 1);
    cut(&problem, (struct cs_tiling){.axis = {CS_AXIS_H}, .step = {15, 1}}, plan);
    CHECK_INT(plan->shapes, 3);
}

/* One way of damaging, if its number is `way`. */
#define BREAK(change)                                                                              \
    if ((*number)++ == way) {                                                                      \
        change;                                                                                    \
        return #change;                                                                            \
    }

static const char *break_cut(struct cs_cut *cut, int way, int *number)
{
    BREAK(cut->run[0].step++)
    BREAK(cut->run[0].step--)
    BREAK(cut->run[0].step = 0)
    BREAK(cut->run[0].step = INT64_MAX)
    BREAK(cut->run[0].tiles++)
    BREAK(cut->run[0].tiles--)
    BREAK(cut->run[0].tiles = INT64_MAX)
    BREAK(cut->runs = 0)
    BREAK(cut->runs = 2)
    BREAK(cut->runs = CS_MAX_RUNS + 2)
    BREAK(cut->tiles--)
    BREAK(cut->tiles++)
    BREAK(cut->tiles = 0)
    BREAK(cut->tiles = CS_MAX_TILES + 1)
    BREAK(cut->slices--)
    BREAK(cut->slices++)
    BREAK(cut->slices = CS_MAX_TILE_SHAPES + 1)
    BREAK(cut->slice_of[1] = 0)
    BREAK(cut->slice_of[1] = 200)
    BREAK(cut->axis = CS_AXIS_W)
    BREAK(cut->axis = CS_AXIS_K)
    BREAK(cut->axis = CS_AXIS_C)
    BREAK(cut->axis = CS_AXES)
    BREAK(cut->axis = CS_AXIS_NONE)
    return NULL;
}

static const char *break_sums(struct cs_plan *plan, int way, int *number)
{
    BREAK(plan->shape[0].relaxation = CS_RELAXATIONS)
    BREAK(plan->cuts = 0)
    BREAK(plan->cuts = 2)
    BREAK(plan->cuts = 3)
    BREAK(plan->cuts = -1)
    BREAK(plan->tiles--)
    BREAK(plan->tiles++)
    BREAK(plan->tiles = 0)
    BREAK(plan->tiles = CS_MAX_TILES + 1)
    BREAK(plan->shapes--)
    BREAK(plan->shapes++)
    BREAK(plan->shapes = CS_MAX_TILE_SHAPES + 1)
    BREAK(plan->shape[1].tiles++)
    BREAK(plan->shape[1].workspace = plan->workspace + 1)
    BREAK(plan->shape[1].workspace = -1)
    BREAK(plan->workspace--)
    BREAK(plan->workspace++)
    BREAK(plan->staged += CS_SCRATCH_ALIGNMENT; cs_plan_settle(plan))
    BREAK(plan->halo++)
    return NULL;
}

static const char *break_slices(struct cs_cut *cut, int way, int *number)
{
    struct cs_slice *inner = &cut->slice[1];
    BREAK(inner->in_count++)
    BREAK(inner->in_count--)
    BREAK(inner->in_count = INT64_MAX)
    BREAK(inner->count--)
    BREAK(inner->pre++)
    BREAK(inner->post++)
    BREAK(inner->accumulates ^= true)
    BREAK(cut->slice[2].post ^= 1)
    BREAK(cut->slice[0].pre ^= 1)
    BREAK(inner->alignment[CS_X] = 16)
    BREAK(inner->alignment[CS_X] = 0)
    BREAK(inner->alignment[CS_Y] = 3)
    BREAK(inner->alignment[CS_Y] = -16)
    return NULL;
}

static const char *break_problem(struct cs_problem *untiled, int way, int *number)
{
    BREAK(untiled->pre[1]++)
    BREAK(untiled->post[1]--)
    BREAK(untiled->tensor[CS_X].dims[CS_H]--)
    BREAK(untiled->tensor[CS_Y].dims[CS_H]++)
    BREAK(untiled->tensor[CS_X].strides[CS_H] = INT64_MAX)
    BREAK(untiled->groups = 2)
    BREAK(untiled->tensor[CS_Y].side = CS_X)
    BREAK(untiled->tensors--)
    return NULL;
}

/* Damages a plan in the way with this number. Returns a description of the damage, or NULL after
 * the last way. */
typedef const char *break_fn(struct cs_plan *plan, int way, int *number);

static const char *break_plan(struct cs_plan *plan, int way, int *number)
{
    const char *change = break_cut(&plan->cut[0], way, number);
    change = change ? change : break_sums(plan, way, number);
    change = change ? change : break_slices(&plan->cut[0], way, number);
    return change ? change : break_problem(&plan->problem, way, number);
}

/* Returns the number of ways. */
static int break_in_every_way(const struct cs_plan *good, break_fn *damage)
{
    static struct cs_plan bad;
    CHECK_INT(cs_plan_validate(good, INT64_MAX), CS_OK);
    for (int way = 0;; way++) {
        int number = 0;
        bad = *good;
        const char *change = damage(&bad, way, &number);
        if (!change)
            return way;
        enum cs_status status = cs_plan_validate(&bad, INT64_MAX);
        if (status != CS_INVALID)
            printf("# passes: %s (%s)\n", change,
                   cs_problem_direction_name(good->problem.direction));
        CHECK_INT(status, CS_INVALID);
    }
}

static void every_corruption_is_seen(void)
{
    static struct cs_plan good;
    int ways = 0;
    for (int direction = 0; direction < CS_DIRECTIONS; direction++) {
        struct cs_problem problem = rows((enum cs_direction)direction, 1);
        cut(&problem, (struct cs_tiling){.axis = {CS_AXIS_H}, .step = {15, 1}}, &good);
        ways = break_in_every_way(&good, break_plan);
    }
    printf("# %d ways to break a plan\n", ways);
    CHECK(ways > 50);
}

static const char *break_product(struct cs_plan *plan, int way, int *number)
{
    BREAK(plan->cut[1].axis = CS_AXIS_N)
    BREAK(plan->cut[0].axis = CS_AXIS_H)
    BREAK(plan->cut[1].axis = CS_AXIS_W)
    BREAK(plan->cut[1].axis = CS_AXIS_C)
    BREAK(plan->cut[1].slice[1].accumulates = false)
    BREAK(plan->cut[0].slice[1].accumulates = false)
    BREAK(plan->cut[0].slice[0].accumulates = true)
    BREAK(plan->cut[1].slice[0].accumulates = true)
    BREAK(plan->cut[1].slice_of[0] = 1)
    BREAK(plan->cut[1].slice_of[1] = 0)
    BREAK(plan->cut[0].slice_of[0] = 1)
    BREAK(plan->cut[1].run[0].step--)
    BREAK(plan->halo--)
    BREAK(plan->shape[3].tiles = 2)
    BREAK(plan->cuts = 1)
    BREAK(plan->problem.tensor[CS_FILTER].dtype = CS_F16)
    BREAK(plan->problem.compute = CS_F16)
    return NULL;
}

/* A product of cuts, with the damage that only such plans can have. */
static void every_broken_product_is_seen(void)
{
    static struct cs_plan good;
    struct cs_problem problem = rows(CS_BACKWARD_FILTER, 1);
    cut(&problem, (struct cs_tiling){.axis = {CS_AXIS_N, CS_AXIS_H}, .step = {1, 32}}, &good);
    CHECK_INT(good.tiles, 4);
    CHECK_INT(good.shapes, 4);
    CHECK_INT(break_in_every_way(&good, break_product), 17);
}

/* A packed copy of the filter, with each possible damage. */
static void every_broken_copy_is_seen(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = rows(CS_BACKWARD_FILTER, 1);
    struct cs_tiling tiling = {.axis = {CS_AXIS_K, CS_AXIS_C}, .step = {4, 3}};
    cut(&problem, tiling, &plan);
    CHECK_INT(plan.staged, 512); /* 4 x 3 x 9 floats */
    CHECK_INT(plan.workspace, plan.staged + 101);
    CHECK_INT(cs_plan_validate(&plan, plan.workspace), CS_OK);
    CHECK_INT(cs_plan_validate(&plan, plan.workspace - 1), CS_INVALID);
    const int64_t sizes[] = {0, 256, 500, 768};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        plan.staged = sizes[i];
        cs_plan_settle(&plan);
        CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_INVALID);
    }
    plan.staged = 512;
    plan.workspace = 101;
    CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_INVALID);
}

static const char *break_stage(struct cs_plan *plan, int way, int *number)
{
    BREAK(plan->is_staged[CS_X] = false)
    BREAK(plan->is_staged[CS_Y] = false)
    BREAK(plan->is_staged[CS_FILTER] = true)
    BREAK(plan->staged_at[CS_X] += CS_SCRATCH_ALIGNMENT)
    BREAK(plan->staged_at[CS_Y] = 0)
    BREAK(plan->staged_at[CS_Y] -= CS_SCRATCH_ALIGNMENT)
    BREAK(plan->staged_at[CS_FILTER] = CS_SCRATCH_ALIGNMENT)
    BREAK(plan->staged -= CS_SCRATCH_ALIGNMENT; cs_plan_settle(plan))
    BREAK(plan->staged = 0; cs_plan_settle(plan))
    BREAK(plan->copied++)
    BREAK(plan->stages = false)
    return NULL;
}

/* Staged images, with each possible damage of their places. */
static void every_broken_stage_is_seen(void)
{
    static struct cs_plan good;
    struct cs_problem problem = rows(CS_FORWARD, 1);
    cut(&problem, (struct cs_tiling){.axis = {CS_AXIS_H}, .step = {16, 1}, .staged = true}, &good);
    CHECK(good.is_staged[CS_X] && good.is_staged[CS_Y] && !good.is_staged[CS_FILTER]);
    CHECK_INT(break_in_every_way(&good, break_stage), 11);
}

static int wrong_copy = -1; /* the number in the copy of a first stage that is one element off */

WRAPPED(int, cs_plan_stages, const struct cs_plan *plan, int64_t shape,
        struct cs_stage stage[CS_MAX_TENSORS])
{
    int stages = __real_cs_plan_stages(plan, shape, stage);
    struct cs_copy *copy = &stage[0].copy;
    int64_t *const number[] = {&copy->width,    &copy->height,   &copy->depth,    &copy->times,
                               &copy->pitch[0], &copy->pitch[1], &copy->slice[0], &copy->slice[1],
                               &copy->step[0],  &copy->step[1]};
    const bool used[] = {true,
                         true,
                         true,
                         true,
                         copy->height > 1,
                         copy->height > 1,
                         copy->depth > 1,
                         copy->depth > 1,
                         copy->times > 1,
                         copy->times > 1};
    if (stages > 0 && wrong_copy >= 0 && used[wrong_copy])
        *number[wrong_copy] += wrong_copy == 0 || wrong_copy > 3 ? 2 : 1;
    else if (stages > 0 && wrong_copy >= 0)
        copy->width--; /* as wrong as the number would be */
    return stages;
}

/* Both layouts and each cut leave other dimensions to each number. */
static void copy_that_is_wrong_in_one_dimension_is_seen(void)
{
    static struct cs_plan plan;
    struct rng rng = {1};
    for (int layout = CHANNELS_FIRST; layout <= CHANNELS_LAST; layout++) {
        for (int axis = CS_AXIS_D; axis <= CS_AXIS_W; axis++) {
            struct cs_problem problem = {.spatial = 3,
                                         .groups = 1,
                                         .pre = {1, 1, 1},
                                         .post = {1, 1, 1},
                                         .stride = {1, 1, 1},
                                         .dilation = {1, 1, 1},
                                         .alpha = 1,
                                         .tensor = {{.dims = {2, 4, 6, 10, 12}},
                                                    {.dims = {5, 4, 3, 3, 3}},
                                                    {.dims = {2, 5, 6, 10, 12}}}};
            for (int i = 0; i < CS_OPERANDS; i++) {
                problem.tensor[i].dtype = CS_F16;
                problem.tensor[i].alignment = 16;
                random_strides(&rng, (enum random_layout)layout, 3, &problem.tensor[i]);
            }
            settle_operands(&problem);
            cut(&problem,
                (struct cs_tiling){.axis = {(enum cs_axis)axis}, .step = {3, 1}, .staged = true},
                &plan);
            CHECK(plan.is_staged[CS_X]);
            CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_OK);
            for (wrong_copy = 0; wrong_copy < 10; wrong_copy++) {
                CASE("layout %d, axis %d, number %d", layout, axis, wrong_copy);
                CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_INVALID);
            }
            wrong_copy = -1;
        }
    }
}

/* A wrong value that all tiles of one kind and the kind share, so that the plan does not contradict
 * itself. */
static const struct lie {
    const char *what;
    int shape;
    int64_t first, count, in_first, in_count, pre, post;
    bool repeats; /* the third tile is the second once more */
} forward_lies[] = {
    {"the truth", .shape = 1},
    {"padding for the last row", .shape = 1, .in_count = -1, .post = 1},
    {"padding for the first row", .shape = 1, .in_first = 1, .in_count = -1, .pre = 1},
    {"a row too low", .shape = 1, .in_first = 1},
    {"a row too high", .shape = 1, .in_first = -1},
    {"the end is missing", .shape = 2, .count = -1, .post = -1},
    {"a row is written twice", .shape = 0, .count = 1, .in_count = 1},
    {"a row is left out", .shape = 0, .count = -1, .in_count = -1},
    {"rows written elsewhere", .shape = 1, .first = 1},
    {"no padding in front", .shape = 0, .pre = -1, .in_count = 1},
    {"the same rows twice", .shape = 1, .repeats = true},
    {"outside the input", .shape = 2, .in_count = 1, .post = -1},
};
static const struct lie data_lies[] = {
    {"the truth", .shape = 1},
    {"a row of y left out behind", .shape = 1, .in_count = -1, .post = -1},
    {"a row of y left out in front", .shape = 1, .in_first = 1, .in_count = -1, .pre = -1},
    {"a row too low", .shape = 1, .in_first = 1},
    {"a row too high", .shape = 1, .in_first = -1},
    {"padding for a row too low", .shape = 1, .in_first = 1, .pre = -1, .post = 1},
    {"the end is missing", .shape = 2, .count = -1, .post = 1},
    {"a row is written twice", .shape = 0, .count = 1, .post = -1},
    {"a row is left out", .shape = 0, .count = -1, .post = 1},
    {"rows written elsewhere", .shape = 1, .first = 1},
    {"the same rows twice", .shape = 1, .repeats = true},
};
static const struct lie *lie;
static bool row_stands_in; /* of a product of two by two: the last tile for the second */
static bool row_is_short;  /* there the second and the last tile lack a row */

enum {
    ROW = 12 * 2, /* bytes of one row of x and y */
    TILE_FIELDS = 9
};
static int wrong_field = -1;                    /* of the third tile; a sign is added to it */
static void (*spoil)(struct cs_problem *shape); /* of the second kind */

/* Validation reads a plan through these two functions: a mistake in their results must be noticed.
 */
WRAPPED(void, cs_plan_tile, const struct cs_plan *plan, int64_t index, struct cs_tile *tile)
{
    bool data = plan->problem.direction == CS_BACKWARD_DATA;
    int64_t other = lie && lie->repeats && index == 2 ? 1 : index;
    __real_cs_plan_tile(plan, row_stands_in && index == 1 ? 3 : other, tile);
    if (row_is_short && index % 2 == 1) {
        tile->range[1].count--;
        tile->range[1].post--;
    }
    struct cs_range *range = &tile->range[0];
    if (lie && tile->shape == lie->shape) {
        range->first += lie->first;
        range->count += lie->count;
        range->in_first += lie->in_first;
        range->in_count += lie->in_count;
        range->pre += lie->pre;
        range->post += lie->post;
        tile->offset[data ? CS_Y : CS_X] += lie->in_first * ROW;
        tile->offset[data ? CS_X : CS_Y] += lie->first * ROW;
    }
    int64_t *const fields[TILE_FIELDS] = {
        &range->first,      &range->count, &range->in_first,    &range->in_count,
        &range->pre,        &range->post,  &tile->offset[CS_X], &tile->offset[CS_FILTER],
        &tile->offset[CS_Y]};
    if (index == 2 && wrong_field >= 0)
        *fields[wrong_field / 2] += wrong_field % 2 ? 1 : -1;
}

WRAPPED(void, cs_plan_problem, const struct cs_plan *plan, int64_t shape,
        struct cs_problem *problem)
{
    __real_cs_plan_problem(plan, shape, problem);
    if (spoil && shape == 1)
        spoil(problem);
}

static void every_wrong_field_is_seen(void)
{
    static struct cs_plan plan;
    lie = NULL;
    for (int direction = 0; direction < CS_DIRECTIONS; direction++) {
        struct cs_problem problem = rows((enum cs_direction)direction, 1);
        cut(&problem, (struct cs_tiling){.axis = {CS_AXIS_H}, .step = {15, 1}}, &plan);
        for (wrong_field = 0; wrong_field < 2 * TILE_FIELDS; wrong_field++) {
            enum cs_status status = cs_plan_validate(&plan, INT64_MAX);
            if (status != CS_INVALID)
                printf("# wrong field %d passes\n", wrong_field);
            CHECK_INT(status, CS_INVALID);
        }
        wrong_field = -1;
        CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_OK);
    }
}

#define SPOILED(name, change)                                                                      \
    static void name(struct cs_problem *shape)                                                     \
    {                                                                                              \
        change;                                                                                    \
    }
SPOILED(no_change, shape->pre[1] += 0)
SPOILED(wrong_stride, shape->tensor[CS_X].strides[CS_C]--)
SPOILED(wrong_image, shape->tensor[CS_X].strides[CS_N]++)
SPOILED(wrong_view, shape->tensor[CS_Y].strides[CS_H] = 13)
SPOILED(wrong_step, shape->stride[1] = 2)
SPOILED(wrong_dilation, shape->dilation[2] = 2)
SPOILED(wrong_groups, shape->groups = 2)
SPOILED(wrong_beta, shape->beta = 1 - shape->beta)
SPOILED(wrong_alpha, shape->alpha = 2)
SPOILED(wrong_dtype, shape->tensor[CS_X].dtype = CS_BF16)
SPOILED(wrong_flip, shape->flipped = true)
SPOILED(wrong_direction, shape->direction = CS_BACKWARD_DATA)
SPOILED(wrong_written, shape->tensor[5].written = false)
SPOILED(wrong_addend, shape->tensor[4].dims[CS_H]--)
SPOILED(wrong_broadcast, shape->tensor[3].dims[CS_C] = 1)
SPOILED(wrong_alignment, shape->tensor[5].alignment = 32)
SPOILED(wrong_steps, shape->step[1].words = 1)
SPOILED(wrong_tensors, shape->tensors--)
SPOILED(wrong_width, shape->tensor[CS_X].dims[CS_W]--)
SPOILED(wrong_pad, shape->post[2]++)
SPOILED(low_alignment, shape->tensor[CS_X].alignment = 2)

/* Kinds of a fused plan that differ from the problem that the vendor must build. */
static void every_wrong_kind_is_seen(void)
{
    static void (*const wrong[])(struct cs_problem *) = {
        wrong_stride,    wrong_image,   wrong_view,      wrong_step,      wrong_dilation,
        wrong_groups,    wrong_beta,    wrong_alpha,     wrong_dtype,     wrong_flip,
        wrong_direction, wrong_written, wrong_addend,    wrong_broadcast, wrong_steps,
        wrong_tensors,   wrong_width,   wrong_alignment, wrong_pad};
    static struct cs_plan plan;
    struct cs_problem problem = fused();
    lie = NULL;
    cut(&problem, (struct cs_tiling){.axis = {CS_AXIS_H}, .step = {15, 1}}, &plan);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spoil = wrong[i];
        if (cs_plan_validate(&plan, INT64_MAX) != CS_INVALID)
            printf("# wrong kind %zu passes\n", i);
        CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_INVALID);
    }
    spoil = low_alignment; /* less than it could be, but true */
    CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_OK);
    spoil = no_change;
    CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_OK);
    spoil = NULL;
}

SPOILED(dense_rows, shape->tensor[CS_X].strides[CS_H] /= 2)
SPOILED(dense_result, shape->tensor[CS_Y].strides[CS_H] /= 2)

/* Phases of three rows and of two: from two on it matters how far they are apart. */
static void wrong_rows_of_phases_are_seen(void)
{
    static void (*const wrong[])(struct cs_problem *) = {dense_rows, dense_result};
    static struct cs_plan plan;
    struct cs_problem problem = rows(CS_FORWARD, 1);
    lie = NULL;
    problem.tensor[CS_X].dims[CS_H] = problem.tensor[CS_Y].dims[CS_H] = 5;
    problem.dilation[1] = problem.pre[1] = problem.post[1] = 2;
    cut(&problem, (struct cs_tiling){.axis = {CS_AXIS_H_PHASES}, .step = {1, 1}}, &plan);
    CHECK_INT(plan.shapes, 2);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spoil = wrong[i];
        CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_INVALID);
    }
    spoil = no_change;
    CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_OK);
    spoil = NULL;
}

static bool is_copy_of(const struct cs_tensor *tensor)
{
    int64_t span = 0, bytes = 0;
    return cs_problem_tensor_span(tensor, &span) == CS_OK &&
           cs_problem_tensor_bytes(tensor, &bytes) == CS_OK && span == bytes;
}

SPOILED(not_packed, shape->tensor[CS_FILTER].strides[CS_N]++)
SPOILED(other_order,
        (shape->tensor[CS_FILTER].strides[CS_H] = 1, shape->tensor[CS_FILTER].strides[CS_W] = 3))
SPOILED(too_aligned, shape->tensor[CS_FILTER].alignment = 32)

static void every_wrong_copy_is_seen(void)
{
    static void (*const wrong[])(struct cs_problem *) = {not_packed, other_order, too_aligned};
    static struct cs_plan plan;
    struct cs_problem problem = rows(CS_BACKWARD_FILTER, 1), shape;
    lie = NULL;
    cut(&problem, (struct cs_tiling){.axis = {CS_AXIS_C}, .step = {1, 1}}, &plan);
    cut(&problem, (struct cs_tiling){.axis = {CS_AXIS_C, CS_AXIS_K}, .step = {3, 4}}, &plan);
    CHECK(plan.shapes == 2);
    cs_plan_problem(&plan, 1, &shape);
    CHECK(is_copy_of(&shape.tensor[CS_FILTER]));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spoil = wrong[i];
        if (cs_plan_validate(&plan, INT64_MAX) != CS_INVALID)
            printf("# wrong copy %zu passes\n", i);
        CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_INVALID);
    }
    spoil = NULL;
    CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_OK);
}

/* The kind and the halo as the lie has them. */
static void tell(struct cs_plan *plan)
{
    bool data = plan->problem.direction == CS_BACKWARD_DATA;
    struct cs_slice *slice = &plan->cut[0].slice[lie->shape];
    slice->in_count += lie->in_count;
    slice->count += lie->count;
    slice->pre += lie->pre;
    slice->post += lie->post;
    slice->alignment[CS_X] = slice->alignment[CS_Y] = 8;
    int64_t end = 0, rows_bytes = 2 * (data ? 8 : 4) * 12 * 2;
    plan->halo = 0;
    for (int64_t i = 0; i < plan->tiles; i++) {
        struct cs_tile tile;
        cs_plan_tile(plan, i, &tile);
        if (tile.range[0].in_first < end)
            plan->halo += (end - tile.range[0].in_first) * rows_bytes;
        end = tile.range[0].in_first + tile.range[0].in_count;
    }
}

static void check_lies(enum cs_direction direction, const struct lie *lies, size_t count)
{
    static struct cs_plan plan;
    for (size_t i = 0; i < count; i++) {
        struct cs_problem problem = rows(direction, 1);
        cut(&problem, (struct cs_tiling){.axis = {CS_AXIS_H}, .step = {15, 1}}, &plan);
        lie = &lies[i];
        tell(&plan);
        enum cs_status status = cs_plan_validate(&plan, INT64_MAX);
        if (status != (i ? CS_INVALID : CS_OK))
            printf("# %s: status %d\n", lie->what, (int)status);
        CHECK_INT(status, i ? CS_INVALID : CS_OK);
        lie = NULL;
    }
}

static void consistent_errors_are_noticed(void)
{
    check_lies(CS_FORWARD, forward_lies, sizeof forward_lies / sizeof *forward_lies);
    check_lies(CS_BACKWARD_DATA, data_lies, sizeof data_lies / sizeof *data_lies);
}

static const char *break_spare(struct cs_plan *plan, int way, int *number)
{
    struct cs_slice *first = &plan->cut[0].slice[0], *last = &plan->cut[0].slice[2];
    const int copied = plan->problem.direction == CS_FORWARD ? CS_Y : CS_X;
    BREAK(first->spare_after++)
    BREAK(first->spare_after--)
    BREAK((first->spare_before++, first->spare_after--))
    BREAK(last->spare_before++)
    BREAK(last->spare_before--)
    BREAK((last->spare_before--, last->spare_after++))
    BREAK((first->spare_after++, first->count--))
    BREAK((first->post++, first->pre--))
    BREAK(plan->cut[0].slice[1].spare_after = 1)
    BREAK(plan->cut[0].equal_padding = false)
    BREAK(plan->shape[0].staged = 0)
    BREAK(plan->shape[1].staged = plan->staged)
    BREAK(plan->shape[2].staged -= CS_SCRATCH_ALIGNMENT)
    BREAK(plan->staged -= CS_SCRATCH_ALIGNMENT; cs_plan_settle(plan))
    BREAK(plan->staged_at[copied] = CS_SCRATCH_ALIGNMENT)
    BREAK(plan->copied--)
    return NULL;
}

/* Spare rows, with each possible damage. */
static void every_broken_spare_is_seen(void)
{
    static struct cs_plan good;
    for (int direction = CS_FORWARD; direction <= CS_BACKWARD_DATA; direction++) {
        struct cs_problem problem = rows((enum cs_direction)direction, 1);
        struct cs_tiling tiling = {.axis = {CS_AXIS_H}, .step = {16, 1}, .equal_padding = true};
        cut(&problem, tiling, &good);
        CHECK_INT(break_in_every_way(&good, break_spare), 16);
    }
}

static void lies_of_products_are_seen(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = rows(CS_FORWARD, 1);
    cut(&problem, (struct cs_tiling){.axis = {CS_AXIS_N, CS_AXIS_H}, .step = {1, 32}}, &plan);
    CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_OK);
    row_stands_in = true;
    CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_INVALID);
    row_stands_in = false;
    row_is_short = true;
    plan.cut[1].slice[1].count--;
    plan.cut[1].slice[1].post--;
    CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_INVALID);
    row_is_short = false;
}

static void good_plans_pass(void)
{
    static struct cs_plan plan;
    good_plan(&plan);
    CHECK_INT(plan.workspace, 102);
    CHECK_INT(plan.cut[0].slice[1].alignment[CS_X], 8);
    CHECK_INT(cs_plan_validate(&plan, 102), CS_OK);
    CHECK_INT(cs_plan_validate(&plan, 101), CS_INVALID);
    plan.cut[0].slice[1].alignment[CS_X] = 2; /* less than it could be, but true */
    CHECK_INT(cs_plan_validate(&plan, 102), CS_OK);
}

static void untiled_plans_are_validated(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = rows(CS_FORWARD, 1);
    struct cs_tiling none = {.step = {1, 1}};
    CHECK_INT(cs_plan_cut(&problem, &none, &plan), CS_OK);
    CHECK_INT(cs_plan_validate(&plan, 0), CS_OK);
    plan.halo = 1;
    CHECK_INT(cs_plan_validate(&plan, 0), CS_INVALID);
    plan.halo = 0;
    plan.shape[0].workspace = 1;
    CHECK_INT(cs_plan_validate(&plan, 1), CS_INVALID);
    plan.workspace = 1;
    CHECK_INT(cs_plan_validate(&plan, 1), CS_OK);
    plan.problem.pre[1] = 0;
    CHECK_INT(cs_plan_validate(&plan, 1), CS_INVALID);
}

/* Rows and every second row of one extent: they would make tiles that overlap. */
static void two_cuts_of_one_extent_are_refused(void)
{
    static struct cs_plan plan, phases;
    struct cs_problem problem = rows(CS_FORWARD, 1);
    problem.dilation[1] = problem.pre[1] = problem.post[1] = 2;
    cut(&problem, (struct cs_tiling){.axis = {CS_AXIS_H}, .step = {15, 1}}, &plan);
    cut(&problem, (struct cs_tiling){.axis = {CS_AXIS_H_PHASES}, .step = {1, 1}}, &phases);
    CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_OK);
    CHECK_INT(cs_plan_validate(&phases, INT64_MAX), CS_OK);
    plan.cuts = 2;
    plan.cut[1] = phases.cut[0];
    plan.tiles *= phases.cut[0].tiles;
    plan.shapes *= phases.cut[0].slices;
    CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_INVALID);
    cut(&problem, (struct cs_tiling){.axis = {CS_AXIS_N, CS_AXIS_H_PHASES}, .step = {1, 1}}, &plan);
    CHECK_INT(cs_plan_validate(&plan, INT64_MAX), CS_OK);
}

int main(void)
{
    TEST(good_plans_pass);
    TEST(untiled_plans_are_validated);
    TEST(every_corruption_is_seen);
    TEST(every_broken_product_is_seen);
    TEST(every_broken_copy_is_seen);
    TEST(every_broken_stage_is_seen);
    TEST(copy_that_is_wrong_in_one_dimension_is_seen);
    TEST(every_wrong_field_is_seen);
    TEST(every_wrong_kind_is_seen);
    TEST(wrong_rows_of_phases_are_seen);
    TEST(every_wrong_copy_is_seen);
    TEST(consistent_errors_are_noticed);
    TEST(lies_of_products_are_seen);
    TEST(every_broken_spare_is_seen);
    TEST(two_cuts_of_one_extent_are_refused);
    return REPORT();
}
