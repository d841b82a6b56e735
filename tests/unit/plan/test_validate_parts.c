/* The parts of the validation, each alone: what one of them lets pass, another often notices, so
 * that whole plans (test_validate) do not say which of them looks. Ranges are held against an
 * enumeration of all their taps. */
#include "check.h"
#include "convshim/plan.h"
#include "sample_problem.h"

enum cs_status validate_in_parts(const struct cs_plan *plan, int64_t limit);
static void tile_as_told(const struct cs_plan *plan, int64_t index, struct cs_tile *tile);
#define cs_plan_validate validate_in_parts
#define cs_plan_tile tile_as_told
#include "plan/validate.c" /* NOLINT(bugprone-suspicious-include) */
#undef cs_plan_validate
#undef cs_plan_tile

static int64_t strange_tile = -1; /* which is of no shape that there is */

static void tile_as_told(const struct cs_plan *plan, int64_t index, struct cs_tile *tile)
{
    cs_plan_tile(plan, index, tile);
    if (index == strange_tile)
        tile->shape = (int)plan->shapes;
}

static void cut(const struct cs_problem *problem, struct cs_tiling tiling, struct cs_plan *plan)
{
    CHECK_INT(cs_plan_cut(problem, &tiling, plan), CS_OK);
    for (int k = 0; k < plan->shapes; k++)
        plan->shape[k].workspace = 100 + k;
    cs_plan_settle(plan);
    CHECK_INT(cs_plan_validate(plan, INT64_MAX), CS_OK);
}

static struct cs_tiling by_rows(int64_t step)
{
    return (struct cs_tiling){.axis = {CS_AXIS_H}, .step = {step, 1}};
}

/* --- ranges ----------------------------------------------------------------------------------- */

/* Whether the whole x has something where a window of the tile may reach and the tile has not. */
static bool misses_some(const struct way *way, const struct cs_range *range)
{
    int64_t first_tap = range->first * way->step - way->pad;
    int64_t last = range->first + (range->count - 1) * way->every;
    for (int64_t at = first_tap; at <= last * way->step - way->pad + way->sweep; at += way->every) {
        bool has = at >= range->in_first && at < range->in_first + range->in_count * way->every;
        if (at >= 0 && at < way->in && !has)
            return true;
    }
    return false;
}

static void check_reads(const struct way *way, struct cs_range range, int counts[2])
{
    int64_t first_tap = range.first * way->step - way->pad;
    int64_t begin = range.in_first - way->every * range.pre;
    bool starts = begin == first_tap - range.spare_before * way->step * way->every;
    bool good = starts && !misses_some(way, &range);
    int64_t last = (range.first + (range.count - 1) * way->every) * way->step - way->pad;
    /* A tile in the padding alone is none; of its part nothing is said. */
    if (last + way->sweep < range.in_first - way->every ||
        first_tap > range.in_first + range.in_count * way->every)
        return;
    counts[good]++;
    CHECK_INT(reads_all(way, &range), good);
}

static void a_tile_reads_what_its_windows_meet(void)
{
    int counts[2] = {0, 0};
    for (int n = 0; n < 3 * 3 * 4 * 3; n++) {
        struct way way = {.every = n % 3 + 1, .in = 7, .pad = n / 9 % 4};
        way.step = way.every > 1 ? 1 : n / 3 % 3 + 1;
        way.sweep = way.every * (n / 36);
        for (int m = 0; m < 2 * 2 * 7 * 5 * 4 * 2; m++) {
            struct cs_range range = {.first = m % 2,
                                     .count = m / 2 % 2 + 1,
                                     .in_first = m / 4 % 7,
                                     .in_count = m / 28 % 5 + 1,
                                     .pre = m / 140 % 4,
                                     .spare_before = m / 560};
            check_reads(&way, range, counts);
        }
    }
    CHECK(counts[0] > 1000 && counts[1] > 100);
}

/* Elements of y beside the tile's part of it, of the same phase. */
static bool some_reaches(const struct way *way, const struct cs_range *range)
{
    int64_t end = range->first + range->count * way->every;
    int64_t behind = range->in_first + range->in_count * way->every;
    for (int64_t y = range->in_first % way->every; y < way->out; y += way->every) {
        int64_t tap = y * way->step - way->pad;
        if ((y < range->in_first && tap + way->sweep >= range->first) || (y >= behind && tap < end))
            return true;
    }
    return false;
}

