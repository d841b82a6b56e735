/* The parts of exploring, each alone: what a tile is predicted to need, how few tiles come under
 * the limit, which proposals are kept in which order. */
#include "fake_vendor.h"

#include "decide/search.h"
#define cs_explore explore
#define cs_explore_best explore_best
#include "decide/explore.c" /* NOLINT(bugprone-suspicious-include) */

/* Sixteen images of 1 to 1 channels, 1 KiB of either side each, so that a tile of n of them needs
 * n times `each` bytes and what is fixed. */
static struct cs_problem sixteen;
static struct cs_question question;
static struct cs_search search;
static struct exploration exploration;
static struct cs_limits limits;
static struct cs_policy policy;

static double by_tiles(const struct cs_candidate *candidate, const struct cs_limits *unused)
{
    (void)unused;
    return (double)candidate->tiles;
}

static void begin(int64_t limit)
{
    const double image = 2 * 16 * 16 * 2, filter = 18;
    sixteen = same(16, 1, 1, 16, 16, 1);
    question = (struct cs_question){.problem = &sixteen, .required = 16000, .limit = limit};
    search = (struct cs_search){.question = &question, .list = {.count = 1}};
    limits = (struct cs_limits){.workspace = limit};
    policy = (struct cs_policy){.name = "tiles", .cost = by_tiles};
    exploration = (struct exploration){
        .search = &search,
        .mode = {.lanes = 1},
        .policy = &policy,
        .limits = &limits,
        .line = {.size = image * 8 + filter, .bytes = 8000, .slope = 1000 / image}};
}

static struct cs_tiling of_images(int64_t step)
{
    return (struct cs_tiling){.axis = {CS_AXIS_N}, .step = {step, 1}, .lanes = 1};
}

static void what_a_tile_is_predicted_to_need(void)
{
    const struct workspace_line line = {.size = 100, .bytes = 50, .slope = 2};
    CHECK_INT(predict_workspace(&line, 100), 50);
    CHECK_INT(predict_workspace(&line, 110), 70);
    CHECK_INT(predict_workspace(&line, 76), 2);
    CHECK_INT(predict_workspace(&line, 75), 0);
    CHECK_INT(predict_workspace(&line, 50), 0);
    CHECK_INT(predict_workspace(&line, 4e18), 8000000000000000000);
    CHECK_INT(predict_workspace(&line, 6e18), INT64_MAX);
}

/* The line goes through the tile that was asked and the whole. */
static void a_line_through_what_is_known(void)
{
    for (int lanes = 0; lanes <= 2; lanes++) {
        struct cs_candidate known = {.tiling = of_images(4), .workspace = 4000};
        struct workspace_line line = {0};
        begin(8000);
        known.tiling.lanes = lanes;
        known.workspace *= lanes > 1 ? lanes : 1;
        CHECK(draw_line(&search, &known, &line));
        CHECK(line.bytes == 4000 && line.size == 4 * 1024 + 18);
        CHECK(line.slope == 12000.0 / (12 * 1024));
        known.workspace = 16000 * (lanes > 1 ? lanes : 1); /* as much as the whole */
        CHECK(draw_line(&search, &known, &line) && line.slope == 0);
        known.workspace += lanes > 1 ? lanes : 1;
        CHECK(!draw_line(&search, &known, &line));
        known.tiling = of_images(99);
        CHECK(!draw_line(&search, &known, &line));
        known.tiling = (struct cs_tiling){.step = {1, 1}};
        CHECK(!draw_line(&search, &known, &line));
    }
}

static void even_cuts(void)
{
    struct cs_tiling tiling = {.step = {0}};
    begin(8000);
    for (int64_t tiles = -1; tiles <= 18; tiles++) {
        CHECK_INT(even_cut(&exploration, CS_AXIS_N, tiles, &tiling), tiles >= 2 && tiles <= 16);
        if (tiles >= 2 && tiles <= 16)
            CHECK_INT(tiling.step[0], (16 + tiles - 1) / tiles);
    }
    sixteen.tensor[CS_X].dims[CS_N] = sixteen.tensor[CS_Y].dims[CS_N] = 2 * CS_MAX_TILES;
    CHECK(even_cut(&exploration, CS_AXIS_N, CS_MAX_TILES, &tiling) && tiling.step[0] == 2);
    CHECK(!even_cut(&exploration, CS_AXIS_N, CS_MAX_TILES + 1, &tiling));
    exploration.mode =
        (struct cs_mode){.lanes = 2, .relaxation = CS_SIMILAR_ENGINE, .staged = true};
    search.equal_padding = true;
    CHECK(even_cut(&exploration, CS_AXIS_N, 2, &tiling));
    CHECK(tiling.lanes == 2 && tiling.relaxation == CS_SIMILAR_ENGINE && tiling.staged &&
          tiling.equal_padding && tiling.step[1] == 1 && tiling.axis[1] == CS_AXIS_NONE);
}

