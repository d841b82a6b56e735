/* The arithmetic of `convshim tune`: points of a frontier, the choice of one, the comparison with
 * the run, and the ini file. */
#include "cli/tune/tune.h"
#include "golden.h"
#include "random_problem.h"
#include <math.h>
#include <string.h>

static char root[PATH_MAX];

/* --- the frontier --- */

static struct cs_way way_of(int64_t free, int64_t peak, double seconds)
{
    return (struct cs_way){.free = free,
                           .peak = peak,
                           .tiled = free != CS_UNTILED,
                           .launches = free != CS_UNTILED ? 3 : 0,
                           .times = {seconds, 2 * seconds}};
}

static void add_way(struct cs_tuned_shape *shape, int64_t free, int64_t peak, double seconds)
{
    shape->way[shape->ways++] = way_of(free, peak, seconds);
}

/* Two shapes above a level of 100 bytes. The tiles of the second are also faster. */
static struct cs_frontier make_frontier(void)
{
    struct cs_frontier frontier = {
        .shape = calloc(2, sizeof *frontier.shape), .shapes = 2, .level = 100};
    add_way(&frontier.shape[0], CS_UNTILED, 200, 10);
    add_way(&frontier.shape[0], 50, 150, 12);
    add_way(&frontier.shape[0], 5, 105, 30);
    add_way(&frontier.shape[1], CS_UNTILED, 180, 10);
    add_way(&frontier.shape[1], 70, 170, 8);
    add_way(&frontier.shape[1], 0, 100, 9);
    return frontier;
}

static void each_target_has_its_fastest_ways(void)
{
    static const struct {
        int64_t target, peak;
        int first, second;
        double seconds;
    } rows[] = {
        {90, 105, 2, 2, 39}, /* below all: the lowest peaks */
        {105, 105, 2, 2, 39}, {149, 105, 2, 2, 39}, {150, 150, 1, 2, 21}, {169, 150, 1, 2, 21},
        {170, 170, 1, 1, 20}, {199, 170, 1, 1, 20}, {200, 200, 0, 1, 18}, {900, 200, 0, 1, 18},
    };
    struct cs_frontier frontier = make_frontier();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct cs_frontier_point point = cs_frontier_choose(&frontier, rows[i].target);
        CHECK_INT(point.peak, rows[i].peak);
        CHECK_INT(frontier.shape[0].chosen, rows[i].first);
        CHECK_INT(frontier.shape[1].chosen, rows[i].second);
        CHECK(fabs(point.times.least - rows[i].seconds) < 1e-9);
        CHECK(fabs(point.times.most - 2 * rows[i].seconds) < 1e-9);
        CHECK_INT(point.launches, 3 * point.tiled);
    }
    CHECK(cs_frontier_sweep(&frontier));
    CHECK_INT(frontier.points, 4);
    CHECK_INT(frontier.point[1].peak, 150);
    CHECK_INT(cs_frontier_untiled(&frontier).peak, 200);
    CHECK(fabs(cs_frontier_untiled(&frontier).times.least - 20) < 1e-9);
    cs_frontier_fini(&frontier);
}

enum {
    SHAPES = 4,
    WAYS = 4
};

/* The shortest time of all combinations of ways whose peak is at most `most`. Infinite: none. */
static double shortest(const struct cs_frontier *frontier, int64_t most)
{
    double best = INFINITY;
    for (int code = 0; code < 256; code++) {
        int64_t peak = frontier->level;
        double seconds = 0;
        for (int i = 0, rest = code; i < SHAPES; i++, rest /= WAYS) {
            const struct cs_way *way = &frontier->shape[i].way[rest % WAYS];
            peak = way->peak > peak ? way->peak : peak;
            seconds += way->times.most;
        }
        if (peak <= most && seconds < best)
            best = seconds;
    }
    return best;
}