static void no_element_left_out_reaches_a_tile(void)
{
    int counts[2] = {0, 0};
    for (int n = 0; n < 3 * 3 * 3 * 4; n++) {
        struct way way = {.every = n % 3 + 1, .out = 6, .pad = n / 9 % 3, .transposed = true};
        way.step = way.every > 1 ? 1 : n / 3 % 3 + 1;
        way.sweep = way.every * (n / 27);
        for (int m = 0; m < 5 * 4 * 6 * 4 * 4 * 2; m++) {
            struct cs_range range = {.first = m % 5,
                                     .count = m / 5 % 4 + 1,
                                     .in_first = m / 20 % 6,
                                     .in_count = m / 120 % 4 + 1,
                                     .pre = m / 480 % 4,
                                     .spare_before = m / 1920};
            int64_t first = range.first - (range.pre + range.spare_before) * way.every;
            bool good = first == range.in_first * way.step - way.pad && !some_reaches(&way, &range);
            counts[good]++;
            CHECK_INT(reached_by_all(&way, &range), good);
        }
    }
    CHECK(counts[0] > 1000 && counts[1] > 100);
}

/* Four of ten rows, of a window of one tap: where every field is right. */
static struct cs_range plain_range(int field, int64_t value)
{
    struct cs_range range = {.first = 2, .count = 4, .in_first = 2, .in_count = 4, .every = 1};
    int64_t *const fields[] = {&range.first,    &range.count,        &range.in_first,
                               &range.in_count, &range.every,        &range.pre,
                               &range.post,     &range.spare_before, &range.spare_behind};
    if (field >= 0)
        *fields[field] = value;
    return range;
}

static void no_field_of_a_range_is_out_of_bounds(void)
{
    static const struct {
        int field;
        int64_t value;
        bool forward, data;
    } rows_of[] = {
        {-1, 0, true, true},   {0, -1, false, false},        {1, 0, false, false},
        {1, 9, false, false},  {2, -1, false, false},        {3, 0, false, false},
        {3, 9, false, false},  {4, 2, false, false},         {5, -1, false, false},
        {6, -1, false, false}, {6, 1, true, true},           {7, -1, false, false},
        {8, -1, false, false}, {8, 1, true, true},           {3, 8, true, true},
        {1, 5, false, false},  {1, INT64_MAX, false, false}, {3, INT64_MAX, false, false},
    };
    for (size_t i = 0; i < sizeof rows_of / sizeof *rows_of; i++) {
        struct cs_range range = plain_range(rows_of[i].field, rows_of[i].value);
        struct way way = {.extent = 10, .in = 10, .out = 10, .every = 1, .step = 1};
        CHECK_INT(range_valid(&way, &range), rows_of[i].forward);
        way.transposed = true;
        CHECK_INT(range_valid(&way, &range), rows_of[i].data);
    }
    /* Each side has its own extent. */
    struct cs_range range = plain_range(-1, 0);
    struct way way = {.extent = 6, .in = 6, .out = 5, .every = 1, .step = 1};
    CHECK(range_valid(&way, &range));
    way.transposed = true;
    CHECK(!range_valid(&way, &range));
}

/* Paddings, and fields on which the other conditions do not depend, are looked at one by one. */
static void each_negative_number_is_seen(void)
{
    const struct way way = {.extent = 10, .in = 10, .every = 1, .step = 1, .pad = -1};
    struct cs_range range = {.first = 1, .count = 2, .in_first = 2, .in_count = 4, .every = 1};
    CHECK(range_valid(&way, &range));
    range.spare_before = 1;
    range.pre = 1;
    CHECK(range_valid(&way, &range));
    range.spare_before = -1;
    range.pre = -1;
    CHECK(reads_all(&way, &range) && !range_valid(&way, &range));
    range.pre = 0;
    range.spare_before = 0;
    range.post = -1;
    CHECK(!range_valid(&way, &range));
    range.post = 0;
    range.spare_behind = -1;
    CHECK(!range_valid(&way, &range));
}