/* Of every limit the first count of tiles that a walk through all of them finds. */
static void the_fewest_tiles_under_a_limit(void)
{
    for (int64_t limit = 500; limit <= 17000; limit += 250) {
        int64_t first = 0;
        begin(limit);
        for (int64_t tiles = 2; tiles <= 16 && first == 0; tiles++) {
            struct cs_candidate candidate;
            struct cs_tiling tiling = of_images((16 + tiles - 1) / tiles);
            first = imagine(&exploration, &tiling, &candidate) ? tiles : 0;
        }
        CHECK_INT(fewest(&exploration, CS_AXIS_N), first);
        CHECK_INT(first == 0, limit < 1000);
        CHECK_INT(first == 2, limit >= 8000);
    }
}

static void check_proposals(int count, const int64_t *tiles)
{
    CHECK_INT(exploration.proposals, count);
    for (int i = 0; i < count; i++) {
        CHECK_INT(exploration.proposal[i].tiles, tiles[i]);
        CHECK_INT(exploration.proposal[i].tiling.step[0], 16 / tiles[i]);
    }
}

static void propose_step(int64_t step)
{
    struct cs_tiling tiling = of_images(step);
    propose(&exploration, &tiling);
}

static void the_cheapest_proposals_are_kept_in_order(void)
{
    begin(8000);
    check_proposals(0, NULL);
    propose_step(16); /* no cut */
    check_proposals(0, NULL);
    propose_step(1);
    check_proposals(1, (int64_t[]){16});
    propose_step(4);
    check_proposals(2, (int64_t[]){4, 16});
    propose_step(2);
    check_proposals(3, (int64_t[]){4, 8, 16});
    propose_step(2);
    propose_step(4);
    propose_step(1);
    check_proposals(3, (int64_t[]){4, 8, 16});
    propose_step(8);
    check_proposals(3, (int64_t[]){2, 4, 8});
    propose_step(1);
    check_proposals(3, (int64_t[]){2, 4, 8});
    begin(3999); /* more than that is over the limit */
    propose_step(4);
    check_proposals(0, NULL);
    propose_step(2);
    check_proposals(1, (int64_t[]){8});
}

static double all_the_same(const struct cs_candidate *candidate, const struct cs_limits *unused)
{
    (void)candidate;
    (void)unused;
    return 1;
}

static double few_are_allowed(const struct cs_candidate *candidate, const struct cs_limits *unused)
{
    (void)unused;
    return candidate->tiles == 4 ? __builtin_inf() : candidate->tiles == 8 ? __builtin_nan("") : 1;
}

static void which_proposals_are_none(void)
{
    begin(8000);
    policy.cost = all_the_same; /* the earlier stays before */
    propose_step(2);
    propose_step(8);
    propose_step(1);
    propose_step(4);
    check_proposals(3, (int64_t[]){8, 2, 16});
    begin(8000);
    policy.cost = few_are_allowed;
    for (int64_t step = 8; step >= 1; step /= 2)
        propose_step(step);
    check_proposals(2, (int64_t[]){2, 16});
    begin(8000);
    search.list.count = 3;
    search.list.candidate[0].tiling = of_images(8); /* known already, the first and the last */
    search.list.candidate[2].tiling = of_images(2);
    search.list.candidate[3].tiling = of_images(1); /* behind the last */
    for (int64_t step = 8; step >= 1; step /= 2)
        propose_step(step);
    check_proposals(2, (int64_t[]){4, 16});
}