/* No combination of ways is better than the points, and each point is a combination. */
static void points_are_the_best_of_all_combinations(void)
{
    struct rng rng = {4711};
    for (int round = 0; round < 200; round++) {
        struct cs_frontier frontier = {.shape = calloc(SHAPES, sizeof *frontier.shape),
                                       .shapes = SHAPES,
                                       .level = rng_between(&rng, 0, 20)};
        for (int i = 0; i < SHAPES; i++)
            for (int j = 0; j < WAYS; j++)
                add_way(&frontier.shape[i], j == 0 ? CS_UNTILED : j, rng_between(&rng, 0, 40),
                        (double)rng_between(&rng, 1, 9));
        CHECK(cs_frontier_sweep(&frontier));
        for (int64_t most = 0; most <= 40; most++) {
            double found = INFINITY;
            for (size_t i = 0; i < frontier.points; i++)
                if (frontier.point[i].peak <= most)
                    found = frontier.point[i].times.most;
            CHECK(found <= shortest(&frontier, most) && found >= shortest(&frontier, most));
        }
        cs_frontier_fini(&frontier);
    }
}

/* A file has a rule for at most CS_MOST_TUNED shapes: those with the least effect stay untiled. */
static void more_shapes_than_rules(void)
{
    enum {
        MORE = CS_MOST_TUNED + 5
    };
    struct cs_frontier frontier = {.shape = calloc(MORE, sizeof *frontier.shape), .shapes = MORE};
    for (int i = 0; i < MORE; i++) {
        add_way(&frontier.shape[i], CS_UNTILED, i < 3 ? 90 : 40, 100);
        add_way(&frontier.shape[i], 7, 30, 99 - i);
    }
    const struct cs_frontier_point point = cs_frontier_choose(&frontier, 50);
    CHECK_INT(point.tiled, CS_MOST_TUNED);
    CHECK_INT(point.peak, 40);
    for (int i = 0; i < MORE; i++)
        CHECK_INT(frontier.shape[i].chosen, i < 3 || i >= 8);
    cs_frontier_fini(&frontier);
}

/* --- the choice --- */

static struct cs_tune tuned;
static struct cs_tune_options options;
static struct cs_device_file device = {.title = "NVIDIA H100"};

static void make_tuned(void)
{
    options = (struct cs_tune_options){.within = -1};
    tuned = (struct cs_tune){
        .options = &options, .device = &device, .frontier = make_frontier(), .point = -1};
    CHECK(cs_frontier_sweep(&tuned.frontier));
    tuned.untiled = (struct cs_tune_run){.ran = true, .figures = {.peak = 200, .times = {20, 40}}};
    tuned.defaults = (struct cs_tune_run){.ran = true, .figures = {.peak = 170, .times = {21, 42}}};
}

static void options_select_a_point(void)
{
    static const struct {
        int64_t fits;
        double within, defaults_seconds;
        int64_t defaults;
        int point;
    } rows[] = {
        {150, -1, 21, 170, 1}, /* --fits: the fastest in that memory */
        {169, -1, 21, 170, 1}, {170, -1, 21, 170, 2},
        {99, -1, 21, 170, 0}, /* none fits: the lowest peak is tried */
        {0, 0, 21, 170, 2},   /* --within: the lowest peak in that time */
        {0, 5, 21, 170, 1},    {0, 400, 21, 170, 0},
        {0, -1, 21, 170, 2},  /* faster than the defaults in the same peak */
        {0, -1, 21, 150, -1}, /* the defaults are on the frontier */
        {0, -1, 30, 150, 1},   {0, -1, 30, 110, -1},
        {0, -1, 17, 210, -1},
    };
    make_tuned();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        options.fits = rows[i].fits;
        options.within = rows[i].within;
        tuned.defaults.figures.peak = rows[i].defaults;
        tuned.defaults.figures.times =
            (struct cs_times){rows[i].defaults_seconds, 2 * rows[i].defaults_seconds};
        CHECK_INT(cs_tune_choose(&tuned), rows[i].point);
    }
    cs_frontier_fini(&tuned.frontier);
}