static void what_leaves_64_bits_is_no_range(void)
{
    const int64_t far = INT64_MAX / 2;
    struct way way = {.extent = INT64_MAX, .in = INT64_MAX, .every = 1, .step = 1};
    struct cs_range range = {.first = far, .count = 2, .in_first = far, .in_count = 2, .every = 1};
    CHECK(range_valid(&way, &range));
    way.step = 3;
    CHECK(!range_valid(&way, &range));
    way.step = 1;
    way.sweep = INT64_MAX;
    CHECK(!range_valid(&way, &range));
    way.sweep = 0;
    range.spare_before = 3;
    way.every = INT64_MAX / 2;
    range.every = way.every;
    CHECK(!range_valid(&way, &range));
}

/* --- walks ------------------------------------------------------------------------------------ */

struct walked {
    int64_t first, count, in_first, in_count;
    bool goes_on;
    int64_t distinct; /* what was read till then, once each */
};

static void check_walk(const struct way *way, const struct walked *rows_of, int count, bool over)
{
    struct walk walk = {0};
    for (int i = 0; i < count; i++) {
        struct cs_range range = {.first = rows_of[i].first,
                                 .count = rows_of[i].count,
                                 .in_first = rows_of[i].in_first,
                                 .in_count = rows_of[i].in_count};
        CHECK_INT(step_on(way, &walk, &range), rows_of[i].goes_on);
        CHECK_INT(walk.distinct, rows_of[i].distinct);
    }
    CHECK_INT(is_over(way, &walk), over);
}

static void tiles_follow_each_other(void)
{
    const struct way rows_way = {.extent = 8, .every = 1}, phases_way = {.extent = 8, .every = 3};
    const struct walked overlap[] = {
        {0, 3, 0, 4, true, 4}, {3, 3, 2, 5, true, 7}, {6, 2, 5, 3, true, 8}};
    const struct walked gap[] = {{0, 3, 1, 2, true, 2}, {3, 5, 5, 3, true, 5}};
    const struct walked within[] = {
        {0, 4, 0, 6, true, 6}, {4, 2, 1, 2, true, 6}, {6, 2, 6, 1, true, 7}};
    const struct walked skips[] = {{0, 3, 0, 3, true, 3}, {4, 4, 4, 4, false, 3}};
    const struct walked repeats[] = {{0, 3, 0, 3, true, 3}, {2, 6, 3, 5, false, 3}};
    const struct walked late[] = {{1, 7, 0, 8, false, 0}};
    const struct walked phases[] = {
        {0, 3, 0, 4, true, 4}, {1, 3, 0, 5, true, 9}, {2, 2, 3, 2, true, 11}};
    const struct walked longer[] = {{0, 3, 0, 4, true, 4}, {1, 4, 0, 5, false, 9}};
    check_walk(&rows_way, overlap, 3, true);
    check_walk(&rows_way, overlap, 2, false);
    check_walk(&rows_way, gap, 2, true);
    check_walk(&rows_way, within, 3, true);
    check_walk(&rows_way, skips, 2, false);
    check_walk(&rows_way, repeats, 2, false);
    check_walk(&rows_way, late, 1, false);
    check_walk(&phases_way, phases, 3, true);
    check_walk(&phases_way, phases, 2, false);
    check_walk(&phases_way, longer, 2, false);
}

/* --- tensors ---------------------------------------------------------------------------------- */

/* Rows of both images are in tiles, the filter is whole; a part of one row is broadcast. */
static void what_of_a_tensor_may_be_staged(void)
{
    static struct cs_plan plan;
    struct way ways[CS_MAX_CUTS];
    struct cs_problem problem = fused();
    cut(&problem, by_rows(16), &plan);
    CHECK(find_way(&plan.problem, &plan.cut[0], &ways[0]));
    for (int i = 0; i < plan.problem.tensors; i++) {
        CHECK(may_be_staged(&plan, ways, i));
        bool divided = i != CS_FILTER && i != 3, has_address = i != CS_Y;
        plan.stages = true;
        plan.is_staged[i] = true;
        CHECK_INT(may_be_staged(&plan, ways, i), divided && has_address);
        plan.problem.tensor[i].by_value = true;
        CHECK(!may_be_staged(&plan, ways, i));
        plan.problem.tensor[i].by_value = false;
        plan.stages = false;
        CHECK(!may_be_staged(&plan, ways, i));
        plan.is_staged[i] = false;
    }
}