static void as_many_sizes_as_a_tiling_holds(void)
{
    static const struct cs_portion share[] = {{5, 1}, {4, 1}, {3, 1}, {2, 1}, {1, 1}};
    static const struct {
        int64_t count[5], step;
        int shares, runs;
        bool good;
        struct cs_run run[CS_MAX_RUNS - 1];
    } rows[] = {
        {{0, 0, 0, 0, 0}, 0, 5, 0, false, {{0}}},
        {{0, 3, 0, 0, 0}, 8, 5, 0, true, {{8, 3, 0}}},
        {{2, 0, 0, 6, 0}, 4, 5, 1, true, {{10, 2, 0}, {4, 6, 0}}},
        {{2, 0, 7, 6, 0}, 4, 5, 2, true, {{10, 2, 0}, {6, 7, 0}, {4, 6, 0}}},
        {{2, 1, 7, 0, 6}, 2, 5, 3, true, {{10, 2, 0}, {8, 1, 0}, {6, 7, 0}}},
        {{2, 1, 7, 1, 6}, 0, 5, 0, false, {{0}}},
        {{2, 1, 7, 1, 6}, 4, 4, 3, true, {{10, 2, 0}, {8, 1, 0}, {6, 7, 0}}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_tiling tiling = {.step = {1, 1}};
        begin(8000);
        CHECK_INT(
            runs_of(&exploration, CS_AXIS_N, 2, share, rows[i].count, rows[i].shares, &tiling),
            rows[i].good);
        if (!rows[i].good)
            continue;
        CHECK_INT(tiling.step[0], rows[i].step);
        CHECK_INT(tiling.runs, rows[i].runs);
        for (int k = 0; k < rows[i].runs; k++) {
            CHECK_INT(tiling.run[k].step, rows[i].run[k].step);
            CHECK_INT(tiling.run[k].tiles, rows[i].run[k].tiles);
        }
    }
}

static void list(const char *tilings)
{
    search.list.count = 1;
    for (; *tilings; tilings += strcspn(tilings, ",") + (strchr(tilings, ',') != NULL)) {
        struct cs_candidate *next = &search.list.candidate[search.list.count++];
        *next = (struct cs_candidate){.tiles = atoi(tilings + strcspn(tilings, "0123456789"))};
        next->tiling.axis[0] = tilings[0] == 'N' ? CS_AXIS_N : CS_AXIS_NONE;
        next->tiling.axis[1] = tilings[1] == 'H' ? CS_AXIS_H : CS_AXIS_NONE;
    }
}

/* One axis before two, then the fewest tiles, then the first; which of the list it is. */
static void which_tiling_is_looked_beyond(void)
{
    static const struct {
        const char *tilings;
        int best;
    } rows[] = {{"", 0},          {"N4", 1},        {"N4,N3", 2},  {"N3,N4", 1},
                {"N3,N3", 1},     {"NH2,N9", 2},    {"N9,NH2", 1}, {"NH4,NH3,NH3", 2},
                {"NH2,N9,N8", 3}, {"N9,NH2,N8", 3}, {"-1", 0},     {"NH1,N9,NH1,N9", 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        list(rows[i].tilings);
        const struct cs_candidate *best = best_tiling(&search.list);
        CHECK_INT(best ? best - search.list.candidate : 0, rows[i].best);
    }
}

static void the_least_cost_wins(void)
{
    begin(8000);
    list("N5,N3,N3,N9");
    search.list.candidate[0] = (struct cs_candidate){.tiles = 4};
    CHECK(explore_best(&search.list, &policy, &limits) == &search.list.candidate[2]);
    search.list.candidate[2].dear = true;
    CHECK(explore_best(&search.list, &policy, &limits) == &search.list.candidate[3]);
    search.list.candidate[3].dear = true;
    CHECK(explore_best(&search.list, &policy, &limits) == &search.list.candidate[0]);
    policy.cost = few_are_allowed;
    CHECK(explore_best(&search.list, &policy, &limits) == &search.list.candidate[1]);
    search.list.candidate[1].dear = search.list.candidate[4].dear = true;
    CHECK(explore_best(&search.list, &policy, &limits) == NULL);
}

static void lanes_that_exploring_may_use(void)
{
    begin(8000);
    for (int lanes = 0; lanes <= CS_MAX_LANES; lanes++) {
        limits.lanes = lanes;
        CHECK_INT(most_lanes(&exploration), lanes == 0 ? 2 : lanes);
    }
}

int main(void)
{
    TEST(what_a_tile_is_predicted_to_need);
    TEST(a_line_through_what_is_known);
    TEST(even_cuts);
    TEST(the_fewest_tiles_under_a_limit);
    TEST(the_cheapest_proposals_are_kept_in_order);
    TEST(which_proposals_are_none);
    TEST(as_many_sizes_as_a_tiling_holds);
    TEST(which_tiling_is_looked_beyond);
    TEST(the_least_cost_wins);
    TEST(lanes_that_exploring_may_use);
    return REPORT();
}