static void file_is_written_only_if_its_run_reaches_the_goal(void)
{
    static const struct {
        int64_t fits;
        double within;
        bool ran, fitted;
        int64_t peak;
        double seconds;
        enum cs_tune_outcome outcome;
    } rows[] = {
        {0, -1, true, true, 170, 20, CS_TUNE_FILE},
        {0, -1, true, true, 171, 20, CS_TUNE_MISSED},
        {0, -1, true, true, 160, 21.5, CS_TUNE_MISSED},
        {0, -1, false, false, 160, 20, CS_TUNE_MISSED},
        {180, -1, true, true, 170, 30, CS_TUNE_FILE},
        {180, -1, true, false, 170, 20, CS_TUNE_MISSED},
        {0, 5, true, true, 150, 21, CS_TUNE_FILE},
        {0, 5, true, true, 150, 21.1, CS_TUNE_MISSED},
        {0, 5, true, true, 151, 21, CS_TUNE_MISSED},
    };
    make_tuned();
    tuned.point = 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        options.fits = rows[i].fits;
        options.within = rows[i].within;
        tuned.file = (struct cs_tune_run){
            .ran = rows[i].ran,
            .fits = rows[i].fitted,
            .figures = {.peak = rows[i].peak, .times = {rows[i].seconds, 2 * rows[i].seconds}}};
        CHECK_INT((int)cs_tune_judge(&tuned), (int)rows[i].outcome);
    }
    cs_frontier_fini(&tuned.frontier);
}

/* --- the outputs --- */

static struct cs_simulation simulation;

static int show_file(void *unused)
{
    (void)unused;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cs_tune_write(&tuned, true, out);
    fclose(out);
    char *on = strstr(text, " on 20");
    if (on)
        memcpy(on + 4, "YYYY-MM-DD", 10);
    fputs(text, stdout);
    free(text);
    return 0;
}

static int show_report(void *outcome)
{
    cs_tune_report(&tuned, *(enum cs_tune_outcome *)outcome, stdout);
    return 0;
}

static void describe_shape(struct cs_tuned_shape *shape, const char *text, const char *line,
                           int64_t calls, int direction)
{
    snprintf(shape->text, sizeof shape->text, "%s", text);
    snprintf(shape->line, sizeof shape->line, "%s", line);
    shape->calls = calls;
    shape->required = shape->held = 100;
    shape->rule.given = 1u << CS_RULE_direction;
    shape->rule.direction = 1u << direction;
}

static void outputs(void)
{
    static char *words[] = {"python3", "a\tb.py", NULL};
    static enum cs_tune_outcome outcome[] = {CS_TUNE_FILE,     CS_TUNE_UNTILED, CS_TUNE_DEFAULTS,
                                             CS_TUNE_NO_POINT, CS_TUNE_MISSED,  CS_TUNE_FAILED};
    simulation.program.command = words;
    make_tuned();
    tuned.simulation = &simulation;
    tuned.device = &device;
    tuned.allocated = true;
    describe_shape(&tuned.frontier.shape[0], "one", "a.py:3 f", 1, 0);
    describe_shape(&tuned.frontier.shape[1], "two", "", 2, 1);
    tuned.point = 1;
    tuned.file = (struct cs_tune_run){.ran = true, .figures = {.peak = 150, .times = {21, 42}}};
    (void)cs_frontier_choose(&tuned.frontier, tuned.frontier.point[1].target);
    golden_add("the file", show_file, NULL);
    options.fits = 140 << 20;
    options.within = 5;
    golden_add("the table", show_report, &outcome[0]);
    tuned.frontier.points = 0; /* the outcomes without the table */
    for (size_t i = 1; i < sizeof outcome / sizeof *outcome; i++)
        golden_add("outcome", show_report, &outcome[i]);
    tuned.defaults.fits = true;
    golden_add("the defaults fit", show_report, &outcome[4]);
    options.fits = 0;
    golden_add("missed otherwise", show_report, &outcome[4]);
    golden_check(root, "tune.txt");
    cs_frontier_fini(&tuned.frontier);
}

int main(void)
{
    heap_watch();
    CHECK(getcwd(root, sizeof root));
    TEST(each_target_has_its_fastest_ways);
    TEST(points_are_the_best_of_all_combinations);
    TEST(more_shapes_than_rules);
    TEST(options_select_a_point);
    TEST(file_is_written_only_if_its_run_reaches_the_goal);
    TEST(outputs);
    return REPORT();
}