/* Cut by channels, along the first axis or the second, the filter is staged; asked for or not. */
static void a_filter_cut_by_channels_is_staged(void)
{
    static const enum cs_axis axes[][CS_MAX_CUTS] = {
        {CS_AXIS_C}, {CS_AXIS_C, CS_AXIS_K}, {CS_AXIS_K, CS_AXIS_C}};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        static struct cs_plan plan;
        struct way ways[CS_MAX_CUTS];
        struct cs_problem problem = rows(CS_BACKWARD_FILTER, 1);
        struct cs_tiling tiling = {.axis = {axes[i][0], axes[i][1]}, .step = {2, 1}};
        cut(&problem, tiling, &plan);
        for (int c = 0; c < plan.cuts; c++)
            CHECK(find_way(&plan.problem, &plan.cut[c], &ways[c]));
        CHECK(may_be_staged(&plan, ways, CS_FILTER));
        plan.is_staged[CS_FILTER] = false;
        CHECK(!may_be_staged(&plan, ways, CS_FILTER));
    }
}

static void which_packed_tensors_are_alike(void)
{
    static const struct {
        int64_t dims[CS_DIMS], strides[CS_DIMS], packed[CS_DIMS], alignment;
        bool alike;
    } of[] = {
        {{2, 4, 1, 3, 5}, {900, 90, 0, 9, 1}, {60, 15, 0, 5, 1}, 16, true},
        {{2, 4, 1, 3, 5}, {900, 90, 0, 9, 1}, {60, 15, 0, 5, 1}, 8, true},
        {{2, 4, 1, 3, 5}, {900, 90, 0, 9, 1}, {60, 15, 0, 5, 1}, 32, false},
        {{2, 4, 1, 3, 5}, {900, 90, 0, 9, 1}, {60, 1, 0, 20, 4}, 16, false},
        {{2, 4, 1, 3, 5}, {900, 1, 0, 90, 9}, {60, 1, 0, 20, 4}, 16, true},
        {{2, 4, 1, 3, 5}, {90, 900, 0, 9, 1}, {15, 30, 0, 5, 1}, 16, true},
        {{2, 4, 1, 3, 5}, {90, 900, 0, 9, 1}, {60, 15, 0, 5, 1}, 16, false},
        {{2, 4, 1, 3, 5}, {900, 90, 0, 1, 9}, {60, 15, 0, 5, 1}, 16, false},
        {{2, 4, 1, 3, 5}, {900, 90, 0, 9, 1}, {61, 15, 0, 5, 1}, 16, false},
        {{2, 4, 1, 3, 5}, {900, 90, 0, 9, 1}, {60, 15, 0, 5, 2}, 16, false},
        /* Where the whole has one element it is the same wherever the part puts it. */
        {{1, 4, 1, 3, 5}, {1, 90, 0, 9, 2}, {60, 15, 0, 5, 1}, 16, true},
        {{2, 1, 1, 3, 5}, {900, 1, 0, 9, 2}, {15, 15, 0, 5, 1}, 16, true},
        {{2, 4, 1, 3, 1}, {900, 90, 0, 9, 1000}, {12, 3, 0, 1, 1}, 16, true},
        {{2, 4, 1, 1, 5}, {900, 90, 0, 1000, 9}, {20, 5, 0, 5, 1}, 16, true},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct cs_tensor whole = {0}, part = {.alignment = of[i].alignment};
        memcpy(whole.dims, of[i].dims, sizeof whole.dims);
        memcpy(whole.strides, of[i].strides, sizeof whole.strides);
        memcpy(part.dims, of[i].dims, sizeof part.dims);
        memcpy(part.strides, of[i].packed, sizeof part.strides);
        if (packed_alike(&whole, &part) != of[i].alike)
            printf("# row %zu\n", i);
        CHECK_INT(packed_alike(&whole, &part), of[i].alike);
    }
}

/* Takes the second tile of rows. */
static void inner_tile(struct cs_plan *plan, struct way *way, struct cs_tile *tile,
                       struct cs_problem *shape)
{
    struct cs_problem problem = rows(CS_FORWARD, 1);
    cut(&problem, by_rows(16), plan);
    CHECK(find_way(&plan->problem, &plan->cut[0], way));
    cs_plan_tile(plan, 1, tile);
    cs_plan_problem(plan, tile->shape, shape);
    CHECK(shape_derives(plan, way, tile, shape, false));
}

static void a_shape_promises_no_more_than_the_whole(void)
{
    static struct cs_plan plan;
    struct way way;
    struct cs_tile tile;
    struct cs_problem good, bad;
    inner_tile(&plan, &way, &tile, &good);
    CHECK(!shape_derives(&plan, &way, &tile, &good, true)); /* it does not add */
    for (int i = 0; i < good.tensors; i++) {
        bad = good;
        bad.tensor[i].alignment = 2 * plan.problem.tensor[i].alignment;
        CHECK(!shape_derives(&plan, &way, &tile, &bad, false));
        bad.tensor[i].alignment = 2;
        CHECK(shape_derives(&plan, &way, &tile, &bad, false));
        bad = good;
        bad.tensor[i].dims[CS_N] = 0;
        CHECK(!shape_derives(&plan, &way, &tile, &bad, false));
    }
    bad = good;
    bad.tensors++;
    CHECK(!shape_derives(&plan, &way, &tile, &bad, false));
    bad = good;
    bad.beta = 1;
    CHECK(!shape_derives(&plan, &way, &tile, &bad, false));
    CHECK(shape_derives(&plan, &way, &tile, &bad, true));
    bad.beta = 2;
    CHECK(!shape_derives(&plan, &way, &tile, &bad, true));
}

static void paddings_are_those_of_the_tile(void)
{
    static struct cs_plan plan;
    struct way way;
    struct cs_tile tile;
    struct cs_problem good, bad;
    inner_tile(&plan, &way, &tile, &good);
    for (int i = 1; i < CS_SPATIAL; i++) {
        bad = good;
        bad.pre[i]++;
        bad.tensor[CS_X].dims[CS_D + i]--;
        CHECK_INT(cs_problem_check(&bad), CS_OK);
        CHECK(!shape_derives(&plan, &way, &tile, &bad, false));
        bad = good;
        bad.post[i]++;
        bad.tensor[CS_X].dims[CS_D + i]--;
        CHECK_INT(cs_problem_check(&bad), CS_OK);
        CHECK(!shape_derives(&plan, &way, &tile, &bad, false));
    }
}

static void offsets_and_spare_elements_that_leave_64_bits(void)
{
    static struct cs_plan plan;
    struct way way;
    struct cs_tile tile;
    struct cs_problem shape;
    inner_tile(&plan, &way, &tile, &shape);
    for (int i = 0; i < shape.tensors; i++)
        CHECK(tensor_valid(&plan, &way, i, &tile, &shape));
    struct cs_tile bad = tile;
    bad.range[0].spare_behind = INT64_MAX;
    shape.tensor[CS_Y].dims[CS_H] = plan.problem.tensor[CS_Y].dims[CS_H];
    CHECK(!tensor_valid(&plan, &way, CS_Y, &bad, &shape));
    bad = tile;
    bad.range[0].in_first = INT64_MAX / 2;
    CHECK(!tensor_valid(&plan, &way, CS_X, &bad, &shape));
    bad.range[0].in_first = INT64_MAX / 16;
    CHECK(!tensor_valid(&plan, &way, CS_X, &bad, &shape));
}

/* Two rows of an image of five, the second of which is the last or behind it. */
static void a_view_ends_within_its_tensor(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = rows(CS_FORWARD, 1), shape;
    problem.tensor[CS_X].dims[CS_H] = problem.tensor[CS_Y].dims[CS_H] = 5;
    problem.dilation[1] = problem.pre[1] = problem.post[1] = 2;
    cut(&problem, (struct cs_tiling){.axis = {CS_AXIS_H_PHASES}, .step = {1, 1}}, &plan);
    struct way way;
    struct cs_tile tile;
    CHECK(find_way(&plan.problem, &plan.cut[0], &way));
    cs_plan_tile(&plan, 1, &tile);
    cs_plan_problem(&plan, tile.shape, &shape);
    CHECK(tile.range[0].count == 2 && tile.range[0].in_count == 2);
    for (int64_t row = 0; row < 5; row++) {
        tile.range[0].first = tile.range[0].in_first = row;
        for (int i = CS_X; i <= CS_Y; i += CS_Y - CS_X) {
            tile.offset[i] = row * 24;
            shape.tensor[i].alignment = 8;
            CHECK_INT(tensor_valid(&plan, &way, i, &tile, &shape), row + 2 < 5);
            shape.tensor[i].alignment = 16;
            CHECK_INT(tensor_valid(&plan, &way, i, &tile, &shape), row == 0 || row == 2);
            tile.offset[i]++;
            CHECK(!tensor_valid(&plan, &way, i, &tile, &shape));
        }
    }
}

/* --- cuts ------------------------------------------------------------------------------------- */

static void runs_are_counted(void)
{
    static const struct {
        int runs;
        struct cs_run run[CS_MAX_RUNS + 1];
        int64_t tiles;
        bool valid;
    } of[] = {
        {0, {{1, 1, 0}}, 0, false},
        {1, {{1, 1, 0}}, 1, true},
        {1, {{0, 1, 0}}, 1, false},
        {1, {{1, 0, 0}}, 0, false},
        {1, {{1, CS_MAX_TILES, 0}}, CS_MAX_TILES, true},
        {1, {{1, CS_MAX_TILES + 1, 0}}, CS_MAX_TILES + 1, false},
        {2, {{4, 3, 0}, {2, 5, 0}}, 8, true},
        {2, {{4, 3, 0}, {2, 5, 0}}, 7, false},
        {2, {{4, 3, 0}, {0, 5, 0}}, 8, false},
        {CS_MAX_RUNS + 1, {{1, 1, 0}, {1, 1, 0}, {1, 1, 0}, {1, 1, 0}, {1, 2, 0}}, 6, true},
        {-1, {{1, 1, 0}}, 0, false},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct cs_cut made = {.runs = of[i].runs, .tiles = of[i].tiles};
        memcpy(made.run, of[i].run, sizeof made.run);
        CHECK_INT(runs_valid(&made), of[i].valid);
    }
}

/* As many tiles and slices as there may be, and one more: what lies behind them is no better. */
static void a_cut_is_as_large_as_its_tables(void)
{
    static struct cs_cut most[2];
    struct cs_problem problem = rows(CS_FORWARD, 1);
    memset(&most[1], 1, sizeof most[1]);
    most[0] = (struct cs_cut){.axis = CS_AXIS_H,
                              .every = 1,
                              .runs = 1,
                              .run = {{.step = 1, .tiles = CS_MAX_TILES}},
                              .tiles = CS_MAX_TILES,
                              .slices = CS_MAX_TILE_SHAPES};
    for (int i = 0; i < CS_MAX_TILE_SHAPES; i++)
        for (int j = 0; j < CS_MAX_TENSORS; j++)
            most[0].slice[i].alignment[j] = 1;
    CHECK(cut_valid(&problem, &most[0]));
    most[0].slices = CS_MAX_TILE_SHAPES + 1;
    CHECK(!cut_valid(&problem, &most[0]));
    most[0].slices = 0;
    CHECK(!cut_valid(&problem, &most[0]));
    most[0].slices = 1;
    CHECK(cut_valid(&problem, &most[0]));
    most[0].slice_of[CS_MAX_TILES - 1] = 1;
    CHECK(!cut_valid(&problem, &most[0]));
    most[0].slices = 2;
    CHECK(cut_valid(&problem, &most[0]));
    most[0].slice[1].alignment[problem.tensors - 1] = 0;
    CHECK(!cut_valid(&problem, &most[0]));
    most[0].run[0].tiles = most[0].tiles = 1;
    most[0].slice[1].alignment[problem.tensors - 1] = 1;
    CHECK(!cut_valid(&problem, &most[0]));
}

/* Of two cuts the tiles and the shapes multiply; there are at most so many of either. */
static void products_are_as_large_as_their_tables(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = rows(CS_FORWARD, 1);
    cut(&problem, (struct cs_tiling){.axis = {CS_AXIS_N, CS_AXIS_H}, .step = {1, 16}}, &plan);
    CHECK(cuts_valid(&plan));
    plan.cut[1].slices = 8;
    for (int i = 0; i < 8; i++)
        plan.cut[1].slice[i] = plan.cut[1].slice[0];
    for (int64_t slices = 2; slices <= 3; slices++) {
        plan.cut[0].slices = slices;
        plan.cut[0].slice[slices - 1] = plan.cut[0].slice[0];
        plan.shapes = 8 * slices;
        CHECK_INT(cuts_valid(&plan), plan.shapes <= CS_MAX_TILE_SHAPES);
    }
    plan.cut[0].slices = plan.shapes = 1;
    plan.cut[1].slices = 1;
    memset(plan.cut[0].slice_of, 0, sizeof plan.cut[0].slice_of);
    memset(plan.cut[1].slice_of, 0, sizeof plan.cut[1].slice_of);
    plan.cut[1].tiles = plan.cut[1].run[0].tiles = CS_MAX_TILES / 2;
    plan.tiles = CS_MAX_TILES;
    CHECK(cuts_valid(&plan));
    plan.cut[1].tiles = plan.cut[1].run[0].tiles = CS_MAX_TILES / 2 + 1;
    plan.tiles = CS_MAX_TILES + 2;
    CHECK(!cuts_valid(&plan));
}

static void every_tile_is_of_a_shape_and_counted(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = rows(CS_FORWARD, 1);
    cut(&problem, by_rows(10), &plan);
    CHECK(plan.shape[1].tiles > 2 && shapes_valid(&plan));
    for (int k = 0; k < plan.shapes; k++)
        for (int more = -1; more <= 1; more++) {
            plan.shape[k].tiles += more;
            CHECK_INT(shapes_valid(&plan), more == 0);
            plan.shape[k].tiles -= more;
        }
    strange_tile = 1;
    CHECK(!shapes_valid(&plan));
    plan.shape[1].tiles--;
    CHECK(!shapes_valid(&plan));
    plan.shape[1].tiles++;
    CHECK(!tiles_valid(&plan));
    strange_tile = -1;
    CHECK(tiles_valid(&plan));
    plan.shape[1].relaxation = CS_RELAXATIONS - 1;
    CHECK(shapes_valid(&plan));
    plan.shape[1].relaxation = CS_RELAXATIONS;
    CHECK(!shapes_valid(&plan));
}

/* --- scratch ---------------------------------------------------------------------------------- */

static void which_parts_are_apart(void)
{
    static const struct {
        struct part part[3];
        int64_t bytes;
        bool apart;
    } of[] = {
        {{{0, 256}, {256, 256}, {512, 1}}, 513, true},
        {{{0, 256}, {256, 256}, {512, 1}}, 512, false},
        {{{0, 257}, {256, 256}, {512, 1}}, 513, false},
        {{{256, 256}, {0, 257}, {512, 1}}, 513, false},
        {{{512, 1}, {0, 256}, {256, 257}}, 600, false},
        {{{0, 0}, {0, 512}, {512, 1}}, 513, true},
        {{{0, 512}, {256, 0}, {512, 1}}, 513, true},
        {{{0, 1}, {256, 1}, {0, 1}}, 513, false},
        {{{0, 1}, {256, 1}, {500, 1}}, 513, false},
        {{{0, 1}, {256, 1}, {-256, 1}}, 513, false},
        {{{0, 1}, {256, 1}, {512, INT64_MAX}}, INT64_MAX, false},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        CHECK_INT(parts_apart(of[i].part, 3, of[i].bytes), of[i].apart);
}

static void a_plan_has_one_lane_to_as_many_as_there_may_be(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = rows(CS_FORWARD, 1);
    for (int lanes = 0; lanes <= CS_MAX_LANES + 1; lanes++) {
        cut(&problem, by_rows(6), &plan);
        CHECK(plan.tiles > CS_MAX_LANES);
        plan.lanes = lanes;
        if (lanes >= 1)
            plan.workspace = cs_plan_scratch(&plan, lanes, NULL);
        CHECK_INT(lanes_apart(&plan, 102), lanes >= 1 && lanes <= CS_MAX_LANES);
    }
    cut(&problem, by_rows(32), &plan);
    for (plan.lanes = 2; plan.lanes <= 3; plan.lanes++) {
        plan.workspace = cs_plan_scratch(&plan, plan.lanes, NULL);
        CHECK_INT(lanes_apart(&plan, 101), plan.lanes <= plan.tiles);
    }
}

static void a_scratch_beyond_64_bits_is_none(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = rows(CS_FORWARD, 1);
    struct cs_tiling tiling = by_rows(16);
    tiling.staged = true;
    cut(&problem, tiling, &plan);
    plan.shape[0].workspace = INT64_MAX;
    cs_plan_settle(&plan);
    CHECK_INT(plan.workspace, INT64_MAX);
    CHECK(!scratch_valid(&plan, INT64_MAX));
}

static void a_workspace_is_0_or_more(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = rows(CS_FORWARD, 1);
    for (int64_t bytes = -1; bytes <= 1; bytes++) {
        cut(&problem, by_rows(16), &plan);
        for (int k = 0; k < plan.shapes; k++)
            plan.shape[k].workspace = 0;
        plan.shape[plan.shapes - 1].workspace = bytes;
        cs_plan_settle(&plan);
        CHECK_INT(scratch_valid(&plan, INT64_MAX), bytes >= 0);
        CHECK_INT(scratch_valid(&plan, plan.workspace), bytes >= 0);
        CHECK(!scratch_valid(&plan, plan.workspace - 1));
    }
}

/* --- copies ----------------------------------------------------------------------------------- */

/* Every order of the dimensions: each is the innermost, a row's, a plane's and a box's once. */
static void a_copy_off_by_one_is_none(void)
{
    static const int64_t extent[CS_DIMS] = {3, 4, 1, 5, 6};
    const int dims[] = {CS_N, CS_C, CS_H, CS_W};
    int copies = 0;
    for (int order = 0; order < 4 * 4 * 4 * 4; order++) {
        int place[] = {order % 4, order / 4 % 4, order / 16 % 4, order / 64};
        int used = 0;
        struct cs_tensor view = {.dtype = CS_F16}, packed = {.dtype = CS_F16};
        memcpy(packed.dims, extent, sizeof extent);
        memcpy(view.dims, extent, sizeof extent);
        for (int i = 0; i < 4; i++)
            used |= 1 << place[i];
        int64_t stride = 1, pitch = 1;
        for (int i = 0; used == 15 && i < 4; i++) {
            packed.strides[dims[place[i]]] = stride;
            view.strides[dims[place[i]]] = pitch;
            stride *= extent[dims[place[i]]];
            pitch *= extent[dims[place[i]]] + 2;
        }
        struct cs_copy good, bad = {.times = 0};
        if (used != 15 || cs_copy_between(&view, &packed, &good) != CS_OK)
            continue;
        copies++;
        CHECK(copy_valid(&view, &packed, &good));
        int64_t *const field[] = {&bad.width,    &bad.height,   &bad.depth,    &bad.times,
                                  &bad.pitch[0], &bad.pitch[1], &bad.slice[0], &bad.slice[1],
                                  &bad.step[0],  &bad.step[1]};
        for (size_t i = 0; i < 2 * sizeof field / sizeof *field; i++) {
            bad = good;
            *field[i / 2] += i % 2 ? 1 : -1;
            if (copy_valid(&view, &packed, &bad))
                printf("# order %d: field %zu\n", order, i);
            CHECK(!copy_valid(&view, &packed, &bad));
        }
    }
    CHECK_INT(copies, 24);
}

int main(void)
{
    TEST(a_tile_reads_what_its_windows_meet);
    TEST(no_element_left_out_reaches_a_tile);
    TEST(no_field_of_a_range_is_out_of_bounds);
    TEST(each_negative_number_is_seen);
    TEST(what_leaves_64_bits_is_no_range);
    TEST(tiles_follow_each_other);
    TEST(what_of_a_tensor_may_be_staged);
    TEST(a_filter_cut_by_channels_is_staged);
    TEST(which_packed_tensors_are_alike);
    TEST(a_shape_promises_no_more_than_the_whole);
    TEST(paddings_are_those_of_the_tile);
    TEST(offsets_and_spare_elements_that_leave_64_bits);
    TEST(a_view_ends_within_its_tensor);
    TEST(runs_are_counted);
    TEST(a_cut_is_as_large_as_its_tables);
    TEST(products_are_as_large_as_their_tables);
    TEST(every_tile_is_of_a_shape_and_counted);
    TEST(which_parts_are_apart);
    TEST(a_plan_has_one_lane_to_as_many_as_there_may_be);
    TEST(a_scratch_beyond_64_bits_is_none);
    TEST(a_workspace_is_0_or_more);
    TEST(a_copy_off_by_one_is_none);
    return REPORT();
}
